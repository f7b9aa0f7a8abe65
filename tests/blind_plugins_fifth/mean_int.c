/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fifth::IntegerMean: means of integers along axes, rounded to the nearest integer, halves away
 * from 0. Without axes: of all elements. The mean of nothing is 0. Sums are taken in 128 bits,
 * which is more than any sum of 64-bit integers needs.
 */
#include <tenon/plugin.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

typedef struct integer_mean {
    uint64_t present;
    tn_i64s axes;
    bool keepdims;
} integer_mean;
__extension__ typedef __int128 wide;

static const tn_field fields[] = {
    TN_FIELD_LIST(integer_mean, axes, TN_FIELD_I64S, TN_OPTIONAL, NULL, 0, TN_MAX_RANK, -8, 7,
                  "along which; none: all; from the end if negative"),
    TN_FIELD(integer_mean, keepdims, TN_FIELD_BOOL, TN_OPTIONAL, "true", "they stay, of extent 1"),
};
static const tn_port inputs[] = {TN_PORT("x", "T:u8|i32|i64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "without the axes, or with 1 instead")};

/* Bit i: axis i is taken the mean of; all ones where a field is out of range. */
static uint32_t axes_of(const tn_call *call) {
    const integer_mean *p = call->params;
    const int64_t rank = call->inputs[0]->rank;
    uint32_t bits = p->axes.count ? 0 : (1u << rank) - 1;
    for (uint64_t i = 0; i < p->axes.count; i++) {
        const int64_t axis = p->axes.items[i] < 0 ? p->axes.items[i] + rank : p->axes.items[i];
        if (axis < 0 || axis >= rank) return UINT32_MAX;
        bits |= 1u << axis;
    }
    return bits;
}

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    tn_tensor *y = call->outputs[0];
    const uint32_t bits = axes_of(call);
    if (bits == UINT32_MAX)
        return call->host->fail(call, TN_ERROR_RANGE, "an axis is not one of %u", x->rank);
    y->rank = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (!(bits >> i & 1))
            y->shape[y->rank++] = x->shape[i];
        else if (((const integer_mean *)call->params)->keepdims)
            y->shape[y->rank++] = 1;
    }
    return TN_OK;
}

static wide load(const tn_tensor *x, int64_t i) {
    return x->type == TN_I64   ? ((const int64_t *)x->data)[i]
           : x->type == TN_I32 ? ((const int32_t *)x->data)[i]
                               : ((const uint8_t *)x->data)[i];
}
static void store(const tn_tensor *y, int64_t i, wide value) {
    if (y->type == TN_I64)
        ((int64_t *)y->data)[i] = (int64_t)value;
    else if (y->type == TN_I32)
        ((int32_t *)y->data)[i] = (int32_t)value;
    else
        ((uint8_t *)y->data)[i] = (uint8_t)value;
}
static wide divide(wide sum, int64_t count) {
    if (count == 0) return 0;
    return sum < 0 ? (sum - count / 2) / count : (sum + count / 2) / count;
}

/* The axes, those that stay and those that go, each in the order in which they lie. */
typedef struct loops {
    int64_t stays, goes; /* products of extents */
    int64_t extent[2][TN_MAX_RANK], step[2][TN_MAX_RANK];
    int count[2];
} loops;
static loops find_loops(const tn_tensor *x, uint32_t bits) {
    loops w = {.stays = 1, .goes = 1};
    uint64_t product[2] = {1, 1}, step = 1;
    bool is_empty[2] = {false, false};
    for (uint32_t i = x->rank; i-- > 0;) {
        const int kind = bits >> i & 1;
        w.extent[kind][w.count[kind]] = x->shape[i];
        w.step[kind][w.count[kind]++] = (int64_t)step;
        step *= (uint64_t)x->shape[i];
        product[kind] *= (uint64_t)x->shape[i];
        is_empty[kind] |= x->shape[i] == 0;
    }
    w.stays = is_empty[0] ? 0 : (int64_t)product[0];
    w.goes = is_empty[1] ? 0 : (int64_t)product[1];
    return w;
}
static int64_t offset(const loops *w, int kind, int64_t i) {
    int64_t at = 0;
    for (int k = 0; k < w->count[kind]; i /= w->extent[kind][k++])
        at += i % w->extent[kind][k] * w->step[kind][k];
    return at;
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const loops w = find_loops(x, axes_of(call));
    for (int64_t i = 0; i < w.stays; i++) {
        wide sum = 0;
        for (int64_t k = 0; x->bytes && k < w.goes; k++)
            sum += load(x, offset(&w, 0, i) + offset(&w, 1, k));
        store(call->outputs[0], i, divide(sum, w.goes));
    }
    return TN_OK;
}

