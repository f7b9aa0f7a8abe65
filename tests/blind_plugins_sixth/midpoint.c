/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lab::Midpoint: y = (a + b) / 2 of two tensors, broadcast with each other as ONNX does it; of
 * integers rounded down. The sum of two integers may lie outside their type, the mean never does.
 */
#include <math.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

static const tn_port inputs[] = {TN_PORT("a", "T:f32|i32|u8", 0, "any shape"),
                                 TN_PORT("b", "T", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "the shapes broadcast")};

/* The extent of axis i of `rank` axes, 1 where the tensor has fewer. */
static int64_t extent(const tn_tensor *t, uint32_t rank, uint32_t i) {
    return i + t->rank < rank ? 1 : t->shape[i + t->rank - rank];
}

static tn_status infer(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    const uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
    call->outputs[0]->rank = rank;
    for (uint32_t i = 0; i < rank; i++) {
        const int64_t m = extent(a, rank, i), n = extent(b, rank, i);
        if (m != n && m != 1 && n != 1)
            return call->host->fail(call, TN_ERROR_SHAPE, "axis %u: %lld does not go with %lld", i,
                                    (long long)m, (long long)n);
#if MISTAKE == 1
        call->outputs[0]->shape[i] = m > n ? m : n; /* an empty axis is none of the two */
#else
        call->outputs[0]->shape[i] = m == 1 ? n : m;
#endif
    }
    return TN_OK;
}

/* The element of `t` that is at position `i` of the output. */
static int64_t position(const tn_tensor *t, const tn_tensor *y, int64_t i) {
    int64_t at = 0, step = 1;
    for (uint32_t k = y->rank; k-- > 0; i /= y->shape[k]) {
        const int64_t n = extent(t, y->rank, k);
        if (n > 1) at += i % y->shape[k] * step;
        step *= n;
    }
    return at;
}

static int64_t half(int64_t sum) {
    return sum >= 0 ? sum / 2 : -((1 - sum) / 2);
}
static tn_status reference(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1], *y = call->outputs[0];
    for (int64_t i = 0; i < tn_layer_count(y); i++) {
        const int64_t k = position(a, y, i), l = position(b, y, i);
        if (y->type == TN_F32)
            ((float *)y->data)[i] = (float)((tn_layer_load(a, k) + tn_layer_load(b, l)) / 2);
        else if (y->type == TN_I32)
            ((int32_t *)y->data)[i] =
                (int32_t)half((int64_t)((int32_t *)a->data)[k] + ((int32_t *)b->data)[l]);
        else
            ((uint8_t *)y->data)[i] =
                (uint8_t)((((uint8_t *)a->data)[k] + ((uint8_t *)b->data)[l]) / 2);
    }
    return TN_OK;
}

/* Items are rows: along the last axis each input goes on by 1 or by 0. */
static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1], *y = call->outputs[0];
    const int64_t n = y->rank ? y->shape[y->rank - 1] : 1;
    const int64_t s = y->rank && extent(a, y->rank, y->rank - 1) > 1;
#if MISTAKE == 2
    const int64_t t = b->rank > 0;
#else
    const int64_t t = y->rank && extent(b, y->rank, y->rank - 1) > 1;
#endif
    (void)thread;
    for (int64_t r = begin; r < end && n > 0; r++) {
        const int64_t k = position(a, y, r * n), l = position(b, y, r * n);
        if (y->type == TN_F32) {
            const float *p = (const float *)a->data + k, *q = (const float *)b->data + l;
            for (int64_t j = 0; j < n; j++)
                ((float *)y->data)[r * n + j] = p[j * s] * 0.5f + q[j * t] * 0.5f;
        } else if (y->type == TN_I32) {
            const int32_t *p = (const int32_t *)a->data + k, *q = (const int32_t *)b->data + l;
            for (int64_t j = 0; j < n; j++) {
                const int32_t u = p[j * s], v = q[j * t];
#if MISTAKE == 3
                const int32_t mean = (int32_t)((uint32_t)u + (uint32_t)v) >> 1;
#elif MISTAKE == 4
                const int32_t mean = (int32_t)(((int64_t)u + v) / 2);
#elif MISTAKE == 50
                const int32_t mean = (u & v) + ((u ^ v) >> 1);
#else
                const int32_t mean = (int32_t)(((int64_t)u + v) >> 1);
#endif
                ((int32_t *)y->data)[r * n + j] = mean;
            }
        } else {
            const uint8_t *p = (const uint8_t *)a->data + k, *q = (const uint8_t *)b->data + l;
            for (int64_t j = 0; j < n; j++)
                ((uint8_t *)y->data)[r * n + j] = (uint8_t)((p[j * s] + q[j * t]) / 2);
        }
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, tn_layer_rows(call->outputs[0]), 8)

static const char *const cases[] = {
    "| a=i32[4]{1,-3,7,2147483647} b=i32[4]{2,0,8,2147483645} | y=i32[4]{1,-2,7,2147483646}",
    "| a=f32[2,3,4] b=f32[3,1]", "| a=u8[5,1,6] b=u8[1,7,6]", "| a=f32[] b=f32[9]",
    "| a=f32[2,1] b=f32[2,0] | y=f32[2,0]"};
static const tn_operator midpoint_operator = {.size = sizeof(tn_operator),
                                              .since_version = 1,
                                              .state_version = 1,
                                              .traits =
                                                  TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_COMMUTATIVE,
                                              .domain = "Lab",
                                              .name = "Midpoint",
                                              .doc = "Means of two tensors.",
                                              TN_NO_FIELDS,
                                              TN_INPUTS(inputs),
                                              TN_OUTPUTS(outputs),
                                              .infer = infer,
                                              .reference = reference,
                                              TN_CASES(cases)};
static const tn_kernel rows_kernel = {.size = sizeof(tn_kernel),
                                      .revision = 1,
                                      .domain = "Lab",
                                      .op = "Midpoint",
                                      .device = "cpu",
                                      .name = "rows",
                                      .traits = TN_KERNEL_DETERMINISTIC,
                                      .run = run};
static const tn_operator *const operators[] = {&midpoint_operator};
static const tn_kernel *const kernels[] = {&rows_kernel};
TN_LIBRARY("midpoint", "1.0", operators, kernels)
