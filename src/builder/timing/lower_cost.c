/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Costs in nanoseconds: measured where timing can, else estimated from the bytes that move and, for
 * nodes with weights, the work on them. The estimates are coarse; they need to be right about what
 * is large and what is small, and about conversions against kernels.
 */
#include "base/status.h"
#include "builder/lower/candidate.h"
#include "builder/lower/lower_facts.h"
#include "builder/lower/lower_storages.h"
#include "builder/timing/lower_compare.h"
#include "builder/timing/timing.h"
#include "builder/timing/timing_policy.h"
#include "plugin/devices.h"

#include <math.h>
#include <string.h>

static double bytes_of(const tn_lowering *lowering, tn_tensor_id tensor, tn_storage stored) {
    size_t bytes = 0;
    if (tensor == TN_NO_TENSOR) return 0;
    const tn_tensor *known = lowering->facts->tensors[tensor];
    if (!known || known->type == TN_NONE) return tn_timing_policy.unknown_bytes;
    const tn_tensor_storage *storage = &lowering->points[1]->tensors[tensor].storage;
    if (tn_format_bytes(stored.format, tn_lower_type(lowering, tensor, stored), &storage->shape,
                        &bytes) != TN_OK)
        return (double)known->bytes;
    return (double)bytes;
}

static double elements_of(const tn_inference *optimum, tn_tensor_id tensor) {
    size_t count = 0;
    if (!optimum->tensors[tensor].is_known ||
        tn_shape_count(&optimum->tensors[tensor].storage.shape, &count) != TN_OK)
        return tn_timing_policy.unknown_bytes / 4;
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

double tn_lower_work(const tn_graph *graph, const tn_inference *optimum,
                     const tn_graph_node *node) {
    double work = 0, outputs = 0;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR) outputs += elements_of(optimum, node->outputs[i]);
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == TN_NO_TENSOR) continue;
        const tn_graph_tensor *tensor = &graph->tensors[node->inputs[i]];
        if (!tensor->is_constant || tensor->shape.rank < 2 || tensor->shape.extents[0] < 1)
            continue;
        double weights = elements_of(optimum, node->inputs[i]);
        double row = weights / (double)tensor->shape.extents[0];
        if (outputs * row > work) work = outputs * row;
    }
    return work;
}

/* How much of a vector's work is for channels that the tensor does not have. */
static double padding_of(const tn_inference *optimum, tn_tensor_id tensor, uint32_t lanes) {
    if (tensor == TN_NO_TENSOR || !optimum->tensors[tensor].is_known) return 1;
    const tn_shape *shape = &optimum->tensors[tensor].storage.shape;
    if (shape->rank < 2 || shape->extents[1] < 1) return 1;
    const double channels = (double)shape->extents[1];
    return ceil(channels / lanes) * lanes / channels;
}

/* Floats of the processor's vectors. */
static uint32_t lanes_of(const tn_runtime *runtime) {
    return tn_runtime_has_features(runtime, "avx512f") ? tn_timing_policy.wide_lanes
                                                       : tn_timing_policy.channel_lanes;
}

/* The weights of a window, by output channel; null: it has none. */
static const tn_shape *window_of(const tn_graph *graph, const tn_graph_node *node) {
    if (node->input_count < 2 || node->inputs[1] == TN_NO_TENSOR) return NULL;
    const tn_graph_tensor *weights = &graph->tensors[node->inputs[1]];
    return weights->is_constant && weights->shape.rank > 2 ? &weights->shape : NULL;
}

/* Whether each of several channels has weights of its own, and one row of them. */
static bool is_depthwise(const tn_graph *graph, const tn_inference *optimum,
                         const tn_graph_node *node) {
    const tn_shape *window = window_of(graph, node);
    if (!window || window->extents[1] != 1 || node->inputs[0] == TN_NO_TENSOR ||
        !optimum->tensors[node->inputs[0]].is_known)
        return false;
    const tn_shape *shape = &optimum->tensors[node->inputs[0]].storage.shape;
    return shape->rank == window->rank && shape->extents[1] > 1 &&
           shape->extents[1] == window->extents[0];
}

