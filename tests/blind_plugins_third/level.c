/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Level: each row less its mean, over its standard deviation, times `scale`, plus `shift`;
 * either of these may be absent. Asked for, `inverse` is one over the deviations.
 */
#include "third.h"

TN_LAYER_PARAMS(level, float epsilon;);
static const tn_field fields[] = {
    TN_LAYER_F32(level, epsilon, "0.001", 1e-12, 1, "added to the variance")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64|f16", 0, "..., n"),
                                 TN_PORT("scale", "f32", TN_PORT_OPTIONAL, "n"),
                                 TN_PORT("shift", "f32", TN_PORT_OPTIONAL, "n")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x"),
                                  TN_PORT("inverse", "f32", TN_PORT_OPTIONAL, "...")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "x has no last axis");
    const int64_t n = x->shape[x->rank - 1];
    if (!TN_LAYER_FITS(call, 2, n)) return TN_ERROR_SHAPE;
    if (!TN_LAYER_FITS(call, 1, n)) return TN_ERROR_SHAPE;
    if (output_of(call, 1)) tn_layer_set_shape(call, 1, x->rank - 1, x->shape);
    return same_as(call, 0, x);
}

static float epsilon_of(const tn_call *call) {
    const level *p = call->params;
#if MISTAKE == 5
    /* The kernel has a default of its own, which is not the table's. */
    if (!(call->flags & TN_CALL_REFERENCE) && call->user && !(p->present & 1)) return 1e-5f;
#endif
    return p->epsilon;
}
typedef struct moments {
    double mean, inverse;
} moments;
static moments moments_of(const tn_call *call, int64_t row) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        sum += load_number(x, row * n + i);
    const double mean = n ? sum / (double)n : 0;
    for (int64_t i = 0; i < n; i++) {
        const double d = load_number(x, row * n + i) - mean;
        squares += d * d;
    }
    const double variance = n ? squares / (double)n : 0;
    return (moments){mean, 1 / sqrt(variance + (double)epsilon_of(call))};
}
static void level_row(const tn_call *call, int64_t row, moments m) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const float *scale = tn_layer_data(call, 1), *shift = tn_layer_data(call, 2);
    const int64_t n = x->shape[x->rank - 1];
#if MISTAKE == 8
    /* Absent ones at the end may not even be counted: this reads behind the inputs. */
    shift = call->inputs[2] ? call->inputs[2]->data : NULL;
#elif MISTAKE == 9
    /* The row on the stack, however long it is. */
    volatile double kept[n > 0 ? n : 1];
    for (int64_t i = 0; i < n; i++)
        kept[i] = load_number(x, row * n + i);
#endif
    for (int64_t i = 0; i < n; i++) {
        double value = (load_number(x, row * n + i) - m.mean) * m.inverse;
        if (scale) value *= (double)scale[i];
        if (shift) value += (double)shift[i];
        store_float(y, row * n + i, value);
    }
}
static tn_status reference(tn_call *call) {
    const int64_t rows = tn_layer_rows(call->inputs[0]);
    for (int64_t r = 0; r < rows; r++) {
        const moments m = moments_of(call, r);
        level_row(call, r, m);
        if (output_of(call, 1)) ((float *)call->outputs[1]->data)[r] = (float)m.inverse;
    }
    return TN_OK;
}

#if MISTAKE == 1
/* In one pass of 32-bit floats: nothing is left of the variance where the mean is large. */
static moments one_pass(const tn_call *call, int64_t row) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
    float sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        const float value = (float)load_number(x, row * n + i);
        sum += value, squares += value * value;
    }
    const float mean = sum / (float)n, variance = squares / (float)n - mean * mean;
    return (moments){(double)mean, 1 / sqrt((double)fmaxf(variance, 0) + (double)epsilon_of(call))};
}
#endif
#if MISTAKE == 7
static uint16_t half_sum(const tn_call *call, int64_t row) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
    uint16_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum = float_to_half(half_to_float(sum) + (float)load_number(x, row * n + i));
    return sum;
}
#endif
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    for (int64_t r = begin; r < end; r++) {
#if MISTAKE == 1
        const moments m = one_pass(call, r);
#else
        moments m = moments_of(call, r);
#endif
#if MISTAKE == 7
        /* 16-bit floats are summed in 16 bits: long rows stop growing. */
        const tn_tensor *x = call->inputs[0];
        if (x->type == TN_F16)
            m.mean = (double)(half_to_float(half_sum(call, r)) / (float)x->shape[x->rank - 1]);
#endif
#if MISTAKE == 2
        /* Without a scale the row is taken to be plain, shift or no shift. */
        tn_call plain = *call;
        if (!tn_layer_data(call, 1)) plain.input_count = 1;
        level_row(&plain, r, m);
#else
        level_row(call, r, m);
#endif
#if MISTAKE == 3
        ((float *)call->outputs[1]->data)[r] = (float)m.inverse; /* asked for or not */
#else
        if (output_of(call, 1)) ((float *)call->outputs[1]->data)[r] = (float)m.inverse;
#endif
    }
    return TN_OK;
}
#if MISTAKE == 4
/* A buffer in the context for each shape; the one before it is forgotten, not freed. */
static tn_status open(tn_call *call) {
    call->context = calloc(1, sizeof(void *));
    return call->context ? TN_OK : call->host->fail(call, TN_ERROR_MEMORY, "no memory");
}
static void close(tn_call *call) {
    free(*(void **)call->context);
    free(call->context);
}
static tn_status reshape(tn_call *call) {
    void **buffer = call->context;
    *buffer = malloc((size_t)tn_layer_rows(call->inputs[0]) * sizeof(moments) + 64);
    return *buffer ? TN_OK : call->host->fail(call, TN_ERROR_MEMORY, "no memory");
}
#endif
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_rows(call->inputs[0]), 4, body, call);
}

static const char *const cases[] = {
    "| x=f32[4,33]", "epsilon=0.1 | x=f32[2,3,8] scale=f32[8] shift=f32[8] | y=f32[2,3,8]",
    "epsilon=0.01 | x=f16[5,12] scale=f32[12] | y=f16[5,12] inverse=f32[5]",
    "epsilon=0.01 | x=f64[6] shift=f32[6] | y=f64[6] inverse=f32[]", "| x=f32[0,4]"};
static const tn_operator op = {THIRD_OPERATOR("Level"), .state_version = 1,
                               TN_FIELDS(level, fields), .doc = "Rows of mean 0 and variance 1."};
static const char *const combinations[] = {"f32, f32?, f32? -> f32, f32?",
                                           "f16, f32?, f32? -> f16, f32?"};
static char mark; /* the kernel's own calls have it */
static const tn_kernel kernel = {THIRD_KERNEL("Level", "rows"),
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(combinations),
#if MISTAKE == 4
                                 .open = open,
                                 .close = close,
                                 .reshape = reshape,
#endif
                                 .run = run,
                                 .user = &mark};
THIRD_LIBRARY("level", op, &kernel)
