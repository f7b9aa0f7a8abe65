/* SPDX-License-Identifier: Apache-2.0 */
/* The edges of a network's picture; see report_graph_private.h. */
#include "report/facts/report_text.h"
#include "report_graph_private.h"

#include <math.h>

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

/* The value that goes along an edge: the one that the lower end reads of what the upper makes. */
static const report_value *value_on(const drawing *d, const layout_edge *edge) {
    const report_facts *facts = d->facts;
    const size_t outputs = node_of_output(d, 0);
    if (edge->to >= outputs) return &facts->values[facts->outputs[edge->to - outputs].value];
    const report_step *reader = &facts->steps[edge->to - facts->input_count];
    for (uint32_t i = 0; i < reader->input_count; i++)
        if (report_graph_maker(d, reader->inputs[i]) == edge->from)
            return &facts->values[reader->inputs[i]];
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

void report_labels_put(const drawing *d) {
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

void report_edges_put(const drawing *d) {
    for (size_t e = 0; e < d->layout.edge_count; e++)
        put_edge(d, &d->layout.edges[e]);
    put_cut_names(d);
}
