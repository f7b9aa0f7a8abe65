/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the page of a build's report; see report_page.h. The pictures are in report_picture.c. */
#include "report_page.h"
#include "json.h"
#include "report_picture.h"
#include "tensor_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char head[] =
    "<!doctype html>\n<html lang=en><meta charset=utf-8><title>Tenon: report of a build</title>\n"
    "<style>\n"
    "body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:78em;padding:0 "
    "1em;color:#1c2733}\n"
    "h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}\n"
    "table{border-collapse:collapse;width:100%}\n"
    "th,td{text-align:left;padding:.3em .7em;border-bottom:1px solid #dde4ec;vertical-align:top}\n"
    "th{color:#5a6b7d;font-weight:600;border-bottom:2px solid #b9c6d4}\n"
    "td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
    "small{color:#5a6b7d}\n"
    ".t{display:inline-block;border-radius:3px;padding:0 .4em;background:#eef2f6}\n"
    ".i8,.u8{background:#d8f0dd}.f16,.bf16{background:#fdf0cf}\n"
    ".facts td:first-child{color:#5a6b7d;width:16em}\n"
    "</style>\n";

static void put_text(FILE *page, const char *text) {
    for (const char *c = text; *c; c++) {
        switch (*c) {
        case '<':
            fputs("&lt;", page);
            break;
        case '>':
            fputs("&gt;", page);
            break;
        case '&':
            fputs("&amp;", page);
            break;
        case '"':
            fputs("&quot;", page);
            break;
        default:
            fputc(*c, page);
        }
    }
}

static void put_us(FILE *page, double ns) {
    if (ns > 0)
        fprintf(page, "%.2f", ns / 1000);
    else
        fputs("-", page);
}

static void put_percent(FILE *page, const json *share) {
    if (json_is_there(share))
        fprintf(page, "%.3g%%", 100 * json_number(share, 0));
    else
        fputs("-", page);
}

static void put_number(FILE *page, const json *number) {
    if (json_is_there(number))
        fprintf(page, "%.4g", json_number(number, 0));
    else
        fputs("-", page);
}

static void put_fact(FILE *page, const char *what, const char *text) {
    fprintf(page, "<tr><td>%s<td>", what);
    put_text(page, text);
    fputs("\n", page);
}

/* ----------------------------------------------------------------------------------------------
 * the whole */

static void put_summary(FILE *page, const json *report, const char *model) {
    const json *totals = json_member(report, "totals"), *accuracy = json_member(report, "accuracy"),
               *calibration = json_member(report, "calibration");
    fputs("<h1>", page);
    put_text(page, model);
    fputs("</h1>\n<table class=facts>\n", page);
    put_fact(page, "device", json_text(json_member(report, "device"), "-"));
    put_fact(page, "precision asked for",
             json_text(json_member(accuracy, "precision"),
                       json_text(json_member(report, "precision"), "-")));
    fputs("<tr><td>kernels, conversions<td>", page);
    put_us(page, json_number(json_member(totals, "kernel_ns"), 0));
    fputs(" µs, ", page);
    put_us(page, json_number(json_member(totals, "reformat_ns"), 0));
    fprintf(page, " µs in %.0f conversions, %.0f of them of types (",
            json_number(json_member(totals, "reformats"), 0),
            json_number(json_member(totals, "type_conversions"), 0));
    put_us(page, json_number(json_member(totals, "type_conversion_ns"), 0));
    fputs(" µs)\n", page);
    if (calibration)
        fprintf(page, "<tr><td>calibration<td>%s over %.0f batches\n",
                json_text(json_member(calibration, "calibrator"), "-"),
                json_number(json_member(calibration, "batches"), 0));
    if (accuracy) {
        fputs("<tr><td>loss of accuracy<td>", page);
        put_number(page, json_member(accuracy, "loss"));
        fputs(" (bound: ", page);
        put_number(page, json_member(accuracy, "max_loss"));
        fputs(") <small>sum |y - y32| / sum |y32| of the worst output</small>\n", page);
    }
    fputs("</table>\n", page);
}

static const json *find_tensor(const json *report, const char *name) {
    const json *tensors = json_member(json_member(report, "calibration"), "tensors");
    for (const json *item = tensors ? tensors->first : NULL; item; item = item->next)
        if (strcmp(json_text(json_member(item, "tensor"), ""), name) == 0) return item;
    return NULL;
}

/* ----------------------------------------------------------------------------------------------
 * layers */

static void put_types(FILE *page, const json *values, bool with_weights) {
    for (const json *value = values ? values->first : NULL; value; value = value->next) {
        const char *type = json_text(json_member(value, "type"), NULL);
        if (!type || (!with_weights && value != values->first)) continue;
        fputs("<span class=\"t ", page);
        put_text(page, type);
        fputs("\">", page);
        put_text(page, type);
        fputs("</span> <small>", page);
        put_text(page, json_text(json_member(value, "format"), ""));
        fputs("</small> ", page);
    }
}

