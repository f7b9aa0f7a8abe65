/* SPDX-License-Identifier: Apache-2.0 */
/* The text file beside a library that says what it brings, so that it need not be loaded to be
 * asked. Declared in library_private.h. */
#include "base/file.h"
#include "base/status.h"
#include "plugin/library_private.h"
#include "plugin/runtime.h"

#include <string.h>

#define LISTING_BYTES 65536u

/* The file's text; "" where there is none or it cannot be read. */
static tn_status read_listing(tn_runtime *runtime, tn_arena *arena, const char *path,
                              char **out_text) {
    tn_file file = {0};
    tn_status status = TN_OK;
    if (tn_file_exists(path)) status = tn_file_map(tn_runtime_allocator(runtime), path, &file);
    if (status == TN_ERROR_MEMORY) return status;
    if (status != TN_OK) {
        tn_runtime_log(runtime, TN_LOG_WARNING, "%s", tn_last_error()->message);
        file = (tn_file){0};
    }
    const size_t bytes = file.bytes < LISTING_BYTES ? file.bytes : LISTING_BYTES;
    char *text = tn_arena_allocate(arena, bytes + 1, 1);
    if (text && bytes > 0) memcpy(text, file.data, bytes);
    if (file.data) tn_file_unmap(&file);
    if (!text) return tn_fail_memory("a library's listing");
    text[bytes] = '\0';
    *out_text = text;
    return TN_OK;
}

tn_status tn_library_listing_fits(tn_runtime *runtime, tn_arena *arena, const char *library,
                                  const char *ending,
                                  bool (*fits)(const void *user, const char *line),
                                  const void *user, bool *out_fits) {
    char *text;
    const char *path = tn_arena_format(arena, "%s.%s", library, ending);
    *out_fits = false;
    if (!path) return tn_fail_memory("a path");
    TN_TRY(read_listing(runtime, arena, path, &text));
    for (char *line = text; *line && !*out_fits;) {
        const size_t length = strcspn(line, "\n");
        const bool is_last = line[length] == '\0';
        line[length] = '\0';
        *out_fits = *line != '#' && fits(user, line);
        line += length + !is_last;
    }
    return TN_OK;
}
