/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of our own convolutions on CUDA; see cuda_conv.h. */
#include "conv/cuda/cuda_conv.h"
#include "conv/cuda/cuda_kernels.h"
#include "kit/cuda/gemm/byte_weight.h"
#include <tenon/kit/cuda/launch.h>
#include <tenon/kit/cuda/upload.h>

extern "C" {
#include "conv/conv.h"
#include "conv/geometry.h"
#include "kit/math/byte_table.h"
#include "kit/operator/epilogue_bias.h"
#include "kit/operator/kernel_memory.h"
#include <tenon/kit/epilogue.h>
#include <tenon/kit/strided.h>
}

#include <string.h>

typedef struct conv_state {
    tn_float_epilogue epilogue;
    tn_cuda_conv_config config; /* at the optimum */
    float *weights, *bias;      /* weights null: the node's own; bias: tn_cuda_conv's */
} conv_state;

typedef struct conv_context {
    tn_cuda_conv conv;
    tn_cuda_conv_config config;
    bool is_empty;
} conv_context;

static const tn_cuda_conv_kind *kind_of(const tn_call *call) {
    return (const tn_cuda_conv_kind *)call->user;
}

/* ----------------------------------------------------------------------------------------------
 * a node */

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

static void set_extents(const tn_conv_geometry *g, tn_cuda_conv *conv) {
    conv->batch = (int32_t)g->batch;
    conv->groups = (int32_t)g->groups;
    conv->channels = (int32_t)g->channels;
    conv->filters = (int32_t)g->filters;
    conv->in_height = (int32_t)g->in_height;
    conv->in_width = (int32_t)g->in_width;
    conv->out_height = (int32_t)g->out_height;
    conv->out_width = (int32_t)g->out_width;
    conv->kernel_height = (int32_t)g->kernel_height;
    conv->kernel_width = (int32_t)g->kernel_width;
    conv->stride_height = (int32_t)g->stride_height;
    conv->stride_width = (int32_t)g->stride_width;
    conv->dilation_height = (int32_t)g->dilation_height;
    conv->dilation_width = (int32_t)g->dilation_width;
    conv->pad_top = (int32_t)g->pad_top;
    conv->pad_left = (int32_t)g->pad_left;
    conv->window_height = (int32_t)g->window_height;
    conv->window_width = (int32_t)g->window_width;
    conv->y_height = (int32_t)g->y_height;
    conv->y_width = (int32_t)g->y_width;
}

/* False where something in 8 bits has no scale, or residual and output are stored differently. */
static bool set_scales(const tn_call *call, const tn_float_epilogue *epilogue, tn_cuda_conv *conv) {
    const tn_tensor *residual =
        epilogue->residual == UINT32_MAX ? NULL : call->operands[epilogue->residual];
    conv->y_factor = conv->residual_scale = 1.0f;
    if (conv->x_type == TN_I8 && (tn_byte_scale(call->inputs[TN_CONV_X]) == 0 ||
                                  (residual && residual->type != conv->y_type)))
        return false;
    if (conv->y_type != TN_I8) return true;
    const float y_scale = tn_byte_scale(call->outputs[0]);
    if (residual) conv->residual_scale = residual->type == TN_I8 ? tn_byte_scale(residual) : 0;
    conv->y_factor = 1.0f / y_scale;
    return y_scale != 0 && conv->residual_scale != 0;
}

/* Everything but addresses; false for what no kernel here does. */
static bool read_node(const tn_call *call, const tn_float_epilogue *epilogue, tn_cuda_conv *out) {
    const tn_tensor *x = call->inputs[TN_CONV_X], *y = call->outputs[0];
    tn_conv_geometry geometry;
    if (!tn_conv_geometry_read(call, &geometry) || !is_small_enough(&geometry)) return false;
    memset((void *)out, 0, sizeof(*out));
    set_extents(&geometry, out);
    out->x_type = x->type;
    out->y_type = y->type;
    out->type = x->type == TN_F32 && y->type != TN_I8 ? y->type : x->type;
    out->is_rounded = kind_of(call)->is_rounded;
    out->is_mean = epilogue->has_mean;
    out->is_x_linear = x->format == TN_LINEAR;
    out->is_y_linear = y->format == TN_LINEAR;
    out->activation = {epilogue->activation, epilogue->alpha, epilogue->beta};
    return set_scales(call, epilogue, out);
}