/* What the search for the bound found of a node that went back; null: it did not. */
static const json *find_taken_back(const json *report, const char *node) {
    const json *units = json_member(json_member(report, "accuracy"), "measured_alone");
    for (const json *unit = units ? units->first : NULL; unit; unit = unit->next) {
        const json *nodes = json_member(unit, "nodes");
        for (const json *name = nodes ? nodes->first : NULL; name; name = name->next)
            if (strcmp(json_text(name, ""), node) == 0 &&
                json_number(json_member(unit, "kept"), 0) != 0)
                return unit;
    }
    return NULL;
}

static void put_why(FILE *page, const json *report, const json *node) {
    const json *stays = json_member(node, "stays");
    const json *unit = find_taken_back(report, json_text(json_member(node, "name"), ""));
    if (!stays) return;
    if (unit) {
        fputs("back for accuracy <small>(alone in the lower precision the network loses ", page);
        put_number(page, json_member(unit, "loss"));
        fputs(")</small>", page);
        return;
    }
    put_text(page, json_text(json_member(stays, "why"), ""));
    const char *tensor = json_text(json_member(stays, "tensor"), NULL);
    if (tensor) {
        fputs(": ", page);
        put_text(page, tensor);
    }
    if (json_is_there(json_member(stays, "best_ns"))) {
        fputs(" <small>(", page);
        put_us(page, json_number(json_member(stays, "best_ns"), 0));
        fputs(" µs with it, ", page);
        put_us(page, json_number(json_member(stays, "chosen_ns"), 0));
        fputs(" µs without)</small>", page);
    }
}

static void put_layer(FILE *page, const json *report, const json *node) {
    const json *outputs = json_member(node, "outputs"), *absorbed = json_member(node, "absorbed");
    const json *output = json_item(outputs, 0);
    const json *tensor = find_tensor(report, json_text(json_member(output, "tensor"), ""));
    const json *scale = json_member(output, "scale");
    fputs("<tr><td>", page);
    put_text(page, json_text(json_member(node, "name"), ""));
    fputs("<br><small>", page);
    put_text(page, json_text(json_member(node, "op"), ""));
    for (const json *item = absorbed ? absorbed->first : NULL; item; item = item->next) {
        fputs(" + ", page);
        put_text(page, json_text(item, ""));
    }
    fputs("</small><td>", page);
    put_text(page,
             json_text(json_member(node, "kernel"), json_text(json_member(node, "kind"), "")));
    fputs("<td>", page);
    put_types(page, json_member(node, "inputs"), false);
    fputs("→ ", page);
    put_types(page, outputs, true);
    fputs("<td class=n>", page);
    put_us(page, json_number(json_member(node, "ns"), 0));
    fputs("<td class=n>", page);
    put_number(page, scale ? scale : json_member(tensor, "scale"));
    fputs("<td class=n>", page);
    put_percent(page, json_member(tensor, "clipped"));
    fputs("<td class=n>", page);
    put_percent(page, json_member(tensor, "error"));
    fputs("<td>", page);
    if (tensor) report_picture_histogram(page, tensor, 150, 36, false);
    fputs("<td>", page);
    put_why(page, report, node);
    fputs("\n", page);
}

static void put_layers(FILE *page, const json *report) {
    const json *nodes = json_member(report, "nodes");
    fputs("<h2>Layers</h2>\n<p><small>Scale, share of values that are cut off and error of 8 bits "
          "(root of summed squares over that of the values) are those of the layer's first output; "
          "times are of the build's measurements.</small></p>\n<table><tr><th>layer<th>kernel"
          "<th>types<th>µs<th>scale<th>cut off<th>error<th>values<th>why in floats\n",
          page);
    for (const json *node = nodes ? nodes->first : NULL; node; node = node->next)
        put_layer(page, report, node);
    fputs("</table>\n", page);
}

static void put_conversions(FILE *page, const json *report) {
    const json *list = json_member(report, "reformats");
    if (json_count(list) == 0) return;
    fputs("<h2>Conversions</h2>\n<table><tr><th>tensor<th>from<th>to<th>bytes<th>µs\n", page);
    for (const json *item = list->first; item; item = item->next) {
        fputs("<tr><td>", page);
        put_text(page, json_text(json_member(item, "tensor"), ""));
        fprintf(page, "<td>%s %s<td>%s %s<td class=n>%.0f<td class=n>",
                json_text(json_member(item, "from_type"), ""),
                json_text(json_member(item, "from"), ""),
                json_text(json_member(item, "to_type"), ""), json_text(json_member(item, "to"), ""),
                json_number(json_member(item, "bytes"), 0));
        put_us(page, json_number(json_member(item, "ns"), 0));
        fputs("\n", page);
    }
    fputs("</table>\n", page);
}

