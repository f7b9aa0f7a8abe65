/* SPDX-License-Identifier: Apache-2.0 */
/* Reading "target: file file \", with spaces as "\ ", '#' as "\#" and '$' as "$$". */
#include "compile/dependencies.h"
#include "base/file.h"
#include "base/status.h"

#include <string.h>

/* One path from `at` on, written over the text; answers where it ends. */
static const char *read_path(const char *at, const char *end, char **inout_to) {
    char *to = *inout_to;
    while (at < end && *at != ' ' && *at != '\n' && *at != '\t') {
        const bool is_escaped = end - at > 1 && ((*at == '\\' && (at[1] == ' ' || at[1] == '#')) ||
                                                 (*at == '$' && at[1] == '$'));
        if (*at == '\\' && end - at > 1 && at[1] == '\n') break;
        at += is_escaped;
        *to++ = *at++;
    }
    *to++ = 0;
    *inout_to = to;
    return at;
}

static bool read_rule(tn_arena *arena, const char *at, const char *end,
                      tn_dependencies *out_dependencies) {
    const size_t length = (size_t)(end - at);
    const char **paths = tn_arena_allocate(arena, length / 2 + 1, sizeof(*paths));
    char *to = tn_arena_allocate(arena, length + 1, 2); /* each path and its end */
    size_t count = 0;
    if (!paths || !to) return false;
    while (at < end) {
        if (*at == ' ' || *at == '\t' || *at == '\n') {
            at++;
        } else if (*at == '\\' && end - at > 1 && at[1] == '\n') {
            at += 2;
        } else {
            paths[count++] = to;
            at = read_path(at, end, &to);
        }
    }
    *out_dependencies = (tn_dependencies){.count = count, .paths = paths};
    return count > 0; /* the source itself, at least */
}

bool tn_dependencies_read(tn_arena *arena, const tn_allocator *allocator, const char *path,
                          tn_dependencies *out_dependencies) {
    tn_file file;
    if (tn_file_map(allocator, path, &file) != TN_OK) {
        tn_error_clear();
        return false;
    }
    const char *text = file.data, *end = text + file.bytes;
    const char *colon = NULL;
    for (const char *at = text; !colon && end - at > 1; at++)
        if (*at == ':' && (at[1] == ' ' || at[1] == '\n')) colon = at;
    const bool is_read = colon && read_rule(arena, colon + 1, end, out_dependencies);
    tn_file_unmap(&file);
    return is_read;
}
