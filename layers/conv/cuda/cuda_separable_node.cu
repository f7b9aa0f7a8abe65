/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The callbacks of separable convolutions on CUDA (cuda_separable.h): a Conv whose window is 1x1,
 * with what comes before its input, a convolution with a window for each channel and, before that,
 * another one of 1x1, each with an activation or without.
 */
#include "conv/cuda/cuda_kernels.h"
#include "conv/cuda/cuda_separable.h"
#include <tenon/kit/cuda/launch.h>
#include <tenon/kit/cuda/upload.h>

extern "C" {
#include "conv/conv.h"
#include "kit/math/element.h"
#include "kit/operator/epilogue_bias.h"
#include "kit/operator/kernel_memory.h"
#include <tenon/kit/epilogue.h>
#include <tenon/plugin/before.h>
}

#include <math.h>
#include <string.h>

namespace {

/* A convolution and the activation behind it; no weights: it is not there. */
struct link {
    const tn_facet_convolution *what;
    const tn_tensor *weights, *bias; /* bias null: none */
    tn_cuda_separable_clamp clamp;
};

struct chain {
    link expand, window;
    tn_float_epilogue epilogue;
};

struct separable_state {
    chain links;                     /* what lies in it has the node's lifetime */
    tn_cuda_separable_config config; /* at the optimum */
    char *constants;
    int64_t at_project, at_rows, at_bias; /* bytes; the first are expand's */
};

struct separable_context {
    tn_cuda_separable job;
    tn_cuda_separable_config config;
    bool is_empty;
};

/* ----------------------------------------------------------------------------------------------
 * the nodes */

const tn_tensor *operand_of(const tn_call *call, const tn_step *step, uint32_t index) {
    if (index >= step->input_count || step->inputs[index] < TN_STEP_OPERAND ||
        step->inputs[index] == TN_STEP_ABSENT)
        return NULL;
    return call->operands[step->inputs[index] & ~TN_STEP_OPERAND];
}

tn_cuda_separable_clamp clamp_of(uint32_t activation, float alpha, float beta) {
    if (activation == TN_ACTIVATION_CLIP) return {alpha, beta};
    return {activation == TN_ACTIVATION_RELU ? 0 : -INFINITY, INFINITY};
}

/* A convolution at *inout_step, and its activation. */
bool read_link(const tn_call *call, uint32_t *inout_step, link *out) {
    const uint32_t first = *inout_step;
    const tn_step *step = first < call->step_count ? call->steps[first] : NULL;
    *out = {};
    out->clamp = clamp_of(0, 0, 0);
    if (!step || step->port != 1 || strcmp(step->facet, TN_FACET_CONVOLUTION) != 0) return false;
    out->what = (const tn_facet_convolution *)step->what;
    out->weights = operand_of(call, step, 1);
    out->bias = operand_of(call, step, 2);
    (*inout_step)++;
    step = *inout_step < call->step_count ? call->steps[*inout_step] : NULL;
    if (step && step->port == 1 && strcmp(step->facet, TN_FACET_ACTIVATION) == 0) {
        const tn_facet_activation *activation = (const tn_facet_activation *)step->what;
        out->clamp = clamp_of(activation->function, activation->alpha, activation->beta);
        (*inout_step)++;
    }
    return out->what->rank == 2 && out->weights && out->weights->data &&
           out->weights->type == TN_F32 && (!out->bias || out->bias->data);
}

bool is_point(const tn_facet_convolution *what) {
    return what->groups == 1 && what->kernel[0] == 1 && what->kernel[1] == 1 &&
           what->stride[0] == 1 && what->stride[1] == 1 && what->pad_begin[0] == 0 &&
           what->pad_begin[1] == 0 && what->pad_end[0] == 0 && what->pad_end[1] == 0;
}

bool is_window(const tn_facet_convolution *what) {
    return what->groups == what->filters && what->kernel[0] == 3 && what->kernel[1] == 3 &&
           what->stride[0] == what->stride[1] && what->stride[0] <= 2 && what->dilation[0] == 1 &&
           what->dilation[1] == 1 && what->pad_begin[0] >= 0 && what->pad_begin[1] >= 0 &&
           what->pad_end[0] >= 0 && what->pad_end[1] >= 0 && what->pad_begin[0] < 4096 &&
           what->pad_begin[1] < 4096 && what->pad_end[0] < 4096 && what->pad_end[1] < 4096;
}

bool read_chain(const tn_call *call, chain *out) {
    uint32_t step = 0;
    *out = {};
    if (!tn_float_epilogue_read(call, 1, &out->epilogue)) return false;
    if (call->step_count == 0 || call->steps[0]->port == 0) return true;
    if (!read_link(call, &step, &out->window)) return false;
    if (step < call->step_count && call->steps[step]->port == 1) {
        out->expand = out->window;
        if (!is_point(out->expand.what) || !read_link(call, &step, &out->window)) return false;
    }
    return is_window(out->window.what) && out->window.weights->shape[1] == 1 &&
           (step == call->step_count || call->steps[step]->port == 0);
}

/* The node's own convolution is a window of 1x1. */
bool is_own_point(const tn_call *call) {
    const tn_conv_params *params = (const tn_conv_params *)call->params;
    const tn_tensor *w = call->inputs[TN_CONV_W];
    bool is_one = params->group == 1 && w->rank == 4 && w->shape[2] == 1 && w->shape[3] == 1;
    for (uint64_t i = 0; i < params->strides.count; i++)
        is_one = is_one && params->strides.items[i] == 1;
    for (uint64_t i = 0; i < params->pads.count; i++)
        is_one = is_one && params->pads.items[i] == 0;
    return is_one;
}

/* Indices within an image are 32-bit. */
bool are_extents_small(const tn_tensor *x, const tn_tensor *y) {
    const int64_t most = INT32_MAX / 16;
    int64_t pixels, of_y;
    return x->shape[1] > 0 && x->shape[1] < 65536 && y->shape[1] < 65536 && x->shape[0] > 0 &&
           x->shape[0] < 65536 && !__builtin_mul_overflow(x->shape[2], x->shape[3], &pixels) &&
           pixels > 0 && pixels < most / x->shape[1] &&
           !__builtin_mul_overflow(y->shape[2], y->shape[3], &of_y) && of_y > 0 &&
           of_y < most / y->shape[1] && x->shape[2] < 65536 && x->shape[3] < 65536;
}

void set_window(const tn_facet_convolution *what, tn_cuda_separable *s) {
    s->has_window = true;
    s->stride = what->stride[0];
    s->pad_top = what->pad_begin[0];
    s->pad_left = what->pad_begin[1];
    s->out_height = (s->in_height + s->pad_top + what->pad_end[0] - 3) / s->stride + 1;
    s->out_width = (s->in_width + s->pad_left + what->pad_end[1] - 3) / s->stride + 1;
}

/* Everything but addresses; false for what the kernel does not do. */
bool read_node(const tn_call *call, const chain *links, tn_cuda_separable *s) {
    const tn_tensor *x = call->inputs[TN_CONV_X], *w = call->inputs[TN_CONV_W];
    const tn_tensor *y = call->outputs[0];
    if (!x || x->rank != 4 || !w || !is_own_point(call) || y->rank != 4 || !are_extents_small(x, y))
        return false;
    memset((void *)s, 0, sizeof(*s));
    s->batch = (int32_t)x->shape[0], s->channels = (int32_t)x->shape[1];
    s->depth = (s->channels + 15) / 16 * 16;
    s->middle = (int32_t)w->shape[1], s->filters = (int32_t)w->shape[0];
    s->in_height = (int32_t)x->shape[2], s->in_width = (int32_t)x->shape[3];
    s->out_height = s->in_height, s->out_width = s->in_width, s->stride = 1;
    if (links->window.what) set_window(links->window.what, s);
    s->has_expand = links->expand.what != NULL;
    s->of_expand = links->expand.clamp, s->of_window = links->window.clamp;
    s->of_project =
        clamp_of(links->epilogue.activation, links->epilogue.alpha, links->epilogue.beta);
    s->type = x->type;
    const bool is_expanded = s->has_expand ? links->expand.what->filters == s->middle &&
                                                 links->expand.weights->shape[1] == s->channels &&
                                                 s->channels % 8 == 0
                                           : s->channels == s->middle;
    return is_expanded && (!s->has_window || links->window.what->filters == s->middle) &&
           s->middle % 16 == 0 && s->filters % 4 == 0 && s->out_height == y->shape[2] &&
           s->out_width == y->shape[3];
}

bool are_constant(const tn_call *call, const chain *links) {
    const tn_tensor *b = call->input_count > TN_CONV_B ? call->inputs[TN_CONV_B] : NULL;
    if (!call->inputs[TN_CONV_W]->data || (b && !b->data)) return false;
    for (uint32_t i = 0; i < links->epilogue.bias_count; i++)
        if (!call->operands[links->epilogue.bias[i]]->data) return false;
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * constants */

void store_rows(const float *from, int64_t rows, int64_t columns, int64_t pitch, tn_type type,
                void *to) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < columns; k++)
            tn_element_store_f64(to, type, i * pitch + k, (double)from[i * columns + k]);
}

