/* SPDX-License-Identifier: Apache-2.0 */
/* Layout and bands of the quantised convolution; see int8_plan.h. */
#include "conv/int8_plan.h"

/* A band's input stays in the core's second-level cache beside a block's weights. */
#define BAND_BYTES (192 * 1024)
/* Multiplications that are worth a thread. */
#define THREAD_WORK 400000
/* Output rows at least so long are done one by one: few tiles are then cut at their ends. */
#define LONG_ROW 24

static int64_t divide_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

static bool multiply(int64_t a, int64_t b, int64_t *out_product) {
    return !__builtin_mul_overflow(a, b, out_product);
}

static int64_t rows_seen(const tn_conv_geometry *g, int64_t output_rows) {
    return (output_rows - 1) * g->stride_height + (g->kernel_height - 1) * g->dilation_height + 1;
}

static void cut_bands(tn_int8_plan *plan, int64_t row_bytes, uint32_t threads) {
    const tn_conv_geometry *g = &plan->geometry;
    const int64_t halo = rows_seen(g, 1), most = BAND_BYTES / row_bytes;
    int64_t rows = most > halo ? (most - halo) / g->stride_height + 1 : 1;
    if (rows > g->out_height) rows = g->out_height;
    const int64_t images = g->batch * g->groups;
    const double work = (double)plan->groups * (double)g->filters * (double)g->out_height *
                        (double)g->out_width * (double)(images > 0 ? images : 1);
    int64_t wanted = threads;
    if (work / THREAD_WORK < (double)wanted) wanted = (int64_t)(work / THREAD_WORK);
    if (wanted > 1 && images > 0 && images * divide_up(g->out_height, rows) < wanted) {
        const int64_t each = divide_up(wanted, images);
        rows = divide_up(g->out_height, each < g->out_height ? each : g->out_height);
    }
    plan->bands = divide_up(g->out_height, rows);
    plan->band_rows = divide_up(g->out_height, plan->bands);
}

bool tn_int8_plan_make(const tn_dot_level *level, const tn_conv_geometry *geometry,
                       uint32_t threads, tn_int8_plan *out_plan) {
    const tn_conv_geometry *g = geometry;
    const int64_t group = level->group;
    const bool is_joined = g->dilation_width == 1;
    tn_int8_plan plan = {.geometry = *g};
    int64_t run_elements, bytes, elements;
    if (!multiply(g->channels, is_joined ? g->kernel_width : 1, &run_elements) ||
        run_elements > TN_DOT_DEPTH_LIMIT ||
        !multiply(g->kernel_height, is_joined ? 1 : g->kernel_width, &plan.runs) ||
        plan.runs > TN_DOT_DEPTH_LIMIT)
        return false;
    plan.run_groups = divide_up(run_elements, group);
    plan.groups = plan.runs * plan.run_groups;
    const int64_t span =
        (g->out_width - 1) * g->stride_width + (g->kernel_width - 1) * g->dilation_width + 1;
    if (plan.groups > TN_DOT_DEPTH_LIMIT / group ||
        !multiply(span, g->channels, &plan.row_elements) ||
        !multiply(plan.row_elements, level->element_bytes, &bytes))
        return false;
    cut_bands(&plan, bytes, threads);
    plan.is_by_row = g->out_width >= LONG_ROW;
    if (!multiply(rows_seen(g, plan.band_rows), plan.row_elements, &elements) ||
        elements > INT32_MAX - group || plan.band_rows * g->out_width > INT32_MAX)
        return false;
    plan.positions = plan.is_by_row ? g->out_width : plan.band_rows * g->out_width;
    plan.copy_bytes = divide_up((elements + group) * level->element_bytes, 64) * 64;
    *out_plan = plan;
    return true;
}

void tn_int8_plan_elements(const tn_dot_level *level, const tn_int8_plan *plan,
                           int32_t *out_elements) {
    const tn_conv_geometry *g = &plan->geometry;
    const int64_t width = plan->runs == g->kernel_height ? 1 : g->kernel_width;
    const int64_t valid = width == 1 ? g->kernel_width * g->channels : g->channels;
    for (int64_t run = 0; run < plan->runs; run++) {
        for (int64_t k = 0; k < plan->run_groups * level->group; k++) {
            const int64_t column = width == 1 ? k / g->channels : run % width;
            const int64_t at =
                (k % g->channels * g->kernel_height + run / width) * g->kernel_width + column;
            *out_elements++ = k < valid ? (int32_t)at : -1;
        }
    }
}

void tn_int8_plan_offsets(const tn_dot_level *level, const tn_int8_plan *plan, int32_t *out_groups,
                          int32_t *out_positions) {
    const tn_conv_geometry *g = &plan->geometry;
    const int64_t width = plan->runs == g->kernel_height ? 1 : g->kernel_width;
    for (int64_t run = 0; run < plan->runs; run++) {
        const int64_t at = run / width * g->dilation_height * plan->row_elements +
                           run % width * g->dilation_width * g->channels;
        for (int64_t k = 0; k < plan->run_groups; k++)
            *out_groups++ = (int32_t)(at + k * level->group);
    }
    for (int64_t i = 0; i < plan->positions; i++)
        *out_positions++ = (int32_t)(i / g->out_width * g->stride_height * plan->row_elements +
                                     i % g->out_width * g->stride_width * g->channels);
}
