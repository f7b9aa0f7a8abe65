/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fifth::Blend: y = a + weight * (b - a), a and b broadcast with each other as ONNX does: aligned
 * at their last axes, an extent of 1 is repeated.
 */
#include <tenon/plugin.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

typedef struct blend {
    uint64_t present;
    float weight;
} blend;

static const tn_field fields[] = {
    TN_FIELD_RANGE(blend, weight, TN_FIELD_F32, TN_OPTIONAL, "0.5", -4, 4, "how much of b"),
};
static const tn_port inputs[] = {TN_PORT("a", "T:f32|f64", 0, "any shape"),
                                 TN_PORT("b", "T", 0, "any that is broadcast with a")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "both, broadcast")};

/* The extent of a tensor along axis `i` of a result of rank `rank`. */
static int64_t extent(const tn_tensor *x, uint32_t rank, uint32_t i) {
    return i + x->rank < rank ? 1 : x->shape[i + x->rank - rank];
}

static tn_status infer(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    tn_tensor *y = call->outputs[0];
    y->rank = a->rank > b->rank ? a->rank : b->rank;
    for (uint32_t i = 0; i < y->rank; i++) {
        const int64_t of_a = extent(a, y->rank, i), of_b = extent(b, y->rank, i);
        if (of_a != of_b && of_a != 1 && of_b != 1)
            return call->host->fail(call, TN_ERROR_SHAPE, "extents %lld and %lld on axis %u",
                                    (long long)of_a, (long long)of_b, i);
#if MISTAKE == 2
        y->shape[i] = of_a > of_b ? of_a : of_b;
#else
        y->shape[i] = of_a == 1 ? of_b : of_a;
#endif
    }
    return TN_OK;
}

#if MISTAKE == 4
enum { AXES = 4 };
#else
enum { AXES = TN_MAX_RANK };
#endif
/* How far an element of an input lies behind the one before, along each axis of the result. */
typedef struct steps {
    int64_t of[2][AXES];
} steps;
static steps find_steps(const tn_call *call) {
    const uint32_t rank = call->outputs[0]->rank;
    steps found;
    for (int k = 0; k < 2; k++) {
        uint64_t step = 1;
        for (uint32_t i = rank; i-- > 0;) {
            const int64_t here = extent(call->inputs[k], rank, i);
            found.of[k][i] = here == 1 ? 0 : (int64_t)step;
            step *= (uint64_t)here;
        }
    }
    return found;
}
/* Where the element of input `k` lies that counts for element `i` of the result. */
static int64_t find(const tn_call *call, const steps *s, int k, int64_t i) {
    const tn_tensor *y = call->outputs[0];
    int64_t at = 0;
    for (uint32_t axis = y->rank; axis-- > 0; i /= y->shape[axis])
        at += i % y->shape[axis] * s->of[k][axis];
    return at;
}

static double load(const tn_tensor *x, int64_t i) {
    return x->type == TN_F64 ? ((const double *)x->data)[i] : (double)((const float *)x->data)[i];
}
static int64_t count_of(const tn_tensor *y) {
    uint64_t count = 1;
    for (uint32_t i = 0; i < y->rank; i++)
        count *= (uint64_t)y->shape[i];
    return (int64_t)count;
}
static tn_status reference(tn_call *call) {
    const double weight = (double)((const blend *)call->params)->weight;
    const tn_tensor *y = call->outputs[0];
    const steps s = find_steps(call);
    for (int64_t i = 0; i < count_of(y); i++) {
        const double a = load(call->inputs[0], find(call, &s, 0, i));
        const double value = a + weight * (load(call->inputs[1], find(call, &s, 1, i)) - a);
        if (y->type == TN_F64)
            ((double *)y->data)[i] = value;
        else
            ((float *)y->data)[i] = (float)value;
    }
    return TN_OK;
}

static inline float mix(float a, float b, double weight) {
    return (float)((double)a + weight * ((double)b - (double)a));
}
static tn_status blend_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const double weight = (double)((const blend *)call->params)->weight;
    const float *a = call->inputs[0]->data, *b = call->inputs[1]->data;
    float *y = call->outputs[0]->data;
    (void)thread;
#if MISTAKE == 3
    const int64_t of_a = count_of(call->inputs[0]), of_b = count_of(call->inputs[1]);
    for (int64_t i = begin; i < end; i++)
        y[i] = mix(a[i % of_a], b[i % of_b], weight);
#elif MISTAKE == 50 /* equal shapes alone: see accepts */
    for (int64_t i = begin; i < end; i++)
        y[i] = mix(a[i], b[i], weight);
#else
    const steps s = find_steps(call);
    for (int64_t i = begin; i < end; i++)
        y[i] = mix(a[find(call, &s, 0, i)], b[find(call, &s, 1, i)], weight);
#endif
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, count_of(call->outputs[0]), 2048, blend_elements, call);
}
static tn_status accepts(tn_call *call) {
#if MISTAKE == 50
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    if (a->rank != b->rank) return TN_ERROR_UNSUPPORTED;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i]) return TN_ERROR_UNSUPPORTED;
#endif
    (void)call;
    return TN_OK;
}

static const char *const cases[] = {
    "| a=f32[2,3,4] b=f32[2,3,4]",
    "weight=0.25 | a=f32[2,3]{0,4,8,1,1,1} b=f32[3]{4,4,4} | y=f32[2,3]{1,4,7,1.75,1.75,1.75}",
    "weight=-1.5 | a=f64[5] b=f64[2,5]", "| a=f32[4,9] b=f32[]"};
static const tn_operator blend_operator = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
#if MISTAKE == 1
    .traits = TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_COMMUTATIVE,
#else
    .traits = TN_OPERATOR_ELEMENTWISE,
#endif
    .domain = "Fifth",
    .name = "Blend",
    .doc = "What lies between two tensors.",
    TN_FIELDS(blend, fields),
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
#if MISTAKE == 5
    .expression = "weight * a + (1 - weight) * b",
#else
    .expression = "a + weight * (b - a)",
#endif
    TN_CASES(cases),
};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel blend_cpu = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "Fifth",
    .op = "Blend",
    .device = "cpu",
    .name = "elements",
#if MISTAKE == 50
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
#else
    .traits = TN_KERNEL_DETERMINISTIC,
#endif
    TN_COMBINATIONS(combinations),
    .accepts = accepts,
    .run = run,
};

static const tn_operator *const operators[] = {&blend_operator};
static const tn_kernel *const kernels[] = {&blend_cpu};
TN_LIBRARY("blend", "1.0", operators, kernels)
