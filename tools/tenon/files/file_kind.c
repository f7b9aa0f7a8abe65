/* SPDX-License-Identifier: Apache-2.0 */
/* What a file on the command line is; see file_kind.h. */
#include "file_kind.h"
#include "cli/cli.h"
#include "cli/importers.h"
#include "foreign_file.h"

#include <errno.h>
#include <string.h>

static bool is_plan(const file_head *head) {
    static const unsigned char magic[8] = {0x89, 'T', 'E', 'N', 'O', 'N', '\r', '\n'};
    return head->count >= sizeof(magic) && memcmp(head->bytes, magic, sizeof(magic)) == 0;
}

/* FILE_NONE: it is nothing that is known here. */
static file_kind kind_of_head(const file_head *head) {
    if (is_plan(head)) return FILE_PLAN;
    return importers_of_file(head->path) ? FILE_MODEL : FILE_NONE;
}

file_kind file_kind_of(const char *path) {
    file_head head;
    if (file_head_read(path, &head) && is_plan(&head)) return FILE_PLAN;
    return importers_of_file(path) ? FILE_MODEL : FILE_PLAN;
}

bool file_kind_is_model(file_kind kind) {
    return kind == FILE_MODEL;
}

const char *file_kind_name(file_kind kind, const char *path) {
    const tn_importer *importer = kind == FILE_MODEL ? importers_of_file(path) : NULL;
    return importer ? importer->what : kind == FILE_PLAN ? "a plan" : "no file";
}

int file_kind_check(const char *path, bool needs_model) {
    char readable[1000];
    file_head head;
    if (!file_head_read(path, &head))
        return cli_fault("cannot read '%s': %s", path, errno ? strerror(errno) : "no regular file");
    const file_kind kind = kind_of_head(&head);
    const foreign_file *foreign = kind == FILE_PLAN ? NULL : foreign_file_find(&head);
    if (foreign)
        return (foreign->is_other_model ? cli_unsupported : cli_fault)(
            "%s is %s: %s", path, foreign->what, foreign->advice);
    importers_list(readable, sizeof(readable));
    if (kind == FILE_NONE)
        return cli_fault("%s is neither a model nor a plan: expected %s%s", path, readable,
                         needs_model ? "" : ", or a plan of tenon build");
    if (kind == FILE_PLAN && needs_model)
        return cli_fault("%s is a plan already: expected a model to build one from, %s", path,
                         readable);
    return EXIT_DONE;
}
