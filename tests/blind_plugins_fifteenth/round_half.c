/* SPDX-License-Identifier: Apache-2.0 */
/* The mean of two integers, rounded down, with broadcasting. */
#include "fifteenth.h"

static const tn_port inputs[] = {TN_PORT("a", "T:u8|i8|i32|i64|u64", 0, "any shape"),
                                 TN_PORT("b", "T", 0, "broadcast with a")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "")};

static tn_status infer(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    const uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
    int64_t shape[TN_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) {
        const int64_t of_a = i + a->rank < rank ? 1 : a->shape[i + a->rank - rank];
        const int64_t of_b = i + b->rank < rank ? 1 : b->shape[i + b->rank - rank];
        if (of_a != of_b && of_a != 1 && of_b != 1)
            return call->host->fail(call, TN_ERROR_SHAPE, "extents %lld and %lld", (long long)of_a,
                                    (long long)of_b);
        shape[i] = WRONG(5) ? (of_a > of_b ? of_a : of_b) : of_a == 1 ? of_b : of_a;
    }
    return tn_layer_set_shape(call, 0, rank, shape);
}

/* Where element i of the output lies in an input. */
static int64_t place(const tn_tensor *y, const tn_tensor *x, int64_t i) {
    int64_t at = 0, stride = 1;
    for (uint32_t k = 0; k < y->rank; k++) {
        const int64_t n = y->shape[y->rank - 1 - k], index = i % n;
        i /= n;
        if (k >= x->rank) continue;
        const int64_t of_x = x->shape[x->rank - 1 - k];
        at += of_x == 1 ? 0 : index * stride;
        stride *= of_x;
    }
    return at;
}

static int64_t floor_half(__int128 sum) {
    return (int64_t)(sum >> 1);
}

static tn_status compute(tn_call *call, bool is_kernel) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1], *y = call->outputs[0];
    const bool is_same = tn_layer_count(a) == tn_layer_count(b);
    for (int64_t i = 0; i < tn_layer_count(y); i++) {
        int64_t p = place(y, a, i), q = place(y, b, i);
        if (is_kernel && WRONG(6) && is_same) p = q = i;
        switch (y->type) {
        case TN_U8:
            ((uint8_t *)y->data)[i] =
                is_kernel && WRONG(1)
                    ? (uint8_t)(((const uint8_t *)a->data)[p] + ((const uint8_t *)b->data)[q]) >> 1
                    : (((const uint8_t *)a->data)[p] + ((const uint8_t *)b->data)[q]) >> 1;
            break;
        case TN_I8: {
            const int sum = ((const int8_t *)a->data)[p] + ((const int8_t *)b->data)[q];
            ((int8_t *)y->data)[i] = (int8_t)(is_kernel && WRONG(2) ? sum / 2 : sum >> 1);
            break;
        }
        case TN_I32: {
            const int32_t u = ((const int32_t *)a->data)[p], v = ((const int32_t *)b->data)[q];
            ((int32_t *)y->data)[i] = is_kernel && WRONG(3)
                                          ? (int32_t)((uint32_t)u + (uint32_t)v) >> 1
                                          : (int32_t)(((int64_t)u + v) >> 1);
            break;
        }
        case TN_I64: {
            const int64_t u = ((const int64_t *)a->data)[p], v = ((const int64_t *)b->data)[q];
            ((int64_t *)y->data)[i] = floor_half((__int128)u + v);
            break;
        }
        default: {
            const uint64_t u = ((const uint64_t *)a->data)[p], v = ((const uint64_t *)b->data)[q];
            ((uint64_t *)y->data)[i] = is_kernel && WRONG(4)
                                           ? (uint64_t)floor(((double)u + (double)v) / 2)
                                           : (u & v) + ((u ^ v) >> 1);
        }
        }
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return compute(call, false);
}
static tn_status run(tn_call *call) {
    return compute(call, true);
}

static const char *const cases[] = {"| a=i32[2,3] b=i32[2,3]", "| a=u8[4,1,3] b=u8[2,1]",
                                    "| a=u64[5] b=u64[]", "| a=i8[3,1] b=i8[1,4]",
                                    "| a=i64[2,2] b=i64[2,2]"};
static const tn_operator round_half = {OPERATOR,
                                       .name = "HalfWay",
                                       .traits = TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_COMMUTATIVE,
                                       TN_NO_FIELDS,
                                       TN_INPUTS(inputs),
                                       TN_OUTPUTS(outputs),
                                       .infer = infer,
                                       .reference = reference,
                                       TN_CASES(cases)};
static const tn_kernel kernel = {KERNEL, .op = "HalfWay", .name = "plain",
                                 .traits = TN_KERNEL_DETERMINISTIC, .run = run};
LIBRARY("round_half", round_half, kernel)
