/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture of a network; see report_graph.h. Weights are not drawn. Coordinates are whole
 * pixels: no number has a decimal point that a locale could change.
 */
#include "report/facts/report_text.h"
#include "report_graph.h"
#include "report_graph_private.h"

#include <math.h>
#include <stdlib.h>

enum {
    STEP_LIMIT = 3000, /* more are not drawn: a page stays one that a browser opens */
    LABEL_LIMIT = 400, /* up to so many steps edges have a text beside the title */
    OVERVIEW_HEIGHT = 640
};

uint32_t report_graph_maker(const drawing *d, uint32_t value) {
    const report_value *v = &d->facts->values[value];
    if (v->source == REPORT_CONSTANT) return REPORT_NONE;
    if (v->source == REPORT_INPUT) return v->index;
    return v->index < d->drawn_steps ? node_of_step(d, v->index) : REPORT_NONE;
}

int report_graph_heat(const drawing *d, double ns) {
    if (!(d->facts->largest_ns > 0)) return 0;
    return (int)fmin(6, floor(6.999 * sqrt(ns / d->facts->largest_ns)));
}

/* ----------------------------------------------------------------------------------------------
 * nodes and edges */

static void add_edge(drawing *d, uint32_t value, uint32_t to) {
    const uint32_t from = report_graph_maker(d, value);
    layout *l = &d->layout;
    if (from == REPORT_NONE || from >= to) return;
    for (size_t e = l->edge_count; e-- > 0 && l->edges[e].to == to;)
        if (l->edges[e].from == from) return;
    l->edges[l->edge_count++] = (layout_edge){.from = from, .to = to};
}

static void add_nodes(drawing *d) {
    layout *l = &d->layout;
    for (size_t n = 0; n < l->node_count; n++)
        l->nodes[n] = (layout_node){.width = SMALL_WIDTH, .height = SMALL_HEIGHT};
    for (size_t s = 0; s < d->drawn_steps; s++)
        if (!is_small(&d->facts->steps[s]))
            l->nodes[node_of_step(d, s)] = (layout_node){.width = BOX_WIDTH, .height = BOX_HEIGHT};
}

static void add_edges(drawing *d) {
    for (size_t s = 0; s < d->drawn_steps; s++)
        for (uint32_t i = 0; i < d->facts->steps[s].input_count; i++)
            add_edge(d, d->facts->steps[s].inputs[i], node_of_step(d, s));
    for (size_t i = 0; i < d->facts->output_count; i++)
        if (d->facts->outputs[i].value != REPORT_NONE)
            add_edge(d, d->facts->outputs[i].value, node_of_output(d, i));
}

static bool make_layout(drawing *d) {
    size_t edges = d->facts->output_count;
    layout *l = &d->layout;
    for (size_t s = 0; s < d->drawn_steps; s++)
        edges += d->facts->steps[s].input_count;
    l->node_count = d->facts->input_count + d->drawn_steps + d->facts->output_count;
    l->nodes = calloc(l->node_count + 1, sizeof(*l->nodes));
    l->edges = calloc(edges + 1, sizeof(*l->edges));
    l->gap_x = 22;
    l->gap_y = 34;
    l->margin_y = 16;
    l->margin_x = d->drawn_steps <= LABEL_LIMIT ? 84 : 16; /* labels stand beside the boxes */
    if (!l->nodes || !l->edges) return false;
    add_nodes(d);
    add_edges(d);
    return layout_make(l);
}

/* ----------------------------------------------------------------------------------------------
 * the whole */

static void put_picture(const drawing *d) {
    const layout *l = &d->layout;
    fprintf(d->page,
            "<svg id=net width=%.0f height=%.0f viewBox=\"0 0 %.0f %.0f\" role=img "
            "aria-label=\"the network after fusion\">\n",
            l->width, l->height, l->width, l->height);
    report_edges_put(d);
    if (d->drawn_steps <= LABEL_LIMIT) report_labels_put(d);
    report_boxes_put(d);
    fputs("</svg>", d->page);
}

/* One rectangle a step, in the colours of the picture: the whole of it beside the part in view. */
static void put_overview(const drawing *d) {
    const layout *l = &d->layout;
    if (l->height < 2 * OVERVIEW_HEIGHT) return;
    fprintf(d->page,
            "<svg id=map width=96 height=%d viewBox=\"0 0 %.0f %.0f\" preserveAspectRatio=none "
            "role=img aria-label=\"overview\">",
            OVERVIEW_HEIGHT, l->width, l->height);
    for (size_t s = 0; s < d->drawn_steps; s++) {
        const layout_node *node = &l->nodes[node_of_step(d, s)];
        const report_step *step = &d->facts->steps[s];
        fprintf(d->page, "<rect class=\"h%d%s\" x=%.0f y=%.0f width=%.0f height=%.0f />",
                report_graph_heat(d, step->ns), step->kind == REPORT_CONVERSION ? " cv" : "",
                node->x - node->width / 2, node->y - node->height / 2, node->width,
                node->height + l->gap_y / 2);
    }
    fputs("<rect id=view x=0 y=0 width=0 height=0 /></svg>", d->page);
}

static void put_legend(const drawing *d) {
    fputs("<div class=legend>", d->page);
    if (d->facts->largest_ns > 0) {
        fputs("<span>time of a step: 0 ", d->page);
        for (int i = 0; i < 7; i++)
            fprintf(d->page, "<i class=\"sw h%d\"></i>", i);
        fputc(' ', d->page);
        report_put_time(d->page, d->facts->largest_ns);
        fputs("</span>", d->page);
    }
    if (d->facts->conversion_count > 0)
        fputs("<span><i class=\"sw cv\"></i> conversion</span>", d->page);
    if (d->facts->device_count > 0)
        fputs("<span><i class=\"sw dv\"></i> on the device</span>", d->page);
    fputs("<span class=js><button data-z=1.25>+</button><button data-z=0.8>−</button><button "
          "data-z=0>fit</button><button data-z=1>1:1</button> <input id=find type=search "
          "placeholder=\"find a node, operator or kernel\" aria-label=find></span></div>\n",
          d->page);
}

static bool has_candidates(const report_facts *facts) {
    for (size_t s = 0; s < facts->step_count; s++)
        if (facts->steps[s].candidates) return true;
    return false;
}

bool report_graph_put(FILE *page, const report_facts *facts) {
    drawing d = {.facts = facts,
                 .page = page,
                 .drawn_steps = facts->step_count < STEP_LIMIT ? facts->step_count : STEP_LIMIT};
    const bool is_made = make_layout(&d);
    if (is_made) {
        fputs("<h2>Network</h2>\n", page);
        if (d.drawn_steps < facts->step_count)
            fprintf(page, "<p class=hint>The first %zu of %zu steps.</p>\n", d.drawn_steps,
                    facts->step_count);
        put_legend(&d);
        fputs("<div class=stage><div id=scroll>", page);
        put_picture(&d);
        fputs("</div>", page);
        put_overview(&d);
        fprintf(page,
                "<aside id=detail class=js><p class=hint>Click on a step to see what it reads and "
                "writes%s.</p></aside></div>\n",
                has_candidates(facts) ? ", and what its candidates took" : "");
    }
    free(d.layout.nodes);
    free(d.layout.edges);
    return is_made;
}
