/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a node as a convolution that cuDNN may do; see cudnn_conv_plan.h. */
#include "kit/cuda/cudnn/cudnn_conv.h"
#if TN_HAS_CUDNN
#include "kit/cuda/cudnn/cudnn_conv_plan.h"

extern "C" {
#include "kit/math/byte_table.h"
}

#include <string.h>

enum { X = 0, W = 1, B = 2 };

static bool get_type(tn_type type, cudnnDataType_t *out_type) {
    switch (type) {
    case TN_F32:
        *out_type = CUDNN_DATA_FLOAT;
        return true;
    case TN_F16:
        *out_type = CUDNN_DATA_HALF;
        return true;
    case TN_BF16:
        *out_type = CUDNN_DATA_BFLOAT16;
        return true;
    case TN_I8:
        *out_type = CUDNN_DATA_INT8;
        return true;
    default:
        return false;
    }
}

static void set_strides(tn_cudnn_tensor *tensor, bool is_last) {
    int64_t stride = 1;
    if (is_last) {
        tensor->strides[1] = 1;
        stride = tensor->shape[1];
    }
    for (uint32_t i = tensor->rank; i-- > (is_last ? 2u : 1u);) {
        tensor->strides[i] = stride;
        stride *= tensor->shape[i];
    }
    tensor->strides[0] = stride;
}

/* A tensor of the node; one spatial axis becomes two. False when it is empty. */
static bool describe(const tn_tensor *from, int64_t id, cudnnDataType_t type, bool is_last,
                     tn_cudnn_tensor *out) {
    *out = {};
    out->id = id;
    out->type = type;
    out->rank = from->rank < 4 ? 4 : from->rank;
    const uint32_t more = out->rank - from->rank;
    for (uint32_t i = 0; i < out->rank; i++) {
        out->shape[i] = i < 2 ? from->shape[i] : i < 2 + more ? 1 : from->shape[i - more];
        if (out->shape[i] <= 0 || out->shape[i] > INT32_MAX) return false;
    }
    set_strides(out, is_last);
    return true;
}

/* Padding is the same on both sides for cuDNN: what the node has behind may be left out or added
 * where no output sees it. */
static bool set_axis(const tn_window *window, bool is_transposed, uint32_t axis, uint32_t at,
                     tn_cudnn_convolution *out) {
    const int64_t count = is_transposed ? window->input[axis] : window->output[axis];
    const int64_t seen = is_transposed ? window->output[axis] : window->input[axis];
    const int64_t pad = window->pad_begin[axis], stride = window->stride[axis];
    const int64_t span = seen + 2 * pad - tn_window_extent(window, axis);
    if (pad < 0 || span < 0 || span / stride + 1 != count) return false;
    out->pads[at] = pad;
    out->strides[at] = stride;
    out->dilations[at] = window->dilation[axis];
    return true;
}

static bool read_window(const tn_call *call, tn_cudnn_problem *problem) {
    const tn_cudnn_conv *kind = problem->kind;
    tn_cudnn_convolution *convolution = &problem->convolution;
    tn_call probe = *call;
    tn_window window;
    if (kind->read_window(&probe, &window) != TN_OK) return false;
    const uint32_t more = problem->rank - 2 - window.rank;
    convolution->is_transposed = kind->is_transposed;
    convolution->spatial_rank = problem->rank - 2;
    convolution->compute_type = problem->storage == TN_I8 ? CUDNN_DATA_INT32 : CUDNN_DATA_FLOAT;
    for (uint32_t i = 0; i < more; i++)
        convolution->strides[i] = convolution->dilations[i] = 1;
    for (uint32_t i = 0; i < window.rank; i++)
        if (!set_axis(&window, kind->is_transposed, i, i + more, convolution)) return false;
    return true;
}

/* Whether activation(x) / s is activation(x / s), with its bounds over s too. */
static bool is_homogeneous(uint32_t activation) {
    return activation == 0 || activation == TN_ACTIVATION_RELU ||
           activation == TN_ACTIVATION_CLIP || activation == TN_ACTIVATION_LEAKY_RELU;
}

static bool read_scales(const tn_call *call, tn_cudnn_problem *problem) {
    problem->x_scale = problem->y_scale = problem->residual_scale = problem->fold = 1.0f;
    if (problem->storage != TN_I8) return problem->y_type == problem->storage;
    problem->x_scale = tn_byte_scale(call->inputs[X]);
    if (problem->x_scale == 0 || problem->kind->is_transposed || !problem->is_last) return false;
    if (problem->y_type != TN_I8) return problem->y_type == TN_F32;
    problem->y_scale = tn_byte_scale(call->outputs[0]);
    if (problem->y_scale == 0) return false;
    if (problem->epilogue.residual != UINT32_MAX) {
        problem->residual_scale = tn_byte_scale(call->operands[problem->epilogue.residual]);
        if (problem->residual_scale == 0) return false;
    }
    if (!is_homogeneous(problem->epilogue.activation)) return true;
    problem->is_folded = true;
    problem->fold = 1.0f / problem->y_scale;
    if (problem->epilogue.activation == TN_ACTIVATION_CLIP) {
        problem->epilogue.alpha *= problem->fold;
        problem->epilogue.beta *= problem->fold;
    }
    return true;
}

static bool read_epilogue(const tn_call *call, tn_cudnn_problem *problem) {
    if (!tn_float_epilogue_read(call, 1, &problem->epilogue)) return false;
    problem->has_bias = (call->input_count > B && call->inputs[B]) || problem->epilogue.bias_count;
    problem->has_epilogue = problem->has_bias || problem->epilogue.residual != UINT32_MAX ||
                            problem->epilogue.activation != 0;
    return true;
}

/* Images of one pixel: their strides do not say which of batch and channels is which, and what
 * cuDNN 9.19 does behind its product in tf32 then takes the one for the other. */
static bool is_ambiguous(const tn_tensor *y) {
    int64_t pixels = 1;
    for (uint32_t i = 2; i < y->rank; i++)
        pixels *= y->shape[i];
    return y->format == TN_LINEAR && y->shape[0] > 1 && pixels == 1;
}

bool tn_cudnn_problem_read(const tn_call *call, tn_cudnn_problem *out_problem) {
    const tn_tensor *x = call->inputs[X], *w = call->inputs[W], *y = call->outputs[0];
    tn_cudnn_problem problem = {};
    cudnnDataType_t type, y_type;
    if (!x || !w || !y || x->rank < 3 || x->rank > 5 || !get_type(x->type, &type) ||
        !get_type(y->type, &y_type) || x->format != y->format ||
        (x->format != TN_LINEAR && x->format != TN_NHWC) || is_ambiguous(y))
        return false;
    problem.kind = (const tn_cudnn_conv *)call->user;
    problem.rank = x->rank < 4 ? 4 : x->rank;
    problem.is_last = x->format == TN_NHWC;
    problem.storage = x->type;
    problem.y_type = y->type;
    if (!read_epilogue(call, &problem) || !read_scales(call, &problem) ||
        !describe(x, TN_CUDNN_CONV_X, type, problem.is_last, &problem.x) ||
        !describe(w, TN_CUDNN_CONV_W, type, problem.is_last, &problem.w) ||
        !describe(y, TN_CUDNN_CONV_Y, y_type, problem.is_last, &problem.y) ||
        !read_window(call, &problem))
        return false;
    *out_problem = problem;
    return true;
}

#endif
