/* SPDX-License-Identifier: Apache-2.0 */
/* What of a network for a device runs on the processor, as a member of the builder's report. */
#ifndef TN_BUILDER_REPORT_REPORT_PROCESSOR_H
#define TN_BUILDER_REPORT_REPORT_PROCESSOR_H

#include "base/text.h"
#include "graph/infer.h"
#include "program/program.h"

/* A program that was built for a device; `shapes` are those at the optimum. */
typedef struct tn_report_processor {
    const tn_graph *graph;
    const tn_program *program;
    const tn_inference *shapes;
    const tn_device *device;
} tn_report_processor;

/* Adds `"processor": {...},`: how many nodes of how many, by operator, what they and the copies in
 * the network's midst take. Nothing where the device is the processor. TN_ERROR_MEMORY. */
tn_status tn_report_add_processor(tn_text *text, const tn_report_processor *source);

#endif
