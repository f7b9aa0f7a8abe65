/* SPDX-License-Identifier: Apache-2.0 */
/* Range: the numbers start, start + delta, ... up to limit, which is not among them. */
#include "kit/operator/layer.h"

#include <math.h>

enum { RANGE_START = 0, RANGE_LIMIT = 1, RANGE_DELTA = 2 };

static tn_status count_floats(tn_call *call, double start, double limit, double delta,
                              int64_t *out_count) {
    const double count = ceil((limit - start) / delta);
    if (isnan(count) || count >= 0x1p62)
        return call->host->fail(call, TN_ERROR_RANGE, "%g..%g by %g is no finite range", start,
                                limit, delta);
    *out_count = count > 0 ? (int64_t)count : 0;
    return TN_OK;
}

static tn_status count_integers(tn_call *call, int64_t start, int64_t limit, int64_t delta,
                                int64_t *out_count) {
    if (delta == 0) return call->host->fail(call, TN_ERROR_RANGE, "input 'delta' is zero");
    const bool is_empty = delta > 0 ? start >= limit : start <= limit;
    const uint64_t distance =
        delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    const uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
    const uint64_t count = is_empty ? 0 : (distance - 1) / step + 1;
    *out_count = count > INT64_MAX ? INT64_MAX : (int64_t)count;
    return TN_OK;
}

static tn_status range_infer(tn_call *call) {
    int64_t count = 0;
    for (uint32_t i = 0; i < 3; i++) {
        TN_TRY(tn_infer_require_rank(call, i, 0, 1));
        if (tn_element_count(call->inputs[i]) != 1)
            return call->host->fail(call, TN_ERROR_SHAPE, "input '%s' must be one number",
                                    tn_infer_input_name(call, i));
        if (!call->inputs[i]->data)
            return call->host->fail(call, TN_ERROR_STATE, "the value of input '%s' is not known",
                                    tn_infer_input_name(call, i));
    }
    const tn_tensor *const *x = call->inputs;
    const tn_type type = x[0]->type;
    if (tn_element_is_real(type))
        TN_TRY(count_floats(call, tn_element_load_f64(x[RANGE_START]->data, type, 0),
                            tn_element_load_f64(x[RANGE_LIMIT]->data, type, 0),
                            tn_element_load_f64(x[RANGE_DELTA]->data, type, 0), &count));
    else
        TN_TRY(count_integers(call, tn_element_load_i64(x[RANGE_START]->data, type, 0),
                              tn_element_load_i64(x[RANGE_LIMIT]->data, type, 0),
                              tn_element_load_i64(x[RANGE_DELTA]->data, type, 0), &count));
    return tn_infer_set_shape(call, 0, 1, &count);
}

static tn_status range_reference(tn_call *call) {
    const tn_tensor *start = call->inputs[RANGE_START], *delta = call->inputs[RANGE_DELTA];
    const tn_tensor *y = call->outputs[0];
    const bool is_real = tn_element_is_real(y->type);
    for (int64_t i = 0; i < y->shape[0]; i++) {
        if (is_real)
            tn_element_set_f64(y, i,
                               tn_element_load_f64(start->data, y->type, 0) +
                                   (double)i * tn_element_load_f64(delta->data, y->type, 0));
        else
            tn_element_set_i64(
                y, i,
                (int64_t)((uint64_t)tn_element_load_i64(start->data, y->type, 0) +
                          (uint64_t)i * (uint64_t)tn_element_load_i64(delta->data, y->type, 0)));
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * kernels */

typedef struct range_job {
    const void *start, *delta;
    tn_tensor *y;
} range_job;

enum { RANGE_BLOCK = 256 }; /* elements: a count that loops without branches know */

/* Defines fill_NAME of elements `first` to first + RANGE_BLOCK - 1, or fewer. NUMBER is what they
 * are computed in: sums of integers wrap, and each follows from the one before (`next`) or, of
 * floats, which are rounded, from its index. */
#define RANGE_FILL(name, TYPE, NUMBER, next)                                                       \
    static void fill_##name(const range_job *job, int64_t first, int64_t count) {                  \
        const NUMBER start = (NUMBER) * (const TYPE *)job->start,                                  \
                     delta = (NUMBER) * (const TYPE *)job->delta, base = (NUMBER)first;            \
        TYPE *y = (TYPE *)job->y->data + first, rest[RANGE_BLOCK];                                 \
        TYPE *to = count == RANGE_BLOCK ? y : rest;                                                \
        NUMBER value = start + base * delta;                                                       \
        for (int32_t i = 0; i < RANGE_BLOCK; i++, value += delta)                                  \
            to[i] = (TYPE)(next);                                                                  \
        (void)value;                                                                               \
        if (to == rest) memcpy(y, rest, (size_t)count * sizeof(TYPE));                             \
    }
#define OF_INDEX (start + (base + i) * delta)
RANGE_FILL(f64, double, double, OF_INDEX)
RANGE_FILL(f32, float, double, OF_INDEX)
RANGE_FILL(i64, int64_t, uint64_t, value)
RANGE_FILL(i32, int32_t, uint32_t, value)
RANGE_FILL(i16, int16_t, uint32_t, value)

/* An item is an element. */
static tn_status fill_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const range_job *job = user;
    const tn_type type = job->y->type;
    (void)thread;
    for (int64_t i = begin; i < end; i += RANGE_BLOCK) {
        const int64_t count = end - i < RANGE_BLOCK ? end - i : RANGE_BLOCK;
        (type == TN_F64   ? fill_f64
         : type == TN_F32 ? fill_f32
         : type == TN_I64 ? fill_i64
         : type == TN_I32 ? fill_i32
                          : fill_i16)(job, i, count);
    }
    return TN_OK;
}