/* ----------------------------------------------------------------------------------------------
 * accuracy */

static void put_measured_alone(FILE *page, const json *accuracy) {
    const json *list = json_member(accuracy, "measured_alone");
    if (json_count(list) == 0) return;
    fputs("<table><tr><th>nodes<th>loss of the network with these alone in the lower precision"
          "<th>decision\n",
          page);
    for (const json *item = list->first; item; item = item->next) {
        const json *nodes = json_member(item, "nodes");
        fputs("<tr><td>", page);
        for (const json *node = nodes ? nodes->first : NULL; node; node = node->next) {
            put_text(page, json_text(node, ""));
            fputs(node->next ? " + " : "", page);
        }
        fputs("<td class=n>", page);
        put_number(page, json_member(item, "loss"));
        fprintf(page, "<td>%s\n",
                json_number(json_member(item, "kept"), 0) != 0 ? "back in floats" : "stays lower");
    }
    fputs("</table>\n", page);
}

static void put_accuracy(FILE *page, const json *report) {
    const json *accuracy = json_member(report, "accuracy");
    if (!accuracy) return;
    const json *outputs = json_member(accuracy, "outputs"),
               *builds = json_member(accuracy, "builds");
    fputs("<h2>Accuracy against 32-bit floats</h2>\n<table><tr><th>output<th>loss<th>rows whose "
          "largest element is another one\n",
          page);
    for (const json *item = outputs ? outputs->first : NULL; item; item = item->next) {
        fputs("<tr><td>", page);
        put_text(page, json_text(json_member(item, "name"), ""));
        fputs("<td class=n>", page);
        put_number(page, json_member(item, "loss"));
        fputs("<td class=n>", page);
        put_percent(page, json_member(item, "arg_max_changed"));
        fputs("\n", page);
    }
    fputs("</table>\n<p>Builds measured: ", page);
    for (const json *item = builds ? builds->first : NULL; item; item = item->next) {
        fprintf(page, "%.0f kept: ", json_number(json_member(item, "kept"), 0));
        put_number(page, json_member(item, "loss"));
        fputs(item->next ? "; " : "</p>\n", page);
    }
    put_measured_alone(page, accuracy);
}

static void put_tensors(FILE *page, const json *report) {
    const json *tensors = json_member(json_member(report, "calibration"), "tensors");
    if (json_count(tensors) == 0) return;
    fputs(
        "<h2>Tensors</h2>\n<p><small>Magnitudes over all sample inputs, zeros left out; heights "
        "are logarithmic. The line is the bound that 8 bits hold.</small></p>\n"
        "<table><tr><th>tensor<th>made by<th>lowest<th>largest magnitude<th>zeros<th>bound<th>scale"
        "<th>cut off<th>error<th>magnitudes\n",
        page);
    for (const json *item = tensors->first; item; item = item->next) {
        static const char *const numbers[] = {"lowest", "largest"};
        fputs("<tr><td>", page);
        put_text(page, json_text(json_member(item, "tensor"), ""));
        fputs("<td>", page);
        put_text(page, json_text(json_member(item, "node"), "input"));
        for (size_t i = 0; i < 2; i++) {
            fputs("<td class=n>", page);
            put_number(page, json_member(item, numbers[i]));
        }
        fputs("<td class=n>", page);
        put_percent(page, json_member(item, "zeros"));
        fputs("<td class=n>", page);
        put_number(page, json_member(item, "bound"));
        fputs("<td class=n>", page);
        put_number(page, json_member(item, "scale"));
        fputs("<td class=n>", page);
        put_percent(page, json_member(item, "clipped"));
        fputs("<td class=n>", page);
        put_percent(page, json_member(item, "error"));
        fputs("<td>", page);
        report_picture_histogram(page, item, 320, 90, true);
        fputs("\n", page);
    }
    fputs("</table>\n", page);
}

bool report_page_write(const char *path, const char *model, const char *report) {
    char *text = NULL;
    size_t bytes = 0;
    json *tree = json_read(report);
    FILE *page = tree ? open_memstream(&text, &bytes) : NULL;
    if (page) {
        fputs(head, page);
        put_summary(page, tree, model);
        put_layers(page, tree);
        put_conversions(page, tree);
        put_accuracy(page, tree);
        put_tensors(page, tree);
        fputs("</html>\n", page);
    }
    const bool is_made = page && fclose(page) == 0 && text;
    const bool is_written = is_made ? whole_file_write(path, NULL, 0, text, bytes)
                                    : (cli_fault("no memory for the report's page"), false);
    free(text);
    json_free(tree);
    return is_written;
}
