/* SPDX-License-Identifier: Apache-2.0 */
/* Precision, accuracy and calibration on a page; see report_precision.h. */
#include "report_precision.h"
#include "report/facts/report_text.h"
#include "report_picture.h"

#include <string.h>

enum { NAME_LIMIT = 80, ROW_LIMIT = 1000 };

static void put_text(FILE *page, const char *text) {
    report_put_text(page, text, NAME_LIMIT);
}

/* What the search for the bound found of a node that went back; null: it did not. */
static const json *find_taken_back(const json *report, const char *node) {
    const json *units = json_member(json_member(report, "accuracy"), "measured_alone");
    for (const json *unit = units ? units->first : NULL; unit; unit = unit->next) {
        const json *nodes = json_member(unit, "nodes");
        for (const json *name = nodes ? nodes->first : NULL; name; name = name->next)
            if (strcmp(json_text(name, ""), node) == 0 && json_number_of(unit, "kept") != 0)
                return unit;
    }
    return NULL;
}

void report_precision_why(FILE *page, const json *report, const json *node) {
    const json *stays = json_member(node, "stays");
    const json *unit = find_taken_back(report, json_text_of(node, "name"));
    if (!stays) return;
    if (unit) {
        fputs("back for accuracy <small>(alone in the lower precision the network loses ", page);
        report_put_number(page, json_member(unit, "loss"));
        fputs(")</small>", page);
        return;
    }
    put_text(page, json_text_of(stays, "why"));
    const char *tensor = json_text(json_member(stays, "tensor"), NULL);
    if (tensor) {
        fputs(": ", page);
        put_text(page, tensor);
    }
    if (json_is_there(json_member(stays, "best_ns"))) {
        fputs(" <small>(", page);
        report_put_time(page, json_number_of(stays, "best_ns"));
        fputs(" with it, ", page);
        report_put_time(page, json_number_of(stays, "chosen_ns"));
        fputs(" without)</small>", page);
    }
}

/* ----------------------------------------------------------------------------------------------
 * accuracy */

static void put_measured_alone(FILE *page, const json *accuracy) {
    const json *list = json_member(accuracy, "measured_alone");
    if (json_count(list) == 0) return;
    fputs("<table><thead><tr><th>nodes</th><th>loss of the network with these alone in the lower "
          "precision</th><th>decision</th></tr></thead><tbody>\n",
          page);
    for (const json *item = list->first; item; item = item->next) {
        const json *nodes = json_member(item, "nodes");
        fputs("<tr><td>", page);
        for (const json *node = nodes ? nodes->first : NULL; node; node = node->next) {
            put_text(page, json_text(node, ""));
            fputs(node->next ? " + " : "", page);
        }
        fputs("</td><td class=n>", page);
        report_put_number(page, json_member(item, "loss"));
        fprintf(page, "</td><td>%s</td></tr>\n",
                json_number_of(item, "kept") != 0 ? "back in floats" : "stays lower");
    }
    fputs("</tbody></table>\n", page);
}

static void put_builds(FILE *page, const json *builds) {
    if (json_count(builds) == 0) return;
    fputs("<p>Builds measured: ", page);
    for (const json *item = builds->first; item; item = item->next) {
        fprintf(page, "%.0f kept: ", json_number_of(item, "kept"));
        report_put_number(page, json_member(item, "loss"));
        fputs(item->next ? "; " : "</p>\n", page);
    }
}

static void put_accuracy(FILE *page, const json *report) {
    const json *accuracy = json_member(report, "accuracy");
    if (!accuracy) return;
    const json *outputs = json_member(accuracy, "outputs");
    fputs("<h2>Accuracy against 32-bit floats</h2>\n<table><thead><tr><th>output</th><th>loss</th>"
          "<th>rows whose largest element is another one</th></tr></thead><tbody>\n",
          page);
    for (const json *item = outputs ? outputs->first : NULL; item; item = item->next) {
        fputs("<tr><td>", page);
        put_text(page, json_text_of(item, "name"));
        fputs("</td><td class=n>", page);
        report_put_number(page, json_member(item, "loss"));
        fputs("</td><td class=n>", page);
        report_put_share(page, json_member(item, "arg_max_changed"));
        fputs("</td></tr>\n", page);
    }
    fputs("</tbody></table>\n", page);
    put_builds(page, json_member(accuracy, "builds"));
    put_measured_alone(page, accuracy);
}

/* ----------------------------------------------------------------------------------------------
 * calibrated tensors */

static void put_member_text(FILE *page, const json *tensor, const char *key) {
    put_text(page, json_text_of(tensor, key));
}

static void put_member_number(FILE *page, const json *tensor, const char *key) {
    report_put_number(page, json_member(tensor, key));
}

static void put_member_percent(FILE *page, const json *tensor, const char *key) {
    report_put_share(page, json_member(tensor, key));
}

static void put_histogram(FILE *page, const json *tensor, const char *key) {
    (void)key;
    report_picture_histogram(page, tensor, 320, 90, true);
}

/* A column that no tensor has anything for is left out. */
static const struct {
    const char *title, *key;
    void (*put)(FILE *page, const json *tensor, const char *key);
} columns[] = {{"tensor", "tensor", put_member_text},
               {"made by", "node", put_member_text},
               {"lowest", "lowest", put_member_number},
               {"largest magnitude", "largest", put_member_number},
               {"zeros", "zeros", put_member_percent},
               {"bound", "bound", put_member_number},
               {"scale", "scale", put_member_number},
               {"cut off", "clipped", put_member_percent},
               {"error in 8 bits", "error", put_member_percent},
               {"magnitudes", "histogram", put_histogram}};
enum { COLUMN_COUNT = sizeof(columns) / sizeof(*columns) };

static bool is_used(const json *tensors, size_t column) {
    for (const json *item = tensors->first; item; item = item->next)
        if (json_is_there(json_member(item, columns[column].key))) return true;
    return false;
}

static void put_tensors(FILE *page, const json *report) {
    const json *tensors = json_member(json_member(report, "calibration"), "tensors");
    size_t rows = 0;
    if (json_count(tensors) == 0) return;
    fputs("<h2>Tensors</h2>\n<p class=hint>Magnitudes over all sample inputs, zeros left out; "
          "heights are logarithmic. The line is the bound that 8 bits hold.</p>\n<div "
          "class=wide><table class=sort><thead><tr>",
          page);
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        if (is_used(tensors, i)) fprintf(page, "<th>%s</th>", columns[i].title);
    fputs("</tr></thead><tbody>\n", page);
    for (const json *item = tensors->first; item && rows < ROW_LIMIT; item = item->next, rows++) {
        fputs("<tr>", page);
        for (size_t i = 0; i < COLUMN_COUNT; i++) {
            if (!is_used(tensors, i)) continue;
            fprintf(page, "<td%s>", columns[i].put == put_member_text ? "" : " class=n");
            columns[i].put(page, item, columns[i].key);
            fputs("</td>", page);
        }
        fputs("</tr>\n", page);
    }
    fputs("</tbody></table></div>\n", page);
}

void report_precision_put(FILE *page, const json *report) {
    put_accuracy(page, report);
    put_tensors(page, report);
}
