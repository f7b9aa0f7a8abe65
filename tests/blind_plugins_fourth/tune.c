/* SPDX-License-Identifier: Apache-2.0 */
/* Tune: a factor and a shift for each channel, in three formats. */
#include "fourth.h"

static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "N, C, ..."),
                                 TN_PORT("gain", "T", 0, "C"),
                                 TN_PORT("shift", "T", TN_PORT_OPTIONAL, "C; absent: zeros")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 2)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'x' has no axis of channels");
    if (!TN_LAYER_FITS(call, 1, x->shape[1]) || !TN_LAYER_FITS(call, 2, x->shape[1]))
        return TN_ERROR_SHAPE;
    return fourth_same(call, 0, 0);
}
static double element(const tn_call *call, int64_t i) {
    const tn_tensor *x = call->inputs[0], *shift = tn_layer_input(call, 2);
    const int64_t c = i / fourth_extent(x, 2, x->rank) % x->shape[1];
    return tn_layer_load(x, i) * tn_layer_load(call->inputs[1], c) +
           (shift ? tn_layer_load(shift, c) : 0);
}
TN_LAYER_REFERENCE(element)

/* Items are planes. */
static tn_status planes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *x = call->inputs[0];
    const int64_t inner = fourth_extent(x, 2, x->rank), channels = x->shape[1];
    const float *gain = call->inputs[1]->data, *shift = tn_layer_data(call, 2);
    (void)thread;
    for (int64_t plane = begin; plane < end; plane++) {
        const float *from = (const float *)x->data + plane * inner;
        float *to = (float *)call->outputs[0]->data + plane * inner;
#if MISTAKE == 6
        const float add = shift[plane % channels]; /* MISTAKE: shift may be absent */
#else
        const float add = shift ? shift[plane % channels] : 0;
#endif
        for (int64_t i = 0; i < inner; i++)
            to[i] = from[i] * gain[plane % channels] + add;
    }
    return TN_OK;
}
static tn_status run_planes(tn_call *call) {
    if (tn_layer_count(call->inputs[0]) == 0) return TN_OK;
    return call->host->parallel_for(call, fourth_extent(call->inputs[0], 0, 2), 1, planes, call);
}

/* Items are positions, all channels of each side by side. */
static tn_status positions(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *x = call->inputs[0];
    const int64_t inner = fourth_extent(x, 2, x->rank), channels = x->shape[1];
    const float *gain = call->inputs[1]->data, *shift = tn_layer_data(call, 2);
    (void)thread;
    for (int64_t i = begin * channels; i < end * channels; i++) {
#if MISTAKE == 4
        const int64_t c = i / inner % channels; /* MISTAKE: channels are fastest here */
#else
        const int64_t c = i % channels;
#endif
        ((float *)call->outputs[0]->data)[i] =
            ((const float *)x->data)[i] * gain[c] + (shift ? shift[c] : 0);
    }
    return TN_OK;
}
static tn_status run_positions(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    return call->host->parallel_for(
        call, x->shape[1] ? x->shape[0] * fourth_extent(x, 2, x->rank) : 0, 64, positions, call);
}

/* Items are blocks of 8 channels. */
enum { BLOCK = 8 };
static tn_status blocks(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *x = call->inputs[0];
#if MISTAKE == 5
    const int64_t inner = x->shape[2] * x->shape[3]; /* MISTAKE: there may be other axes */
#else
    const int64_t inner = fourth_extent(x, 2, x->rank);
#endif
    const int64_t channels = x->shape[1], many = (channels + BLOCK - 1) / BLOCK;
    const float *gain = call->inputs[1]->data, *shift = tn_layer_data(call, 2);
    (void)thread;
    for (int64_t block = begin; block < end; block++) {
#if MISTAKE == 3
        /* MISTAKE: an image is not C channels long where C is no multiple of 8 */
        const int64_t at = (block / many * channels + block % many * BLOCK) * inner;
#else
        const int64_t at = block * inner * BLOCK;
#endif
        for (int64_t lane = 0; lane < BLOCK; lane++) {
            const int64_t c = block % many * BLOCK + lane;
            const float *from = (const float *)x->data + at + lane;
            float *to = (float *)call->outputs[0]->data + at + lane;
#if MISTAKE == 1
            /* MISTAKE: the lanes past the last channel get its shift */
            const int64_t known = c < channels ? c : channels - 1;
            const float factor = gain[known], add = shift ? shift[known] : 0;
#elif MISTAKE == 2
            /* MISTAKE: reads past the last channel */
            const volatile float *all = gain;
            const float read = all[c];
            const float factor = c < channels ? read : 0,
                        add = shift && c < channels ? shift[c] : 0;
#elif MISTAKE == 7
            if (c >= channels) break; /* MISTAKE: what is past the last channel is not written */
            const float factor = gain[c], add = shift ? shift[c] : 0;
#else
            const float factor = c < channels ? gain[c] : 0;
            const float add = shift && c < channels ? shift[c] : 0;
#endif
            for (int64_t i = 0; i < inner; i++)
                to[i * BLOCK] = from[i * BLOCK] * factor + add;
        }
    }
    return TN_OK;
}
static tn_status run_blocks(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (tn_layer_count(x) == 0) return TN_OK;
    return call->host->parallel_for(call, x->shape[0] * ((x->shape[1] + BLOCK - 1) / BLOCK), 1,
                                    blocks, call);
}

static const char *const cases[] = {
    "| x=f32[2,3,4,5] gain=f32[3] shift=f32[3]",
    "| x=f32[1,8,6,6] gain=f32[8]",
    "| x=f32[2,12,7] gain=f32[12] shift=f32[12]",
    "| x=f64[2,2]{1,2,3,4} gain=f64[2]{10,1} shift=f64[2]{0,5} | y=f64[2,2]{10,7,30,9}",
};
static const char *const plane_combinations[] = {"f32, f32, f32? -> f32"};
static const char *const position_combinations[] = {"f32:nhwc, f32, f32? -> f32:nhwc"};
static const char *const block_combinations[] = {"f32:c8, f32, f32? -> f32:c8"};
FOURTH_OPERATOR("Tune", "A factor and a shift for each channel.", .state_version = 1, TN_NO_FIELDS)
FOURTH_KERNEL(plane_kernel, "Tune", "planes", .traits = TN_KERNEL_DETERMINISTIC,
              TN_COMBINATIONS(plane_combinations), .run = run_planes)
FOURTH_KERNEL(position_kernel, "Tune", "positions", .traits = TN_KERNEL_DETERMINISTIC,
              TN_COMBINATIONS(position_combinations), .run = run_positions)
FOURTH_KERNEL(block_kernel, "Tune", "blocks", .traits = TN_KERNEL_DETERMINISTIC,
              TN_COMBINATIONS(block_combinations), .run = run_blocks)
static const tn_kernel *const kernels[] = {&plane_kernel, &position_kernel, &block_kernel};
TN_LIBRARY("tune", "1.0", operators, kernels)