static bool are_constant(const tn_call *call, const tn_float_epilogue *epilogue) {
    const tn_tensor *b = call->input_count > TN_CONV_B ? call->inputs[TN_CONV_B] : NULL;
    if (!call->inputs[TN_CONV_W]->data || (b && !b->data)) return false;
    for (uint32_t i = 0; i < epilogue->bias_count; i++)
        if (!call->operands[epilogue->bias[i]]->data) return false;
    return true;
}

extern "C" tn_status tn_cuda_conv_accepts(tn_call *call) TN_NOEXCEPT {
    tn_cuda_conv conv;
    tn_float_epilogue epilogue;
    tn_cuda_conv_config config;
    return tn_float_epilogue_read(call, 1, &epilogue) && read_node(call, &epilogue, &conv) &&
                   conv.batch > 0 && are_constant(call, &epilogue) &&
                   kind_of(call)->choose(&conv, 0, &config)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

extern "C" tn_status tn_cuda_conv_tactics(tn_call *call) TN_NOEXCEPT {
    tn_cuda_conv conv;
    tn_float_epilogue epilogue;
    tn_cuda_conv_config config;
    uint32_t count = 0;
    if (tn_float_epilogue_read(call, 1, &epilogue) && read_node(call, &epilogue, &conv))
        while (kind_of(call)->choose(&conv, count, &config))
            count++;
    call->tactic_count = count ? count : 1;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * prepare */

/* Weights in 8 bits, [k][c][r][s], and what a step of each filter's sums is. */
static void quantize_weights(const tn_call *call, const tn_cuda_conv *conv, int8_t *to,
                             float *steps) {
    const int64_t depth = (int64_t)conv->channels * conv->kernel_height * conv->kernel_width;
    const float x_scale = tn_byte_scale(call->inputs[TN_CONV_X]);
    for (int64_t k = 0; k < (int64_t)conv->groups * conv->filters; k++)
        steps[k] = x_scale * tn_cuda_byte_weights(call->inputs[TN_CONV_W], k * depth, 1, depth,
                                                  to + k * depth);
}

/* Biases, what steps are, and then packed weights, each made in the host's memory and uploaded. */
static tn_status prepare_constants(tn_call *call, const tn_cuda_conv *conv, conv_state *state) {
    const tn_cuda_conv_kind *kind = kind_of(call);
    const tn_tensor *bias = call->input_count > TN_CONV_B ? call->inputs[TN_CONV_B] : NULL;
    const void *weights = call->inputs[TN_CONV_W]->data;
    const bool is_bytes = conv->type == TN_I8;
    const int64_t filters = (int64_t)conv->groups * conv->filters;
    const uint64_t number_bytes = (uint64_t)filters * sizeof(float) * (is_bytes ? 2 : 1);
    const uint64_t weight_bytes = kind->get_weight_bytes ? kind->get_weight_bytes(conv) : 0;
    const uint64_t bytes = number_bytes > weight_bytes ? number_bytes : weight_bytes;
    const uint64_t quantized_bytes =
        is_bytes ? call->inputs[TN_CONV_W]->bytes / sizeof(float) : 0; /* behind the others */
    void *packed = call->host->allocate(call->host, bytes + quantized_bytes, 64);
    if (!packed)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory to pack %llu bytes of weights",
                                (unsigned long long)(bytes + quantized_bytes));
    if (is_bytes) {
        int8_t *quantized = (int8_t *)packed + bytes;
        quantize_weights(call, conv, quantized, (float *)packed + filters);
        weights = quantized;
    }
    tn_epilogue_gather_bias(call, &state->epilogue, bias ? (const float *)bias->data : NULL, 1,
                            1.0f, 0, filters, (float *)packed);
    tn_status status = tn_cuda_upload(call, packed, number_bytes, (void **)&state->bias);
    if (status == TN_OK && weight_bytes) {
        memset(packed, 0, weight_bytes);
        kind->pack(conv, weights, packed);
        status = tn_cuda_upload(call, packed, weight_bytes, (void **)&state->weights);
    }
    call->host->deallocate(call->host, packed);
    return status;
}

extern "C" void tn_cuda_conv_release(tn_call *call) TN_NOEXCEPT {
    conv_state *state = (conv_state *)call->state;
    if (state->weights) call->device->deallocate(call->device, state->weights, call->stream);
    if (state->bias) call->device->deallocate(call->device, state->bias, call->stream);
    tn_kernel_state_destroy(call);
}

extern "C" tn_status tn_cuda_conv_prepare(tn_call *call) TN_NOEXCEPT {
    tn_cuda_conv conv;
    TN_TRY(tn_kernel_state_create(call, sizeof(conv_state)));
    conv_state *state = (conv_state *)call->state;
    tn_status status;
    if (!tn_float_epilogue_read(call, 1, &state->epilogue) ||
        !read_node(call, &state->epilogue, &conv) ||
        !kind_of(call)->choose(&conv, call->tactic, &state->config))
        status =
            call->host->fail(call, TN_ERROR_UNSUPPORTED, "the kernel does not do this convolution");
    else
        status = prepare_constants(call, &conv, state);
    if (status != TN_OK) tn_cuda_conv_release(call);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * open, reshape, run */

extern "C" tn_status tn_cuda_conv_open(tn_call *call) TN_NOEXCEPT {
    return tn_kernel_context_create(call, sizeof(conv_context));
}

extern "C" void tn_cuda_conv_close(tn_call *call) TN_NOEXCEPT {
    call->host->deallocate(call->host, call->context);
}

extern "C" tn_status tn_cuda_conv_reshape(tn_call *call) TN_NOEXCEPT {
    const tn_cuda_conv_kind *kind = kind_of(call);
    const conv_state *state = (const conv_state *)call->state;
    conv_context *context = (conv_context *)call->context;
    tn_cuda_conv *conv = &context->conv;
    call->workspace_bytes = 0;
    context->is_empty = call->outputs[0]->bytes == 0;
    if (context->is_empty) return TN_OK;
    if (!read_node(call, &state->epilogue, conv))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "the kernel does not do a convolution of these shapes");
    conv->bias = state->bias;
    context->config = state->config;
    /* Packed weights serve every tactic. */
    if (!kind->fits(conv, &context->config) && !kind->choose(conv, 0, &context->config))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "these shapes are too large for the kernel");
    return TN_OK;
}

