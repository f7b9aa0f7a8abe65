/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs, outputs, libraries and the model's description on a page; see report_manifest.h. */
#include "report/facts/report_text.h"
#include "report_manifest.h"

#include <string.h>

enum { PORT_LIMIT = 200, LIBRARY_LIMIT = 200, NAME_LIMIT = 120, VALUE_LIMIT = 400 };

static void put_extents(FILE *page, const json *shape) {
    if (json_is_there(shape) && !shape->first) fputs("scalar", page);
    for (const json *extent = json_is_there(shape) ? shape->first : NULL; extent;
         extent = extent->next) {
        if (json_number(extent, 0) < 0)
            fputs("?", page);
        else
            fprintf(page, "%.0f", json_number(extent, 0));
        fputs(extent->next ? "×" : "", page);
    }
}

static bool is_same_shape(const json *a, const json *b) {
    const json *x = json_is_there(a) ? a->first : NULL, *y = json_is_there(b) ? b->first : NULL;
    for (; x && y && json_number(x, 0) == json_number(y, 0); x = x->next)
        y = y->next;
    return !x && !y;
}

/* One shape, or the range of the profile with its optimum. */
static void put_input_shape(FILE *page, const json *input) {
    const json *least = json_member(input, "min"), *best = json_member(input, "opt"),
               *most = json_member(input, "max");
    if (!json_is_there(best)) {
        put_extents(page, json_member(input, "shape"));
        return;
    }
    if (json_number_of(input, "free") != 0) {
        fputs("any", page);
        return;
    }
    put_extents(page, best);
    if (is_same_shape(least, best) && is_same_shape(best, most)) return;
    fputs(" <small>from ", page);
    put_extents(page, least);
    fputs(" to ", page);
    put_extents(page, most);
    fputs("</small>", page);
}

static void put_port(FILE *page, const char *what, const char *name, const char *type) {
    fprintf(page, "<tr><td>%s</td><td>", what);
    report_put_text(page, name, NAME_LIMIT);
    fputs("</td><td>", page);
    report_put_text(page, type, 12);
    fputs("</td><td>", page);
}

static void put_inputs(FILE *page, const report_facts *facts) {
    const json *list = json_member(facts->report, "inputs");
    size_t shown = 0;
    for (const json *item = list ? list->first : NULL; item && shown < PORT_LIMIT;
         item = item->next, shown++) {
        put_port(page, "input", json_text_of(item, "name"), json_text_of(item, "type"));
        put_input_shape(page, item);
        fputs("</td></tr>\n", page);
    }
}

void report_ports_put(FILE *page, const report_facts *facts) {
    if (facts->input_count + facts->output_count == 0) return;
    fputs("<h2>Inputs and outputs</h2>\n<div class=wide><table><thead><tr><th></th><th>name</th>"
          "<th>type</th><th>shape</th></tr></thead><tbody>\n",
          page);
    put_inputs(page, facts);
    for (size_t i = 0; i < facts->output_count && i < PORT_LIMIT; i++) {
        const report_port *port = &facts->outputs[i];
        const report_value *value = port->value == REPORT_NONE ? NULL : &facts->values[port->value];
        put_port(page, "output", port->name, value ? value->type : "");
        if (value) put_extents(page, value->shape);
        fputs("</td></tr>\n", page);
    }
    fputs("</tbody></table></div>\n", page);
}

void report_libraries_put(FILE *page, const report_facts *facts) {
    const json *list = json_member(facts->report, "libraries");
    size_t shown = 0;
    if (!list || !list->first) return;
    fputs(
        "<h2>Libraries</h2>\n<p class=hint>What the plan needs to be loaded, by content.</p>\n"
        "<div class=wide><table><thead><tr><th>name</th><th>version</th><th>file</th><th>hash</th>"
        "</tr></thead><tbody>\n",
        page);
    for (const json *item = list->first; item && shown < LIBRARY_LIMIT;
         item = item->next, shown++) {
        static const char *const keys[] = {"name", "version", "file", "hash"};
        const bool is_linked_in = json_number_of(item, "linked_in") != 0;
        fputs("<tr>", page);
        for (size_t i = 0; i < 4; i++) {
            const char *text = json_text_of(item, keys[i]);
            const bool is_file = strcmp(keys[i], "file") == 0;
            fputs("<td>", page);
            report_put_text(page, is_linked_in && is_file ? "part of Tenon" : text, NAME_LIMIT);
            fputs("</td>", page);
        }
        fputs("</tr>\n", page);
    }
    fputs("</tbody></table></div>\n", page);
}

static void put_fact(FILE *page, const char *key, const char *value) {
    if (!value[0]) return;
    fputs("<tr><td>", page);
    report_put_text(page, key, NAME_LIMIT);
    fputs("</td><td>", page);
    report_put_text(page, value, VALUE_LIMIT);
    fputs("</td></tr>\n", page);
}

static void put_opsets(FILE *page, const json *model) {
    const json *list = json_member(model, "opsets");
    for (const json *item = list ? list->first : NULL; item; item = item->next) {
        const char *domain = json_text_of(item, "domain");
        fputs("<tr><td>opset", page);
        if (domain[0]) fputs(" of ", page);
        report_put_text(page, domain, NAME_LIMIT);
        fprintf(page, "</td><td>%.0f</td></tr>\n", json_number_of(item, "version"));
    }
}

static bool is_said(const json *model) {
    const json *opsets = json_member(model, "opsets"), *metadata = json_member(model, "metadata");
    return json_text_of(model, "source_format")[0] || (opsets && opsets->first) ||
           (metadata && metadata->first);
}

void report_model_put(FILE *page, const report_facts *facts) {
    static const char *const keys[] = {"source_format", "producer_name", "producer_version",
                                       "domain", "doc"};
    static const char *const titles[] = {"format", "producer", "producer's version", "domain",
                                         "description"};
    const json *model = json_member(facts->report, "model"), *list = json_member(model, "metadata");
    size_t shown = 0;
    if (!json_is_there(model) || !is_said(model)) return;
    fputs("<h2>Model</h2>\n<p class=hint>What the model's file said of itself.</p>\n"
          "<div class=wide><table><tbody>\n",
          page);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        put_fact(page, titles[i], json_text_of(model, keys[i]));
    put_opsets(page, model);
    for (const json *item = list ? list->first : NULL; item && shown < LIBRARY_LIMIT;
         item = item->next, shown++)
        put_fact(page, json_text_of(item, "key"), json_text_of(item, "value"));
    fputs("</tbody></table></div>\n", page);
}
