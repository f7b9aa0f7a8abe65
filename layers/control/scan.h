/* SPDX-License-Identifier: Apache-2.0 */
/* How a Scan's inputs and outputs lie: read from the node once, for the shape rule and for a run.
 */
#ifndef TN_LAYERS_CONTROL_SCAN_H
#define TN_LAYERS_CONTROL_SCAN_H

#include "control.h"

typedef struct tn_scan_params {
    uint64_t present;
    const tn_body_graph *body;
    int64_t num_scan_inputs;
    tn_i64s scan_input_axes, scan_output_axes;
    tn_i64s scan_input_directions, scan_output_directions;
} tn_scan_params;

/* As the node has it in opset 8: a batch of sequences with lengths of their own. */
typedef struct tn_scan_8_params {
    uint64_t present;
    const tn_body_graph *body;
    int64_t num_scan_inputs;
    tn_i64s directions;
} tn_scan_8_params;

/* Input and output numbers count from `first` and from 0. */
typedef struct tn_scan_ports {
    const tn_body_graph *body;
    const tn_tensor *const *inputs; /* states, then what is scanned */
    uint32_t states, scans, stacked;
    bool is_batched;
    int64_t batch, length;            /* batch: 1 where there is none */
    uint32_t axes[TN_BODY_MAX_PORTS]; /* of what is scanned, counted without the batch */
    tn_i64s input_directions;
    tn_i64s output_axes, output_directions; /* of what is stacked */
} tn_scan_ports;

tn_status tn_scan_read(tn_call *call, tn_scan_ports *ports);
static inline bool tn_scan_is_reversed(tn_i64s directions, uint32_t index) {
    return index < directions.count && directions.items[index] == 1;
}
/* The axis along which slices of this rank are stacked. TN_ERROR_RANGE. */
tn_status tn_scan_output_axis(tn_call *call, const tn_scan_ports *ports, uint32_t index,
                              uint32_t slice_rank, uint32_t *out_axis);
/* Writes the extents of a slice: without the axis, and without the batch. */
void tn_scan_slice(const tn_scan_ports *ports, uint32_t scan, uint32_t *out_rank,
                   int64_t *out_extents);
tn_status tn_scan_infer(tn_call *call);

#endif
