/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lab::ShuffleChannels: channels (axis 1) in another order: seen as a matrix of `groups` rows, they
 * are transposed, as in ShuffleNet. Any rank from 2 on. The kernels copy planes, or, channels last,
 * permute the channels of each position.
 */
#include <string.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

TN_LAYER_PARAMS(shuffle, int64_t groups;);

static const tn_field fields[] = {
    TN_LAYER_I64(shuffle, groups, "2", 1, 65536, "rows of the matrix; divides the channels")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64|i32|u8", 0, "channels are axis 1")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    const shuffle *p = call->params;
    const tn_tensor *x = call->inputs[0];
#if MISTAKE == 5
    if (x->rank < 2 || x->shape[1] % p->groups != 0) return TN_ERROR_SHAPE;
#else
    if (x->rank < 2 || x->shape[1] % p->groups != 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "'x' has no channels that %lld groups divide",
                                (long long)p->groups);
#endif
    return tn_layer_set_shape(call, 0, x->rank, x->shape);
}

static size_t element_bytes(tn_type type) {
    return type == TN_F64 ? 8 : type == TN_U8 ? 1 : 4;
}
static int64_t plane_of(const tn_tensor *x) {
    int64_t count = 1;
#if MISTAKE == 4
    for (uint32_t i = 2; i < x->rank && i < 4; i++) /* height and width */
#else
    for (uint32_t i = 2; i < x->rank; i++)
#endif
        count *= x->shape[i];
    return count;
}
/* Where channel c of y comes from. */
static int64_t source_of(int64_t c, int64_t channels, int64_t groups) {
    return c % groups * (channels / groups) + c / groups;
}

static tn_status reference(tn_call *call) {
    const int64_t groups = ((const shuffle *)call->params)->groups;
    const tn_tensor *x = call->inputs[0];
    const size_t item = element_bytes(x->type);
    int64_t plane = 1;
    for (uint32_t i = 2; i < x->rank; i++)
        plane *= x->shape[i];
    for (int64_t i = 0; i < tn_layer_count(x); i++) {
        const int64_t c = i / plane % x->shape[1], n = i / plane / x->shape[1];
        const int64_t from =
            (n * x->shape[1] + source_of(c, x->shape[1], groups)) * plane + i % plane;
        memcpy((char *)call->outputs[0]->data + (size_t)i * item,
               (const char *)x->data + (size_t)from * item, item);
    }
    return TN_OK;
}

/* Linear: items are planes of y. */
static tn_status planes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *x = call->inputs[0];
    const int64_t channels = x->shape[1], groups = ((const shuffle *)call->params)->groups;
#if MISTAKE == 2
    const size_t bytes = (size_t)plane_of(x) * (x->type == TN_F64 ? 8 : 4);
#else
    const size_t bytes = (size_t)plane_of(x) * element_bytes(x->type);
#endif
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
#if MISTAKE == 1
        const int64_t from = source_of(i % channels, channels, channels / groups);
#else
        const int64_t from = source_of(i % channels, channels, groups);
#endif
        memcpy((char *)call->outputs[0]->data + (size_t)i * bytes,
               (const char *)x->data + (size_t)(i - i % channels + from) * bytes, bytes);
    }
    return TN_OK;
}
/* Channels last: items are positions. */
static tn_status positions(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const int64_t channels = call->inputs[0]->shape[1];
    const int64_t groups = ((const shuffle *)call->params)->groups, columns = channels / groups;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        for (int64_t c = 0; c < channels; c++)
            y[i * channels + c] = x[i * channels + c % groups * columns + c / groups];
    return TN_OK;
}
static tn_status run_linear(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
#if MISTAKE == 50
    if (call->tactic == 1) return planes(call, 0, x->shape[0] * x->shape[1], 0);
#endif
    return call->host->parallel_for(call, x->shape[0] * x->shape[1], 4, planes, call);
}
static tn_status run_last(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    return call->host->parallel_for(call, x->shape[0] * plane_of(x), 16, positions, call);
}

#if MISTAKE == 50
/* Planes one after the other on one thread, or spread over all. */
static tn_status tactics(tn_call *call) {
    call->tactic_count = call->threads > 1 ? 2 : 1;
    return TN_OK;
}
/* Worth it from four positions a plane on, and written for two groups and more. */
static tn_status accepts(tn_call *call) {
    return plane_of(call->inputs[0]) >= 4 && ((const shuffle *)call->params)->groups > 1
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}
#endif

static const char *const cases[] = {"groups=2 | x=f32[1,6,1,1]{0,1,2,3,4,5} | "
                                    "y=f32[1,6,1,1]{0,3,1,4,2,5}",
                                    "groups=3 | x=f32[2,12,4,5]", "groups=2 | x=u8[1,6,3,3]",
                                    "groups=2 | x=f64[2,4,3]", "groups=4 | x=i32[2,8,2,1,3]"};
static const tn_operator shuffle_operator = {.size = sizeof(tn_operator),
                                             .since_version = 1,
                                             .state_version = 1,
                                             .traits = TN_OPERATOR_SELECTS,
                                             .domain = "Lab",
                                             .name = "ShuffleChannels",
                                             .doc = "Channels of groups side by side.",
                                             TN_FIELDS(shuffle, fields),
                                             TN_INPUTS(inputs),
                                             TN_OUTPUTS(outputs),
                                             .infer = infer,
                                             .reference = reference,
                                             TN_CASES(cases)};
static const char *const linear[] = {"* -> *"};
static const char *const last[] = {"f32:nhwc -> f32:nhwc"};
static const tn_kernel linear_kernel = {.size = sizeof(tn_kernel),
                                        .revision = 1,
                                        .domain = "Lab",
                                        .op = "ShuffleChannels",
                                        .device = "cpu",
                                        .name = "planes",
#if MISTAKE == 3
                                        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
#else
                                        .traits = TN_KERNEL_DETERMINISTIC,
#endif
                                        TN_COMBINATIONS(linear),
#if MISTAKE == 50
                                        .accepts = accepts,
                                        .tactics = tactics,
#endif
                                        .run = run_linear};
static const tn_kernel last_kernel = {.size = sizeof(tn_kernel),
                                      .revision = 1,
                                      .domain = "Lab",
                                      .op = "ShuffleChannels",
                                      .device = "cpu",
                                      .name = "positions",
                                      .traits = TN_KERNEL_DETERMINISTIC,
                                      TN_COMBINATIONS(last),
                                      .run = run_last};
static const tn_operator *const operators[] = {&shuffle_operator};
static const tn_kernel *const kernels[] = {&linear_kernel, &last_kernel};
TN_LIBRARY("shuffle", "1.0", operators, kernels)
