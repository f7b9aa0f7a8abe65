/* SPDX-License-Identifier: Apache-2.0 */
/* Reading --shape; see shapes.h. */
#include "shapes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct shape_text {
    int64_t extents[TN_MAX_RANK];
    uint32_t rank;
} shape_text;

/* "1x3x256x256" up to ':' or the end; "scalar" has rank 0. */
static bool read_shape(const char **at, shape_text *out) {
    *out = (shape_text){.rank = 0};
    if (strncmp(*at, "scalar", 6) == 0) {
        *at += 6;
        return true;
    }
    for (;;) {
        char *end;
        const long long extent = strtoll(*at, &end, 10);
        if (end == *at || extent < 0 || out->rank == TN_MAX_RANK) return false;
        out->extents[out->rank++] = extent;
        *at = end;
        if (**at != 'x') return true;
        ++*at;
    }
}

/* Minimum, optimum, maximum: one shape stands for all three. */
static bool read_range(const char *text, shape_text shapes[3]) {
    const char *at = text;
    if (!read_shape(&at, &shapes[0])) return false;
    shapes[1] = shapes[2] = shapes[0];
    if (*at == 0) return true;
    for (int i = 1; i < 3; i++) {
        if (*at++ != ':' || !read_shape(&at, &shapes[i]) || shapes[i].rank != shapes[0].rank)
            return false;
    }
    return *at == 0;
}

static int64_t *copy_extents(const shape_text *shape) {
    int64_t *copy = malloc((shape->rank + 1u) * sizeof(*copy));
    if (copy) memcpy(copy, shape->extents, shape->rank * sizeof(*copy));
    return copy;
}

static bool read_one(const char *text, const tn_graph *graph, tn_profile_input *item,
                     int *out_exit) {
    const char *equals = strrchr(text, '=');
    shape_text shapes[3];
    if (!equals && tn_graph_input_count(graph) != 1) {
        *out_exit = cli_usage("--shape '%s' has no name: there are %u inputs", text,
                              tn_graph_input_count(graph));
        return false;
    }
    if (!read_range(equals ? equals + 1 : text, shapes)) {
        *out_exit = cli_usage(
            "--shape '%s': expected NAME=1x3x256x256 or NAME=MIN:OPT:MAX of one rank", text);
        return false;
    }
    *item = (tn_profile_input){.size = sizeof(*item),
                               .rank = shapes[0].rank,
                               .name = equals ? strndup(text, (size_t)(equals - text))
                                              : strdup(tn_graph_input(graph, 0)->name),
                               .minimum = copy_extents(&shapes[0]),
                               .optimum = copy_extents(&shapes[1]),
                               .maximum = copy_extents(&shapes[2])};
    if (item->name && item->minimum && item->optimum && item->maximum) return true;
    *out_exit = cli_fault("no memory");
    return false;
}

bool shape_profiles_read(shape_profiles *out_profiles, const cli_options *options,
                         const tn_graph *graph, int *out_exit) {
    const size_t count = options->shapes.count;
    out_profiles->items = calloc(count + 1, sizeof(*out_profiles->items));
    out_profiles->pointers = calloc(count + 1, sizeof(*out_profiles->pointers));
    if (!out_profiles->items || !out_profiles->pointers) {
        *out_exit = cli_fault("no memory");
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        out_profiles->pointers[i] = &out_profiles->items[i];
        out_profiles->count = (uint32_t)i + 1;
        if (!read_one(options->shapes.items[i], graph, &out_profiles->items[i], out_exit))
            return false;
    }
    return true;
}

void shape_profiles_free(shape_profiles *profiles) {
    for (uint32_t i = 0; profiles->items && i < profiles->count; i++) {
        free((void *)(uintptr_t)profiles->items[i].name);
        free((void *)(uintptr_t)profiles->items[i].minimum);
        free((void *)(uintptr_t)profiles->items[i].optimum);
        free((void *)(uintptr_t)profiles->items[i].maximum);
    }
    free(profiles->items);
    free((void *)(uintptr_t)profiles->pointers);
}

/* What --shape says of an input; false when it says nothing. */
static bool find_option(const cli_options *options, const char *name, shape_text shapes[3]) {
    for (size_t i = 0; i < options->shapes.count; i++) {
        const char *text = options->shapes.items[i], *equals = strrchr(text, '=');
        const bool is_named = !equals || (strlen(name) == (size_t)(equals - text) &&
                                          memcmp(name, text, strlen(name)) == 0);
        if (is_named && read_range(equals ? equals + 1 : text, shapes)) return true;
    }
    return false;
}

bool shape_option_is_one(const char *text, int64_t *extents, uint32_t *out_rank) {
    const char *equals = strrchr(text, '=');
    shape_text shape;
    const char *at = equals ? equals + 1 : text;
    if (!read_shape(&at, &shape) || *at) return false;
    memcpy(extents, shape.extents, shape.rank * sizeof(*extents));
    *out_rank = shape.rank;
    return true;
}

const char *shape_print(uint32_t rank, const int64_t *shape, char *text) {
    const size_t bytes = SHAPE_TEXT_BYTES;
    size_t at = (size_t)snprintf(text, bytes, "[");
    for (uint32_t i = 0; i < rank && i < TN_MAX_RANK; i++)
        at += (size_t)snprintf(text + at, bytes - at, shape[i] < 0 ? "%sany" : "%s%" PRId64,
                               i ? ", " : "", shape[i]);
    snprintf(text + at, bytes - at, "]");
    return text;
}

bool shape_option_optimum(const cli_options *options, const char *name, int64_t *shape,
                          uint32_t *out_rank) {
    shape_text shapes[3];
    if (!find_option(options, name, shapes)) return false;
    memcpy(shape, shapes[1].extents, shapes[1].rank * sizeof(*shape));
    *out_rank = shapes[1].rank;
    return true;
}

bool shape_option_extents(const cli_options *options, const char *name, int64_t *extents,
                          uint32_t *out_rank) {
    shape_text shapes[3];
    if (!find_option(options, name, shapes)) return false;
    *out_rank = shapes[0].rank;
    for (uint32_t i = 0; i < shapes[0].rank; i++) {
        const bool is_fixed = shapes[0].extents[i] == shapes[2].extents[i];
        extents[i] = is_fixed ? shapes[0].extents[i] : -1;
    }
    return true;
}
