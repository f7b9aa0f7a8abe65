/* SPDX-License-Identifier: Apache-2.0 */
/* What the candidates of each step took; see report_bars.h. */
#include "report/facts/report_text.h"
#include "report_bars.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPEN_STEPS = 12, STEP_LIMIT = 120, ROW_LIMIT = 8, EQUAL_LIMIT = 40 };
/* A bar that is full: so many times the shortest time. */
#define FULL_FACTOR 4.0

static int compare_times(const void *a, const void *b) {
    const double x = json_number(json_member(*(const json *const *)a, "ns"), 0),
                 y = json_number(json_member(*(const json *const *)b, "ns"), 0);
    return x < y ? -1 : x > y;
}

typedef struct timed_step {
    double ns;
    uint32_t number;
} timed_step;

static int compare_steps(const void *a, const void *b) {
    const timed_step *x = a, *y = b;
    if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

uint32_t *report_steps_by_time(const report_facts *facts) {
    timed_step *steps = calloc(facts->step_count + 1, sizeof(*steps));
    uint32_t *order = calloc(facts->step_count + 1, sizeof(*order));
    if (steps && order) {
        for (size_t s = 0; s < facts->step_count; s++)
            steps[s] = (timed_step){facts->steps[s].ns, (uint32_t)s};
        qsort(steps, facts->step_count, sizeof(*steps), compare_steps);
        for (size_t s = 0; s < facts->step_count; s++)
            order[s] = steps[s].number;
    } else {
        free(order);
        order = NULL;
    }
    free(steps);
    return order;
}

static const char *port_text(const json *port, const char *key) {
    return json_text_of(port, key);
}

void report_candidate_label(const json *candidate, char *label, size_t bytes) {
    const json *absorbs = json_member(candidate, "absorbs"),
               *input = json_member(candidate, "input"), *output = json_member(candidate, "output");
    size_t at =
        (size_t)snprintf(label, bytes, "%s", json_text(json_member(candidate, "kernel"), "?"));
    for (const json *op = absorbs ? absorbs->first : NULL; op && at < bytes; op = op->next)
        at += (size_t)snprintf(label + at, bytes - at, " + %s", json_text(op, ""));
    if (at < bytes && input)
        at += (size_t)snprintf(label + at, bytes - at, ", %s %s", port_text(input, "type"),
                               port_text(input, "format"));
    const bool is_same = input && output &&
                         strcmp(port_text(input, "type"), port_text(output, "type")) == 0 &&
                         strcmp(port_text(input, "format"), port_text(output, "format")) == 0;
    if (at < bytes && output && !is_same)
        snprintf(label + at, bytes - at, "%s → %s %s", input ? "" : ",", port_text(output, "type"),
                 port_text(output, "format"));
}

/* ----------------------------------------------------------------------------------------------
 * rows */

static bool is_chosen(const json *candidate) {
    return json_number_of(candidate, "chosen") != 0;
}

static void put_row(FILE *page, const json *candidate, double best) {
    const char *source = json_text_of(candidate, "time");
    const double ns = json_number_of(candidate, "ns"), ratio = best > 0 ? ns / best : 1,
                 tactics = json_number(json_member(candidate, "tactics"), 1);
    char label[240];
    report_candidate_label(candidate, label, sizeof(label));
    fprintf(page, "<li class=\"%s%s\"><b>", is_chosen(candidate) ? "won " : "",
            strcmp(source, "measured") == 0 ? "ms" : "es");
    report_put_text(page, label, 90);
    if (tactics > 1) fprintf(page, " <small>best of %.0f tactics</small>", tactics);
    fputs("</b><i style=\"width:", page);
    report_put_fixed(page, 100 * fmin(ratio, FULL_FACTOR) / FULL_FACTOR, 1);
    fputs("%\"></i><span>", page);
    report_put_time(page, ns);
    fputs(" <em>", page);
    report_put_fixed(page, fmin(ratio, 9999), ratio < 9.95 ? 1 : 0);
    fprintf(page, "×</em>%s%s</span></li>\n", strcmp(source, "measured") == 0 ? "" : " ",
            strcmp(source, "measured") == 0 ? "" : source);
}

/* Why this one: by the caller, of those that absorb as much, or because of what is around it. */
static const char *reason_of(const report_step *step, const json *chosen, const json *const *rows,
                             size_t count) {
    const json *stays = json_member(step->item, "stays");
    const size_t absorbed = json_count(json_member(chosen, "absorbs"));
    bool is_fastest = true, is_like_fastest = true;
    if (json_member(step->item, "pinned")) return "pinned";
    for (size_t i = 0; i < count; i++) {
        if (json_number_of(rows[i], "ns") >= json_number_of(chosen, "ns")) continue;
        is_fastest = false;
        if (json_count(json_member(rows[i], "absorbs")) == absorbed) is_like_fastest = false;
    }
    if (is_fastest) return "the fastest";
    if (stays) return json_text(json_member(stays, "why"), "in floats");
    if (is_like_fastest) return "the fastest of those that absorb as much";
    return "the fastest together with the conversions around it";
}

/* Equal nodes share their measurements: one list stands for all of them. */
static bool is_same_list(const report_step *a, const report_step *b) {
    const json *x = a->candidates ? a->candidates->first : NULL,
               *y = b->candidates ? b->candidates->first : NULL;
    if (a->ns != b->ns || strcmp(a->op, b->op) != 0) return false;
    while (x && y && json_number_of(x, "ns") == json_number_of(y, "ns") &&
           is_chosen(x) == is_chosen(y) &&
           strcmp(json_text_of(x, "kernel"), json_text_of(y, "kernel")) == 0) {
        x = x->next;
        y = y->next;
    }
    return !x && !y;
}

static void put_name(FILE *page, const report_facts *facts, const uint32_t *steps, size_t count) {
    fputs("<b>", page);
    report_put_text(page, facts->steps[steps[0]].name, 60);
    fputs("</b> ", page);
    if (count > 1) fprintf(page, "<b>and %zu more</b> ", count - 1);
}

static void put_equal_names(FILE *page, const report_facts *facts, const uint32_t *steps,
                            size_t count) {
    if (count < 2) return;
    fputs("<p class=hint>the same for ", page);
    for (size_t i = 1; i < count && i < EQUAL_LIMIT; i++) {
        fputs(i > 1 ? ", " : "", page);
        report_put_text(page, facts->steps[steps[i]].name, 60);
    }
    fputs(count > EQUAL_LIMIT ? ", …</p>\n" : "</p>\n", page);
}

/* The first of `steps` stands for all. */
static void put_steps(FILE *page, const report_facts *facts, const uint32_t *steps,
                      size_t equal_count, const json **rows, bool is_open) {
    const report_step *step = &facts->steps[steps[0]];
    size_t count = 0;
    const json *chosen = NULL;
    for (const json *item = step->candidates->first; item; item = item->next) {
        rows[count++] = item;
        if (is_chosen(item)) chosen = item;
    }
    qsort((void *)rows, count, sizeof(*rows), compare_times);
    char label[200];
    report_step_label(step, label, sizeof(label));
    fprintf(page, "<details class=step%s><summary>", is_open ? " open" : "");
    put_name(page, facts, steps, equal_count);
    fputs("<small>", page);
    report_put_text(page, label, 60);
    fprintf(page, ", %zu candidates%s", count, chosen ? "; chosen: " : "");
    if (chosen) report_put_text(page, reason_of(step, chosen, rows, count), 120);
    fputs("</small></summary>\n<ol class=\"bars cand\">\n", page);
    bool is_shown = chosen == NULL;
    for (size_t i = 0, shown = 0; i < count; i++) {
        const bool is_last = shown + (is_shown ? 0 : 1) >= ROW_LIMIT;
        if (is_last && !is_chosen(rows[i])) continue;
        put_row(page, rows[i], json_number_of(rows[0], "ns"));
        is_shown |= rows[i] == chosen;
        shown++;
    }
    fputs("</ol>\n", page);
    put_equal_names(page, facts, steps, equal_count);
    if (count > ROW_LIMIT)
        fprintf(page, "<p class=hint>%zu more are left out.</p>\n", count - ROW_LIMIT);
    fputs("</details>\n", page);
}

static size_t most_candidates(const report_facts *facts, size_t *out_steps) {
    size_t most = 0;
    *out_steps = 0;
    for (size_t s = 0; s < facts->step_count; s++) {
        const size_t count = json_count(facts->steps[s].candidates);
        if (count > 1) ++*out_steps;
        if (count > most) most = count;
    }
    return most;
}

bool report_candidates_put(FILE *page, const report_facts *facts) {
    size_t steps = 0, shown = 0;
    const size_t most = most_candidates(facts, &steps);
    if (steps == 0) return true;
    const json **rows = calloc(most + 1, sizeof(*rows));
    uint32_t *order = report_steps_by_time(facts);
    if (rows && order) {
        fputs(
            "<h2>Candidates</h2>\n<p class=hint>What each kernel took that was compared for a "
            "step, "
            "the longest steps first. A bar is full at four times the shortest time; hatched bars "
            "were not measured.</p>\n",
            page);
        size_t lists = 0;
        for (size_t i = 0, end; i < facts->step_count && lists < STEP_LIMIT; i = end) {
            for (end = i + 1; end < facts->step_count &&
                              is_same_list(&facts->steps[order[i]], &facts->steps[order[end]]);)
                end++;
            if (json_count(facts->steps[order[i]].candidates) < 2) continue;
            put_steps(page, facts, order + i, end - i, rows, lists++ < OPEN_STEPS);
            shown += end - i;
        }
        if (shown < steps)
            fprintf(
                page,
                "<p class=hint>%zu more steps had a choice: click on one in the picture, or see "
                "the report as JSON.</p>\n",
                steps - shown);
    }
    const bool is_made = rows && order;
    free((void *)rows);
    free(order);
    return is_made;
}
