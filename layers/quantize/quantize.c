/* SPDX-License-Identifier: Apache-2.0 */
/* Scales and zero points of elements, and the kernels' callbacks; see quantize.h. */
#include <tenon/kit/open.h>
#include <tenon/kit/parallel.h>
#include "quantize/quantize.h"
#include "kit/math/element.h"

static tn_status refuse_scale(tn_call *call, uint32_t input) {
    const tn_tensor *x = call->inputs[TN_QUANTIZE_X], *scale = call->inputs[input];
    char text[TN_INFER_SHAPE_TEXT_BYTES], other[TN_INFER_SHAPE_TEXT_BYTES];
    return call->host->fail(call, TN_ERROR_SHAPE,
                            "input '%s' has the shape %s, which does not fit the tensor's %s",
                            tn_infer_input_name(call, input),
                            tn_infer_shape_text(scale->rank, scale->shape, text, sizeof(text)),
                            tn_infer_shape_text(x->rank, x->shape, other, sizeof(other)));
}

static tn_status check_zero_point(tn_call *call) {
    const tn_tensor *scale = call->inputs[TN_QUANTIZE_SCALE];
    const tn_tensor *zero = tn_infer_input(call, TN_QUANTIZE_ZERO_POINT);
    if (!zero || (tn_element_count(zero) == 1 && tn_element_count(scale) == 1)) return TN_OK;
    bool fits = zero->rank == scale->rank;
    for (uint32_t i = 0; fits && i < scale->rank; i++)
        fits = tn_open_fits(zero->shape[i], scale->shape[i]);
    return fits ? TN_OK : refuse_scale(call, TN_QUANTIZE_ZERO_POINT);
}

static tn_status read_blocks(tn_call *call, uint32_t axis, int64_t block_size,
                             tn_quantize_plan *plan) {
    const tn_tensor *x = call->inputs[TN_QUANTIZE_X], *scale = call->inputs[TN_QUANTIZE_SCALE];
    const int64_t extent = x->shape[axis];
    bool fits = scale->rank == x->rank;
    plan->is_blocked = true;
    plan->block = block_size;
    plan->scale_count = extent / block_size + (extent % block_size != 0);
    for (uint32_t i = 0; fits && i < x->rank; i++)
        fits = scale->shape[i] == (i == axis ? plan->scale_count : x->shape[i]);
    return fits ? TN_OK : refuse_scale(call, TN_QUANTIZE_SCALE);
}

tn_status tn_quantize_read(tn_call *call, tn_quantize_plan *out_plan) {
    const tn_quantize_params *params = call->params;
    tn_quantize_plan plan = {0};
    uint32_t axis = 0;
    TN_TRY(tn_infer_require_rank(call, TN_QUANTIZE_X, 0, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, TN_QUANTIZE_SCALE, 0, TN_MAX_RANK));
    TN_TRY(check_zero_point(call));
    const tn_tensor *x = call->inputs[TN_QUANTIZE_X], *scale = call->inputs[TN_QUANTIZE_SCALE];
    const bool is_blocked = call->op->since_version >= 21 && params->block_size > 0;
    if (!is_blocked && scale->rank <= 1 && tn_element_count(scale) == 1) {
        plan.lanes = tn_lanes_along(x, 0, x->rank);
        plan.scale_count = 1;
        plan.block = plan.lanes.count > 0 ? plan.lanes.count : 1;
        *out_plan = plan;
        return TN_OK;
    }
    if (call->op->since_version < 13) return refuse_scale(call, TN_QUANTIZE_SCALE);
    TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, x->rank, &axis));
    plan.lanes = tn_lanes_along(x, axis, axis + 1);
    plan.scale_count = plan.lanes.count;
    plan.block = 1;
    if (is_blocked)
        TN_TRY(read_blocks(call, axis, params->block_size, &plan));
    else if (scale->rank != 1 || !tn_open_fits(scale->shape[0], x->shape[axis]))
        return refuse_scale(call, TN_QUANTIZE_SCALE);
    *out_plan = plan;
    return TN_OK;
}

