/* SPDX-License-Identifier: Apache-2.0 */
/* What a file on the command line is; see file_kind.h. */
#include "file_kind.h"
#include "cli/cli.h"
#include "foreign_file.h"

#include <errno.h>
#include <string.h>

static bool is_plan(const file_head *head) {
    static const unsigned char magic[8] = {0x89, 'T', 'E', 'N', 'O', 'N', '\r', '\n'};
    return head->count >= sizeof(magic) && memcmp(head->bytes, magic, sizeof(magic)) == 0;
}

/* Whether a file begins, after white space and comments, with a field of UFF's text form. */
static bool is_uff_text(const file_head *head) {
    static const char *const names[] = {"version", "descriptor_core_version", "descriptors",
                                        "graphs", "referenced_data"};
    const char *at = (const char *)head->bytes;
    for (at += strspn(at, " \t\r\n"); *at == '#'; at += strspn(at, " \t\r\n"))
        at += strcspn(at, "\n");
    const size_t length = strcspn(at, ":{< \t\r\n");
    const char after = at[length + strspn(at + length, " \t")];
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strlen(names[i]) == length && memcmp(names[i], at, length) == 0)
            return after == ':' || after == '{' || after == '<';
    return false;
}

/* ModelProto begins with ir_version, a small number, and then has a text or an operator set. */
static bool is_onnx(const file_head *head) {
    const unsigned char *at = head->bytes;
    return head->count > 8 && at[0] == 0x08 && at[1] >= 1 && at[1] <= 64 &&
           (at[2] == 0x12 || at[2] == 0x3a || at[2] == 0x42);
}

static file_kind kind_of_name(const char *path) {
    if (file_has_ending(path, ".onnx")) return FILE_ONNX;
    if (file_has_ending(path, ".prototxt")) return FILE_CAFFE;
    if (file_has_ending(path, ".uff") || file_has_ending(path, ".uff.txt") ||
        file_has_ending(path, ".pbtxt"))
        return FILE_UFF;
    return FILE_NONE;
}

/* FILE_NONE: it is nothing that is known here. */
static file_kind kind_of_head(const file_head *head) {
    if (is_plan(head)) return FILE_PLAN;
    const file_kind kind = kind_of_name(head->path);
    if (kind != FILE_NONE) return kind;
    if (is_uff_text(head)) return FILE_UFF;
    return is_onnx(head) ? FILE_ONNX : FILE_NONE;
}

file_kind file_kind_of(const char *path) {
    file_head head;
    file_kind kind = file_head_read(path, &head) ? kind_of_head(&head) : kind_of_name(path);
    return kind == FILE_NONE ? FILE_PLAN : kind;
}

bool file_kind_is_model(file_kind kind) {
    return kind == FILE_ONNX || kind == FILE_UFF || kind == FILE_CAFFE;
}

const char *file_kind_name(file_kind kind) {
    static const char *const names[] = {[FILE_NONE] = "no file",
                                        [FILE_PLAN] = "a plan",
                                        [FILE_ONNX] = "an ONNX model",
                                        [FILE_UFF] = "a UFF model",
                                        [FILE_CAFFE] = "a Caffe model"};
    return names[kind];
}

int file_kind_check(const char *path, bool needs_model) {
    static const char readable[] = "an ONNX model (.onnx), UFF (.uff, .pbtxt), Caffe (.prototxt)";
    file_head head;
    if (!file_head_read(path, &head))
        return cli_fault("cannot read '%s': %s", path, errno ? strerror(errno) : "no regular file");
    const file_kind kind = kind_of_head(&head);
    const foreign_file *foreign = kind == FILE_PLAN ? NULL : foreign_file_find(&head);
    if (foreign)
        return (foreign->is_other_model ? cli_unsupported : cli_fault)(
            "%s is %s: %s", path, foreign->what, foreign->advice);
    if (kind == FILE_NONE)
        return cli_fault("%s is neither a model nor a plan: expected %s%s", path, readable,
                         needs_model ? "" : ", or a plan of tenon build");
    if (kind == FILE_PLAN && needs_model)
        return cli_fault("%s is a plan already: expected a model to build one from, %s", path,
                         readable);
    return EXIT_DONE;
}
