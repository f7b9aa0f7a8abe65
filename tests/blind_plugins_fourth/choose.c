/* SPDX-License-Identifier: Apache-2.0 */
/* Choose: where a condition holds the one, elsewhere the other, broadcast with each other. */
#include "fourth.h"

static const tn_port inputs[] = {TN_PORT("condition", "bool", 0, "any shape"),
                                 TN_PORT("one", "T:f32|f64|i64|i32|u8", 0, "any shape"),
                                 TN_PORT("other", "T", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "all three broadcast")};

static tn_status infer(tn_call *call) {
    tn_tensor *y = call->outputs[0];
    y->rank = 0;
    for (uint32_t i = 0; i < 3; i++)
        if (call->inputs[i]->rank > y->rank) y->rank = call->inputs[i]->rank;
    for (uint32_t axis = 0; axis < y->rank; axis++) {
        y->shape[axis] = 1;
        for (uint32_t i = 0; i < 3; i++) {
            const tn_tensor *in = call->inputs[i];
            const int64_t at = (int64_t)axis - y->rank + in->rank;
            if (at < 0 || in->shape[at] == 1) continue;
            if (y->shape[axis] != 1 && y->shape[axis] != in->shape[at])
                return call->host->fail(call, TN_ERROR_SHAPE, "%lld and %lld along axis %u",
                                        (long long)y->shape[axis], (long long)in->shape[at], axis);
            y->shape[axis] = in->shape[at];
        }
    }
    return TN_OK;
}

/* The position in `in` of element `i` of `y`. */
static int64_t position(const tn_tensor *in, const tn_tensor *y, int64_t i) {
    int64_t at = 0, step = 1;
    for (uint32_t k = 0; k < in->rank; k++) {
        const int64_t extent = y->shape[y->rank - 1 - k], own = in->shape[in->rank - 1 - k];
        if (own != 1) at += i % extent * step;
        step *= own;
        i /= extent;
    }
    return at;
}
static tn_status reference(tn_call *call) {
    tn_tensor *y = call->outputs[0];
    const size_t size = fourth_bytes(y->type);
    for (int64_t i = 0; i < tn_layer_count(y); i++) {
        const int64_t c = position(call->inputs[0], y, i);
        const tn_tensor *from = call->inputs[((const uint8_t *)call->inputs[0]->data)[c] ? 1 : 2];
        memcpy((char *)y->data + (size_t)i * size,
               (const char *)from->data + (size_t)position(from, y, i) * size, size);
    }
    return TN_OK;
}

/* The kernel's: strides along the axes of y, 0 where broadcast. */
typedef struct loops {
    int64_t strides[3][TN_MAX_RANK];
} loops;
static loops make_loops(const tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    loops w = {0};
    for (uint32_t i = 0; i < 3; i++) {
        const tn_tensor *in = call->inputs[i];
        int64_t step = 1;
        for (uint32_t k = 0; k < in->rank; k++) {
            const uint32_t own = in->rank - 1 - k;
#if MISTAKE == 1
            const uint32_t axis = own; /* MISTAKE: shapes meet at their ends */
#else
            const uint32_t axis = y->rank - 1 - k;
#endif
#if MISTAKE == 2
            /* MISTAKE: only the first of two tensors is broadcast */
            w.strides[i][axis] = in->shape[own] == 1 && i == 0 ? 0 : step;
#else
            w.strides[i][axis] = in->shape[own] == 1 ? 0 : step;
#endif
            step *= in->shape[own];
        }
    }
    return w;
}
static tn_status items(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    tn_tensor *y = call->outputs[0];
    const loops w = make_loops(call);
    const size_t size = fourth_bytes(y->type);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        int64_t at[3] = {0}, rest = i;
        for (uint32_t k = y->rank; k-- > 0; rest /= y->shape[k])
            for (uint32_t n = 0; n < 3; n++)
                at[n] += rest % y->shape[k] * w.strides[n][k];
        const bool is_one = ((const uint8_t *)call->inputs[0]->data)[at[0]] != 0;
        const tn_tensor *from = call->inputs[is_one ? 1 : 2];
#if MISTAKE == 3
        /* MISTAKE: 64-bit integers lose their low bits in between */
        const double value = tn_layer_load(from, at[is_one ? 1 : 2]);
        switch (y->type) {
        case TN_I64:
            ((int64_t *)y->data)[i] = value >= 0x1p63 ? INT64_MAX : (int64_t)value;
            break;
        case TN_I32:
            ((int32_t *)y->data)[i] = (int32_t)value;
            break;
        case TN_U8:
            ((uint8_t *)y->data)[i] = (uint8_t)value;
            break;
        default:
            tn_layer_store(y, i, value);
        }
#elif MISTAKE == 4
        /* MISTAKE: y = condition * one + (1 - condition) * other, and 0 * infinity */
        if (y->type == TN_F32) {
            const float c = is_one, one = ((const float *)call->inputs[1]->data)[at[1]];
            ((float *)y->data)[i] =
                c * one + (1 - c) * ((const float *)call->inputs[2]->data)[at[2]];
        } else {
            memcpy((char *)y->data + (size_t)i * size,
                   (const char *)from->data + (size_t)at[is_one ? 1 : 2] * size, size);
        }
#else
        memcpy((char *)y->data + (size_t)i * size,
               (const char *)from->data + (size_t)at[is_one ? 1 : 2] * size, size);
#endif
    }
    return TN_OK;
}
TN_LAYER_RUN(items, tn_layer_count(call->outputs[0]), 256)

static const char *const cases[] = {
    "| condition=bool[2,3] one=f32[2,3] other=f32[2,3]",
    "| condition=bool[4,1] one=f32[5] other=f32[]",
    "| condition=bool[3] one=i64[2,3] other=i64[2,1]",
    "| condition=bool[2]{1,0} one=u8[2]{7,8} other=u8[2]{1,2} | y=u8[2]{7,2}",
};
FOURTH_OPERATOR("Choose", "The one where a condition holds, else the other.", .state_version = 1,
                TN_NO_FIELDS)
FOURTH_KERNEL(the_kernel, "Choose", "items", .traits = TN_KERNEL_DETERMINISTIC, .run = run)
static const tn_kernel *const kernels[] = {&the_kernel};
TN_LIBRARY("choose", "1.0", operators, kernels)