tn_status tn_quantize_compute(tn_call *call, tn_quantize_element element) {
    tn_quantize_plan plan;
    TN_TRY(tn_quantize_read(call, &plan));
    const tn_lanes *lanes = &plan.lanes;
    for (int64_t outer = 0; outer < lanes->outer; outer++)
        for (int64_t k = 0; k < lanes->count; k++)
            for (int64_t inner = 0; inner < lanes->inner; inner++)
                element(call, (outer * lanes->count + k) * lanes->inner + inner,
                        tn_quantize_index(&plan, outer, k, inner));
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * kernels */

enum { PIXELS = 512 /* done at once */, MOST_CHANNELS = 8 /* of images */ };

static bool is_turned(const tn_call *call) {
    return call->inputs[TN_QUANTIZE_X]->format == TN_LINEAR && call->outputs[0]->format == TN_NHWC;
}

/* Other formats than linear are done in the order of their memory, for which one scale must serve.
 * Channels that come to lie last are few: others are transposed faster on their own. */
tn_status tn_quantize_accepts(tn_call *call) {
    tn_quantize_plan plan = {0};
    if (tn_quantize_read(call, &plan) != TN_OK || plan.is_blocked) return TN_ERROR_UNSUPPORTED;
    if (is_turned(call) && call->inputs[TN_QUANTIZE_X]->shape[1] > MOST_CHANNELS)
        return TN_ERROR_UNSUPPORTED;
    const bool is_linear = call->outputs[0]->format == TN_LINEAR;
    return is_linear || plan.scale_count == 1 ? TN_OK : TN_ERROR_UNSUPPORTED;
}

tn_status tn_quantize_reshape(tn_call *call) {
    return tn_open_ask(call, tn_quantize_accepts);
}

typedef struct quantize_job {
    tn_quantize_row row;
    const char *x, *zero;
    char *y;
    const float *scale;
    int64_t x_bytes, y_bytes, zero_bytes; /* of an element */
    int64_t count;                        /* of a row */
    int64_t scales; /* rows one after the other that have scales of their own */
    int64_t step;
} quantize_job;

static void do_row(const quantize_job *job, int64_t at, int64_t count, int64_t scale) {
    job->row(count, job->x + at * job->x_bytes, job->scale + scale,
             job->zero ? job->zero + scale * job->zero_bytes : NULL, job->step,
             job->y + at * job->y_bytes);
}

/* An item is an element: one scale serves all. */
static tn_status do_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    do_row(user, begin, end - begin, 0);
    return TN_OK;
}

/* An item is a row. */
static tn_status do_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const quantize_job *job = user;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        do_row(job, i * job->count, job->count, i % job->scales);
    return TN_OK;
}

typedef struct pixels_job {
    quantize_job of; /* count: pixels of an image */
    int64_t channels, parts;
    const tn_quantize_level *level;
} pixels_job;

/* An item is a part of an image: its channels one after the other, then side by side. */
static tn_status do_pixels(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const pixels_job *job = user;
    const quantize_job *of = &job->of;
    uint8_t bytes[MOST_CHANNELS * PIXELS];
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t image = item / job->parts, first = item % job->parts * PIXELS;
        const int64_t left = of->count - first, count = left < PIXELS ? left : PIXELS;
        const int64_t at = image * job->channels * of->count;
        for (int64_t c = 0; c < job->channels; c++)
            of->row(count, of->x + (at + c * of->count + first) * of->x_bytes, of->scale, of->zero,
                    0, bytes + c * PIXELS);
        job->level->interleave(count, job->channels, bytes, PIXELS,
                               (uint8_t *)of->y + at + first * job->channels);
    }
    return TN_OK;
}

static tn_status run_turned(tn_call *call, const quantize_job *of, int64_t grain) {
    const tn_tensor *x = call->inputs[TN_QUANTIZE_X];
    pixels_job job = {.of = *of, .channels = x->shape[1], .level = call->user};
    job.of.count = tn_infer_product(x->shape, 2, x->rank);
    job.parts = (job.of.count + PIXELS - 1) / PIXELS;
    return call->host->parallel_for(call, x->shape[0] * job.parts,
                                    tn_parallel_grain(grain, PIXELS * job.channels), do_pixels,
                                    &job);
}

static tn_quantize_row choose_row(const tn_call *call) {
    const tn_quantize_level *level = call->user;
    const tn_type from = call->inputs[TN_QUANTIZE_X]->type, to = call->outputs[0]->type;
    const bool is_stored = from == TN_F32;
    switch (is_stored ? to : from) {
    case TN_I8:
        return is_stored ? level->to_i8 : level->from_i8;
    case TN_I16:
        return is_stored ? level->to_i16 : level->from_i16;
    case TN_U16:
        return is_stored ? level->to_u16 : level->from_u16;
    default:
        return is_stored ? level->to_u8 : level->from_u8;
    }
}

tn_status tn_quantize_run(tn_call *call) {
    enum { GRAIN = 16384 };
    const tn_tensor *x = call->inputs[TN_QUANTIZE_X], *y = call->outputs[0];
    const tn_tensor *zero = tn_infer_input(call, TN_QUANTIZE_ZERO_POINT);
    tn_quantize_plan plan = {0};
    TN_TRY(tn_quantize_read(call, &plan));
    const int64_t total = tn_element_count(y);
    quantize_job job = {.row = choose_row(call),
                        .x = x->data,
                        .zero = zero ? zero->data : NULL,
                        .y = y->data,
                        .scale = call->inputs[TN_QUANTIZE_SCALE]->data,
                        .x_bytes = (int64_t)tn_element_bytes(x->type),
                        .y_bytes = (int64_t)tn_element_bytes(y->type),
                        .zero_bytes = zero ? (int64_t)tn_element_bytes(zero->type) : 0,
                        .count = plan.lanes.inner,
                        .scales = plan.scale_count};
    if (total == 0) return TN_OK;
    if (is_turned(call)) return run_turned(call, &job, GRAIN);
    if (plan.scale_count == 1)
        return call->host->parallel_for(call, total, GRAIN, do_elements, &job);
    if (job.count == 1) { /* along the last axis: a row has all scales */
        job.count = plan.scale_count;
        job.scales = job.step = 1;
    }
    return call->host->parallel_for(call, total / job.count, tn_parallel_grain(GRAIN, job.count),
                                    do_rows, &job);
}
