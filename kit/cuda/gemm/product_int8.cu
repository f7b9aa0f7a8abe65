/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products in 8 bits with 32-bit sums, in one launch: the rows of a are floating-point values of
 * one scale, b is constant and quantised by columns, and scale, bias, residual, activation and
 * rounding are done where the sums are. Also convolutions, whose rows are the pixels of an image
 * with its channels last. The kernels are in product_int8_kernel.cu. See product.h.
 */
#include "kit/cuda/gemm/byte_weight.h"
#include "kit/cuda/gemm/product.h"
#include "kit/cuda/gemm/product_int8_job.h"
#include <tenon/kit/cuda/launch.h>
#include <tenon/kit/cuda/upload.h>

#include <string.h>

extern "C" {
#include "kit/math/byte_table.h"
#include "kit/math/element.h"
#include "kit/operator/kernel_memory.h"
}

namespace {

enum { A = 0, B = 1, DEPTH = TN_CUDA_INT8_DEPTH };

struct int8_node {
    tn_cuda_product product;
    tn_float_epilogue epilogue;
    tn_type y_type;
    float x_scale, y_scale, residual_scale;
    tn_cuda_int8_tactic tactic; /* a context's */
};

struct int8_state {
    int8_t *b;
    float *numbers; /* `columns` scales, then as many biases */
    int64_t columns, padded_depth;
};

bool read_scales(const tn_call *call, int8_node *node) {
    node->x_scale = tn_byte_scale(call->inputs[A]);
    node->y_scale = node->residual_scale = 1.0f;
    if (node->x_scale == 0) return false;
    if (node->y_type != TN_I8) return node->y_type == TN_F32;
    node->y_scale = tn_byte_scale(call->outputs[0]);
    if (node->epilogue.residual != UINT32_MAX)
        node->residual_scale = tn_byte_scale(call->operands[node->epilogue.residual]);
    return node->y_scale != 0 && node->residual_scale != 0;
}

bool read(const tn_call *call, int8_node *out_node) {
    const tn_cuda_product_user *user = (const tn_cuda_product_user *)call->user;
    const tn_tensor *a = call->inputs[A], *b = call->inputs[B], *y = call->outputs[0];
    int8_node node = {};
    if (!a || !b || !y || a->type != TN_I8 || a->format != y->format || !b->data ||
        b->format != TN_LINEAR || !user->read(call, &node.product))
        return false;
    node.y_type = y->type;
    const tn_cuda_product *p = &node.product;
    if (p->batch != 1 || p->a_is_transposed || p->rows <= 0 || p->columns <= 0 || p->depth <= 0 ||
        p->rows > INT32_MAX - 64 || p->columns > 65535 * 32 || p->depth > 100000 ||
        (p->has_c && p->c_row_stride != 0) ||
        !tn_float_epilogue_read(call, user->channel_axis, &node.epilogue) ||
        !read_scales(call, &node))
        return false;
    for (uint32_t i = 0; i < node.epilogue.bias_count; i++)
        if (!call->operands[node.epilogue.bias[i]]->data) return false;
    if (p->has_c && !call->inputs[2]->data) return false;
    if (node.epilogue.residual != UINT32_MAX &&
        call->operands[node.epilogue.residual]->type != node.y_type)
        return false;
    *out_node = node;
    return true;
}

/* A filter's taps with their channels beside each other, as rows of a have them. */
void turn_filter(const tn_cuda_product_image *image, const int8_t *filter, int8_t *to) {
    for (int64_t t = 0; t < image->taps; t++)
        for (int64_t c = 0; c < image->channels; c++)
            to[t * image->channels + c] = filter[c * image->taps + t];
}

void pack_matrix(const tn_call *call, const int8_node *node, int64_t padded_depth, int8_t *column,
                 int8_t *packed, float *scales) {
    const tn_cuda_product *p = &node->product;
    const int64_t row_step = p->b_is_transposed ? 1 : p->columns;
    const int64_t column_step = p->b_is_transposed ? p->depth : 1;
    for (int64_t n = 0; n < p->columns; n++) {
        int8_t *to = packed + n * padded_depth;
        const float scale = tn_cuda_byte_weights(call->inputs[B], n * column_step, row_step,
                                                 p->depth, p->image.taps > 1 ? column : to);
        if (p->image.taps > 1) turn_filter(&p->image, column, to);
        memset(to + p->depth, 0, (size_t)(padded_depth - p->depth));
        scales[n] = scale * node->x_scale * p->alpha;
    }
}

/* b by columns, each with zeros up to whole steps, and its scales. */
tn_status prepare_matrix(tn_call *call, const int8_node *node, int8_state *state, float *scales) {
    const uint64_t bytes = (uint64_t)node->product.columns * (uint64_t)state->padded_depth;
    int8_t *packed = (int8_t *)call->host->allocate(
        call->host, bytes + (uint64_t)node->product.depth, 64); /* and a column's scratch */
    if (!packed)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory to pack %llu bytes of weights",
                                (unsigned long long)bytes);
    pack_matrix(call, node, state->padded_depth, packed + bytes, packed, scales);
    const tn_status status = tn_cuda_upload(call, packed, bytes, (void **)&state->b);
    call->host->deallocate(call->host, packed);
    return status;
}

