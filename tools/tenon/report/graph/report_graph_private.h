/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the network's picture share: report_graph.c is the whole, report_boxes.c draws
 * steps and the network's ports, report_edges.c what goes between them. */
#ifndef TENON_REPORT_GRAPH_PRIVATE_H
#define TENON_REPORT_GRAPH_PRIVATE_H

#include "report_graph.h"
#include "report_layout.h"

enum { BOX_WIDTH = 186, BOX_HEIGHT = 50, SMALL_WIDTH = 150, SMALL_HEIGHT = 24 };

/* Drawn are the network's inputs, the steps and its outputs, in this order of numbers. */
typedef struct drawing {
    const report_facts *facts;
    FILE *page;
    layout layout;
    size_t drawn_steps;
} drawing;

static inline uint32_t node_of_step(const drawing *d, size_t step) {
    return (uint32_t)(d->facts->input_count + step);
}
static inline uint32_t node_of_output(const drawing *d, size_t output) {
    return (uint32_t)(d->facts->input_count + d->drawn_steps + output);
}
/* Conversions, views and computations of shapes are small beside kernels. */
static inline bool is_small(const report_step *step) {
    return step->kind != REPORT_KERNEL;
}

/* From 0 to 6, by the root of the share of the longest: small differences at the lower end show. */
int report_graph_heat(const drawing *d, double ns);
/* The node that makes a value; REPORT_NONE for weights and for what is not drawn. */
uint32_t report_graph_maker(const drawing *d, uint32_t value);

void report_boxes_put(const drawing *d);
void report_edges_put(const drawing *d);
/* What each node makes, beside the line that leaves it. */
void report_labels_put(const drawing *d);

#endif
