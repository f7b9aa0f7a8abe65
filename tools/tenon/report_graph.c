/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture of a network; see report_graph.h. Drawn are the network's inputs, the steps and its
 * outputs, in this order of numbers; weights are not. Coordinates are whole pixels: no number has a
 * decimal point that a locale could change.
 */
#include "report_graph.h"
#include "report_layout.h"
#include "report_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEP_LIMIT = 3000, /* more are not drawn: a page stays one that a browser opens */
    LABEL_LIMIT = 400, /* up to so many steps edges have a text beside the title */
    OVERVIEW_HEIGHT = 640,
    BOX_WIDTH = 186,
    BOX_HEIGHT = 50,
    SMALL_WIDTH = 150,
    SMALL_HEIGHT = 24,
};

typedef struct drawing {
    const report_facts *facts;
    FILE *page;
    layout layout;
    size_t drawn_steps;
} drawing;

/* ----------------------------------------------------------------------------------------------
 * nodes and edges */

static uint32_t node_of_step(const drawing *d, size_t step) {
    return (uint32_t)(d->facts->input_count + step);
}

static uint32_t node_of_output(const drawing *d, size_t output) {
    return (uint32_t)(d->facts->input_count + d->drawn_steps + output);
}

static bool is_small(const report_step *step) {
    return step->kind != REPORT_KERNEL;
}

/* The node that makes a value; REPORT_NONE for weights and for what is not drawn. */
static uint32_t maker_of(const drawing *d, uint32_t value) {
    const report_value *v = &d->facts->values[value];
    if (v->source == REPORT_CONSTANT) return REPORT_NONE;
    if (v->source == REPORT_INPUT) return v->index;
    return v->index < d->drawn_steps ? node_of_step(d, v->index) : REPORT_NONE;
}

static void add_edge(drawing *d, uint32_t value, uint32_t to) {
    const uint32_t from = maker_of(d, value);
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
    l->margin = d->drawn_steps <= LABEL_LIMIT ? 84 : 16; /* labels stand beside the boxes */
    if (!l->nodes || !l->edges) return false;
    add_nodes(d);
    add_edges(d);
    return layout_make(l);
}

/* ----------------------------------------------------------------------------------------------
 * texts */

static void put_value(FILE *page, const report_value *value) {
    report_put_text(page, value->type, 12);
    fputc(' ', page);
    const json *extent = value->shape ? value->shape->first : NULL;
    for (; extent; extent = extent->next)
        fprintf(page, "%.0f%s", json_number(extent, 0), extent->next ? "×" : "");
    if (value->shape && !value->shape->first) fputs("scalar", page);
    fputc(' ', page);
    report_put_text(page, value->format, 24);
}

static void put_value_title(FILE *page, const report_value *value) {
    report_put_text(page, value->tensor, 200);
    fputs(": ", page);
    put_value(page, value);
    fputs(value->is_device ? ", in the device's memory" : "", page);
    if (value->scale) fprintf(page, ", scale %.4g", json_number(value->scale, 0));
}

static void put_svg_text(const drawing *d, double x, double y, const char *class, const char *text,
                         size_t limit) {
    fprintf(d->page, "<text class=%s x=%.0f y=%.0f>", class, x, y);
    report_put_text(d->page, text, limit);
    fputs("</text>", d->page);
}

/* ----------------------------------------------------------------------------------------------
 * boxes */

/* From 0 to 6, by the root of the share of the longest: small differences at the lower end show. */
static int heat_of(const drawing *d, double ns) {
    if (!(d->facts->largest_ns > 0)) return 0;
    return (int)fmin(6, floor(6.999 * sqrt(ns / d->facts->largest_ns)));
}

static void put_step_title(const drawing *d, const report_step *step) {
    FILE *page = d->page;
    fputs("<title>", page);
    report_put_text(page, step->name, 200);
    fputs("\n", page);
    char label[200];
    report_step_label(step, label, sizeof(label));
    report_put_text(page, label, 160);
    if (step->kind == REPORT_KERNEL) {
        fputs("\nkernel ", page);
        report_put_text(page, step->kernel, 80);
    }
    if (step->ns > 0) {
        fputs("\n", page);
        report_put_time(page, step->ns);
        fputs(", ", page);
        report_put_percent(page, step->ns, d->facts->total_ns);
    }
    fputs("</title>", page);
}