/* How much of a vector of pixels is idle at the end of a row; where the window is one pixel, or all
 * channels are summed up, rows are laid out one behind the other. */
static double idle_pixels(const tn_graph *graph, const tn_inference *optimum,
                          const tn_graph_node *node) {
    const tn_shape *window = window_of(graph, node);
    if (!window || node->outputs[0] == TN_NO_TENSOR || !optimum->tensors[node->outputs[0]].is_known)
        return 1;
    const tn_shape *shape = &optimum->tensors[node->outputs[0]].storage.shape;
    const double lanes = lanes_of(graph->runtime);
    bool is_wide = false;
    for (uint32_t i = 2; i < window->rank; i++)
        is_wide = is_wide || window->extents[i] > 1;
    const bool is_by_rows = is_wide && shape->rank > 2 && is_depthwise(graph, optimum, node);
    double pixels = 1;
    for (uint32_t i = is_by_rows ? shape->rank - 1 : 2; i < shape->rank; i++)
        pixels *= (double)shape->extents[i];
    return pixels < 1 ? 1 : ceil(pixels / lanes) * lanes / pixels;
}

double tn_lower_linear_factor(const tn_graph *graph, const tn_inference *optimum,
                              const tn_graph_node *node) {
    if (node->output_count == 0) return 1;
    return idle_pixels(graph, optimum, node) *
           (is_depthwise(graph, optimum, node) ? tn_timing_policy.depthwise_linear_factor : 1);
}

/* Channels of the output are rounded up to the block, and those of the input where they are read in
 * blocks; those of a depthwise window are the same ones. */
static double padded_channels(const tn_graph *graph, const tn_inference *optimum,
                              const tn_graph_node *node, uint32_t lanes, bool reads_blocks) {
    const double input = !reads_blocks || is_depthwise(graph, optimum, node)
                             ? 1
                             : padding_of(optimum, node->inputs[0], lanes);
    return input * padding_of(optimum, node->outputs[0], lanes);
}

static bool is_begin(const tn_graph *graph, tn_tensor_id tensor) {
    return graph->tensors[tensor].is_input;
}

double tn_lower_blocked_factor(const tn_graph *graph, const tn_inference *optimum,
                               const tn_graph_node *node) {
    double least = INFINITY;
    const bool reads_blocks = node->inputs[0] == TN_NO_TENSOR || !is_begin(graph, node->inputs[0]);
    for (uint32_t lanes = lanes_of(graph->runtime); lanes <= tn_timing_policy.wide_lanes;
         lanes *= 2)
        least = fmin(least, padded_channels(graph, optimum, node, lanes, reads_blocks));
    return tn_timing_policy.blocked_factor * least;
}

/* Whether its kernel does this node in a format of channels, too, for which it is then made. */
static bool is_unsuited(const tn_lower_node *node, const tn_candidate *candidate) {
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].entry == candidate->entry &&
            node->candidates[i].outputs[0].format != TN_LINEAR)
            return true;
    return false;
}

/* Of work on weights, by the format that a candidate writes: vectors of channels are faster than
 * vectors of pixels, but for the channels that fill them up, of the input as of the output. What a
 * kernel says of its own vectors of pixels counts instead of what is known of all. */
static double format_factor(const tn_lowering *lowering, uint32_t index,
                            const tn_candidate *candidate) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    const bool is_said = candidate->said.size > 0;
    const double said = is_said ? candidate->said.work : 1;
    if (node->output_count == 0) return 1;
    if (candidate->outputs[0].format == TN_LINEAR && is_said)
        return tn_timing_policy.blocked_factor * said;
    if (candidate->outputs[0].format == TN_LINEAR)
        return (is_unsuited(&lowering->nodes[index], candidate) ? tn_timing_policy.unsuited_factor
                                                                : 1) *
               tn_lower_linear_factor(lowering->graph, lowering->points[1], node);
    const uint32_t block = candidate->outputs[0].format >> 16,
                   lanes = block > 0 ? block : lanes_of(lowering->graph->runtime);
    const double last = block > 0 ? 1 : tn_timing_policy.channels_last_factor;
    return last * tn_timing_policy.blocked_factor * said *
           padded_channels(lowering->graph, lowering->points[1], node, lanes,
                           candidate->inputs[0].format != TN_LINEAR);
}

