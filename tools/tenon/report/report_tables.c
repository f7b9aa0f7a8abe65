/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a page; see report_tables.h. */
#include "report_tables.h"
#include "report/facts/report_text.h"
#include "report_picture.h"
#include "report_precision.h"

#include <stdlib.h>
#include <string.h>

enum { ROW_LIMIT = 5000, CONVERSION_LIMIT = 500, NAME_LIMIT = 80 };

/* ----------------------------------------------------------------------------------------------
 * cells: each writes nothing where there is nothing to say */

typedef struct cell {
    FILE *page;
    const report_facts *facts;
    const report_step *step;
    const json *calibrated; /* what calibration says of the first output; or null */
} cell;

static void put_storage(FILE *page, const report_value *value, bool with_shape) {
    fputs("<span class=\"t ", page);
    report_put_text(page, value->type, 12);
    fputs("\">", page);
    report_put_text(page, value->type, 12);
    fputs("</span> <small>", page);
    report_put_text(page, value->format, 24);
    const json *extent = with_shape && value->shape ? value->shape->first : NULL;
    if (extent) fputc(' ', page);
    for (; extent; extent = extent->next)
        fprintf(page, "%.0f%s", json_number(extent, 0), extent->next ? "×" : "");
    fputs("</small> ", page);
}

static void put_index(const cell *c) {
    fprintf(c->page, "%zu", (size_t)(c->step - c->facts->steps));
}

static void put_name(const cell *c) {
    report_put_text(c->page, c->step->name, NAME_LIMIT);
}

static void put_operator(const cell *c) {
    char label[240];
    report_step_label(c->step, label, sizeof(label));
    report_put_text(c->page, label, NAME_LIMIT);
}

static void put_rewrites(const cell *c) {
    const json *first = c->step->rewrites ? c->step->rewrites->first : NULL;
    for (const json *name = first; name; name = name->next) {
        if (name != first) fputs(", ", c->page);
        report_put_text(c->page, json_text(name, ""), NAME_LIMIT);
    }
}

static void put_kernel(const cell *c) {
    if (c->step->kind == REPORT_KERNEL) report_put_text(c->page, c->step->kernel, NAME_LIMIT);
}

static void put_library(const cell *c) {
    report_put_text(c->page, c->step->library, 40);
}

static void put_space(const cell *c) {
    if (c->step->is_device) fputs("device", c->page);
}

static void put_reads(const cell *c) {
    for (uint32_t i = 0; i < c->step->input_count && i < 4; i++) {
        const report_value *value = &c->facts->values[c->step->inputs[i]];
        if (value->source != REPORT_CONSTANT) put_storage(c->page, value, false);
    }
}

static void put_writes(const cell *c) {
    for (uint32_t i = 0; i < c->step->output_count && i < 4; i++)
        put_storage(c->page, &c->facts->values[c->step->outputs[i]], true);
}

static void put_time(const cell *c) {
    if (c->step->ns > 0) report_put_fixed(c->page, c->step->ns / 1000, 2);
}

static void put_part(const cell *c) {
    if (c->step->ns > 0) report_put_percent(c->page, c->step->ns, c->facts->total_ns);
}

static void put_scale(const cell *c) {
    const report_value *value =
        c->step->output_count > 0 ? &c->facts->values[c->step->outputs[0]] : NULL;
    report_put_number(c->page,
                      value && value->scale ? value->scale : json_member(c->calibrated, "scale"));
}

static void put_clipped(const cell *c) {
    report_put_share(c->page, json_member(c->calibrated, "clipped"));
}

static void put_error(const cell *c) {
    report_put_share(c->page, json_member(c->calibrated, "error"));
}

static void put_values(const cell *c) {
    if (c->calibrated) report_picture_histogram(c->page, c->calibrated, 150, 36, false);
}

static void put_why(const cell *c) {
    report_precision_why(c->page, c->facts->report, c->step->item);
}

/* ----------------------------------------------------------------------------------------------
 * the table of steps */

typedef struct column {
    const char *title, *class;
    void (*put)(const cell *c);
} column;

static const column columns[] = {{"#", " class=n", put_index},
                                 {"step", "", put_name},
                                 {"operators", "", put_operator},
                                 {"put in place by rewrite", "", put_rewrites},
                                 {"kernel", "", put_kernel},
                                 {"library", "", put_library},
                                 {"on", "", put_space},
                                 {"reads", "", put_reads},
                                 {"writes", "", put_writes},
                                 {"µs", " class=n", put_time},
                                 {"share", " class=n", put_part},
                                 {"scale", " class=n", put_scale},
                                 {"cut off", " class=n", put_clipped},
                                 {"error in 8 bits", " class=n", put_error},
                                 {"values", "", put_values},
                                 {"why in floats", "", put_why}};
enum { COLUMN_COUNT = sizeof(columns) / sizeof(*columns) };

static const json *find_calibrated(const report_facts *facts, const report_step *step) {
    const json *tensors = json_member(json_member(facts->report, "calibration"), "tensors");
    if (step->output_count == 0) return NULL;
    for (const json *item = tensors ? tensors->first : NULL; item; item = item->next)
        if (strcmp(json_text_of(item, "tensor"), facts->values[step->outputs[0]].tensor) == 0)
            return item;
    return NULL;
}

static cell cell_of(FILE *page, const report_facts *facts, size_t step) {
    return (cell){page, facts, &facts->steps[step], find_calibrated(facts, &facts->steps[step])};
}

