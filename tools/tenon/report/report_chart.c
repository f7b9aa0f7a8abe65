/* SPDX-License-Identifier: Apache-2.0 */
/* The chart of memory; see report_chart.h. Coordinates are whole tenths of a unit. */
#include "report/facts/report_text.h"
#include "report_chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 11000, HEIGHT = 2600, LEFT = 0, BUFFER_LIMIT = 4000, COLOUR_COUNT = 6 };

typedef struct chart {
    FILE *page;
    const json *arena;
    size_t step_count;
    double bytes;
    double *live; /* by step: bytes in use */
} chart;

static double member(const json *item, const char *key) {
    return fmax(0, json_number_of(item, key));
}

static double x_of(const chart *c, double step) {
    return WIDTH * fmin(step, (double)c->step_count) / (double)c->step_count;
}

static double y_of(const chart *c, double bytes) {
    return HEIGHT - HEIGHT * fmin(bytes, c->bytes) / c->bytes;
}

static void put_buffer(const chart *c, const json *buffer, size_t index) {
    const double first = member(buffer, "first"), end = member(buffer, "last") + 1,
                 offset = member(buffer, "offset"), bytes = member(buffer, "bytes");
    const char *tensor = json_text(json_member(buffer, "tensor"), NULL);
    if (bytes <= 0) return;
    fprintf(c->page, "<rect class=\"c%zu%s\" x=%.0f y=%.0f width=%.0f height=%.0f><title>",
            index % COLOUR_COUNT, tensor ? "" : " ws", x_of(c, first), y_of(c, offset + bytes),
            fmax(8, x_of(c, end) - x_of(c, first)),
            fmax(4, y_of(c, offset) - y_of(c, offset + bytes)));
    report_put_text(c->page, tensor ? tensor : "workspace", 120);
    fputs("\n", c->page);
    report_put_bytes(c->page, bytes);
    fprintf(c->page, " at %.0f, steps %.0f to %.0f</title></rect>\n", offset, first, end - 1);
}

static void sum_live(const chart *c) {
    const json *buffers = json_member(c->arena, "buffers");
    for (const json *item = buffers ? buffers->first : NULL; item; item = item->next) {
        const double first = member(item, "first"), last = member(item, "last");
        if (!(first < (double)c->step_count)) continue;
        c->live[(size_t)first] += member(item, "bytes");
        if (last + 1 < (double)c->step_count) c->live[(size_t)last + 1] -= member(item, "bytes");
    }
    for (size_t s = 1; s < c->step_count; s++)
        c->live[s] += c->live[s - 1];
}

/* Bytes in use as a stepped line, and the step at which they are most. */
static size_t put_live(const chart *c) {
    size_t peak = 0;
    fprintf(c->page, "<path class=live d=\"M0 %.0f", y_of(c, c->live[0]));
    for (size_t s = 0; s < c->step_count; s++) {
        if (c->live[s] > c->live[peak]) peak = s;
        if (s == 0 || y_of(c, c->live[s]) != y_of(c, c->live[s - 1]))
            fprintf(c->page, "V%.0f", y_of(c, c->live[s]));
        fprintf(c->page, "H%.0f", x_of(c, (double)s + 1));
    }
    fputs("\" />\n", c->page);
    return peak;
}

static void put_arena(chart *c, const report_facts *facts) {
    const json *buffers = json_member(c->arena, "buffers");
    size_t index = 0;
    fputs("<figure><figcaption>", c->page);
    report_put_text(c->page, json_text(json_member(c->arena, "space"), "host"), 20);
    fputs(" memory: ", c->page);
    report_put_bytes(c->page, c->bytes);
    fprintf(c->page,
            " for %zu buffers</figcaption>\n<svg class=mem viewBox=\"0 0 %d %d\" "
            "preserveAspectRatio=none role=img aria-label=\"memory over the steps\">\n",
            json_count(buffers), WIDTH, HEIGHT);
    for (const json *item = buffers ? buffers->first : NULL; item && index < BUFFER_LIMIT;
         item = item->next)
        put_buffer(c, item, index++);
    sum_live(c);
    const size_t peak = put_live(c);
    fprintf(c->page, "<line class=peak x1=%.0f x2=%.0f y1=0 y2=%d /></svg>\n",
            x_of(c, (double)peak + 0.5), x_of(c, (double)peak + 0.5), HEIGHT);
    fputs(
        "<p class=hint>x: the steps in the order of execution; y: offset in the arena. Most is in "
        "use at step ",
        c->page);
    fprintf(c->page, "%zu (", peak);
    report_put_text(c->page, facts->steps[peak].name, 60);
    fputs("): ", c->page);
    report_put_bytes(c->page, c->live[peak]);
    fputs(".</p></figure>\n", c->page);
}

bool report_chart_put(FILE *page, const report_facts *facts) {
    const json *memory = json_member(facts->program, "memory"),
               *arenas = json_member(memory, "arenas");
    if (!arenas || !arenas->first || facts->step_count == 0) return true;
    fprintf(
        page, "<h2>Memory</h2>\n<p class=hint>%s</p>\n",
        json_number_of(memory, "workspaces") != 0
            ? "Each rectangle is a tensor, or a kernel's workspace, for as long as it is needed."
            : "Each rectangle is a tensor for as long as it is needed. The kernels' workspaces, "
              "which are known when the plan is loaded, come on top.");
    bool has_memory = true;
    for (const json *item = arenas->first; item && has_memory; item = item->next) {
        chart c = {.page = page,
                   .arena = item,
                   .step_count = facts->step_count,
                   .bytes = fmax(1, member(item, "bytes"))};
        c.live = calloc(facts->step_count + 1, sizeof(*c.live));
        has_memory = c.live != NULL;
        if (has_memory) put_arena(&c, facts);
        free(c.live);
    }
    return has_memory;
}
