/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lab::Blend: the sum of any number of tensors of one shape, each times its weight; without weights
 * each counts once. The kernel goes over pieces of the tensors that stay in the cache.
 */
#include <string.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif
enum { PIECE = 512 };

TN_LAYER_PARAMS(blend, tn_f32s weights;);

static const tn_field fields[] = {TN_FIELD_LIST(blend, weights, TN_FIELD_F32S, TN_OPTIONAL, NULL, 0,
                                                0, -100, 100, "a factor for each tensor, or none")};
static const tn_port inputs[] = {{"xs", "T:f32|f64", "of one shape", TN_PORT_VARIADIC, 0, 1, 0}};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as each of xs")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
#if MISTAKE != 1
    const uint64_t count = ((const blend *)call->params)->weights.count;
    if (count && count != call->input_count)
        return call->host->fail(call, TN_ERROR_SHAPE, "%llu weights for %u tensors",
                                (unsigned long long)count, call->input_count);
#endif
    for (uint32_t i = 1; i < call->input_count; i++)
        if (!tn_layer_fits(call, i, x->rank, x->shape)) return TN_ERROR_SHAPE;
    return tn_layer_set_shape(call, 0, x->rank, x->shape);
}

static float weight(const tn_call *call, uint32_t i) {
    const tn_f32s *weights = &((const blend *)call->params)->weights;
    return weights->count ? weights->items[i] : 1;
}
static double element(const tn_call *call, int64_t i) {
    double sum = -0.0;
    for (uint32_t k = 0; k < call->input_count; k++)
        sum += (double)weight(call, k) * tn_layer_load(call->inputs[k], i);
    return sum;
}
TN_LAYER_REFERENCE(element)

/* One tensor that counts once. */
static tn_status is_identity(tn_call *call) {
#if MISTAKE == 5
    return call->input_count == 1 ? TN_OK : TN_ERROR_UNSUPPORTED;
#else
    return call->input_count == 1 && weight(call, 0) == 1 ? TN_OK : TN_ERROR_UNSUPPORTED;
#endif
}

#if MISTAKE == 4 || MISTAKE == 50
/* A context's scratch: a piece for each thread; it grows with the number of threads. */
typedef struct scratch {
    uint32_t threads;
    float *pieces;
} scratch;
static tn_status open_context(tn_call *call) {
    scratch *s = call->host->allocate(call->host, sizeof(scratch), 16);
    if (!s) return TN_ERROR_MEMORY;
    *s = (scratch){0, NULL};
    call->context = s;
    return TN_OK;
}
static void close_context(tn_call *call) {
    scratch *s = call->context;
    if (s) call->host->deallocate(call->host, s->pieces);
    call->host->deallocate(call->host, s);
}
static tn_status reshape(tn_call *call) {
    scratch *s = call->context;
    if (call->threads <= s->threads) return TN_OK;
    float *more = call->host->allocate(call->host, (uint64_t)call->threads * PIECE * 4, 64);
    if (!more) return TN_ERROR_MEMORY;
    call->host->deallocate(call->host, s->pieces);
    *s = (scratch){call->threads, more};
    return TN_OK;
}
#define OPEN    open_context
#define CLOSE   close_context
#define RESHAPE reshape
#else
#define OPEN    NULL
#define CLOSE   NULL
#define RESHAPE NULL
#endif

/* Items are pieces. */
static tn_status pieces(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const int64_t count = (int64_t)(call->inputs[0]->bytes / 4);
    (void)thread;
    for (int64_t i = begin * PIECE; i < end * PIECE && i < count; i += PIECE) {
        const int64_t n = count - i < PIECE ? count - i : PIECE;
#if MISTAKE == 4
        float *sum = ((scratch *)call->context)->pieces;
#elif MISTAKE == 50
        float *sum = ((scratch *)call->context)->pieces + (int64_t)thread * PIECE;
#elif MISTAKE == 2
        float *sum = (float *)call->outputs[0]->data + i;
#else
        float sum[PIECE];
#endif
        for (int64_t j = 0; j < n; j++)
            sum[j] = -0.0f; /* what leaves every first term as it is */
        for (uint32_t k = 0; k < call->input_count; k++) {
            const float *x = (const float *)call->inputs[k]->data + i, w = weight(call, k);
            for (int64_t j = 0; j < n; j++)
                sum[j] += w * x[j];
        }
        memmove((float *)call->outputs[0]->data + i, sum, (size_t)n * 4);
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const int64_t count = (int64_t)(call->inputs[0]->bytes / 4);
    return call->host->parallel_for(call, (count + PIECE - 1) / PIECE, 1, pieces, call);
}

static const char *const cases[] = {
    "weights=[2,-1] | xs=f32[3]{1,2,3} xs=f32[3]{1,1,1} | y=f32[3]{1,3,5}",
    "| xs=f32[4,5,77] xs=f32[4,5,77] xs=f32[4,5,77]",
    "weights=[0.25,0.5,0.25,1] | xs=f32[6,300] xs=f32[6,300] xs=f32[6,300] xs=f32[6,300]",
    "| xs=f64[2,2]", "weights=[-3] | xs=f32[9]"};
static const tn_operator blend_operator = {.size = sizeof(tn_operator),
                                           .since_version = 1,
                                           .state_version = 1,
#if MISTAKE == 3
                                           .traits = TN_OPERATOR_ELEMENTWISE |
                                                     TN_OPERATOR_IDENTITY | TN_OPERATOR_COMMUTATIVE,
#else
                                           .traits = TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_IDENTITY,
#endif
                                           .domain = "Lab",
                                           .name = "Blend",
                                           .doc = "A weighted sum of tensors.",
                                           TN_FIELDS(blend, fields),
                                           TN_INPUTS(inputs),
                                           TN_OUTPUTS(outputs),
                                           .infer = infer,
                                           .reference = reference,
                                           .is_identity = is_identity,
                                           TN_CASES(cases)};
static const char *const combinations[] = {"f32... -> f32"};
static const tn_kernel pieces_kernel = {.size = sizeof(tn_kernel),
                                        .revision = 1,
                                        .domain = "Lab",
                                        .op = "Blend",
                                        .device = "cpu",
                                        .name = "pieces",
                                        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                        TN_COMBINATIONS(combinations),
                                        .open = OPEN,
                                        .close = CLOSE,
                                        .reshape = RESHAPE,
                                        .run = run};
static const tn_operator *const operators[] = {&blend_operator};
static const tn_kernel *const kernels[] = {&pieces_kernel};
TN_LIBRARY("blend", "1.0", operators, kernels)