/* Whether a column says something of some row. */
static bool is_column_used(const report_facts *facts, const column *tested, size_t rows,
                           bool *out_is_made) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *scratch = open_memstream(&text, &bytes);
    for (size_t s = 0; scratch && s < rows && bytes == 0; s++) {
        const cell c = cell_of(scratch, facts, s);
        tested->put(&c);
        fflush(scratch);
    }
    *out_is_made = scratch && fclose(scratch) == 0;
    free(text);
    return bytes > 0;
}

static void put_rows(FILE *page, const report_facts *facts, size_t rows, const bool *is_used) {
    for (size_t s = 0; s < rows; s++) {
        const cell c = cell_of(page, facts, s);
        fprintf(page, "<tr data-s=%zu>", s);
        for (size_t i = 0; i < COLUMN_COUNT; i++) {
            if (!is_used[i]) continue;
            fprintf(page, "<td%s>", columns[i].class);
            columns[i].put(&c);
            fputs("</td>", page);
        }
        fputs("</tr>\n", page);
    }
}

bool report_steps_put(FILE *page, const report_facts *facts) {
    const size_t rows = facts->step_count < ROW_LIMIT ? facts->step_count : ROW_LIMIT;
    bool is_used[COLUMN_COUNT], is_made = true;
    for (size_t i = 0; i < COLUMN_COUNT && is_made; i++)
        is_used[i] = is_column_used(facts, &columns[i], rows, &is_made);
    if (!is_made) return false;
    if (rows == 0) return true;
    fputs("<h2>Steps</h2>\n<p class=hint>In the order of execution; a click on a heading "
          "sorts.</p>\n<div class=wide><table id=steps class=sort><thead><tr>",
          page);
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        if (is_used[i]) fprintf(page, "<th%s>%s</th>", columns[i].class, columns[i].title);
    fputs("</tr></thead><tbody>\n", page);
    put_rows(page, facts, rows, is_used);
    fputs("</tbody></table></div>\n", page);
    if (rows < facts->step_count)
        fprintf(page, "<p class=hint>and %zu more steps</p>\n", facts->step_count - rows);
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * conversions */

static double bytes_of(const report_value *value) {
    static const struct {
        const char *type;
        double bytes;
    } types[] = {{"f64", 8}, {"i64", 8}, {"u64", 8},  {"f32", 4}, {"i32", 4},
                 {"u32", 4}, {"f16", 2}, {"bf16", 2}, {"i16", 2}, {"u16", 2},
                 {"i8", 1},  {"u8", 1},  {"bool", 1}};
    double bytes = 0;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (strcmp(types[i].type, value->type) == 0) bytes = types[i].bytes;
    for (const json *extent = value->shape ? value->shape->first : NULL; extent;
         extent = extent->next)
        bytes *= json_number(extent, 0);
    return value->shape ? bytes : 0;
}

/* Whether the size of some conversion is known: shapes are not, in plans of earlier versions. */
static bool has_sizes(const report_facts *facts) {
    for (size_t s = 0; s < facts->step_count; s++) {
        const report_step *step = &facts->steps[s];
        if (step->kind == REPORT_CONVERSION && step->output_count > 0 &&
            bytes_of(&facts->values[step->outputs[0]]) > 0)
            return true;
    }
    return false;
}

static void put_conversion(FILE *page, const report_facts *facts, size_t index, bool is_sized,
                           bool is_timed) {
    const report_step *step = &facts->steps[index];
    const report_value *from = &facts->values[step->inputs[0]],
                       *to = &facts->values[step->outputs[0]];
    fprintf(page, "<tr data-s=%zu><td>", index);
    report_put_text(page, from->tensor, NAME_LIMIT);
    fputs("</td><td>", page);
    put_storage(page, from, false);
    fputs(from->is_device != to->is_device ? (from->is_device ? "device" : "host") : "", page);
    fputs("</td><td>", page);
    put_storage(page, to, false);
    fputs(from->is_device != to->is_device ? (to->is_device ? "device" : "host") : "", page);
    fputs("</td>", page);
    if (is_sized) {
        fputs("<td class=n>", page);
        report_put_bytes(page, bytes_of(to));
        fputs("</td>", page);
    }
    if (is_timed) {
        fputs("<td class=n>", page);
        if (step->ns > 0) report_put_fixed(page, step->ns / 1000, 2);
        fputs("</td>", page);
    }
    fputs("</tr>\n", page);
}

void report_conversions_put(FILE *page, const report_facts *facts) {
    const bool is_timed = facts->conversion_ns > 0;
    const bool is_sized = has_sizes(facts);
    size_t shown = 0;
    if (facts->conversion_count == 0) return;
    fprintf(page,
            "<h2>Conversions</h2>\n<div class=wide><table class=sort><thead><tr><th>tensor</th>"
            "<th>from</th><th>to</th>%s%s</tr></thead><tbody>\n",
            is_sized ? "<th class=n>size</th>" : "", is_timed ? "<th class=n>µs</th>" : "");
    for (size_t s = 0; s < facts->step_count && shown < CONVERSION_LIMIT; s++) {
        const report_step *step = &facts->steps[s];
        if (step->kind != REPORT_CONVERSION || step->input_count == 0 || step->output_count == 0)
            continue;
        put_conversion(page, facts, s, is_sized, is_timed);
        shown++;
    }
    fputs("</tbody></table></div>\n", page);
    if (shown < facts->conversion_count)
        fprintf(page, "<p class=hint>and %zu more</p>\n", facts->conversion_count - shown);
}
