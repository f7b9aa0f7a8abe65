/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layered drawing of a directed acyclic graph (Sugiyama, Tagawa, Toda 1981): nodes lie in levels,
 * edges point downwards, an edge that crosses levels has a point in each of them. Pure geometry:
 * what is drawn is report_graph.c's matter.
 */
#ifndef TENON_REPORT_LAYOUT_H
#define TENON_REPORT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longer edges have no points between their ends: they are drawn as two ends with a name. */
#define LAYOUT_SPAN_LIMIT 48

typedef struct layout_node {
    double width, height; /* given */
    double x, y;          /* the centre */
    uint32_t level;
} layout_node;

typedef struct layout_edge {
    uint32_t from, to;   /* given: `from` is below `to` in number */
    uint32_t first_bend; /* into `nodes`: one a level between the ends */
    uint32_t bend_count;
    bool is_long; /* without bends though it spans levels */
} layout_edge;

typedef struct layout {
    size_t node_count, edge_count; /* given */
    layout_node *nodes;            /* given; afterwards bends follow, as high as their level */
    layout_edge *edges;            /* given */
    size_t item_count;             /* nodes and bends */
    uint32_t level_count;
    double width, height;
    double gap_x, gap_y;       /* given: between nodes, and between levels */
    double margin_x, margin_y; /* given: around all */
} layout;

/* `nodes` is reallocated; both arrays are the caller's to free. False: no memory. */
bool layout_make(layout *l);

#endif