void copy_bias(const tn_tensor *bias, float *to) {
    if (bias) memcpy(to, bias->data, bias->bytes);
}

void fill_constants(const tn_call *call, const tn_cuda_separable *s, const separable_state *state,
                    char *to) {
    const link *expand = &state->links.expand, *window = &state->links.window;
    const tn_tensor *own = call->input_count > TN_CONV_B ? call->inputs[TN_CONV_B] : NULL;
    if (s->has_expand)
        store_rows((const float *)expand->weights->data, s->middle, s->channels, s->depth, s->type,
                   to);
    store_rows((const float *)call->inputs[TN_CONV_W]->data, s->filters, s->middle, s->middle,
               s->type, to + state->at_project);
    float *rows = (float *)(to + state->at_rows);
    for (int64_t c = 0; s->has_window && c < s->middle; c++)
        for (int64_t i = 0; i < TN_SEPARABLE_TAPS; i++)
            rows[i * s->middle + c] =
                ((const float *)window->weights->data)[c * TN_SEPARABLE_TAPS + i];
    copy_bias(window->bias, rows + (int64_t)TN_SEPARABLE_TAPS * s->middle);
    copy_bias(expand->bias, rows + (int64_t)(TN_SEPARABLE_TAPS + 1) * s->middle);
    tn_epilogue_gather_bias(call, &state->links.epilogue, own ? (const float *)own->data : NULL, 1,
                            1.0f, 0, s->filters, (float *)(to + state->at_bias));
}

