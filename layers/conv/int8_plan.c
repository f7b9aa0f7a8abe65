/* SPDX-License-Identifier: Apache-2.0 */
/* Layout and bands of the quantised convolution; see int8_plan.h. */
#include "conv/int8_plan.h"
#include "kit/math/round_up.h"

/* A band's input stays in the core's second-level cache beside a block's weights. */
#define BAND_BYTES (192 * 1024)
/* Multiplications that are worth a thread. */
#define THREAD_WORK 400000
/* Output rows at least so long are done one by one: few tiles are then cut at their ends. */
#define LONG_ROW 24
/* What rounding and storing a vector costs, in products. */
#define END_COST 10

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
    if (wanted > 1 && images > 0 && images * tn_divide_up(g->out_height, rows) < wanted) {
        const int64_t each = tn_divide_up(wanted, images);
        rows = tn_divide_up(g->out_height, each < g->out_height ? each : g->out_height);
    }
    plan->bands = tn_divide_up(g->out_height, rows);
    plan->band_rows = tn_divide_up(g->out_height, plan->bands);
}

/* Vectors' products an output, those of its end among them. */
static double join_cost(const tn_dot_level *level, const tn_conv_geometry *g, int64_t join) {
    const int64_t width = g->kernel_width + (join - 1) * g->stride_width;
    const int64_t groups = g->kernel_height * tn_divide_up(width * g->channels, level->group);
    const int64_t vectors = tn_divide_up(g->filters * join, level->lanes);
    return (double)(vectors * (groups + END_COST)) / (double)join;
}

int64_t tn_int8_plan_join(const tn_dot_level *level, const tn_conv_geometry *g) {
    const double plain = join_cost(level, g, 1);
    double best_cost = plain * 0.9; /* worth the trouble */
    int64_t best = 1;
    if (g->groups != 1 || g->dilation_width != 1 || g->filters > 4 * (int64_t)level->lanes ||
        g->channels > TN_DOT_DEPTH_LIMIT || g->kernel_width > 64 || g->stride_width > 64)
        return 1;
    for (int64_t join = 2; join <= 16 && join <= g->out_width; join++) {
        const double cost = join_cost(level, g, join);
        if (cost >= best_cost) continue;
        best_cost = cost;
        best = join;
    }
    return best;
}

static void join_outputs(tn_int8_plan *plan, const tn_conv_geometry *g, int64_t join) {
    tn_conv_geometry *joined = &plan->geometry;
    *joined = *g;
    joined->filters *= join;
    joined->kernel_width += (join - 1) * g->stride_width;
    joined->stride_width *= join;
    joined->out_width = tn_divide_up(g->out_width, join);
    plan->join = join;
    plan->out_width = g->out_width;
    plan->last_outputs = g->out_width - (joined->out_width - 1) * join;
}

bool tn_int8_plan_make(const tn_dot_level *level, const tn_conv_geometry *geometry, int64_t join,
                       uint32_t threads, tn_int8_plan *out_plan) {
    tn_int8_plan plan = {.runs = 0};
    join_outputs(&plan, geometry, join);
    const tn_conv_geometry *g = &plan.geometry;
    const int64_t group = level->group;
    const bool is_joined = g->dilation_width == 1;
    int64_t run_elements, bytes, elements;
    if (!multiply(g->channels, is_joined ? g->kernel_width : 1, &run_elements) ||
        run_elements > TN_DOT_DEPTH_LIMIT ||
        !multiply(g->kernel_height, is_joined ? 1 : g->kernel_width, &plan.runs) ||
        plan.runs > TN_DOT_DEPTH_LIMIT)
        return false;
    plan.run_groups = tn_divide_up(run_elements, group);
    plan.groups = plan.runs * plan.run_groups;
    const int64_t span =
        (g->out_width - 1) * g->stride_width + (g->kernel_width - 1) * g->dilation_width + 1;
    if (plan.groups > TN_DOT_DEPTH_LIMIT / group ||
        !multiply(span, g->channels, &plan.row_elements) ||
        !multiply(plan.row_elements, level->form->element_bytes, &bytes))
        return false;
    cut_bands(&plan, bytes, threads);
    plan.is_by_row = g->out_width >= LONG_ROW || plan.last_outputs != join;
    if (!multiply(rows_seen(g, plan.band_rows), plan.row_elements, &elements) ||
        elements > INT32_MAX - group || plan.band_rows * g->out_width > INT32_MAX)
        return false;
    plan.positions = plan.is_by_row ? g->out_width : plan.band_rows * g->out_width;
    plan.copy_bytes = tn_divide_up((elements + group) * level->form->element_bytes, 64) * 64;
    *out_plan = plan;
    return true;
}

/* One joined output's: its kernel begins at column `shift` of the runs'. */
static void elements_of(const tn_dot_level *level, const tn_int8_plan *plan, int64_t shift,
                        int64_t kernel_width, int32_t *out_elements) {
    const tn_conv_geometry *g = &plan->geometry;
    const int64_t width = plan->runs == g->kernel_height ? 1 : g->kernel_width;
    const int64_t columns = width == 1 ? g->kernel_width : 1;
    for (int64_t run = 0; run < plan->runs; run++) {
        for (int64_t k = 0; k < plan->run_groups * level->group; k++) {
            const int64_t at = k / g->channels, row = run / width;
            const int64_t column = (width == 1 ? at : run % width) - shift;
            const bool is_inside = at < columns && column >= 0 && column < kernel_width;
            *out_elements++ =
                is_inside
                    ? (int32_t)((k % g->channels * g->kernel_height + row) * kernel_width + column)
                    : -1;
        }
    }
}

void tn_int8_plan_elements(const tn_dot_level *level, const tn_int8_plan *plan,
                           int32_t *out_elements) {
    const int64_t stride = plan->geometry.stride_width / plan->join;
    const int64_t kernel_width = plan->geometry.kernel_width - (plan->join - 1) * stride;
    for (int64_t i = 0; i < plan->join; i++)
        elements_of(level, plan, i * stride, kernel_width,
                    out_elements + i * plan->groups * level->group);
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
