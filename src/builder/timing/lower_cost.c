/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Costs in nanoseconds: measured where timing can, else estimated from the bytes that move and, for
 * nodes with weights, the work on them. The estimates are coarse; they need to be right about what
 * is large and what is small, and about conversions against kernels.
 */
#include "base/status.h"
#include "builder/lower/lower_private.h"
#include "builder/timing/timing.h"
#include "plugin/devices.h"

#include <math.h>

/* Of a common core of today. */
#define BYTES_A_NS      10.0
#define WORK_A_NS       10.0 /* multiplications and additions, a kernel in 32-bit floats */
#define CONVERT_A_NS    10.0 /* bytes, read and written */
#define STEP_NS         500.0
#define RANK_FACTOR     0.05 /* each place down the order of preference */
#define BLOCKED_FACTOR  0.8  /* of work, in a format that kernels with weights like */
#define FALLBACK_FACTOR 8.0
#define REFERENCE_NS    20.0 /* an element of work, in double precision */
#define UNKNOWN_BYTES   4096.0
/* Of a common device of today: its own memory, its work, and copies from and to the host. */
#define DEVICE_STEP_NS     2000.0
#define DEVICE_BYTES_A_NS  1000.0
#define DEVICE_WORK_A_NS   5000.0
#define DEVICE_NARROW_WORK 0.1 /* in 16 and in 8 bits: layers are seldom large enough to tell */
#define TRANSFER_STEP_NS   8000.0
#define TRANSFER_A_NS      20.0
/* What is never chosen while there is another way. */
#define IMPOSSIBLE_NS 1e15

static double bytes_of(const tn_lowering *lowering, tn_tensor_id tensor, tn_storage stored) {
    size_t bytes = 0;
    if (tensor == TN_NO_TENSOR) return 0;
    const tn_tensor *known = lowering->tensors[tensor];
    if (!known || known->type == TN_NONE) return UNKNOWN_BYTES;
    const tn_tensor_storage *storage = &lowering->points[1]->tensors[tensor].storage;
    if (tn_format_bytes(stored.format, tn_lower_type(lowering, tensor, stored), &storage->shape,
                        &bytes) != TN_OK)
        return (double)known->bytes;
    return (double)bytes;
}

static double elements_of(const tn_lowering *lowering, tn_tensor_id tensor) {
    size_t count = 0;
    if (!lowering->tensors[tensor] ||
        tn_shape_count(&lowering->points[1]->tensors[tensor].storage.shape, &count) != TN_OK)
        return UNKNOWN_BYTES / 4;
    return (double)count;
}

/* Of work, in the type that a candidate reads its first input in. */
static double type_factor(const tn_candidate *candidate, const tn_graph_node *node) {
    if (node->input_count == 0) return 1;
    switch (candidate->inputs[0].type) {
    case TN_I8:
    case TN_U8:
        return 0.25;
    case TN_F16:
    case TN_BF16:
        return 0.5;
    default:
        return 1;
    }
}

/* Each output element meets each weight of its own row of the weights, more or less. */
static double work_of(const tn_lowering *lowering, const tn_graph_node *node) {
    double work = 0, outputs = 0;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR) outputs += elements_of(lowering, node->outputs[i]);
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == TN_NO_TENSOR) continue;
        const tn_graph_tensor *tensor = &lowering->graph->tensors[node->inputs[i]];
        if (!tensor->is_constant || tensor->shape.rank < 2 || tensor->shape.extents[0] < 1)
            continue;
        double weights = elements_of(lowering, node->inputs[i]);
        double row = weights / (double)tensor->shape.extents[0];
        if (outputs * row > work) work = outputs * row;
    }
    return work;
}

static double moved_bytes(const tn_lowering *lowering, uint32_t index,
                          const tn_candidate *candidate) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    double bytes = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == TN_NO_TENSOR ||
            (tn_graph_input_port(node->entry->op, i)->flags & TN_PORT_SHAPE_ONLY))
            continue;
        bytes +=
            bytes_of(lowering, tn_lower_input(lowering, index, candidate, i), candidate->inputs[i]);
    }
    for (uint32_t i = 0; i < node->output_count; i++)
        bytes += bytes_of(lowering, tn_lower_output(lowering, index, candidate, i),
                          candidate->outputs[i]);
    for (uint32_t i = 0; i < tn_lower_operand_count(candidate); i++)
        bytes += bytes_of(lowering, candidate->chain->operands[i], candidate->operands[i]);
    return bytes;
}

/* Units for products of matrices make of it what they are given in few bits. */
static double estimate_device(const tn_candidate *candidate, const tn_graph_node *node,
                              double bytes, double work) {
    const double factor = type_factor(candidate, node);
    if (factor < 1)
        work *= DEVICE_NARROW_WORK;
    else if (candidate->entry->kernel->traits & TN_KERNEL_TF32)
        work /= 4;
    return (DEVICE_STEP_NS + fmax(bytes / DEVICE_BYTES_A_NS, work / DEVICE_WORK_A_NS)) *
           (1 + RANK_FACTOR * candidate->rank + 0.01 * candidate->tactic);
}

double tn_lower_estimate(const tn_lowering *lowering, uint32_t index,
                         const tn_candidate *candidate) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    if (candidate->kind == TN_STEP_VIEW || candidate->is_host) return 0;
    double bytes = moved_bytes(lowering, index, candidate), work = work_of(lowering, node);
    if (tn_lower_is_on_device(candidate)) return estimate_device(candidate, node, bytes, work);
    if (!candidate->entry) return STEP_NS + (bytes / 4 + work) * REFERENCE_NS;
    work *= type_factor(candidate, node);
    if (node->output_count > 0 && candidate->outputs[0].format != TN_LINEAR) work *= BLOCKED_FACTOR;
    double ns = STEP_NS + fmax(bytes / BYTES_A_NS, work / WORK_A_NS);
    ns *= 1 + RANK_FACTOR * candidate->rank + 0.01 * candidate->tactic;
    return candidate->entry->kernel->traits & TN_KERNEL_FALLBACK ? ns * FALLBACK_FACTOR : ns;
}

tn_status tn_lower_reformat_cost(tn_lowering *lowering, tn_tensor_id tensor, tn_storage from,
                                 tn_storage to, double *out_cost, bool *out_is_measured) {
    const double bytes = bytes_of(lowering, tensor, from) + bytes_of(lowering, tensor, to);
    *out_cost = STEP_NS + bytes / CONVERT_A_NS;
    if (from.space != to.space)
        *out_cost = TRANSFER_STEP_NS + bytes / 2 / TRANSFER_A_NS;
    else if (from.space == TN_SPACE_DEVICE)
        *out_cost = DEVICE_STEP_NS + bytes / DEVICE_BYTES_A_NS;
    if (!lowering->timing) {
        *out_is_measured = false;
        return TN_OK;
    }
    double ns = 0;
    const tn_status status = tn_timing_reformat(lowering, tensor, from, to, &ns, out_is_measured);
    if (status == TN_ERROR_UNSUPPORTED) { /* a device does not convert between these two */
        tn_error_clear();
        *out_is_measured = true;
        ns = IMPOSSIBLE_NS;
    } else if (status != TN_OK) {
        return status;
    }
    if (*out_is_measured) *out_cost = ns;
    return TN_OK;
}
