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

/* Of the first `count` elements of a condition. */
static int64_t count_true(const uint8_t *is_true, int64_t count) {
    int64_t sum = 0;
    for (int64_t k = 0; k < count; k++)
        sum += is_true[k] != 0;
    return sum;
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
    y->shape[axis] = count_true(condition->data, condition->shape[0]);
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
    size_t slice;        /* bytes */
} compress_job;

#define COPY(type)                                                                                 \
    {                                                                                              \
        const type *source = (const type *)(const void *)from;                                     \
        type *target = (type *)(void *)to;                                                         \
        for (uint32_t i = 0; i < count; i++)                                                       \
            target[i] = source[kept[i]];                                                           \
        return;                                                                                    \
    }

static void copy_kept(size_t slice, const char *from, const uint32_t *kept, uint32_t count,
                      char *to) {
    switch (slice) {
    case 1:
        COPY(uint8_t)
    case 2:
        COPY(uint16_t)
    case 4:
        COPY(uint32_t)
    case 8:
        COPY(uint64_t)
    default:
        break;
    }
    for (uint32_t i = 0; i < count; i++, to += slice)
        memcpy(to, from + kept[i] * slice, slice);
}

/* The slices first..last-1 of one index of the axes before. Which ones are kept is listed first,
 * without a branch, since conditions are seldom foreseen. */
static void copy_slices(const compress_job *job, int64_t outer, int64_t first, int64_t last) {
    enum { BLOCK = 512 };
    uint32_t kept[BLOCK];
    const int64_t before = count_true(job->condition, first);
    char *to = job->y + (size_t)(outer * job->kept + before) * job->slice;
    const char *from = job->x + (size_t)(outer * job->lanes.count) * job->slice;
    for (int64_t begin = first; begin < last; begin += BLOCK) {
        const uint32_t listed = (uint32_t)(last - begin < BLOCK ? last - begin : BLOCK);
        uint32_t count = 0;
        for (uint32_t k = 0; k < listed; k++) {
            kept[count] = k;
            count += job->condition[begin + k] != 0;
        }
        copy_kept(job->slice, from + (size_t)begin * job->slice, kept, count, to);
        to += count * job->slice;
    }
}

/* An item is an element of the condition for an index of the axes before. */
static tn_status copy_items(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const compress_job *job = user;
    (void)thread;
    while (begin < end) {
        const int64_t outer = begin / job->given, first = begin % job->given;
        const int64_t left = job->given - first, count = left < end - begin ? left : end - begin;
        copy_slices(job, outer, first, first + count);
        begin += count;
    }
    return TN_OK;
}

static tn_status compress_run(tn_call *call) {
    enum { GRAIN_BYTES = 1 << 19, LISTED = 8 }; /* listing one is as much as 8 bytes */
    const tn_tensor *x = call->inputs[COMPRESS_INPUT], *y = call->outputs[0];
    const tn_tensor *condition = call->inputs[COMPRESS_CONDITION];
    uint32_t axis = 0;
    compress_job job = {.x = x->data,
                        .y = y->data,
                        .condition = condition->data,
                        .given = condition->shape[0],
                        .kept = count_true(condition->data, condition->shape[0])};
    TN_TRY(read_lanes(call, &job.lanes, &axis));
    y->shape[axis] = job.kept;
    if (tn_element_count(y) == 0) return TN_OK;
    job.slice = (size_t)job.lanes.inner * tn_element_bytes(x->type);
    /* A part a thread: each counts what is kept before it. */
    const int64_t items = job.lanes.outer * job.given, threads = call->threads;
    const int64_t grain = tn_parallel_grain(GRAIN_BYTES, (int64_t)job.slice + LISTED);
    const int64_t each = (items + threads - 1) / threads;
    return call->host->parallel_for(call, items, grain > each ? grain : each, copy_items, &job);
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
    "axis=0 | input=f32[1000,17] condition=bool[1000]",
    "axis=1 | input=i16[3,700,5] condition=bool[690]",
    "axis=0 | input=f32[1200,64] condition=bool[1200]",
};

TN_OPERATOR(compress, "", "Compress", 9, "Slices along an axis where a condition is true.",
            TN_FIELDS(compress_params, compress_fields), .traits = TN_OPERATOR_SELECTS);

static const tn_kernel compress_slices = {
    TN_KERNEL_BEGIN("cpu", "", "Compress", "slices", 2,
                    "Slices copied on all threads, listed without a branch."),
    .traits = TN_KERNEL_DETERMINISTIC, .run = compress_run};

TN_LAYER(compress, TN_OPERATORS(&compress_9), TN_KERNELS(&compress_slices));
