/* SPDX-License-Identifier: Apache-2.0 */
/* Bars of time; see report_bars.h. Candidates are report_candidates.c's. */
#include "report/facts/report_text.h"
#include "report_bars.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROWS = 30, ROW_LIMIT = 2000 };

typedef struct bar {
    const char *label, *detail;
    double ns;
    size_t count;
} bar;

static int compare_bars(const void *a, const void *b) {
    const bar *x = a, *y = b;
    if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return strcmp(x->label, y->label);
}

/* `most` is what fills the row. */
static void put_bar(FILE *page, const report_facts *facts, const bar *b, double most) {
    const bool is_timed = facts->total_ns > 0;
    const double part = is_timed ? b->ns : (double)b->count;
    fputs("<li><b>", page);
    report_put_text(page, b->label, 48);
    if (b->detail) {
        fputs(" <small>", page);
        report_put_text(page, b->detail, 60);
        fputs("</small>", page);
    } else if (b->count > 1 && is_timed) {
        fprintf(page, " <small>× %zu</small>", b->count);
    }
    fputs("</b><i style=\"width:", page);
    report_put_fixed(page, most > 0 ? 100 * part / most : 0, 1);
    fputs("%\"></i><span>", page);
    if (is_timed && b->ns > 0) {
        report_put_time(page, b->ns);
        fputs(" <em>", page);
        report_put_percent(page, b->ns, facts->total_ns);
        fputs("</em>", page);
    } else if (!is_timed) {
        fprintf(page, "%zu", b->count);
    }
    fputs("</span></li>\n", page);
}

static void put_list(FILE *page, const report_facts *facts, const bar *bars, size_t first,
                     size_t end) {
    const double most = facts->total_ns > 0 ? bars[0].ns : (double)bars[0].count;
    fputs("<ol class=bars>\n", page);
    for (size_t i = first; i < end; i++)
        put_bar(page, facts, &bars[i], most);
    fputs("</ol>\n", page);
}

/* The first rows, and all others folded. */
static void put_bars(FILE *page, const report_facts *facts, const char *title, const bar *bars,
                     size_t count) {
    const size_t shown = count < FIRST_ROWS + 5 ? count : FIRST_ROWS,
                 end = count < ROW_LIMIT ? count : ROW_LIMIT;
    fprintf(page, "<div><h3>%s</h3>\n", title);
    put_list(page, facts, bars, 0, shown);
    if (shown < count) {
        fprintf(page, "<details><summary>%zu more</summary>\n", count - shown);
        put_list(page, facts, bars, shown, end);
        if (end < count)
            fprintf(page, "<p class=hint>and %zu more, of less time</p>\n", count - end);
        fputs("</details>\n", page);
    }
    fputs("</div>\n", page);
}

/* ----------------------------------------------------------------------------------------------
 * sums */

static int compare_labels(const void *a, const void *b) {
    return strcmp(((const bar *)a)->label, ((const bar *)b)->label);
}

/* Adds up bars of the same label; how many are left. */
static size_t merge(bar *bars, size_t count) {
    size_t kept = 0;
    qsort(bars, count, sizeof(*bars), compare_labels);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && strcmp(bars[kept - 1].label, bars[i].label) == 0) {
            bars[kept - 1].ns += bars[i].ns;
            bars[kept - 1].count += bars[i].count;
        } else {
            bars[kept++] = bars[i];
        }
    }
    qsort(bars, kept, sizeof(*bars), compare_bars);
    return kept;
}

static void put_sums(FILE *page, const report_facts *facts, bar *bars, const char *title,
                     bool of_kernels) {
    for (size_t s = 0; s < facts->step_count; s++)
        bars[s] = (bar){.label = of_kernels ? facts->steps[s].kernel : facts->steps[s].op,
                        .ns = facts->steps[s].ns,
                        .count = 1};
    put_bars(page, facts, title, bars, merge(bars, facts->step_count));
}

static void put_steps(FILE *page, const report_facts *facts, bar *bars) {
    size_t count = 0;
    for (size_t s = 0; s < facts->step_count; s++)
        if (facts->steps[s].ns > 0)
            bars[count++] = (bar){.label = facts->steps[s].name,
                                  .detail = facts->steps[s].op,
                                  .ns = facts->steps[s].ns,
                                  .count = 1};
    qsort(bars, count, sizeof(*bars), compare_bars);
    put_bars(page, facts, "by step", bars, count);
}

bool report_bars_put(FILE *page, const report_facts *facts) {
    bar *bars = calloc(facts->step_count + 1, sizeof(*bars));
    if (bars && facts->step_count > 0) {
        const bool is_timed = facts->total_ns > 0;
        fprintf(page, "<h2>%s</h2>\n<div class=columns>\n", is_timed ? "Time" : "Steps");
        if (is_timed) put_steps(page, facts, bars);
        fputs(is_timed ? "<div>\n" : "", page); /* one column beside the steps, or two */
        put_sums(page, facts, bars, "by operator", false);
        put_sums(page, facts, bars, "by kernel", true);
        fputs(is_timed ? "</div>\n</div>\n" : "</div>\n", page);
    }
    free(bars);
    return bars != NULL;
}