/* Of what a candidate takes whose block of channels is less than a vector: the rest of it is idle.
 * What has neither weights nor a library's code for blocks goes over elements one behind the other.
 */
static double idle_factor(const tn_lowering *lowering, uint32_t index,
                          const tn_candidate *candidate, double work) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    if (work == 0 && !(candidate->entry->kernel->traits & TN_KERNEL_OPENMP)) return 1;
    const uint32_t block = node->output_count > 0 ? candidate->outputs[0].format >> 16 : 0;
    return block > 0 ? fmax(1, (double)lanes_of(lowering->graph->runtime) / block) : 1;
}

static bool is_blocked(tn_storage storage) {
    return storage.format >> 16 != 0;
}

/* The same by the same kernel, from blocks of channels to blocks of channels. */
static bool is_blocked_form(const tn_candidate *other, const tn_candidate *candidate) {
    return other->entry == candidate->entry && other->chain == candidate->chain &&
           other->chain_count == candidate->chain_count && is_blocked(other->inputs[0]) &&
           is_blocked(other->outputs[0]) && other->outputs[0].type == candidate->outputs[0].type;
}

bool tn_lower_is_outdone(const tn_lowering *lowering, uint32_t index,
                         const tn_candidate *candidate) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    const tn_lower_node *found = &lowering->nodes[index];
    if (!lowering->options->no_timing || lowering->options->cache || node->input_count == 0 ||
        node->output_count == 0 || candidate->inputs[0].format != TN_NHWC ||
        candidate->outputs[0].format != TN_NHWC)
        return false;
    for (size_t i = 0; i < found->candidate_count; i++)
        if (is_blocked_form(&found->candidates[i], candidate) &&
            format_factor(lowering, index, &found->candidates[i]) <=
                format_factor(lowering, index, candidate))
            return true;
    return false;
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

/* The order of preference, as shares of the cost. */
static double preference(const tn_candidate *candidate) {
    return 1 + tn_timing_policy.rank_factor * candidate->rank +
           tn_timing_policy.tactic_factor * candidate->tactic;
}

static double step_ns(const tn_timing_rate *rate, double bytes, double work_bytes) {
    return rate->step_ns + fmax(bytes, work_bytes) / rate->bytes_a_ns;
}

/* Units for products of matrices make of it what they are given in few bits. */
static double estimate_device(const tn_timing_rates *rates, const tn_candidate *candidate,
                              const tn_graph_node *node, double bytes, double work) {
    if (type_factor(candidate, node) < 1)
        work *= tn_timing_policy.narrow_device_factor;
    else if (candidate->entry->kernel->traits & TN_KERNEL_TF32)
        work *= tn_timing_policy.tf32_factor;
    return step_ns(&rates->device, bytes, work / tn_timing_policy.device_work_a_byte) *
           preference(candidate);
}

/* What a kernel says that its tactic moves beside the node's tensors. */
static double said_ns(const tn_lowering *lowering, const tn_candidate *candidate) {
    const double grown =
        lowering->is_resident ? 0 : candidate->said.grown / lowering->rates->memory.bytes_a_ns;
    return grown + candidate->said.passed / lowering->rates->host.bytes_a_ns;
}

/* Multiplications and additions in the time of a byte. */
static double work_a_byte(const tn_lowering *lowering) {
    return tn_timing_policy.work_a_byte * lanes_of(lowering->graph->runtime) /
           tn_timing_policy.wide_lanes;
}