/* Elements from one pixel to the next, of an image with its channels last; false: so many that
 * 32-bit numbers do not count an image's. */
static bool find_pitch(const tn_tensor *tensor, int64_t pixels, int32_t *out_pitch) {
    tn_strided rows;
    tn_strided_init(&rows, tensor);
    const int64_t pitch = rows.pitch == rows.row ? tensor->shape[1] : rows.pitch;
    *out_pitch = (int32_t)pitch;
    return tensor->format == TN_LINEAR || pitch <= INT32_MAX / pixels;
}

extern "C" tn_status tn_cuda_conv_run(tn_call *call) TN_NOEXCEPT {
    const conv_state *state = (const conv_state *)call->state;
    conv_context *context = (conv_context *)call->context;
    tn_cuda_conv *conv = &context->conv;
    if (context->is_empty) return TN_OK;
    conv->x = (const float *)call->inputs[TN_CONV_X]->data;
    conv->weights = state->weights ? state->weights : (const float *)call->inputs[TN_CONV_W]->data;
    conv->y = (float *)call->outputs[0]->data;
    conv->residual = state->epilogue.residual == UINT32_MAX
                         ? NULL
                         : (const float *)call->operands[state->epilogue.residual]->data;
    if (!find_pitch(call->inputs[TN_CONV_X], (int64_t)conv->in_height * conv->in_width,
                    &conv->x_pitch) ||
        !find_pitch(call->outputs[0], (int64_t)conv->y_height * conv->y_width, &conv->y_pitch))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "the tensor that this one is a part of is too large");
    const int before = tn_cuda_enter(call);
    const cudaError_t error =
        kind_of(call)->launch(conv, &context->config, (cudaStream_t)call->stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching a convolution");
}
