/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Costs in nanoseconds: measured where timing can, else estimated from the bytes that move and, for
 * nodes with weights, the work on them. The estimates are coarse; they need to be right about what
 * is large and what is small, and about conversions against kernels.
 */
#include "base/status.h"
#include "build/lower_private.h"
#include "build/timing.h"
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
#define DEVICE_STEP_NS    2000.0
#define DEVICE_BYTES_A_NS 1000.0
#define DEVICE_WORK_A_NS  5000.0
#define TRANSFER_STEP_NS  8000.0
#define TRANSFER_A_NS     20.0
/* What is never chosen while there is another way. */
#define IMPOSSIBLE_NS 1e15
/* How much slower than the best one may be and still be measured again. */
#define RIVAL_FACTOR 2.0
#define RIVAL_ROUNDS 2
/* Up to how many times the best estimate promises most. */
#define PROMISING_FACTOR 2.0

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
    const tn_lower_node *lowered = &lowering->nodes[index];
    double bytes = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == TN_NO_TENSOR ||
            (tn_graph_input_port(node->entry->op, i)->flags & TN_PORT_SHAPE_ONLY))
            continue;
        bytes += bytes_of(lowering, node->inputs[i], candidate->inputs[i]);
    }
    for (uint32_t i = 0; i < node->output_count; i++)
        bytes += bytes_of(lowering, tn_lower_output(lowering, index, candidate, i),
                          candidate->outputs[i]);
    for (uint32_t i = 0; i < lowered->operand_counts[candidate->chain_count]; i++)
        bytes += bytes_of(lowering, lowered->operands[i], candidate->operands[i]);
    return bytes;
}

/* Units for products of matrices make of it what they are given in few bits. */
static double estimate_device(const tn_candidate *candidate, const tn_graph_node *node,
                              double bytes, double work) {
    const double factor = type_factor(candidate, node);
    if (factor < 1)
        work *= factor / 5;
    else if (candidate->entry->kernel->traits & TN_KERNEL_TF32)
        work /= 4;
    return (DEVICE_STEP_NS + fmax(bytes / DEVICE_BYTES_A_NS, work / DEVICE_WORK_A_NS)) *
           (1 + RANK_FACTOR * candidate->rank + 0.01 * candidate->tactic);
}

