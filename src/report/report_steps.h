/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a program as JSON, for the report of a build and for that of a context: nodes with
 * kernel, time, types, formats and shapes, and conversions. A step's number is its position in the
 * order of execution.
 */
#ifndef TN_REPORT_REPORT_STEPS_H
#define TN_REPORT_REPORT_STEPS_H

#include "base/text.h"
#include "graph/infer.h"
#include "program/program.h"
#include "report/lower_notes.h"
#include "report/node_pin.h"

typedef struct tn_report_steps {
    const tn_graph *graph;
    const tn_inference *shapes;
    const tn_program *program;
    const double *step_ns;        /* by step; null: what the program says */
    const tn_lower_notes *notes;  /* null: nothing is said of candidates and precision */
    const tn_node_pin *node_pins; /* by node; null: none is pinned */
} tn_report_steps;

/* The members "nodes" and "reformats", each with a comma after it. */
void tn_report_add_steps(tn_text *text, const tn_report_steps *source);
/* The member "outputs", of the network, with a comma after it. */
void tn_report_add_outputs(tn_text *text, const tn_graph *graph);
void tn_report_add_extents(tn_text *text, const tn_shape *shape); /* a list of numbers */
/* Of a value in its type and format; 0 where its shape is not known. */
size_t tn_report_value_bytes(const tn_report_steps *source, uint32_t value);

#endif
