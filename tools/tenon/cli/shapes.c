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

static bool is_border(const char *text) {
    return text[0] == 0;
}

/* The profile that the inputs from `first` on are in. */
static bool end_profile(shape_profiles *profiles, uint32_t first, int *out_exit) {
    tn_profile *profile = &profiles->profiles[profiles->profile_count];
    if (profiles->count == first) {
        *out_exit = cli_usage("--next-profile stands between the shapes of two profiles: expected "
                              "--shape before and after it");
        return false;
    }
    *profile = (tn_profile){.size = sizeof(*profile),
                            .input_count = profiles->count - first,
                            .inputs = profiles->pointers + first};
    profiles->profile_pointers[profiles->profile_count++] = profile;
    return true;
}

bool shape_profiles_read(shape_profiles *out_profiles, const cli_options *options,
                         const tn_graph *graph, int *out_exit) {
    const size_t count = options->shapes.count;
    uint32_t first = 0; /* of the inputs, of the present profile */
    out_profiles->items = calloc(count + 1, sizeof(*out_profiles->items));
    out_profiles->pointers = calloc(count + 1, sizeof(*out_profiles->pointers));
    out_profiles->profiles = calloc(count + 1, sizeof(*out_profiles->profiles));
    out_profiles->profile_pointers = calloc(count + 1, sizeof(*out_profiles->profile_pointers));
    if (!out_profiles->items || !out_profiles->pointers || !out_profiles->profiles ||
        !out_profiles->profile_pointers) {
        *out_exit = cli_fault("no memory");
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t at = out_profiles->count;
        if (is_border(options->shapes.items[i])) {
            if (!end_profile(out_profiles, first, out_exit)) return false;
            first = at;
            continue;
        }
        out_profiles->pointers[at] = &out_profiles->items[at];
        out_profiles->count++;
        if (!read_one(options->shapes.items[i], graph, &out_profiles->items[at], out_exit))
            return false;
    }
    return out_profiles->profile_count == 0 || end_profile(out_profiles, first, out_exit);
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
    free(profiles->profiles);
    free((void *)(uintptr_t)profiles->profile_pointers);
}

/* What --shape says of an input, from *inout_at on, which becomes what comes after it; false when
 * it says nothing. */
static bool find_option(const cli_options *options, const char *name, size_t *inout_at,
                        shape_text shapes[3]) {
    while (*inout_at < options->shapes.count) {
        const char *text = options->shapes.items[(*inout_at)++], *equals = strrchr(text, '=');
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
    size_t at = 0;
    if (!find_option(options, name, &at, shapes)) return false;
    memcpy(shape, shapes[1].extents, shapes[1].rank * sizeof(*shape));
    *out_rank = shapes[1].rank;
    return true;
}

bool shape_option_extents(const cli_options *options, const char *name, int64_t *extents,
                          uint32_t *out_rank) {
    shape_text shapes[3], first = {0};
    bool is_found = false;
    for (size_t at = 0; find_option(options, name, &at, shapes);) {
        if (is_found && shapes[0].rank != first.rank) return false; /* refused by the build */
        for (uint32_t i = 0; i < shapes[0].rank; i++) {
            const int64_t one = is_found ? extents[i] : shapes[0].extents[i];
            const bool is_fixed = shapes[0].extents[i] == one && shapes[2].extents[i] == one;
            extents[i] = is_fixed ? one : -1;
        }
        first = shapes[0];
        is_found = true;
    }
    if (is_found) *out_rank = first.rank;
    return is_found;
}