/* Whether the kernel's library has one for this node that needs vectors of its own: those that need
 * none are then for every processor. Others may look for themselves what there is. */
static bool is_of_levels(const tn_lower_node *node, const tn_candidate *candidate) {
    for (size_t i = 0; i < node->candidate_count; i++) {
        const tn_kernel_entry *other = node->candidates[i].entry;
        if (other && other->library == candidate->entry->library &&
            other->kernel->requires_features && strstr(other->kernel->requires_features, "avx"))
            return true;
    }
    return false;
}

/* Of work by a kernel for vectors that are less than the processor's. */
static double level_factor(const tn_lowering *lowering, const tn_lower_node *node,
                           const tn_candidate *candidate) {
    const char *needed = candidate->entry->kernel->requires_features;
    const double lanes = lanes_of(lowering->graph->runtime);
    if (!needed) return is_of_levels(node, candidate) ? lanes / tn_timing_policy.baseline_lanes : 1;
    if (strstr(needed, "avx512") || !strstr(needed, "avx2")) return 1;
    return lanes / tn_timing_policy.channel_lanes;
}

double tn_lower_estimate(const tn_lowering *lowering, uint32_t index,
                         const tn_candidate *candidate) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    const tn_timing_rates *rates = lowering->rates;
    if (candidate->kind == TN_STEP_VIEW || candidate->is_host) return 0;
    double bytes = moved_bytes(lowering, index, candidate),
           work = tn_lower_work(lowering->graph, lowering->points[1], node);
    if (tn_lower_is_on_device(candidate))
        return estimate_device(rates, candidate, node, bytes, work);
    if (!candidate->entry)
        return step_ns(&rates->host, 0,
                       (bytes / 4 + work) * tn_timing_policy.reference_factor /
                           work_a_byte(lowering));
    work *= type_factor(candidate, node);
    if (work > 0)
        work *= format_factor(lowering, index, candidate) *
                level_factor(lowering, &lowering->nodes[index], candidate);
    const double ns =
        (step_ns(&rates->host, bytes, work / work_a_byte(lowering)) + said_ns(lowering, candidate) +
         (candidate->entry->kernel->traits & TN_KERNEL_OPENMP ? tn_timing_policy.library_ns : 0)) *
        preference(candidate) * idle_factor(lowering, index, candidate, work);
    return candidate->entry->kernel->traits & TN_KERNEL_FALLBACK
               ? ns * tn_timing_policy.fallback_factor
               : ns;
}

double tn_lower_estimate_reformat(const tn_lowering *lowering, tn_tensor_id tensor, tn_storage from,
                                  tn_storage to) {
    const double bytes = bytes_of(lowering, tensor, from) + bytes_of(lowering, tensor, to);
    const tn_timing_rate *rate = from.space != to.space          ? &lowering->rates->transfer
                                 : from.space == TN_SPACE_DEVICE ? &lowering->rates->device
                                                                 : &lowering->rates->host;
    return step_ns(rate, bytes, 0);
}

tn_status tn_lower_reformat_cost(tn_lowering *lowering, tn_tensor_id tensor, tn_storage from,
                                 tn_storage to, double *out_cost, bool *out_is_measured) {
    *out_cost = tn_lower_estimate_reformat(lowering, tensor, from, to);
    if (!lowering->timing) {
        *out_is_measured = false;
        return TN_OK;
    }
    double ns = 0;
    const tn_status status = tn_timing_reformat(lowering, tensor, from, to, &ns, out_is_measured);
    if (status == TN_ERROR_UNSUPPORTED) { /* a device does not convert between these two */
        tn_error_clear();
        *out_is_measured = true;
        ns = tn_timing_policy.impossible_ns;
    } else if (status != TN_OK) {
        return status;
    }
    if (*out_is_measured)
        *out_cost = ns;
    else if (from.space == to.space)
        *out_cost *= lowering->ratios[from.space == TN_SPACE_DEVICE];
    return TN_OK;
}
