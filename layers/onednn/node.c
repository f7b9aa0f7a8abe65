/* SPDX-License-Identifier: Apache-2.0 */
/* A node that one primitive does: made for the shapes of a context, then run; see dnnl.h. */
#include "onednn/dnnl.h"
#include "kit/operator/kernel_memory.h"
#include <tenon/kit/infer.h>
#include <tenon/kit/strided.h>

enum { X = 0 };

typedef struct node_context {
    tn_kernel_context kept; /* no tables */
    tn_dnnl_primitive primitive;
    int64_t shape[4]; /* of the input that the primitive is for */
} node_context;

tn_status tn_dnnl_node_open(tn_call *call) {
    return tn_kernel_context_create(call, sizeof(node_context));
}

void tn_dnnl_node_close(tn_call *call) {
    node_context *context = call->context;
    tn_dnnl_primitive_destroy(&context->primitive);
    tn_kernel_context_destroy(call);
}

static bool are_images_apart(const tn_tensor *tensor) {
    tn_strided rows;
    tn_strided_init(&rows, tensor);
    return rows.pitch != rows.row && tensor->format != TN_NHWC;
}

/* For tensors that are not packed oneDNN has its plain implementation alone. Where the images of
 * input 0 or output 0 lie apart (tenon/plugin/view.h), each is packed by itself: the number of
 * images then, to be done one after the other; else 1. */
static int64_t parts_of(const tn_call *call) {
    const tn_tensor *x = call->inputs[X];
    return are_images_apart(x) || are_images_apart(call->outputs[0]) ? x->shape[0] : 1;
}

/* A batch of none, in a network for any: oneDNN describes no such tensors. */
static bool is_empty(const tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    return tn_infer_product(y->shape, 0, y->rank) == 0;
}

/* The arguments in the order in which tn_dnnl_node_run gives their addresses. */
static tn_status add_arguments(tn_call *call, bool has_weights, bool has_bias,
                               const tn_tensor *added, const_dnnl_primitive_desc_t desc,
                               tn_dnnl_primitive *primitive) {
    const struct {
        int id;
        dnnl_query_t query;
        int index;
        bool is_there;
    } arguments[] = {{DNNL_ARG_SRC, dnnl_query_src_md, 0, true},
                     {DNNL_ARG_DST, dnnl_query_dst_md, 0, true},
                     {DNNL_ARG_WEIGHTS, dnnl_query_weights_md, 0, has_weights},
                     {DNNL_ARG_BIAS, dnnl_query_weights_md, 1, has_bias}};
    tn_dnnl_layout operand = {0};
    tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < TN_COUNT(arguments); i++) {
        if (!arguments[i].is_there) continue;
        status = tn_dnnl_primitive_add(
            call, primitive, arguments[i].id,
            dnnl_primitive_desc_query_md(desc, arguments[i].query, arguments[i].index));
    }
    const tn_tensor *other = added ? added : call->operand_count ? call->operands[0] : NULL;
    const int at = DNNL_ARG_ATTR_MULTIPLE_POST_OP(added ? TN_DNNL_SUM_AT : 0);
    if (status == TN_OK && other && tn_dnnl_layout_of(&operand, other, primitive->parts))
        status = tn_dnnl_primitive_add(call, primitive, at | DNNL_ARG_SRC_1,
                                       tn_dnnl_layout_view(&operand));
    tn_dnnl_layout_clear(&operand);
    return status;
}

tn_status tn_dnnl_node_reshape(tn_call *call, bool has_weights, const tn_tensor *bias,
                               const tn_tensor *added,
                               tn_status (*describe)(tn_call *call, int64_t parts,
                                                     dnnl_primitive_desc_t *out_desc)) {
    node_context *context = call->context;
    tn_dnnl_primitive *primitive = &context->primitive;
    const int64_t *shape = call->inputs[X]->shape, parts = parts_of(call);
    dnnl_primitive_desc_t desc;
    call->workspace_bytes = 0;
    if (is_empty(call)) return TN_OK;
    if (!primitive->primitive || primitive->parts != parts ||
        memcmp(context->shape, shape, sizeof(context->shape)) != 0) {
        tn_dnnl_primitive_destroy(primitive);
        TN_TRY(describe(call, parts, &desc));
        tn_status status = tn_dnnl_primitive_make(call, desc, primitive);
        primitive->parts = parts;
        if (status == TN_OK)
            status = add_arguments(call, has_weights, bias != NULL, added, desc, primitive);
        dnnl_primitive_desc_destroy(desc);
        if (status != TN_OK) {
            tn_dnnl_primitive_destroy(primitive);
            return status;
        }
        memcpy(context->shape, shape, sizeof(context->shape));
    }
    call->workspace_bytes = primitive->scratch_bytes;
    return TN_OK;
}

/* Parts begin where the batch's images do. */
static tn_dnnl_address address_of(const tn_tensor *tensor) {
    const uint64_t bytes = tensor->type == TN_F32 ? sizeof(float) : 1;
    return (tn_dnnl_address){tensor->data, (uint64_t)tensor->strides[0] * bytes};
}

tn_status tn_dnnl_node_run(tn_call *call, const void *weights, const tn_tensor *bias,
                           const tn_tensor *added) {
    const node_context *context = call->context;
    tn_dnnl_address addresses[TN_DNNL_ARGUMENTS] = {address_of(call->inputs[X]),
                                                    address_of(call->outputs[0])};
    uint32_t count = 2;
    if (is_empty(call)) return TN_OK;
    if (weights) addresses[count++] = (tn_dnnl_address){(void *)(uintptr_t)weights, 0};
    if (bias) addresses[count++] = (tn_dnnl_address){bias->data, 0};
    if (added || call->operand_count)
        addresses[count++] = address_of(added ? added : call->operands[0]);
    return tn_dnnl_primitive_run(call, &context->primitive, addresses);
}