static void put_small_step(const drawing *d, const report_step *step) {
    if (step->kind == REPORT_CONVERSION && step->input_count > 0 && step->output_count > 0) {
        const report_value *from = &d->facts->values[step->inputs[0]],
                           *to = &d->facts->values[step->outputs[0]];
        const bool is_retyped = strcmp(from->type, to->type) != 0;
        char label[120];
        if (from->is_device != to->is_device)
            snprintf(label, sizeof(label), "%s", to->is_device ? "to device" : "to host");
        else
            snprintf(label, sizeof(label), "%s → %s", is_retyped ? from->type : from->format,
                     is_retyped ? to->type : to->format);
        put_svg_text(d, SMALL_WIDTH / 2, 16, "m", label, 24);
    } else {
        put_svg_text(d, SMALL_WIDTH / 2, 16, "m", step->op, 22);
    }
}

static void put_large_step(const drawing *d, const report_step *step) {
    char label[200];
    report_step_label(step, label, sizeof(label));
    put_svg_text(d, 8, 15, "o", label, step->ns > 0 ? 19 : 28);
    if (step->ns > 0) {
        fprintf(d->page, "<text class=t x=%d y=15>", BOX_WIDTH - 7);
        report_put_time(d->page, step->ns);
        fputs("</text>", d->page);
    }
    put_svg_text(d, 8, 29, "k", step->name, 32);
    put_svg_text(d, 8, 43, "k", step->kernel, step->is_device ? 26 : 32);
    if (step->is_device) put_svg_text(d, BOX_WIDTH - 7, 43, "d", "device", 8);
}

static void put_step(const drawing *d, size_t index) {
    static const char *const classes[] = {"", " cv", " vw", " sh"};
    const report_step *step = &d->facts->steps[index];
    const layout_node *node = &d->layout.nodes[node_of_step(d, index)];
    fprintf(d->page, "<g class=\"n h%d%s%s\" data-s=%zu transform=\"translate(%.0f %.0f)\">",
            heat_of(d, step->ns), classes[step->kind], step->is_device ? " dv" : "", index,
            node->x - node->width / 2, node->y - node->height / 2);
    put_step_title(d, step);
    fprintf(d->page, "<rect width=%.0f height=%.0f rx=%d />", node->width, node->height,
            is_small(step) ? 12 : 5);
    if (is_small(step))
        put_small_step(d, step);
    else
        put_large_step(d, step);
    fputs("</g>\n", d->page);
}

static void put_port(const drawing *d, uint32_t index, const report_port *port, const char *what) {
    const layout_node *node = &d->layout.nodes[index];
    fprintf(d->page, "<g class=\"n p\" transform=\"translate(%.0f %.0f)\"><title>%s ",
            node->x - node->width / 2, node->y - node->height / 2, what);
    report_put_text(d->page, port->name, 200);
    fprintf(d->page, "</title><rect width=%.0f height=%.0f rx=12 />", node->width, node->height);
    put_svg_text(d, SMALL_WIDTH / 2, 16, "m", port->name, 22);
    fputs("</g>\n", d->page);
}

/* ----------------------------------------------------------------------------------------------
 * edges */

/* The value that goes along an edge: the one that the lower end reads of what the upper makes. */
static const report_value *value_on(const drawing *d, const layout_edge *edge) {
    const report_facts *facts = d->facts;
    const size_t outputs = node_of_output(d, 0);
    if (edge->to >= outputs) return &facts->values[facts->outputs[edge->to - outputs].value];
    const report_step *reader = &facts->steps[edge->to - facts->input_count];
    for (uint32_t i = 0; i < reader->input_count; i++)
        if (maker_of(d, reader->inputs[i]) == edge->from) return &facts->values[reader->inputs[i]];
    return NULL;
}

static void put_curve(FILE *page, double x0, double y0, double x1, double y1) {
    if (fabs(x0 - x1) < 1)
        fprintf(page, "L%.0f %.0f", x1, y1);
    else
        fprintf(page, "C%.0f %.0f %.0f %.0f %.0f %.0f", x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1,
                y1);
}

/* Where an edge leaves or enters a box: as near to its other end as the box allows. */
static double port_x(const layout_node *box, double wanted) {
    const double half = box->width / 2 - 14;
    return fmax(box->x - half, fmin(wanted, box->x + half));
}

static void put_path(const drawing *d, const layout_edge *edge) {
    const layout_node *nodes = d->layout.nodes, *from = &nodes[edge->from], *to = &nodes[edge->to];
    const uint32_t bends = edge->bend_count, first = edge->first_bend;
    double x = port_x(from, bends > 0 ? nodes[first].x : to->x), y = from->y + from->height / 2;
    fprintf(d->page, "M%.0f %.0f", x, y);
    for (uint32_t i = 0; i < bends; i++) {
        const layout_node *bend = &nodes[first + i];
        const double half = bend->height / 2; /* straight through its level */
        put_curve(d->page, x, y, bend->x, bend->y - half);
        fprintf(d->page, "L%.0f %.0f", bend->x, bend->y + half);
        x = bend->x;
        y = bend->y + half;
    }
    put_curve(d->page, x, y, port_x(to, bends > 0 ? nodes[first + bends - 1].x : from->x),
              to->y - to->height / 2);
}

