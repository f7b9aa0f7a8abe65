/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of our own convolutions on CUDA, and their tables; see cuda_direct.h. */
#include "conv/cuda/cuda_direct.h"
#include "conv/cuda/cuda_kernels.h"
#include <tenon/kit/cuda/launch.h>
#include <tenon/kit/cuda/upload.h>

extern "C" {
#include "conv/conv.h"
#include "kit/math/byte_table.h"
#include <tenon/kit/epilogue.h>
}

#include <string.h>

typedef struct direct_state {
    tn_float_epilogue epilogue;
    tn_cuda_direct_config config; /* at the optimum */
    int32_t padded;
    float *weights, *bias; /* weights null: the node's own */
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

/* What is multiplied: the lower type of what comes in and goes out; what is stored in 8 bits is
 * multiplied in 32-bit floats. */
static tn_type type_of(const tn_call *call) {
    const tn_type type = call->inputs[TN_CONV_X]->type, y_type = call->outputs[0]->type;
    return type == TN_F32 && y_type != TN_I8 ? y_type : type;
}

/* False where something in 8 bits has no scale, or residual and output are stored differently. */
static bool read_scales(const tn_call *call, const tn_float_epilogue *epilogue, float *out_y_scale,
                        float *out_residual_scale) {
    const tn_tensor *residual =
        epilogue->residual == UINT32_MAX ? NULL : call->operands[epilogue->residual];
    *out_y_scale = *out_residual_scale = 1.0f;
    if (call->outputs[0]->type != TN_I8) return true;
    *out_y_scale = tn_byte_scale(call->outputs[0]);
    if (residual) *out_residual_scale = residual->type == TN_I8 ? tn_byte_scale(residual) : 0;
    return *out_y_scale != 0 && *out_residual_scale != 0;
}

void tn_cuda_direct_describe(const tn_conv_geometry *g, tn_cuda_direct *out) {
    *out = {};
    out->batch = (int32_t)g->batch;
    out->groups = (int32_t)g->groups;
    out->channels = (int32_t)g->channels;
    out->filters = (int32_t)g->filters;
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
    out->window_height = (int32_t)g->window_height;
    out->window_width = (int32_t)g->window_width;
    out->y_height = (int32_t)g->y_height;
    out->y_width = (int32_t)g->y_width;
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
    float y_scale, residual_scale;
    return read_geometry(call, &geometry) && geometry.batch > 0 &&
                   tn_float_epilogue_read(call, 1, &epilogue) && are_constant(call, &epilogue) &&
                   read_scales(call, &epilogue, &y_scale, &residual_scale) &&
                   kind->choose(&geometry, type_of(call), 0, &config)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

extern "C" tn_status tn_cuda_direct_tactics(tn_call *call) TN_NOEXCEPT {
    const tn_cuda_direct_kind *kind = (const tn_cuda_direct_kind *)call->user;
    tn_conv_geometry geometry;
    tn_cuda_direct_config config;
    uint32_t count = 0;
    if (read_geometry(call, &geometry))
        while (kind->choose(&geometry, type_of(call), count, &config))
            count++;
    call->tactic_count = count ? count : 1;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * prepare */

/* The filters of a group as a thread's loads want them: a multiple of what a block has. */
static int64_t padded_filters(const tn_conv_geometry *g, const tn_cuda_direct_config *config) {
    const int64_t block = config->filters * config->filter_groups;
    return (g->filters + block - 1) / block * block;
}

static uint64_t get_bytes(const tn_conv_geometry *g, const tn_cuda_direct_config *config, tn_type) {
    return (uint64_t)(g->groups * g->channels * g->kernel_height * g->kernel_width *
                      padded_filters(g, config)) *
           sizeof(float);
}

/* From filter, channel, row, element to group, channel, row, element, filter of the group. */
static void pack_weights(const tn_conv_geometry *g, const tn_cuda_direct_config *config, tn_type,
                         const float *from, void *to) {
    const int64_t taps = g->channels * g->kernel_height * g->kernel_width;
    const int64_t padded = padded_filters(g, config);
    for (int64_t group = 0; group < g->groups; group++)
        for (int64_t filter = 0; filter < g->filters; filter++)
            for (int64_t tap = 0; tap < taps; tap++)
                ((float *)to)[(group * taps + tap) * padded + filter] =
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

static tn_status prepare_bias(tn_call *call, const tn_conv_geometry *g, direct_state *state) {
    const int64_t filters = g->groups * g->filters;
    const uint64_t bytes = (uint64_t)filters * sizeof(float);
    float *bias = (float *)call->host->allocate(call->host, bytes, 64);
    if (!bias) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for biases");
    gather_bias(call, &state->epilogue, filters, bias);
    const tn_status status = tn_cuda_upload(call, bias, bytes, (void **)&state->bias);
    call->host->deallocate(call->host, bias);
    return status;
}

static tn_status prepare_weights(tn_call *call, const tn_conv_geometry *g, direct_state *state) {
    const tn_cuda_direct_kind *kind = (const tn_cuda_direct_kind *)call->user;
    if (!kind->get_bytes) return TN_OK;
    const uint64_t bytes = kind->get_bytes(g, &state->config, type_of(call));
    void *packed = call->host->allocate(call->host, bytes, 64);
    if (!packed)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory to pack %llu bytes of weights",
                                (unsigned long long)bytes);
    memset(packed, 0, bytes);
    kind->pack(g, &state->config, type_of(call), (const float *)call->inputs[TN_CONV_W]->data,
               packed);
    const tn_status status = tn_cuda_upload(call, packed, bytes, (void **)&state->weights);
    call->host->deallocate(call->host, packed);
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
        !kind->choose(&geometry, type_of(call), call->tactic, &state->config))
        status = call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                  "the direct convolution does not do this node");
    if (status == TN_OK) {
        state->padded = (int32_t)padded_filters(&geometry, &state->config);
        status = prepare_weights(call, &geometry, state);
        if (status == TN_OK) status = prepare_bias(call, &geometry, state);
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

extern "C" tn_status tn_cuda_direct_reshape(tn_call *call) TN_NOEXCEPT {
    const tn_cuda_direct_kind *kind = (const tn_cuda_direct_kind *)call->user;
    const direct_state *state = (const direct_state *)call->state;
    direct_context *context = (direct_context *)call->context;
    tn_conv_geometry geometry;
    float y_scale;
    call->workspace_bytes = 0;
    context->is_empty = call->outputs[0]->bytes == 0;
    if (context->is_empty) return TN_OK;
    if (!read_geometry(call, &geometry))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "the direct convolution does not do these shapes");
    tn_cuda_direct *direct = &context->direct;
    tn_cuda_direct_describe(&geometry, direct);
    direct->type = type_of(call);
    direct->x_type = call->inputs[TN_CONV_X]->type;
    direct->y_type = call->outputs[0]->type;
    direct->is_x_linear = call->inputs[TN_CONV_X]->format == TN_LINEAR;
    direct->is_y_linear = call->outputs[0]->format == TN_LINEAR;
    if (!read_scales(call, &state->epilogue, &y_scale, &direct->residual_scale))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "8 bits without a scale");
    direct->y_factor = 1.0f / y_scale;
    direct->padded = state->padded;
    direct->bias = state->bias;
    direct->activation = {state->epilogue.activation, state->epilogue.alpha, state->epilogue.beta};
    context->config = state->config;
    /* Where weights serve every way, any will do. */
    if (kind->fits && !kind->fits(direct, &context->config) &&
        !kind->choose(&geometry, direct->type, 0, &context->config))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "these shapes are too large for a direct convolution");
    return TN_OK;
}

