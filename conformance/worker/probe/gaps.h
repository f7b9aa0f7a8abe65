/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors whose rows lie apart, for kernels that accept `strided` operands (tenon/plugin/view.h):
 * what lies between the rows is not the kernel's. And tensors with a count (counted.h): between the
 * rows of what is there lies what has no meaning. */
#ifndef TN_CONFORMANCE_WORKER_PROBE_GAPS_H
#define TN_CONFORMANCE_WORKER_PROBE_GAPS_H

#include "worker/probe/probe_state.h"

typedef struct tn_gaps {
    size_t rows, row_bytes, pitch_bytes;
    size_t bytes; /* from the first element to behind the last one */
} tn_gaps;

/* The rows of a port's tensor with gaps between them; false: it has one row, or none. */
bool tn_gaps_of(const tn_probe_port *port, tn_gaps *out_gaps);
/* Gives a descriptor the strides and bytes of a port that has gaps. */
void tn_gaps_describe(const tn_probe_port *port, tn_tensor *tensor, int64_t *strides);
/* From packed rows to rows with gaps full of `filler`, and back. */
void tn_gaps_spread(const tn_gaps *gaps, char *to, const char *packed, uint8_t filler);
void tn_gaps_gather(const tn_gaps *gaps, char *packed, const char *from);
/* Whether all gaps are still full of `filler`. */
bool tn_gaps_are_whole(const tn_gaps *gaps, const char *data, uint8_t filler);

#endif