static tn_status range_run(tn_call *call) {
    enum { GRAIN = 32768 };
    range_job job = {call->inputs[RANGE_START]->data, call->inputs[RANGE_DELTA]->data,
                     call->outputs[0]};
    return call->host->parallel_for(call, call->outputs[0]->shape[0], GRAIN, fill_elements, &job);
}

static const char *const range_combinations[] = {"f64, f64, f64 -> f64", "f32, f32, f32 -> f32",
                                                 "i64, i64, i64 -> i64", "i32, i32, i32 -> i32",
                                                 "i16, i16, i16 -> i16"};
TN_CPU_KERNEL(range_blocks, "", "Range", "blocks", "Blocks of elements on all threads.",
              TN_COMBINATIONS(range_combinations), .run = range_run);

static const tn_port range_inputs[] = {
    TN_PORT("start", "T:float|i16|i32|i64", TN_PORT_VALUE_NEEDED, "the first number"),
    TN_PORT("limit", "T", TN_PORT_VALUE_NEEDED, "what the numbers do not reach"),
    TN_PORT("delta", "T", TN_PORT_VALUE_NEEDED, "the step; may be negative"),
};
static const tn_port range_outputs[] = {TN_PORT("output", "T", 0, "the numbers")};
static const char *const range_cases[] = {
    "| start=i64[]{3} limit=i64[]{9} delta=i64[]{3}",
    "| start=i32[]{10} limit=i32[]{4} delta=i32[]{-4}",
    "| start=f32[]{1} limit=f32[]{5} delta=f32[]{1.5}",
    "| start=f64[1]{0} limit=f64[]{-2} delta=f64[]{0.1}",
    "| start=i16[]{5} limit=i16[]{5} delta=i16[]{1}",
    "| start=i16[]{-300} limit=i16[]{500} delta=i16[]{2}",
    "| start=f32[]{0} limit=f32[]{70} delta=f32[]{0.1}",
    "| start=i64[]{9223372036854775000} limit=i64[]{9223372036854775807} delta=i64[]{3}",
};

typedef struct range_params {
    uint64_t present;
    int64_t stash_type;
} range_params;
static const tn_field range_27_fields[] = {
    TN_FIELD(range_params, stash_type, TN_FIELD_I64, TN_OPTIONAL, "1",
             "ONNX's type in which 16-bit floats may be computed: here always double precision"),
};

TN_OPERATOR(range, "", "Range", 11, "Numbers one step apart.", TN_NO_FIELDS);
TN_OPERATOR(range, "", "Range", 27, "Numbers one step apart.",
            TN_FIELDS(range_params, range_27_fields));

TN_LAYER(range, TN_OPERATORS(&range_11, &range_27), TN_KERNELS(&range_blocks));
