/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of our own convolutions on CUDA, and their tables; see cuda_direct.h. */
#include "conv/cuda_direct.h"
#include "common/cuda/launch.h"
#include "common/cuda/upload.h"
#include "conv/cuda_kernels.h"

extern "C" {
#include "common/epilogue.h"
#include "conv/conv.h"
}

#include <string.h>

typedef struct direct_state {
    tn_float_epilogue epilogue;
    tn_cuda_direct_config config; /* at the optimum */
    int32_t padded;
    float *weights, *bias;
} direct_state;

typedef struct direct_context {
    tn_cuda_direct direct;
    tn_cuda_direct_config config;
    bool is_empty;
} direct_context;

/* ----------------------------------------------------------------------------------------------
 * accepts, tactics */

/* Indices are 32-bit in the kernels. */
static bool is_small_enough(const tn_conv_geometry *g) {
    const int64_t limit = INT32_MAX / 4;
    int64_t in, out, weights;
    return !__builtin_mul_overflow(g->in_height, g->in_width, &in) &&
           !__builtin_mul_overflow(in, g->channels * g->groups, &in) &&
           !__builtin_mul_overflow(g->out_height, g->out_width, &out) &&
           !__builtin_mul_overflow(out, g->filters * g->groups, &out) &&
           !__builtin_mul_overflow(g->kernel_height * g->kernel_width, g->channels, &weights) &&
           !__builtin_mul_overflow(weights, (g->filters + 64) * g->groups, &weights) &&
           in < limit && out < limit && weights < limit && g->batch < 65536 && g->groups < 65536 &&
           g->stride_height < 65536 && g->stride_width < 65536 && g->dilation_height < 65536 &&
           g->dilation_width < 65536 && g->pad_top >= 0 && g->pad_left >= 0 && g->pad_top < 65536 &&
           g->pad_left < 65536;
}

static bool read_geometry(const tn_call *call, tn_conv_geometry *out_geometry) {
    return tn_conv_geometry_read(call, out_geometry) && is_small_enough(out_geometry);
}

static bool are_constant(const tn_call *call, const tn_float_epilogue *epilogue) {
    const tn_tensor *b = call->input_count > TN_CONV_B ? call->inputs[TN_CONV_B] : NULL;
    if (!call->inputs[TN_CONV_W]->data || (b && !b->data)) return false;
    for (uint32_t i = 0; i < epilogue->bias_count; i++)
        if (!call->operands[epilogue->bias[i]]->data) return false;
    return true;
}

