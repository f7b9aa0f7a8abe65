/* SPDX-License-Identifier: Apache-2.0 */
/* Constant matrices and biases of products on the device; see product_constants.h. */
#include "kit/cuda/gemm/product_constants.h"
#include "kit/math/element.h"
#include "kit/operator/kernel_memory.h"

#include <tenon/kit/cuda/upload.h>

enum { B = 1 };

/* b by columns. */
static tn_status prepare_matrix(tn_call *call, tn_cuda_product_constants *state) {
    const tn_cuda_product *p = &state->node.product;
    const tn_tensor *b = call->inputs[B];
    const tn_type type = state->node.b_type;
    if (p->b_is_transposed && b->type == type) return TN_OK;
    const uint64_t bytes = (uint64_t)tn_element_count(b) * tn_element_bytes(type);
    void *packed = call->host->allocate(call->host, bytes, 64);
    if (!packed)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory to pack %llu bytes of weights",
                                (unsigned long long)bytes);
    const int64_t row = p->b_is_transposed ? 1 : p->columns;
    const int64_t column = p->b_is_transposed ? p->depth : 1;
    for (int64_t n = 0; n < p->columns; n++)
        for (int64_t k = 0; k < p->depth; k++)
            tn_element_store_f64(packed, type, n * p->depth + k,
                                 tn_element_load_f64(b->data, b->type, k * row + n * column));
    const tn_status status = tn_cuda_upload(call, packed, bytes, &state->b);
    call->host->deallocate(call->host, packed);
    return status;
}

static tn_status prepare_bias(tn_call *call, tn_cuda_product_constants *state) {
    const uint64_t bytes = (uint64_t)state->node.product.columns * sizeof(float);
    if (!state->node.has_bias) return TN_OK;
    float *bias = call->host->allocate(call->host, bytes, 64);
    if (!bias) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for biases");
    tn_cuda_product_bias(call, &state->node, bias);
    const tn_status status = tn_cuda_upload(call, bias, bytes, (void **)&state->bias);
    call->host->deallocate(call->host, bias);
    return status;
}

tn_status tn_cuda_product_constants_prepare(tn_call *call) {
    TN_TRY(tn_kernel_state_create(call, sizeof(tn_cuda_product_constants)));
    tn_cuda_product_constants *state = call->state;
    tn_status status = TN_OK;
    if (!tn_cuda_product_read(call, &state->node))
        status = call->host->fail(call, TN_ERROR_UNSUPPORTED, "this node reads as no product");
    if (status == TN_OK) status = prepare_matrix(call, state);
    if (status == TN_OK) status = prepare_bias(call, state);
    if (status != TN_OK) tn_cuda_product_constants_release(call);
    return status;
}

void tn_cuda_product_constants_release(tn_call *call) {
    const tn_cuda_product_constants *state = call->state;
    if (state->b) call->device->deallocate(call->device, state->b, call->stream);
    if (state->bias) call->device->deallocate(call->device, state->bias, call->stream);
    tn_kernel_state_destroy(call);
}

tn_status tn_cuda_product_constants_open(tn_call *call) {
    return tn_kernel_context_create(call, sizeof(tn_cuda_product_node));
}

void tn_cuda_product_constants_close(tn_call *call) {
    call->host->deallocate(call->host, call->context);
}
