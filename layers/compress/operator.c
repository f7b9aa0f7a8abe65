/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compress: the slices along an axis, or the elements of the tensor as one row, where a condition
 * is true. How many there are is known when it has run.
 */
#include <tenon/kit/lanes.h>
#include <tenon/kit/parallel.h>
#include "kit/operator/strings.h"

typedef struct compress_params {
    uint64_t present; /* bit 0: axis */
    int64_t axis;
} compress_params;

enum { COMPRESS_INPUT = 0, COMPRESS_CONDITION = 1 };

static const tn_field compress_fields[] = {
    TN_FIELD(compress_params, axis, TN_FIELD_I64, TN_OPTIONAL, NULL,
             "the axis; negative: from the end; absent: all elements as one row")};

static bool has_axis(const tn_call *call) {
    return ((const compress_params *)call->params)->present & 1;
}

/* The tensor as outer x count x inner, of which the condition speaks of `count`. */
static tn_status read_lanes(tn_call *call, tn_lanes *out_lanes, uint32_t *out_axis) {
    const compress_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, COMPRESS_INPUT, has_axis(call) ? 1 : 0, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, COMPRESS_CONDITION, 1, 1));
    const tn_tensor *x = call->inputs[COMPRESS_INPUT];
    *out_axis = 0;
    if (has_axis(call))
        TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, x->rank, out_axis));
    *out_lanes = has_axis(call) ? tn_lanes_along(x, *out_axis, *out_axis + 1)
                                : tn_lanes_along(x, 0, x->rank);
    const int64_t given = call->inputs[COMPRESS_CONDITION]->shape[0];
    if (given > out_lanes->count)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input 'condition' has %lld elements for the %lld of the axis",
                                (long long)given, (long long)out_lanes->count);
    return TN_OK;
}

static tn_status compress_infer(tn_call *call) {
    int64_t shape[TN_MAX_RANK];
    tn_lanes lanes = {0};
    uint32_t axis = 0;
    TN_TRY(read_lanes(call, &lanes, &axis));
    const tn_tensor *x = call->inputs[COMPRESS_INPUT];
    const int64_t most = call->inputs[COMPRESS_CONDITION]->shape[0];
    if (!has_axis(call)) return tn_infer_set_shape(call, 0, 1, &most);
    for (uint32_t i = 0; i < x->rank; i++)
        shape[i] = i == axis ? most : x->shape[i];
    return tn_infer_set_shape(call, 0, x->rank, shape);
}

static int64_t count_true(const tn_tensor *condition) {
    const uint8_t *is_true = condition->data;
    int64_t count = 0;
    for (int64_t k = 0; k < condition->shape[0]; k++)
        count += is_true[k] != 0;
    return count;
}

static tn_status compress_reference(tn_call *call) {
    const tn_tensor *x = call->inputs[COMPRESS_INPUT], *y = call->outputs[0];
    const tn_tensor *condition = call->inputs[COMPRESS_CONDITION];
    tn_lanes lanes = {0};
    uint32_t axis = 0;
    TN_TRY(read_lanes(call, &lanes, &axis));
    const size_t bytes = tn_element_bytes(x->type);
    const int64_t elements = tn_element_count(x);
    char *to = y->data;
    for (int64_t i = 0; i < elements; i++) {
        const int64_t k = i / lanes.inner % lanes.count;
        if (k >= condition->shape[0] || !tn_element_i64(condition, k)) continue;
        memcpy(to, (const char *)x->data + (size_t)i * bytes, bytes);
        to += bytes;
    }
    y->shape[axis] = count_true(condition);
    return tn_strings_share(call, COMPRESS_INPUT);
}

/* ----------------------------------------------------------------------------------------------
 * kernel */

typedef struct compress_job {
    const char *x;
    char *y;
    const uint8_t *condition;
    tn_lanes lanes;
    int64_t given, kept; /* elements of the condition, and those that are true */
    size_t bytes;        /* of an element */
} compress_job;

/* One row of single elements without a branch: what is written where the condition is false is
 * overwritten by the next. The output has room for as many as the condition has. */
#define COPY(type)                                                                                 \
    {                                                                                              \
        const type *from = (const type *)(const void *)job->x;                                     \
        type *to = (type *)(void *)job->y;                                                         \
        int64_t at = 0;                                                                            \
        for (int64_t k = 0; k < job->given; k++) {                                                 \
            to[at] = from[k];                                                                      \
            at += job->condition[k] != 0;                                                          \
        }                                                                                          \
        return;                                                                                    \
    }

