/* SPDX-License-Identifier: Apache-2.0 */
/* Blind::Blend: y = a + (b - a) * weight, both inputs broadcast to each other as ONNX does. */
#include "blind.h"

TN_LAYER_PARAMS(blend, float weight;);
static const tn_field fields[] = {TN_LAYER_F32(blend, weight, "0.25", -8, 8, "of b")};
static const tn_port inputs[] = {TN_PORT("a", "T:f32|f64", 0, "any shape"),
                                 TN_PORT("b", "T", 0, "broadcasts with a")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "both")};

static tn_status infer(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    const uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
    int64_t shape[TN_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) {
        const int64_t p = i + a->rank >= rank ? a->shape[i + a->rank - rank] : 1;
        const int64_t q = i + b->rank >= rank ? b->shape[i + b->rank - rank] : 1;
        shape[i] = p == 1 ? q : p;
        if (IS(5)) shape[i] = p > q ? p : q; /* 0 and 1 make 1 */
        if (IS(6)) {                         /* extents that do not fit are let through */
            shape[i] = p == 1 ? q : q == 1 ? p : p > q ? p : q;
            continue;
        }
        if (p != q && p != 1 && q != 1)
            return call->host->fail(call, TN_ERROR_SHAPE, "axis %u is %lld and %lld", i,
                                    (long long)p, (long long)q);
    }
    return tn_layer_set_shape(call, 0, rank, shape);
}

/* Where element `i` of y is in t. */
static int64_t offset(const tn_tensor *y, const tn_tensor *t, int64_t i) {
    int64_t at = 0, stride = 1;
    for (uint32_t k = 0; k < y->rank && k < t->rank; k++) {
        const int64_t extent = t->shape[t->rank - 1 - k], out = y->shape[y->rank - 1 - k];
        if (extent > 1) at += i % out * stride;
        stride *= extent;
        i /= out;
    }
    return at;
}

static tn_status reference(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1], *y = call->outputs[0];
    const double weight = (double)((const blend *)call->params)->weight;
    for (int64_t i = 0; i < count_of(y); i++) {
        const double p = get(a, offset(y, a, i)), q = get(b, offset(y, b, i));
        set(y, i, p + (q - p) * weight);
    }
    return TN_OK;
}

/* The kernel's own offsets, of at most four axes in mistake 4. */
static int64_t kernel_offset(const tn_tensor *y, const tn_tensor *t, int64_t i) {
    const int64_t count = count_of(t);
    if (IS(1)) return count ? i % count : 0; /* t is the last axes of y, it is thought */
    if (IS(3) && t->rank == y->rank && t->rank > 1 && count < count_of(y) && t->shape[0] > 1)
        return i / (count_of(y) / t->shape[0]) * (count / t->shape[0]); /* rows alone are spread */
    if (IS(4) && t->rank > 4) {
        tn_tensor last = *t, out = *y;
        int64_t whole = product(y, y->rank - 4, y->rank);
        last.rank = out.rank = 4;
        last.shape = t->shape + t->rank - 4;
        out.shape = y->shape + y->rank - 4;
        return count == count_of(y) ? i : offset(&out, &last, i % whole);
    }
    if (IS(7)) { /* strides of the output in place of the input's, where axes before count */
        int64_t at = 0, stride = 1;
        for (uint32_t k = 0; k < y->rank && k < t->rank; k++) {
            const int64_t out = y->shape[y->rank - 1 - k];
            if (t->shape[t->rank - 1 - k] > 1) at += i % out * stride;
            stride *= k ? out : t->shape[t->rank - 1];
            i /= out;
        }
        return at < count ? at : count - 1;
    }
    return offset(y, t, i);
}

static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1], *y = call->outputs[0];
    const float weight = ((const blend *)call->params)->weight;
    const float *from_a = a->data, *from_b = b->data;
    const bool is_plain = count_of(a) == count_of(y);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const double p = (double)from_a[is_plain ? i : kernel_offset(y, a, i)];
        const double q = (double)from_b[kernel_offset(y, b, i)];
        ((float *)y->data)[i] = (float)(p + (q - p) * (double)weight);
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    /* mistake 2: as many as a has, which is not all where a is the one that is broadcast */
    const tn_tensor *t = IS(2) ? call->inputs[0] : call->outputs[0];
    return call->host->parallel_for(call, count_of(t), 256, body, call);
}

#if MISTAKE == 7
static const char *const cases[] = {"| a=f32[2,3,4] b=f32[2,3,4]", "| a=f32[2,5] b=f32[5]",
                                    "| a=f32[4] b=f32[]", "weight=2 | a=f32[3,4] b=f32[1,4]"};
#elif MISTAKE == 3
static const char *const cases[] = {"| a=f32[2,3,4] b=f32[2,3,4]", "| a=f32[2,5] b=f32[2,1]",
                                    "| a=f32[4] b=f32[]", "weight=2 | a=f32[2,3,4] b=f32[2,1,1]"};
#else
static const char *const cases[] = {"| a=f32[2,3,4] b=f32[2,3,4]", "| a=f32[2,3,5] b=f32[5]",
                                    "| a=f32[4] b=f32[]", "weight=2 | a=f64[3,4] b=f64[1,4]"};
#endif
static const char *const combinations[] = {"f32, f32 -> f32"};
BLIND_OPERATOR("Blend", "A weighted mean.", blend, .traits = TN_OPERATOR_ELEMENTWISE)
#if MISTAKE == 50
#define TRAITS TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE
#else
#define TRAITS TN_KERNEL_DETERMINISTIC
#endif
BLIND_KERNEL("Blend", .traits = TRAITS)
BLIND_LIBRARY("blind_broadcast")
