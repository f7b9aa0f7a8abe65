/* SPDX-License-Identifier: Apache-2.0 */
/* The boxes of a network's picture; see report_graph_private.h. */
#include "report/facts/report_text.h"
#include "report_graph_private.h"

#include <string.h>

static void put_svg_text(const drawing *d, double x, double y, const char *class, const char *text,
                         size_t limit) {
    fprintf(d->page, "<text class=%s x=%.0f y=%.0f>", class, x, y);
    report_put_text(d->page, text, limit);
    fputs("</text>", d->page);
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
        put_svg_text(d, SMALL_WIDTH / 2.0, 16, "m", label, 24);
    } else {
        put_svg_text(d, SMALL_WIDTH / 2.0, 16, "m", step->op, 22);
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
            report_graph_heat(d, step->ns), classes[step->kind], step->is_device ? " dv" : "",
            index, node->x - node->width / 2, node->y - node->height / 2);
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
    put_svg_text(d, SMALL_WIDTH / 2.0, 16, "m", port->name, 22);
    fputs("</g>\n", d->page);
}

void report_boxes_put(const drawing *d) {
    for (size_t i = 0; i < d->facts->input_count; i++)
        put_port(d, (uint32_t)i, &d->facts->inputs[i], "input");
    for (size_t s = 0; s < d->drawn_steps; s++)
        put_step(d, s);
    for (size_t i = 0; i < d->facts->output_count; i++)
        put_port(d, node_of_output(d, i), &d->facts->outputs[i], "output");
}