static void copy_elements(const compress_job *job) {
    switch (job->bytes) {
    case 1:
        COPY(uint8_t)
    case 2:
        COPY(uint16_t)
    case 4:
        COPY(uint32_t)
    default:
        COPY(uint64_t)
    }
}

/* An item is an index of the axes before: its slices, those beside each other at once. */
static tn_status copy_slices(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const compress_job *job = user;
    const size_t slice = (size_t)job->lanes.inner * job->bytes;
    (void)thread;
    for (int64_t outer = begin; outer < end; outer++) {
        const char *from = job->x + (size_t)(outer * job->lanes.count) * slice;
        char *to = job->y + (size_t)(outer * job->kept) * slice;
        for (int64_t k = 0; k < job->given;) {
            int64_t stop = k;
            while (stop < job->given && job->condition[stop])
                stop++;
            const size_t run = (size_t)(stop - k) * slice;
            memcpy(to, from + (size_t)k * slice, run);
            to += run;
            k = stop + 1;
        }
    }
    return TN_OK;
}

static tn_status compress_run(tn_call *call) {
    enum { GRAIN_BYTES = 65536 };
    const tn_tensor *x = call->inputs[COMPRESS_INPUT], *y = call->outputs[0];
    const tn_tensor *condition = call->inputs[COMPRESS_CONDITION];
    uint32_t axis = 0;
    compress_job job = {.x = x->data,
                        .y = y->data,
                        .condition = condition->data,
                        .given = condition->shape[0],
                        .kept = count_true(condition),
                        .bytes = tn_element_bytes(x->type)};
    TN_TRY(read_lanes(call, &job.lanes, &axis));
    y->shape[axis] = job.kept;
    if (tn_element_count(y) == 0) return TN_OK;
    if (job.lanes.outer == 1 && job.lanes.inner == 1) {
        copy_elements(&job);
        return TN_OK;
    }
    const int64_t each = job.kept * job.lanes.inner * (int64_t)job.bytes;
    return call->host->parallel_for(call, job.lanes.outer, tn_parallel_grain(GRAIN_BYTES, each),
                                    copy_slices, &job);
}

static const tn_port compress_inputs[] = {
    TN_PORT("input", "T:any|string", 0, "any tensor"),
    TN_PORT("condition", "bool", 0, "which slices stay; those that it has no element for do not"),
};
static const tn_port compress_outputs[] = {
    TN_PORT("output", "T", TN_PORT_SIZED_BY_RUN, "the slices that stay")};
static const char *const compress_cases[] = {
    "axis=0 | input=f32[3,2]{1,2,3,4,5,6} condition=bool[3]{0,1,1} | output=f32[2,2]{3,4,5,6}",
    "axis=1 | input=f32[3,2]{1,2,3,4,5,6} condition=bool[2]{0,1} | output=f32[3,1]{2,4,6}",
    "| input=i64[3,2]{1,2,3,4,5,6} condition=bool[5]{0,1,0,0,1} | output=i64[2]{2,5}",
    "axis=-1 | input=f16[3,2]{1,2,3,4,5,6} condition=bool[2]{0,1} | output=f16[3,1]{2,4,6}",
    "| input=string[3]{a,b,c} condition=bool[3]{1,0,1} | output=string[2]{a,c}",
    "axis=1 | input=u8[2,4,3] condition=bool[3]{1,1,0}",
    "| input=f64[] condition=bool[1]{1}",
    "| input=bool[3]{1,0,1} condition=bool[0]",
    "axis=0 | input=u16[0,3] condition=bool[0]",
    "axis=0 | input=i32[3,0] condition=bool[3]{1,0,1} | output=i32[2,0]",
    "axis=2 | input=bf16[2,3,3] condition=bool[3]{0,0,0} | output=bf16[2,3,0]",
    "axis=1 | input=f32[8,64,384] condition=bool[64]",
    "| input=f32[300,67] condition=bool[20000]",
};

TN_OPERATOR(compress, "", "Compress", 9, "Slices along an axis where a condition is true.",
            TN_FIELDS(compress_params, compress_fields), .traits = TN_OPERATOR_SELECTS);

TN_CPU_KERNEL(compress_slices, "", "Compress", "slices",
              "Slices copied on all threads, single elements without a branch.",
              .run = compress_run);

TN_LAYER(compress, TN_OPERATORS(&compress_9), TN_KERNELS(&compress_slices));
