/* SPDX-License-Identifier: Apache-2.0 */
/* --range; see ranges.h. */
#include "ranges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct range {
    char *name; /* freed by the caller */
    double magnitude;
} range;

static bool read_bound(const char **at, double *out) {
    char *end;
    *out = strtod(*at, &end);
    const bool is_read = end != *at && isfinite(*out);
    *at = end;
    return is_read;
}

/* 7.2 is -7.2 to 7.2. */
static bool read_magnitude(const char *text, double *out_magnitude) {
    double low, high;
    if (!read_bound(&text, &low)) return false;
    high = low;
    if (*text == ':') {
        text++;
        if (!read_bound(&text, &high) || low > high) return false;
    } else if (low < 0) {
        return false;
    }
    *out_magnitude = fmax(fabs(low), fabs(high));
    const float scale = (float)(*out_magnitude / 127);
    return *text == 0 && scale > 0 && isfinite(scale);
}

static bool read_range(const char *text, range *out, int *out_exit) {
    const char *equals = strrchr(text, '=');
    *out = (range){0};
    if (!equals || equals == text || !read_magnitude(equals + 1, &out->magnitude)) {
        *out_exit = cli_usage("option --range: '%s' is not TENSOR=LARGEST or TENSOR=LO:HI in plain "
                              "numbers, like pool1=7.2 or pool1=0:7.2",
                              text);
        return false;
    }
    out->name = strndup(text, (size_t)(equals - text));
    if (!out->name) *out_exit = cli_fault("no memory for the ranges");
    return out->name != NULL;
}

/* A tensor's name, or that of an output. */
static bool is_tensor(const tn_graph *graph, const char *name) {
    tn_tensor_id id;
    for (uint32_t i = 0; i < tn_graph_output_count(graph); i++)
        if (strcmp(tn_graph_output(graph, i)->name, name) == 0) return true;
    return tn_graph_find(graph, name, &id) == TN_OK;
}

bool ranges_check(const cli_options *options, const tn_graph *graph, int *out_exit) {
    for (size_t i = 0; i < options->ranges.count; i++) {
        range one;
        if (!read_range(options->ranges.items[i], &one, out_exit)) return false;
        const bool is_there = is_tensor(graph, one.name);
        free(one.name);
        if (is_there) continue;
        *out_exit = cli_fail("--range");
        return false;
    }
    return true;
}

bool ranges_apply(const cli_options *options, tn_runtime *runtime, tn_calibration **inout_table,
                  int *out_exit) {
    if (options->ranges.count > 0 && !*inout_table &&
        tn_calibration_create(runtime, inout_table) != TN_OK) {
        *out_exit = cli_fail("--range");
        return false;
    }
    for (size_t i = 0; i < options->ranges.count; i++) {
        range one;
        if (!read_range(options->ranges.items[i], &one, out_exit)) return false;
        const tn_status status =
            tn_calibration_set(*inout_table, one.name, (float)(one.magnitude / 127));
        free(one.name);
        if (status == TN_OK) continue;
        *out_exit = cli_fail("--range");
        return false;
    }
    return true;
}