extern "C" tn_status tn_cuda_direct_accepts(tn_call *call) TN_NOEXCEPT {
    const tn_cuda_direct_kind *kind = (const tn_cuda_direct_kind *)call->user;
    tn_conv_geometry geometry;
    tn_float_epilogue epilogue;
    tn_cuda_direct_config config;
    return read_geometry(call, &geometry) && geometry.batch > 0 &&
                   tn_float_epilogue_read(call, 1, &epilogue) && are_constant(call, &epilogue) &&
                   kind->choose(&geometry, 0, &config)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

extern "C" tn_status tn_cuda_direct_tactics(tn_call *call) TN_NOEXCEPT {
    const tn_cuda_direct_kind *kind = (const tn_cuda_direct_kind *)call->user;
    tn_conv_geometry geometry;
    tn_cuda_direct_config config;
    uint32_t count = 0;
    if (read_geometry(call, &geometry))
        while (kind->choose(&geometry, count, &config))
            count++;
    call->tactic = count ? count : 1;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * prepare */

/* From filter, channel, row, element to group, channel, row, element, filter of the group. */
static void pack_weights(const tn_conv_geometry *g, int64_t padded, const float *from, float *to) {
    const int64_t taps = g->channels * g->kernel_height * g->kernel_width;
    for (int64_t group = 0; group < g->groups; group++)
        for (int64_t filter = 0; filter < g->filters; filter++)
            for (int64_t tap = 0; tap < taps; tap++)
                to[(group * taps + tap) * padded + filter] =
                    from[(group * g->filters + filter) * taps + tap];
}

static void gather_bias(const tn_call *call, const tn_float_epilogue *epilogue, int64_t count,
                        float *bias) {
    const tn_tensor *own = call->input_count > TN_CONV_B ? call->inputs[TN_CONV_B] : NULL;
    for (int64_t i = 0; i < count; i++) {
        bias[i] = own ? ((const float *)own->data)[i] : 0;
        for (uint32_t k = 0; k < epilogue->bias_count; k++)
            bias[i] += ((const float *)call->operands[epilogue->bias[k]]->data)[i];
    }
}

static tn_status prepare_constants(tn_call *call, const tn_conv_geometry *g, direct_state *state) {
    const tn_host *host = call->host;
    const uint64_t filters = (uint64_t)(g->groups * g->filters);
    const uint64_t weights =
        (uint64_t)(g->groups * g->channels * g->kernel_height * g->kernel_width * state->padded) *
        sizeof(float);
    float *packed = (float *)host->allocate(host, weights, 64);
    float *bias = (float *)host->allocate(host, filters * sizeof(float), 64);
    tn_status status = TN_OK;
    if (!packed || !bias)
        status = host->fail(call, TN_ERROR_MEMORY, "no memory to pack %llu bytes of weights",
                            (unsigned long long)weights);
    if (status == TN_OK) {
        memset(packed, 0, weights);
        pack_weights(g, state->padded, (const float *)call->inputs[TN_CONV_W]->data, packed);
        gather_bias(call, &state->epilogue, (int64_t)filters, bias);
        status = tn_cuda_upload(call, packed, weights, (void **)&state->weights);
    }
    if (status == TN_OK)
        status = tn_cuda_upload(call, bias, filters * sizeof(float), (void **)&state->bias);
    host->deallocate(host, packed);
    host->deallocate(host, bias);
    return status;
}

static void free_state(tn_call *call, direct_state *state) {
    if (state->weights) call->device->deallocate(call->device, state->weights, call->stream);
    if (state->bias) call->device->deallocate(call->device, state->bias, call->stream);
    call->host->deallocate(call->host, state);
}

extern "C" tn_status tn_cuda_direct_prepare(tn_call *call) TN_NOEXCEPT {
    const tn_cuda_direct_kind *kind = (const tn_cuda_direct_kind *)call->user;
    tn_conv_geometry geometry;
    direct_state *state = (direct_state *)call->host->allocate(call->host, sizeof(*state), 64);
    if (!state)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for the convolution's state");
    memset(state, 0, sizeof(*state));
    tn_status status = TN_OK;
    if (!read_geometry(call, &geometry) || !tn_float_epilogue_read(call, 1, &state->epilogue) ||
        !kind->choose(&geometry, call->tactic, &state->config))
        status = call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                  "the direct convolution does not do this node");
    if (status == TN_OK) {
        const int64_t block = state->config.filters * state->config.filter_groups;
        state->padded = (int32_t)((geometry.filters + block - 1) / block * block);
        status = prepare_constants(call, &geometry, state);
    }
    if (status != TN_OK) {
        free_state(call, state);
        return status;
    }
    call->state = state;
    return TN_OK;
}

extern "C" void tn_cuda_direct_release(tn_call *call) TN_NOEXCEPT {
    free_state(call, (direct_state *)call->state);
}

/* ----------------------------------------------------------------------------------------------
 * open, reshape, run */

extern "C" tn_status tn_cuda_direct_open(tn_call *call) TN_NOEXCEPT {
    direct_context *context =
        (direct_context *)call->host->allocate(call->host, sizeof(*context), 16);
    if (!context)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for the convolution's context");
    memset(context, 0, sizeof(*context));
    call->context = context;
    return TN_OK;
}

extern "C" void tn_cuda_direct_close(tn_call *call) TN_NOEXCEPT {
    call->host->deallocate(call->host, call->context);
}

static void describe(const tn_conv_geometry *g, const direct_state *state, tn_cuda_direct *out) {
    *out = {};
    out->weights = state->weights;
    out->bias = state->bias;
    out->batch = (int32_t)g->batch;
    out->groups = (int32_t)g->groups;
    out->channels = (int32_t)g->channels;
    out->filters = (int32_t)g->filters;
    out->padded = state->padded;
    out->in_height = (int32_t)g->in_height;
    out->in_width = (int32_t)g->in_width;
    out->out_height = (int32_t)g->out_height;
    out->out_width = (int32_t)g->out_width;
    out->kernel_height = (int32_t)g->kernel_height;
    out->kernel_width = (int32_t)g->kernel_width;
    out->stride_height = (int32_t)g->stride_height;
    out->stride_width = (int32_t)g->stride_width;
    out->dilation_height = (int32_t)g->dilation_height;
    out->dilation_width = (int32_t)g->dilation_width;
    out->pad_top = (int32_t)g->pad_top;
    out->pad_left = (int32_t)g->pad_left;
    out->activation = {state->epilogue.activation, state->epilogue.alpha, state->epilogue.beta};
}

extern "C" tn_status tn_cuda_direct_reshape(tn_call *call) TN_NOEXCEPT {
    const direct_state *state = (const direct_state *)call->state;
    direct_context *context = (direct_context *)call->context;
    tn_conv_geometry geometry;
    call->workspace_bytes = 0;
    context->is_empty = call->outputs[0]->bytes == 0;
    if (context->is_empty) return TN_OK;
    if (!read_geometry(call, &geometry))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "the direct convolution does not do these shapes");
    describe(&geometry, state, &context->direct);
    context->config = state->config;
    return TN_OK;
}

extern "C" tn_status tn_cuda_direct_run(tn_call *call) TN_NOEXCEPT {
    const tn_cuda_direct_kind *kind = (const tn_cuda_direct_kind *)call->user;
    const direct_state *state = (const direct_state *)call->state;
    direct_context *context = (direct_context *)call->context;
    tn_cuda_direct *direct = &context->direct;
    if (context->is_empty) return TN_OK;
    direct->x = (const float *)call->inputs[TN_CONV_X]->data;
    direct->y = (float *)call->outputs[0]->data;
    direct->residual = state->epilogue.residual == UINT32_MAX
                           ? NULL
                           : (const float *)call->operands[state->epilogue.residual]->data;
    const int before = tn_cuda_enter(call);
    const cudaError_t error = kind->launch(direct, &context->config, (cudaStream_t)call->stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching a convolution");
}

extern "C" const tn_cuda_direct_kind tn_cuda_tile_kind, tn_cuda_small_kind;
const tn_cuda_direct_kind tn_cuda_tile_kind = {tn_cuda_tile_choose, tn_cuda_tile_launch};
const tn_cuda_direct_kind tn_cuda_small_kind = {tn_cuda_small_choose, tn_cuda_small_launch};