tn_status prepare_constants(tn_call *call, const tn_cuda_separable *s, separable_state *state) {
    int64_t bytes = 0;
    const auto add = [&](int64_t more) {
        const int64_t begin = bytes;
        bytes += (more + 255) / 256 * 256;
        return begin;
    };
    add(s->has_expand ? (int64_t)s->middle * s->depth * 2 : 0);
    state->at_project = add((int64_t)s->filters * s->middle * 2);
    state->at_rows = add((int64_t)s->middle * TN_SEPARABLE_ROWS * 4);
    state->at_bias = add((int64_t)s->filters * 4);
    char *packed = (char *)call->host->allocate(call->host, (uint64_t)bytes, 64);
    if (!packed)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory to pack %lld bytes of weights",
                                (long long)bytes);
    memset(packed, 0, (size_t)bytes);
    fill_constants(call, s, state, packed);
    const tn_status status =
        tn_cuda_upload(call, packed, (uint64_t)bytes, (void **)&state->constants);
    call->host->deallocate(call->host, packed);
    return status;
}

} // namespace

/* ----------------------------------------------------------------------------------------------
 * callbacks */

extern "C" tn_status tn_cuda_separable_accepts(tn_call *call) TN_NOEXCEPT {
    tn_cuda_separable s;
    tn_cuda_separable_config config;
    chain links;
    return read_chain(call, &links) && read_node(call, &links, &s) && are_constant(call, &links) &&
                   tn_cuda_separable_choose(&s, 0, &config)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

extern "C" tn_status tn_cuda_separable_tactics(tn_call *call) TN_NOEXCEPT {
    tn_cuda_separable s;
    tn_cuda_separable_config config;
    chain links;
    uint32_t count = 0;
    if (read_chain(call, &links) && read_node(call, &links, &s))
        while (tn_cuda_separable_choose(&s, count, &config))
            count++;
    call->tactic_count = count ? count : 1;
    return TN_OK;
}

extern "C" void tn_cuda_separable_release(tn_call *call) TN_NOEXCEPT {
    separable_state *state = (separable_state *)call->state;
    if (state->constants) call->device->deallocate(call->device, state->constants, call->stream);
    tn_kernel_state_destroy(call);
}

extern "C" tn_status tn_cuda_separable_prepare(tn_call *call) TN_NOEXCEPT {
    tn_cuda_separable s;
    TN_TRY(tn_kernel_state_create(call, sizeof(separable_state)));
    separable_state *state = (separable_state *)call->state;
    tn_status status;
    if (!read_chain(call, &state->links) || !read_node(call, &state->links, &s) ||
        !tn_cuda_separable_choose(&s, call->tactic, &state->config))
        status =
            call->host->fail(call, TN_ERROR_UNSUPPORTED, "the kernel does not do this convolution");
    else
        status = prepare_constants(call, &s, state);
    if (status != TN_OK) tn_cuda_separable_release(call);
    return status;
}

extern "C" tn_status tn_cuda_separable_open(tn_call *call) TN_NOEXCEPT {
    return tn_kernel_context_create(call, sizeof(separable_context));
}

extern "C" tn_status tn_cuda_separable_reshape(tn_call *call) TN_NOEXCEPT {
    const separable_state *state = (const separable_state *)call->state;
    separable_context *context = (separable_context *)call->context;
    tn_cuda_separable *s = &context->job;
    chain links;
    call->workspace_bytes = 0;
    context->is_empty = call->outputs[0]->bytes == 0;
    if (context->is_empty) return TN_OK;
    if (!read_chain(call, &links) || !read_node(call, &links, s))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "the kernel does not do a convolution of these shapes");
    s->expand = state->constants;
    s->project = state->constants + state->at_project;
    s->rows = (const float *)(state->constants + state->at_rows);
    s->bias = (const float *)(state->constants + state->at_bias);
    context->config = state->config;
    if (!tn_cuda_separable_fits(s, &context->config) &&
        !tn_cuda_separable_choose(s, 0, &context->config))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "these shapes are too large for the kernel");
    return TN_OK;
}

extern "C" tn_status tn_cuda_separable_run(tn_call *call) TN_NOEXCEPT {
    const separable_state *state = (const separable_state *)call->state;
    separable_context *context = (separable_context *)call->context;
    tn_cuda_separable *s = &context->job;
    const uint32_t residual = state->links.epilogue.residual;
    if (context->is_empty) return TN_OK;
    s->x = call->inputs[TN_CONV_X]->data;
    s->y = call->outputs[0]->data;
    s->residual = residual == UINT32_MAX ? NULL : call->operands[residual]->data;
    const int before = tn_cuda_enter(call);
    const cudaError_t error =
        tn_cuda_separable_launch(s, &context->config, (cudaStream_t)call->stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching a separable convolution");
}
