/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DynamicQuantizeLinear: a tensor as unsigned bytes, by a scale and a zero point that map its
 * range, widened to hold 0, to 0..255. NaN is not in the range, and becomes the zero point. All in
 * 32-bit floats; a tensor of zeros, or of no elements, has the scale 1 / 255.
 */
#include "kit/operator/layer.h"
#include "quantize/dynamic.h"
#include "quantize/rows.h"
#include <tenon/kit/parallel.h>

#include <math.h>

enum { DYNAMIC_Y = 0, DYNAMIC_SCALE = 1, DYNAMIC_ZERO = 2 };

static tn_status dynamic_infer(tn_call *call) {
    TN_TRY(tn_infer_copy_shape(call, DYNAMIC_Y, 0));
    TN_TRY(tn_infer_set_shape(call, DYNAMIC_SCALE, 0, NULL));
    return tn_infer_set_shape(call, DYNAMIC_ZERO, 0, NULL);
}

/* Scale and zero point of low..high, which hold 0; stored where they are asked for. */
static void choose(tn_call *call, float low, float high, float *out_scale, uint8_t *out_zero) {
    const tn_tensor *scale = tn_infer_output(call, DYNAMIC_SCALE);
    const tn_tensor *zero = tn_infer_output(call, DYNAMIC_ZERO);
    *out_scale = (high == low ? 1.0f : high - low) / 255.0f;
    const float exact = 0.0f - low / *out_scale;
    *out_zero = (uint8_t)(exact > 0 ? nearbyintf(exact < 255 ? exact : 255) : 0);
    if (scale) *(float *)scale->data = *out_scale;
    if (zero) *(uint8_t *)zero->data = *out_zero;
}

static tn_status dynamic_reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = tn_infer_output(call, DYNAMIC_Y);
    const float *values = x->data;
    float low = 0, high = 0, scale;
    uint8_t zero;
    for (int64_t i = 0, end = tn_element_count(x); i < end; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    choose(call, low, high, &scale, &zero);
    for (int64_t i = 0, end = y ? tn_element_count(x) : 0; i < end; i++) {
        const float quotient = values[i] / scale;
        tn_element_set_f64(y, i, (isnan(quotient) ? 0 : nearbyint((double)quotient)) + zero);
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * kernel */

enum { MOST_PARTS = 64, PART_ELEMENTS = 16384 };

typedef struct dynamic_job {
    const tn_quantize_level *level;
    const float *x;
    uint8_t *y;
    int64_t elements, parts;
    float low[MOST_PARTS], high[MOST_PARTS], scale;
    uint8_t zero;
} dynamic_job;

static tn_status find_parts(void *user, int64_t begin, int64_t end, uint32_t thread) {
    dynamic_job *job = user;
    (void)thread;
    for (int64_t part = begin; part < end; part++) {
        const int64_t first = tn_parallel_first(job->elements, job->parts, part);
        job->level->range(tn_parallel_first(job->elements, job->parts, part + 1) - first,
                          job->x + first, &job->low[part], &job->high[part]);
    }
    return TN_OK;
}

/* An item is an element. */
static tn_status quantise_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const dynamic_job *job = user;
    (void)thread;
    job->level->to_u8(end - begin, job->x + begin, &job->scale, &job->zero, 0, job->y + begin);
    return TN_OK;
}

static tn_status dynamic_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = tn_infer_output(call, DYNAMIC_Y);
    dynamic_job job = {.level = call->user, .x = x->data, .elements = tn_element_count(x)};
    float low = 0, high = 0;
    job.parts = job.elements / PART_ELEMENTS + 1;
    if (job.parts > MOST_PARTS) job.parts = MOST_PARTS;
    TN_TRY(call->host->parallel_for(call, job.parts, 1, find_parts, &job));
    for (int64_t part = 0; part < job.parts; part++) {
        low = job.low[part] < low ? job.low[part] : low;
        high = job.high[part] > high ? job.high[part] : high;
    }
    choose(call, low, high, &job.scale, &job.zero);
    if (!y || job.elements == 0) return TN_OK;
    job.y = y->data;
    return call->host->parallel_for(call, job.elements, PART_ELEMENTS, quantise_elements, &job);
}

/* ----------------------------------------------------------------------------------------------
 * tables */

static const tn_port dynamic_inputs[] = {TN_PORT("x", "f32", 0, "any tensor")};
static const tn_port dynamic_outputs[] = {
    TN_PORT("y", "u8", 0, "the quantised tensor"),
    TN_PORT("y_scale", "f32", 0, "one number"),
    TN_PORT("y_zero_point", "u8", 0, "one number"),
};
static const char *const dynamic_cases[] = {
    ("| x=f32[6]{0,2,-3,-2.5,1.34,0.5} | y=u8[6]{153,255,0,26,221,179} "
     "y_scale=f32[]{0.0196078438} y_zero_point=u8[]{153}"),
    ("| x=f32[6]{-1,-2.1,-1.3,-2.5,-3.34,-4} | y=u8[6]{191,121,172,96,42,0} "
     "y_scale=f32[]{0.0156862754} y_zero_point=u8[]{255}"),
    ("| x=f32[3,4]{1,2.1,1.3,2.5,3.34,4,1.5,2.6,3.9,4,3,2.345} "
     "| y=u8[3,4]{64,134,83,159,213,255,96,166,249,255,191,149} y_scale=f32[]{0.0156862754} "
     "y_zero_point=u8[]{0}"),
    "| x=f32[3]{0,0,-0.0} | y=u8[3]{0,0,0} y_zero_point=u8[]{0}",
    "| x=f32[4]{nan,1,nan,-1}",
    "| x=f32[0,3]",
    "| x=f32[]",
    "| x=f32[1,64,57,55]",
};

const tn_operator tn_dynamic_quantize_11 = TN_OPERATOR_TABLE(
    dynamic, "", "DynamicQuantizeLinear", 11,
    "A tensor as bytes, with the scale and the zero point of its range.", TN_NO_FIELDS);

TN_LEVEL_KERNELS_OF(, tn_dynamic_quantize, TN_LEVELS(tn_quantize), "", 2, "DynamicQuantizeLinear",
                    "rows", "The range of parts, then rows, on all threads.",
                    .traits = TN_KERNEL_DETERMINISTIC, .run = dynamic_run);
