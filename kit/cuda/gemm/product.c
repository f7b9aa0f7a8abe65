/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a node as a matrix product; see product.h. */
#include "kit/cuda/gemm/product.h"
#include "kit/math/element.h"

enum { A = 0, B = 1, C = 2 };

static bool is_float(tn_type type) {
    return type == TN_F32 || type == TN_F16 || type == TN_BF16;
}

static bool is_dense(const tn_tensor *tensor, tn_format format) {
    return tensor->format == format && !tensor->quantization && is_float(tensor->type);
}

/* A mean of planes may be stored linear, which is the same order, and as 32-bit floats. */
static bool is_output(const tn_tensor *y, tn_format format, tn_type type, bool has_mean) {
    if (has_mean && y->format == TN_LINEAR) format = TN_LINEAR;
    return is_dense(y, format) &&
           (y->type == type || (has_mean && y->format == TN_LINEAR && y->type == TN_F32));
}

static bool read_epilogue(const tn_call *call, tn_cuda_product_node *node) {
    const tn_cuda_product_user *user = call->user;
    if (!tn_float_epilogue_read(call, user->channel_axis, &node->epilogue)) return false;
    const tn_cuda_product *product = &node->product;
    for (uint32_t i = 0; i < node->epilogue.bias_count; i++) {
        const tn_tensor *bias = call->operands[node->epilogue.bias[i]];
        if (tn_element_count(bias) != product->columns) return false;
    }
    if (node->epilogue.residual != UINT32_MAX &&
        call->operands[node->epilogue.residual]->type != node->type)
        return false;
    node->has_matrix = product->has_c && product->c_row_stride != 0;
    node->has_bias = node->epilogue.bias_count > 0 || (product->has_c && !node->has_matrix);
    if (!product->has_c) return true;
    const tn_tensor *c = call->inputs[C];
    if (!node->has_matrix) return true;
    return product->c_column_stride == 1 && c->type == node->type &&
           node->epilogue.residual == UINT32_MAX;
}

bool tn_cuda_product_read(const tn_call *call, tn_cuda_product_node *out_node) {
    const tn_cuda_product_user *user = call->user;
    const tn_tensor *a = call->inputs[A], *b = call->inputs[B], *y = call->outputs[0];
    tn_cuda_product_node node = {0};
    const tn_format format = user->channel_axis == 1 ? TN_NHWC : TN_LINEAR;
    if (!a || !b || !y || !is_dense(a, format) || !is_dense(b, TN_LINEAR) ||
        !user->read(call, &node.product))
        return false;
    node.type = a->type;
    node.b_type = b->type == TN_F32 || a->type != TN_F32 ? a->type : b->type;
    const tn_cuda_product *p = &node.product;
    if (p->batch <= 0 || p->rows <= 0 || p->columns <= 0 || p->depth <= 0 || p->rows > INT32_MAX ||
        p->columns > INT32_MAX || p->depth > INT32_MAX || p->batch > INT32_MAX ||
        !read_epilogue(call, &node) || !is_output(y, format, a->type, node.epilogue.has_mean))
        return false;
    if (node.epilogue.has_mean) node.pixels = a->shape[0] > 0 ? p->rows / a->shape[0] : 0;
    *out_node = node;
    return true;
}

bool tn_cuda_product_is_constant(const tn_call *call, const tn_cuda_product_node *node) {
    const tn_tensor *b = call->inputs[B];
    if (b->type != node->type && !b->data) return false;
    if (node->product.has_c && !node->has_matrix && !call->inputs[C]->data) return false;
    for (uint32_t i = 0; i < node->epilogue.bias_count; i++)
        if (!call->operands[node->epilogue.bias[i]]->data) return false;
    return true;
}

void tn_cuda_product_bias(const tn_call *call, const tn_cuda_product_node *node, float *bias) {
    const tn_cuda_product *product = &node->product;
    const tn_tensor *c = product->has_c && !node->has_matrix ? call->inputs[C] : NULL;
    for (int64_t i = 0; i < product->columns; i++) {
        double sum = 0;
        if (c)
            sum = (double)product->c_factor *
                  tn_element_load_f64(c->data, c->type, i * product->c_column_stride);
        for (uint32_t k = 0; k < node->epilogue.bias_count; k++) {
            const tn_tensor *more = call->operands[node->epilogue.bias[k]];
            sum += tn_element_load_f64(more->data, more->type, i);
        }
        bias[i] = (float)sum;
    }
}

const void *tn_cuda_product_addend(const tn_call *call, const tn_cuda_product_node *node) {
    if (node->has_matrix) return call->inputs[C]->data;
    return node->epilogue.residual == UINT32_MAX ? NULL
                                                 : call->operands[node->epilogue.residual]->data;
}
