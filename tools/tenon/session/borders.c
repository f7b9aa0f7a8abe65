/* SPDX-License-Identifier: Apache-2.0 */
/* See borders.h. */
#include "borders.h"

#include <stdlib.h>
#include <string.h>

/* Types that a border may have, by both of their names. */
static const struct {
    const char *name, *long_name;
    tn_type type;
} types[] = {{"f32", "fp32", TN_F32},   {"f16", "fp16", TN_F16},   {"bf16", "bf16", TN_BF16},
             {"f64", "fp64", TN_F64},   {"i8", "int8", TN_I8},     {"u8", "uint8", TN_U8},
             {"i16", "int16", TN_I16},  {"u16", "uint16", TN_U16}, {"i32", "int32", TN_I32},
             {"u32", "uint32", TN_U32}, {"i64", "int64", TN_I64},  {"u64", "uint64", TN_U64},
             {"bool", "bool", TN_BOOL}};

static bool is_word(const char *word, size_t length, const char *name) {
    return strlen(name) == length && memcmp(word, name, length) == 0;
}

static bool read_type(const char *word, size_t length, tn_type *out_type) {
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (is_word(word, length, types[i].name) || is_word(word, length, types[i].long_name)) {
            *out_type = types[i].type;
            return true;
        }
    return false;
}

/* "fp16", "u8:nhwc", "nhwc". */
static bool read_border(const char *text, tn_border *border) {
    const char *colon = strchr(text, ':');
    const size_t length = colon ? (size_t)(colon - text) : strlen(text);
    const bool is_last = strcmp(colon ? colon + 1 : text, "nhwc") == 0;
    if (is_last) border->order = TN_BORDER_CHANNELS_LAST;
    if (colon && !is_last) return false;
    return (is_last && !colon) || read_type(text, length, &border->type);
}

static bool apply(tn_graph *graph, const char *text, int *out_exit) {
    tn_border border = {.size = sizeof(border)};
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text || !read_border(equals + 1, &border)) {
        *out_exit = cli_usage("--border %s: expected NAME=TYPE, NAME=TYPE:nhwc or NAME=nhwc, where "
                              "TYPE is like fp32, fp16, bf16, int8, uint8 or int64",
                              text);
        return false;
    }
    char *name = strndup(text, (size_t)(equals - text));
    border.name = name;
    const bool is_good = name && tn_graph_set_border(graph, &border) == TN_OK;
    if (!is_good) *out_exit = name ? cli_fail("--border") : cli_fault("no memory");
    free(name);
    return is_good;
}

bool borders_apply(tn_graph *graph, const cli_options *options, int *out_exit) {
    for (size_t i = 0; i < options->borders.count; i++)
        if (!apply(graph, options->borders.items[i], out_exit)) return false;
    return true;
}