static double estimate(const tn_lowering *lowering, uint32_t index, const tn_candidate *candidate) {
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

/* Takes out a candidate whose kernel failed. */
static void remove_candidate(tn_lower_node *node, size_t index) {
    for (size_t i = index; i + 1 < node->candidate_count; i++)
        node->candidates[i] = node->candidates[i + 1];
    node->candidate_count--;
}

static bool has_other_single(const tn_lower_node *node, size_t index) {
    for (size_t i = 0; i < node->candidate_count; i++)
        if (i != index && node->candidates[i].chain_count == 0) return true;
    return node->candidates[index].chain_count > 0 && node->candidate_count > 1;
}

/* Whether the build's device is lost to this process: no other kernel would run there. */
static bool is_device_lost(const tn_lowering *lowering) {
    tn_error_copy error;
    if (!tn_lower_has_device(lowering)) return false;
    tn_error_save(&error);
    const bool is_lost = tn_device_alive(lowering->options->device) != TN_OK;
    tn_error_restore(&error);
    return is_lost;
}

/* A kernel that fails is passed over while there is another way; the last one's failure is the
 * build's. So is one that asks for more memory than its device has: another may do with less. */
static tn_status pass_over(tn_lowering *lowering, uint32_t index, size_t candidate,
                           tn_status status) {
    tn_lower_node *node = &lowering->nodes[index];
    const bool is_on_device = tn_lower_is_on_device(&node->candidates[candidate]);
    if ((status == TN_ERROR_MEMORY && !is_on_device) || !has_other_single(node, candidate) ||
        (is_on_device && is_device_lost(lowering)))
        return status;
    tn_runtime_log(lowering->graph->runtime, TN_LOG_WARNING,
                   "kernel '%s' is passed over for node '%s': %s",
                   node->candidates[candidate].entry->kernel->name,
                   lowering->graph->nodes[index].name, tn_last_error()->message);
    remove_candidate(node, candidate);
    return TN_OK;
}

/* Times the candidates of a node that were not yet, up to an estimate. */
static tn_status time_node(tn_lowering *lowering, uint32_t index, double limit) {
    tn_lower_node *node = &lowering->nodes[index];
    for (size_t i = 0; i < node->candidate_count;) {
        const bool is_due = !node->candidates[i].is_measured && node->candidates[i].cost <= limit;
        const tn_status status =
            is_due ? tn_timing_candidate(lowering, index, &node->candidates[i]) : TN_OK;
        if (status == TN_OK)
            i++;
        else
            TN_TRY(pass_over(lowering, index, i, status));
    }
    return TN_OK;
}

static double least_cost(const tn_lower_node *node) {
    double least = INFINITY;
    for (size_t i = 0; i < node->candidate_count; i++)
        least = fmin(least, node->candidates[i].cost);
    return least;
}

/* Where there is a choice first: of all nodes what promises most, then what is left of them. Nodes
 * without a choice are timed for the report alone. */
static tn_status time_nodes(tn_lowering *lowering) {
    const tn_graph *graph = lowering->graph;
    for (int pass = 0; pass < 3; pass++)
        for (uint32_t n = 0; n < graph->node_count; n++) {
            const tn_lower_node *node = &lowering->nodes[n];
            const double limit = pass == 0 ? PROMISING_FACTOR * least_cost(node) : INFINITY;
            if (!graph->nodes[n].is_dead && (node->candidate_count > 1) == (pass < 2))
                TN_TRY(time_node(lowering, n, limit));
        }
    return TN_OK;
}

/* Those near the best are measured again, some time after the first, so that a moment in which the
 * machine did something else does not decide. */
static tn_status time_rivals(tn_lowering *lowering, uint32_t index) {
    tn_lower_node *node = &lowering->nodes[index];
    double best = INFINITY;
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].is_measured) best = fmin(best, node->candidates[i].cost);
    for (size_t i = 0; node->candidate_count > 1 && i < node->candidate_count;) {
        const bool is_rival =
            node->candidates[i].is_fresh && node->candidates[i].cost <= RIVAL_FACTOR * best;
        const tn_status status =
            is_rival ? tn_timing_again(lowering, index, &node->candidates[i]) : TN_OK;
        if (status == TN_OK)
            i++;
        else
            TN_TRY(pass_over(lowering, index, i, status));
    }
    return TN_OK;
}

/* What was not measured must not win over what was by a guess. */
static void level_estimates(tn_lower_node *node) {
    double highest = 0;
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].is_measured) highest = fmax(highest, node->candidates[i].cost);
    for (size_t i = 0; i < node->candidate_count; i++)
        if (!node->candidates[i].is_measured && highest > 0)
            node->candidates[i].cost = fmax(node->candidates[i].cost, 1.1 * highest);
}

/* Equal nodes share their timings: all read what the cache says in the end, as a later build with
 * this cache will. */
static tn_status settle_node(tn_lowering *lowering, uint32_t index) {
    tn_lower_node *node = &lowering->nodes[index];
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].is_measured)
            TN_TRY(tn_timing_candidate(lowering, index, &node->candidates[i]));
    level_estimates(node);
    return TN_OK;
}

tn_status tn_lower_costs(tn_lowering *lowering) {
    const tn_graph *graph = lowering->graph;
    for (uint32_t n = 0; n < graph->node_count; n++)
        for (size_t i = 0; i < lowering->nodes[n].candidate_count; i++) {
            tn_candidate *candidate = &lowering->nodes[n].candidates[i];
            candidate->cost = estimate(lowering, n, candidate);
        }
    if (!lowering->timing) return TN_OK;
    tn_timing_start_clock(lowering);
    TN_TRY(time_nodes(lowering));
    tn_timing_limit(lowering);
    for (int round = 0; round < RIVAL_ROUNDS; round++)
        for (uint32_t n = 0; n < graph->node_count; n++)
            TN_TRY(time_rivals(lowering, n));
    for (uint32_t n = 0; n < graph->node_count; n++)
        TN_TRY(settle_node(lowering, n));
    return TN_OK;
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