extern "C" tn_status tn_cuda_direct_run(tn_call *call) TN_NOEXCEPT {
    const tn_cuda_direct_kind *kind = (const tn_cuda_direct_kind *)call->user;
    const direct_state *state = (const direct_state *)call->state;
    direct_context *context = (direct_context *)call->context;
    tn_cuda_direct *direct = &context->direct;
    if (context->is_empty) return TN_OK;
    direct->x = (const float *)call->inputs[TN_CONV_X]->data;
    direct->weights =
        state->weights ? state->weights : (const float *)call->inputs[TN_CONV_W]->data;
    direct->y = (float *)call->outputs[0]->data;
    direct->residual = state->epilogue.residual == UINT32_MAX
                           ? NULL
                           : (const float *)call->operands[state->epilogue.residual]->data;
    const int before = tn_cuda_enter(call);
    const cudaError_t error = kind->launch(direct, &context->config, (cudaStream_t)call->stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching a convolution");
}

extern "C" const tn_cuda_direct_kind tn_cuda_tile_kind, tn_cuda_small_kind, tn_cuda_staged_kind,
    tn_cuda_few_kind, tn_cuda_narrow_kind, tn_cuda_deep_kind;
const tn_cuda_direct_kind tn_cuda_tile_kind = {tn_cuda_tile_choose, tn_cuda_tile_launch, NULL,
                                               get_bytes, pack_weights};
const tn_cuda_direct_kind tn_cuda_small_kind = {tn_cuda_small_choose, tn_cuda_small_launch, NULL,
                                                get_bytes, pack_weights};
const tn_cuda_direct_kind tn_cuda_staged_kind = {tn_cuda_staged_choose, tn_cuda_staged_launch,
                                                 tn_cuda_staged_fits, NULL, NULL};
const tn_cuda_direct_kind tn_cuda_few_kind = {tn_cuda_few_choose, tn_cuda_few_launch, NULL,
                                              tn_cuda_few_bytes, tn_cuda_few_pack};
const tn_cuda_direct_kind tn_cuda_narrow_kind = {tn_cuda_narrow_choose, tn_cuda_narrow_launch, NULL,
                                                 tn_cuda_narrow_bytes, tn_cuda_narrow_pack};
const tn_cuda_direct_kind tn_cuda_deep_kind = {tn_cuda_deep_choose, tn_cuda_deep_launch,
                                               tn_cuda_deep_fits, tn_cuda_deep_bytes,
                                               tn_cuda_deep_pack};
