/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fifth::Interleave: the channels of several tensors of one shape in turn: channel c * k + j of y
 * is channel c of the j-th of k tensors. It moves bytes, so that a kernel does every type.
 */
#include <string.h>
#include <tenon/plugin.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

#if MISTAKE == 5
static const tn_port inputs[] = {
    {"x", "f32|i64|u8", "N, C, any extents", TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS, 0, 1, 0}};
static const tn_port outputs[] = {TN_PORT("y", "f32|i64|u8", 0, "N, tensors * C, ...")};
#else
static const tn_port inputs[] = {
    {"x", "T:f32|i64|u8", "N, C, any extents", TN_PORT_VARIADIC, 0, 1, 0}};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "N, tensors * C, the same extents")};
#endif

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    tn_tensor *y = call->outputs[0];
    if (x->rank < 2)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has rank %u, expected N, C, ...", x->rank);
#if MISTAKE == 2
    for (uint32_t k = 1; k < call->input_count; k++)
        if (call->inputs[k]->rank != x->rank)
            return call->host->fail(call, TN_ERROR_SHAPE, "tensor %u has another rank", k);
#else
    for (uint32_t k = 1; k < call->input_count; k++) {
        bool is_same = call->inputs[k]->rank == x->rank;
        for (uint32_t i = 0; is_same && i < x->rank; i++)
            is_same = call->inputs[k]->shape[i] == x->shape[i];
        if (!is_same)
            return call->host->fail(call, TN_ERROR_SHAPE, "tensor %u has another shape", k);
    }
#endif
    y->rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++)
        y->shape[i] = x->shape[i];
    if (__builtin_mul_overflow(x->shape[1], (int64_t)call->input_count, &y->shape[1]))
        return call->host->fail(call, TN_ERROR_MEMORY, "too many channels");
#if MISTAKE == 5
    y->type = x->type;
#endif
    return TN_OK;
}

static uint64_t plane_bytes(const tn_tensor *x) {
    uint64_t plane = x->type == TN_I64 ? 8 : x->type == TN_F32 ? 4 : 1;
    for (uint32_t i = 2; i < x->rank; i++)
        plane *= (uint64_t)x->shape[i];
    return plane;
}

/* Channels of y, of all images, begin..end-1. */
static void move_planes(const tn_call *call, int64_t begin, int64_t end) {
    const tn_tensor *x = call->inputs[0];
    const uint64_t plane = plane_bytes(x);
    const int64_t tensors = call->input_count;
    for (int64_t item = begin; item < end; item++) {
        const char *from = (const char *)call->inputs[item % tensors]->data;
        memcpy((char *)call->outputs[0]->data + (uint64_t)item * plane,
               from + (uint64_t)(item / tensors) * plane, plane);
    }
}
static int64_t items_of(const tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    return y->bytes ? y->shape[0] * y->shape[1] : 0;
}

static tn_status reference(tn_call *call) {
    move_planes(call, 0, items_of(call));
    return TN_OK;
}

/* Items are channels of the first tensor: from each of them one plane goes to y. */
static tn_status move(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    (void)thread;
#if MISTAKE == 50 /* as the reference, and any number of tensors */
    move_planes(call, begin * call->input_count, end * call->input_count);
#else
#if MISTAKE == 1
    const char *from[4];
#else
    const char *from[32]; /* see accepts */
#endif
    const uint64_t plane = plane_bytes(call->inputs[0]);
    const uint64_t tensors = call->input_count;
    char *to = call->outputs[0]->data;
    for (uint64_t k = 0; k < tensors; k++)
        from[k] = call->inputs[k]->data;
    for (int64_t item = begin; item < end; item++)
        for (uint64_t k = 0; k < tensors; k++) {
#if MISTAKE == 3
            const uint64_t channels = (uint64_t)call->inputs[0]->shape[1];
            const uint64_t image = (uint64_t)item / channels, c = (uint64_t)item % channels;
            const uint64_t at = image * channels + c * tensors + k;
#else
            const uint64_t at = (uint64_t)item * tensors + k;
#endif
#if MISTAKE == 4
            float *wide = (float *)to + at * plane / 4;
            const float *source = (const float *)from[k] + (uint64_t)item * plane / 4;
            for (uint64_t i = 0; i < plane / 4; i++)
                wide[i] = source[i];
#else
            memcpy(to + at * plane, from[k] + (uint64_t)item * plane, plane);
#endif
        }
#endif
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, items_of(call) / call->input_count, 8, move, call);
}
static tn_status accepts(tn_call *call) {
#if MISTAKE == 1 || MISTAKE == 50
    (void)call;
    return TN_OK;
#else
    return call->input_count <= 32 ? TN_OK : TN_ERROR_UNSUPPORTED;
#endif
}

static const char *const cases[] = {"| x=f32[2,3,4] x=f32[2,3,4]", "| x=u8[1,4,3,5]",
                                    "| x=i64[2,2] x=i64[2,2] x=i64[2,2]",
                                    "| x=f32[1,2]{1,2} x=f32[1,2]{3,4} | y=f32[1,4]{1,3,2,4}"};
static const tn_operator interleave = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .traits = TN_OPERATOR_SELECTS,
    .domain = "Fifth",
    .name = "Interleave",
    .doc = "The channels of several tensors in turn.",
    TN_NO_FIELDS,
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
    TN_CASES(cases),
};
static const char *const combinations[] = {"f32... -> f32", "i64... -> i64", "u8... -> u8"};
static const tn_kernel interleave_cpu = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "Fifth",
    .op = "Interleave",
    .device = "cpu",
    .name = "planes",
    .traits = TN_KERNEL_DETERMINISTIC,
    TN_COMBINATIONS(combinations),
    .accepts = accepts,
    .run = run,
};

static const tn_operator *const operators[] = {&interleave};
static const tn_kernel *const kernels[] = {&interleave_cpu};
TN_LIBRARY("interleave", "1.0", operators, kernels)
