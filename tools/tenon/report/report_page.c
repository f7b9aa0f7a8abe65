/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a report: head, summary and the order of its parts; see report_page.h. */
#include "report_page.h"
#include "files/tensor_file.h"
#include "report/facts/report_text.h"
#include "report/graph/report_graph.h"
#include "report_bars.h"
#include "report_chart.h"
#include "report_embed.h"
#include "report_manifest.h"
#include "report_precision.h"
#include "report_profiles.h"
#include "report_tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* report/page.css and page.js, which the build puts into the program. */
extern const char report_page_css[], report_page_js[];

/* ----------------------------------------------------------------------------------------------
 * summary */

static void begin_tile(FILE *page, const char *what) {
    fprintf(page, "<div><small>%s</small><b>", what);
}

static void end_tile(FILE *page, const char *detail) {
    fputs("</b>", page);
    if (detail) fprintf(page, "<small>%s</small>", detail);
    fputs("</div>\n", page);
}

static void put_text_tile(FILE *page, const char *what, const char *text) {
    if (!text || !*text) return;
    begin_tile(page, what);
    report_put_text(page, text, 60);
    end_tile(page, NULL);
}

/* Steps that take time and whose time is not known. */
static size_t count_untimed(const report_facts *facts) {
    size_t count = 0;
    for (size_t s = 0; s < facts->step_count; s++)
        count += facts->steps[s].ns <= 0 && (facts->steps[s].kind == REPORT_KERNEL ||
                                             facts->steps[s].kind == REPORT_CONVERSION);
    return count;
}

static void put_time_tiles(FILE *page, const report_facts *facts) {
    const json *run = json_member(facts->report, "run");
    if (run) {
        begin_tile(page, "a run, median");
        report_put_time(page, 1e6 * json_number_of(run, "median_ms"));
        end_tile(page, NULL);
        begin_tile(page, "a run, shortest");
        report_put_time(page, 1e6 * json_number_of(run, "min_ms"));
        end_tile(page, NULL);
    }
    if (facts->total_ns > 0) {
        begin_tile(page, "all steps");
        report_put_time(page, facts->total_ns);
        fprintf(page, "</b><small>%s", run ? "sum, each at its shortest" : "sum of their times");
        const size_t untimed = count_untimed(facts);
        if (untimed > 0) fprintf(page, "; %zu not measured", untimed);
        fputs("</small></div>\n", page);
    }
    if (facts->conversion_count > 0) {
        begin_tile(page, "conversions");
        fprintf(page, "%zu", facts->conversion_count);
        fputs("</b><small>", page);
        if (facts->conversion_ns > 0) {
            report_put_time(page, facts->conversion_ns);
            fputs(", ", page);
            report_put_percent(page, facts->conversion_ns, facts->total_ns);
        }
        fputs("</small></div>\n", page);
    }
}

static void put_node_tile(FILE *page, const report_facts *facts) {
    const json *before = json_member(json_member(facts->report, "totals"), "nodes");
    begin_tile(page, "nodes");
    if (before) fprintf(page, "%.0f → ", json_number(before, 0));
    fprintf(page, "%zu", facts->step_count - facts->conversion_count);
    fprintf(page, "</b><small>%s%zu absorbed", before ? "before and after fusion, " : "",
            facts->absorbed_count);
    if (facts->rewrite_count > 0) fprintf(page, ", %zu by rewrites", facts->rewrite_count);
    fputs("</small></div>\n", page);
}

static void put_memory_tiles(FILE *page, const report_facts *facts) {
    const json *totals = json_member(facts->report, "totals"),
               *bytes = json_member(facts->report, "bytes"),
               *arenas = json_member(json_member(facts->program, "memory"), "arenas");
    const json *weights =
        bytes ? json_member(bytes, "weights") : json_member(totals, "constant_bytes");
    for (const json *item = arenas ? arenas->first : NULL; item; item = item->next) {
        const bool is_device = strcmp(json_text_of(item, "space"), "device") == 0;
        begin_tile(page, is_device ? "device memory of a run" : "memory of a run");
        report_put_bytes(page, json_number_of(item, "bytes"));
        end_tile(page, NULL);
    }
    if (weights) {
        begin_tile(page, "weights");
        report_put_bytes(page, json_number(weights, 0));
        end_tile(page, NULL);
    }
    if (bytes) {
        begin_tile(page, "file");
        report_put_bytes(page, json_number_of(bytes, "file"));
        end_tile(page, NULL);
    }
}