/* Both ends of an edge that is too long to be followed, each with where the other one is. */
static void put_ends(const drawing *d, const layout_edge *edge) {
    const layout_node *from = &d->layout.nodes[edge->from], *to = &d->layout.nodes[edge->to];
    const double below = from->y + from->height / 2, above = to->y - to->height / 2;
    fprintf(d->page, "M%.0f %.0fl%d 12M%.0f %.0fl%d 12", from->x + 50, below, 10, to->x - 60,
            above - 12, 10);
}

static void put_edge(const drawing *d, const layout_edge *edge) {
    const report_value *value = value_on(d, edge);
    if (!value) return;
    fprintf(d->page, "<g class=\"e%s%s\"><path d=\"", value->is_device ? " ed" : "",
            edge->is_long ? " el" : "");
    if (edge->is_long)
        put_ends(d, edge);
    else
        put_path(d, edge);
    fputs("\" /><title>", d->page);
    put_value_title(d->page, value);
    fputs("</title></g>\n", d->page);
}

/* What a node makes, once, beside the line that leaves it. */
static void put_label(const drawing *d, uint32_t node, uint32_t value) {
    const layout_node *box = &d->layout.nodes[node];
    fprintf(d->page, "<text class=l x=%.0f y=%.0f>", box->x + 6, box->y + box->height / 2 + 12);
    put_value(d->page, &d->facts->values[value]);
    fputs("</text>\n", d->page);
}

static void put_labels(const drawing *d) {
    for (size_t i = 0; i < d->facts->input_count; i++)
        if (d->facts->inputs[i].value != REPORT_NONE)
            put_label(d, (uint32_t)i, d->facts->inputs[i].value);
    for (size_t s = 0; s < d->drawn_steps; s++)
        if (d->facts->steps[s].output_count > 0)
            put_label(d, node_of_step(d, s), d->facts->steps[s].outputs[0]);
}

/* Where an edge is cut, the name of what is at its other end. */
static void put_cut_names(const drawing *d) {
    for (size_t e = 0; e < d->layout.edge_count; e++) {
        const layout_edge *edge = &d->layout.edges[e];
        const report_value *value = edge->is_long ? value_on(d, edge) : NULL;
        if (!value) continue;
        const layout_node *from = &d->layout.nodes[edge->from], *to = &d->layout.nodes[edge->to];
        fprintf(d->page, "<text class=c x=%.0f y=%.0f>", from->x + 62,
                from->y + from->height / 2 + 22);
        report_put_text(d->page, value->tensor, 24);
        fprintf(d->page, " ↓</text><text class=\"c ce\" x=%.0f y=%.0f>", to->x - 62,
                to->y - to->height / 2 - 12);
        report_put_text(d->page, value->tensor, 24);
        fputs("</text>\n", d->page);
    }
}

/* ----------------------------------------------------------------------------------------------
 * the whole */

static void put_picture(const drawing *d) {
    const layout *l = &d->layout;
    fprintf(d->page,
            "<svg id=net width=%.0f height=%.0f viewBox=\"0 0 %.0f %.0f\" role=img "
            "aria-label=\"the network after fusion\">\n",
            l->width, l->height, l->width, l->height);
    for (size_t e = 0; e < l->edge_count; e++)
        put_edge(d, &l->edges[e]);
    if (d->drawn_steps <= LABEL_LIMIT) put_labels(d);
    put_cut_names(d);
    for (size_t i = 0; i < d->facts->input_count; i++)
        put_port(d, (uint32_t)i, &d->facts->inputs[i], "input");
    for (size_t s = 0; s < d->drawn_steps; s++)
        put_step(d, s);
    for (size_t i = 0; i < d->facts->output_count; i++)
        put_port(d, node_of_output(d, i), &d->facts->outputs[i], "output");
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
                heat_of(d, step->ns), step->kind == REPORT_CONVERSION ? " cv" : "",
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
        fputs("<aside id=detail class=js><p class=hint>Click on a step to see what it reads and "
              "writes, and what its candidates took.</p></aside></div>\n",
              page);
    }
    free(d.layout.nodes);
    free(d.layout.edges);
    return is_made;
}