/* Items are elements of y. */
static tn_status sum_up(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *x = call->inputs[0];
    const integer_mean *p = call->params;
#if MISTAKE == 3
    uint32_t bits = p->axes.count ? 0 : (1u << x->rank) - 1;
    for (uint64_t i = 0; i < p->axes.count; i++)
        if (p->axes.items[i] >= 0) bits |= 1u << p->axes.items[i];
    const loops w = find_loops(x, bits);
#elif MISTAKE == 4
    const loops w = find_loops(x, p->axes.count ? axes_of(call) : 0);
    end = p->axes.count ? end : w.stays;
#else
    const loops w = find_loops(x, axes_of(call));
#endif
    (void)thread, (void)p;
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = offset(&w, 0, i);
#if MISTAKE == 1
        int32_t sum = 0;
        if (x->type == TN_I64) {
            wide all = 0;
            for (int64_t k = 0; k < w.goes; k++)
                all += load(x, first + offset(&w, 1, k));
            store(call->outputs[0], i, divide(all, w.goes));
            continue;
        }
        for (int64_t k = 0; k < w.goes; k++)
            sum = (int32_t)((uint32_t)sum + (uint32_t)load(x, first + offset(&w, 1, k)));
#else
        wide sum = 0;
        for (int64_t k = 0; k < w.goes; k++)
            sum += load(x, first + offset(&w, 1, k));
#endif
#if MISTAKE == 2
        store(call->outputs[0], i, w.goes ? (sum + w.goes / 2) / w.goes : 0);
#elif MISTAKE == 5
        store(call->outputs[0], i, (sum + (sum < 0 ? -w.goes : w.goes) / 2) / w.goes);
#else
        store(call->outputs[0], i, divide(sum, w.goes));
#endif
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const loops w = find_loops(call->inputs[0], axes_of(call));
    return call->host->parallel_for(call, w.stays, 16, sum_up, call);
}

static const char *const cases[] = {
    "axes=[1] | x=i32[2,4,3]", "axes=[-1] keepdims=false | x=i32[2,2]{1,2,-1,-2} | y=i32[2]{2,-2}",
    "axes=[0,2] | x=u8[3,5,7]", "| x=i64[2,3]{1,2,3,4,5,6} | y=i64[1,1]{4}"};
static const tn_operator mean_operator = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .domain = "Fifth",
    .name = "IntegerMean",
    .doc = "Means of integers along axes.",
    TN_FIELDS(integer_mean, fields),
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
    TN_CASES(cases),
};
static const char *const combinations[] = {"u8|i32|i64 -> u8|i32|i64"};
#if MISTAKE == 50 /* axes that go at the end alone, so that a row of x is an element of y */
static tn_status accepts(tn_call *call) {
    const uint32_t bits = axes_of(call), rank = call->inputs[0]->rank;
    uint32_t first = rank;
    while (first > 0 && bits >> (first - 1) & 1)
        first--;
    return bits == ((1u << rank) - (1u << first)) ? TN_OK : TN_ERROR_UNSUPPORTED;
}
#endif
static const tn_kernel mean_cpu = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "Fifth",
    .op = "IntegerMean",
    .device = "cpu",
    .name = "elements",
    .traits = TN_KERNEL_DETERMINISTIC,
    TN_COMBINATIONS(combinations),
#if MISTAKE == 50
    .accepts = accepts,
#endif
    .run = run,
};
static const tn_operator *const operators[] = {&mean_operator};
static const tn_kernel *const kernels[] = {&mean_cpu};
TN_LIBRARY("mean_int", "1.0", operators, kernels)