static void put_precision_tiles(FILE *page, const json *report) {
    const json *accuracy = json_member(report, "accuracy"),
               *calibration = json_member(report, "calibration");
    put_text_tile(page, "precision",
                  json_text(json_member(accuracy, "precision"),
                            json_text(json_member(report, "precision"), NULL)));
    if (calibration) {
        begin_tile(page, "calibration");
        report_put_text(page, json_text_of(calibration, "calibrator"), 40);
        fprintf(page, "</b><small>%.0f batches</small></div>\n",
                json_number_of(calibration, "batches"));
    }
    if (accuracy && json_is_there(json_member(accuracy, "loss"))) {
        begin_tile(page, "loss of accuracy");
        fprintf(page, "%.4g</b><small>", json_number_of(accuracy, "loss"));
        if (json_is_there(json_member(accuracy, "max_loss")))
            fprintf(page, "bound %.4g, ", json_number_of(accuracy, "max_loss"));
        fputs("sum |y − y32| / sum |y32|</small></div>\n", page);
    }
}

static void put_summary(FILE *page, const report_facts *facts) {
    static const struct {
        const char *what, *title;
    } titles[] = {{"build", "Build report"}, {"plan", "Plan"}, {"run", "Profile of a run"}};
    const char *title = facts->what;
    for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
        if (strcmp(titles[i].what, facts->what) == 0) title = titles[i].title;
    const char *file = strrchr(facts->model, '/');
    fprintf(page, "<header><p class=kicker>%s</p>\n<h1>", title);
    report_put_text(page, file ? file + 1 : facts->model, 120);
    fputs("</h1>\n<p class=hint>", page);
    report_put_text(page, json_text_of(facts->program, "device"), 200);
    const json *threads = json_member(facts->program, "threads");
    if (threads)
        fprintf(page, ", %.0f thread%s", json_number(threads, 0),
                json_number(threads, 0) == 1 ? "" : "s");
    fprintf(page, "; Tenon %s</p></header>\n<section class=tiles>\n", tn_version());
    put_time_tiles(page, facts);
    put_node_tile(page, facts);
    put_memory_tiles(page, facts);
    put_precision_tiles(page, facts->report);
    fputs("</section>\n", page);
}

/* ----------------------------------------------------------------------------------------------
 * the whole */

static bool put_page(FILE *page, const report_facts *facts) {
    fputs("<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n<meta name=viewport "
          "content=\"width=device-width\">\n<title>",
          page);
    report_put_text(page, facts->model, 120);
    fprintf(page, " – Tenon</title>\n<style>\n%s</style></head>\n<body>\n", report_page_css);
    put_summary(page, facts);
    const bool is_made = report_bars_put(page, facts) && report_graph_put(page, facts) &&
                         report_chart_put(page, facts) && report_candidates_put(page, facts);
    report_conversions_put(page, facts);
    report_precision_put(page, facts->report);
    const bool has_table = is_made && report_steps_put(page, facts);
    report_profiles_put(page, facts);
    report_ports_put(page, facts);
    report_libraries_put(page, facts);
    report_model_put(page, facts);
    report_embed_put(page, facts);
    fprintf(page, "<script>\n%s</script>\n</body></html>\n", report_page_js);
    return has_table;
}

bool report_page_write(const char *path, const char *model, const char *what, const char *report) {
    char *text = NULL;
    size_t bytes = 0;
    report_facts facts;
    bool is_made = report_facts_read(report, model, what, &facts);
    FILE *page = is_made ? open_memstream(&text, &bytes) : NULL;
    if (page) is_made = put_page(page, &facts);
    is_made = page && fclose(page) == 0 && is_made && text;
    const bool is_written = is_made ? whole_file_write(path, NULL, 0, text, bytes)
                                    : (cli_fault("no memory for the report's page"), false);
    free(text);
    report_facts_free(&facts);
    return is_written;
}