tn_status prepare_constants(tn_call *call, const int8_node *node, int8_state *state) {
    const int64_t columns = node->product.columns;
    const uint64_t bytes = 2 * (uint64_t)columns * sizeof(float);
    tn_cuda_product_node floats = {};
    float *numbers = (float *)call->host->allocate(call->host, bytes, 64);
    if (!numbers) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for biases");
    floats.product = node->product;
    floats.epilogue = node->epilogue;
    tn_cuda_product_bias(call, &floats, numbers + columns);
    tn_status status = prepare_matrix(call, node, state, numbers);
    if (status == TN_OK) status = tn_cuda_upload(call, numbers, bytes, (void **)&state->numbers);
    call->host->deallocate(call->host, numbers);
    return status;
}

} // namespace

tn_status tn_cuda_product_int8_accepts(tn_call *call) TN_NOEXCEPT {
    int8_node node;
    return read(call, &node) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

tn_status tn_cuda_product_int8_tactics(tn_call *call) TN_NOEXCEPT {
    tn_cuda_int8_tactic tactics[TN_CUDA_INT8_MOST_TACTICS];
    int8_node node;
    call->tactic_count = read(call, &node) ? tn_cuda_int8_tactics(&node.product, tactics) : 1;
    return TN_OK;
}

tn_status tn_cuda_product_int8_prepare(tn_call *call) TN_NOEXCEPT {
    int8_node node;
    if (!read(call, &node))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "this node reads as no product");
    TN_TRY(tn_kernel_state_create(call, sizeof(int8_state)));
    int8_state *state = (int8_state *)call->state;
    state->columns = node.product.columns;
    state->padded_depth = (node.product.depth + DEPTH - 1) / DEPTH * DEPTH;
    const tn_status status = prepare_constants(call, &node, state);
    if (status != TN_OK) tn_cuda_product_int8_release(call);
    return status;
}

void tn_cuda_product_int8_release(tn_call *call) TN_NOEXCEPT {
    const int8_state *state = (const int8_state *)call->state;
    if (state->b) call->device->deallocate(call->device, state->b, call->stream);
    if (state->numbers) call->device->deallocate(call->device, state->numbers, call->stream);
    tn_kernel_state_destroy(call);
}

tn_status tn_cuda_product_int8_open(tn_call *call) TN_NOEXCEPT {
    return tn_kernel_context_create(call, sizeof(int8_node));
}

void tn_cuda_product_int8_close(tn_call *call) TN_NOEXCEPT {
    call->host->deallocate(call->host, call->context);
}

/* A tactic is an index in the order for these shapes. */
tn_status tn_cuda_product_int8_reshape(tn_call *call) TN_NOEXCEPT {
    tn_cuda_int8_tactic tactics[TN_CUDA_INT8_MOST_TACTICS];
    int8_node *node = (int8_node *)call->context;
    call->workspace_bytes = 0;
    if (call->outputs[0]->bytes == 0) return TN_OK;
    if (!read(call, node))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "these shapes read as no product");
    const uint32_t count = tn_cuda_int8_tactics(&node->product, tactics);
    node->tactic = tactics[call->tactic < count ? call->tactic : 0];
    return TN_OK;
}

tn_status tn_cuda_product_int8_run(tn_call *call) TN_NOEXCEPT {
    const int8_state *state = (const int8_state *)call->state;
    const int8_node *node = (const int8_node *)call->context;
    const tn_float_epilogue *epilogue = &node->epilogue;
    tn_cuda_int8_job l = {};
    if (call->outputs[0]->bytes == 0) return TN_OK;
    l.a = (const int8_t *)call->inputs[A]->data;
    l.b = state->b;
    l.scale = state->numbers;
    l.bias = state->numbers + state->columns;
    if (epilogue->residual != UINT32_MAX) l.residual = call->operands[epilogue->residual]->data;
    l.y = call->outputs[0]->data;
    l.y_type = node->y_type;
    l.rows = (int32_t)node->product.rows;
    l.columns = (int32_t)node->product.columns;
    l.depth = (int32_t)node->product.depth;
    l.padded_depth = (int32_t)state->padded_depth;
    l.residual_scale = node->residual_scale;
    l.y_factor = 1.0f / node->y_scale;
    l.activation = {epilogue->activation, epilogue->alpha, epilogue->beta};
    l.image = node->product.image;
    const int before = tn_cuda_enter(call);
    const cudaError_t error = tn_cuda_int8_launch(&l, node->tactic, (cudaStream_t)call->stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching a product in 8 bits");
}
