/* SPDX-License-Identifier: Apache-2.0 */
/* What a check found, in three forms; see check_report.h. */
#include "check_report.h"
#include "cli/cli.h"
#include "files/tensor_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const outcomes[] = {"passed", "failed", "skipped"};

static const char *const causes[] = {"load",      "contract", "crash", "memory",
                                     "unwritten", "values",   "other"};

/* ----------------------------------------------------------------------------------------------
 * results of a kind: what is broken by one kernel is shown once, what cannot be applied is counted
 * by its reason */

typedef struct group {
    const check_result *first;
    size_t count, index;
} group;

typedef bool (*is_same_kind)(const check_result *a, const check_result *b);

static bool is_same_finding(const check_result *a, const check_result *b) {
    return strcmp(a->rule, b->rule) == 0 && strcmp(a->op, b->op) == 0 &&
           strcmp(a->kernel, b->kernel) == 0;
}

static bool is_same_reason(const check_result *a, const check_result *b) {
    return strcmp(a->why, b->why) == 0;
}

static bool is_same_rule(const check_result *a, const check_result *b) {
    return strcmp(a->rule, b->rule) == 0;
}

/* Those of an outcome, or (-1) all; null: no memory. */
static group *make_groups(const check_results *results, int outcome, is_same_kind is_same,
                          size_t *out_count) {
    group *groups = calloc(results->count + 1, sizeof(*groups));
    size_t count = 0;
    for (size_t i = 0; groups && i < results->count; i++) {
        const check_result *it = &results->items[i];
        size_t k = 0;
        if (outcome >= 0 && it->outcome != outcome) continue;
        while (k < count && !is_same(groups[k].first, it))
            k++;
        if (k == count) groups[count++] = (group){.first = it, .index = k};
        groups[k].count++;
    }
    *out_count = groups ? count : 0;
    return groups;
}

/* Causes before what follows from them, else as they were found. */
static int compare_causes(const void *left, const void *right) {
    const group *a = left, *b = right;
    if (a->first->cause != b->first->cause) return a->first->cause < b->first->cause ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

/* ----------------------------------------------------------------------------------------------
 * the table */

enum { SHOWN_LIMIT = 12 };

static void print_failure(const group *found, const char *library) {
    const check_result *it = found->first;
    printf("FAIL %s: %s%s%s%s%s: %s\n", it->rule, it->op[0] ? it->op : "the library",
           it->kernel[0] ? ", kernel " : "", it->kernel, it->combination[0] ? ", " : "",
           it->combination, it->why);
    if (it->text[0])
        printf("     case: %s%s\n", it->text,
               it->is_constant ? "   (inputs after the first constant)" : "");
    if (it->number)
        printf("     again: tenon plugin check %s --only %zu   (found by the test %s)\n", library,
               it->number, it->test);
    if (found->count > 1)
        printf("     ... and %zu more that break %s%s\n", found->count - 1, it->rule,
               it->kernel[0] ? " in this kernel" : "");
}

static void print_failures(const check_results *results, const char *library) {
    size_t count = 0, rest = 0;
    group *found = make_groups(results, CHECK_FAILED, is_same_finding, &count);
    if (count > 0) qsort(found, count, sizeof(*found), compare_causes);
    for (size_t i = 0; i < count; i++) {
        if (i < SHOWN_LIMIT)
            print_failure(&found[i], library);
        else
            rest += found[i].count;
    }
    if (rest > 0)
        printf("     ... and %zu more, which may follow from these (--json - has them all)\n",
               rest);
    free(found);
}

static void print_rules(const check_results *results) {
    size_t count = 0;
    group *rules = make_groups(results, -1, is_same_rule, &count);
    printf("%-20s %8s %8s %8s\n", "rule", "passed", "failed", "skipped");
    for (size_t i = 0; i < count; i++) {
        size_t totals[3] = {0};
        for (size_t k = 0; k < results->count; k++)
            if (is_same_rule(&results->items[k], rules[i].first))
                totals[results->items[k].outcome]++;
        printf("%-20s %8zu %8zu %8zu\n", rules[i].first->rule, totals[0], totals[1], totals[2]);
    }
    free(rules);
}

static bool is_same_skip(const check_result *a, const check_result *b) {
    return is_same_reason(a, b) && is_same_rule(a, b);
}

/* A line for each reason: how many, why, the rules. */
static void print_skipped(const check_results *results) {
    size_t count = 0, skip_count = 0;
    group *reasons = make_groups(results, CHECK_SKIPPED, is_same_reason, &count);
    group *skips = make_groups(results, CHECK_SKIPPED, is_same_skip, &skip_count);
    for (size_t i = 0; i < count; i++) {
        printf("%s %5zu, %s:", i == 0 ? "skipped" : "       ", reasons[i].count,
               reasons[i].first->why);
        for (size_t k = 0; k < skip_count; k++)
            if (is_same_reason(skips[k].first, reasons[i].first))
                printf(" %s", skips[k].first->rule);
        putchar('\n');
    }
    free(reasons);
    free(skips);
}

void check_report_table(const check_results *results, const char *library) {
    print_failures(results, library);
    print_rules(results);
    print_skipped(results);
    printf("%zu passed, %zu failed, %zu skipped\n", results->totals[0], results->totals[1],
           results->totals[2]);
}

/* ----------------------------------------------------------------------------------------------
 * files: in memory until they are whole */

static int write_text(FILE *file, const char *path, char *const *text, const size_t *bytes) {
    const bool is_whole = !ferror(file);
    const bool is_written = fclose(file) == 0 && is_whole;
    int code = EXIT_DONE;
    if (!is_written)
        code = cli_fault("no memory for the results");
    else if (!whole_file_write(path, NULL, 0, *text, *bytes))
        code = EXIT_FAULT;
    free(*text);
    return code;
}

static void write_json_text(FILE *file, const char *text) {
    fputc('"', file);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(file, "\\%c", c);
        else if (c < 0x20 || c >= 0x7F)
            fprintf(file, "\\u%04x", c);
        else
            fputc(c, file);
    }
    fputc('"', file);
}

static void write_member(FILE *file, const char *name, const char *text) {
    fprintf(file, ", \"%s\": ", name);
    write_json_text(file, text);
}

int check_report_json(const check_results *results, const char *library, const char *path) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    if (!file) return cli_fault("no memory for the results");
    fprintf(file, "{\"library\": ");
    write_json_text(file, library);
    fprintf(file, ", \"passed\": %zu, \"failed\": %zu, \"skipped\": %zu, \"results\": [",
            results->totals[0], results->totals[1], results->totals[2]);
    for (size_t i = 0; i < results->count; i++) {
        const check_result *it = &results->items[i];
        fprintf(file,
                "%s\n{\"number\": %zu, \"outcome\": \"%s\", \"seconds\": %.6f, \"constants\": %s",
                i > 0 ? "," : "", it->number, outcomes[it->outcome], it->seconds,
                it->is_constant ? "true" : "false");
        write_member(file, "rule", it->rule);
        write_member(file, "test", it->test);
        write_member(file, "operator", it->op);
        write_member(file, "kernel", it->kernel);
        write_member(file, "combination", it->combination);
        write_member(file, "case", it->text);
        if (it->outcome == CHECK_FAILED) write_member(file, "cause", causes[it->cause]);
        write_member(file, "why", it->why);
        fputc('}', file);
    }
    fprintf(file, "\n]}\n");
    return write_text(file, path, &text, &bytes);
}

static void write_xml_text(FILE *file, const char *text) {
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '&' || c == '<' || c == '>' || c < 0x20 || c >= 0x7F)
            fprintf(file, "&#%d;", c < 0x20 ? '?' : c);
        else
            fputc(c, file);
    }
}

int check_report_junit(const check_results *results, const char *library, const char *path) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    if (!file) return cli_fault("no memory for the results");
    fprintf(file, "<?xml version=\"1.0\"?>\n<testsuite name=\"");
    write_xml_text(file, library);
    fprintf(file, "\" tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\">\n", results->count,
            results->totals[1], results->totals[2]);
    for (size_t i = 0; i < results->count; i++) {
        const check_result *it = &results->items[i];
        fprintf(file, "<testcase classname=\"");
        write_xml_text(file, it->op);
        fprintf(file, "\" name=\"%zu ", it->number);
        write_xml_text(file, it->test);
        fprintf(file, " %s ", it->kernel);
        write_xml_text(file, it->text);
        fprintf(file, "\" time=\"%.6f\">", it->seconds);
        if (it->outcome == CHECK_SKIPPED) {
            fprintf(file, "<skipped message=\"");
            write_xml_text(file, it->why);
            fprintf(file, "\"/>");
        }
        if (it->outcome == CHECK_FAILED) {
            fprintf(file, "<failure type=\"%s\" message=\"", it->rule);
            write_xml_text(file, it->why);
            fprintf(file, "\"/>");
        }
        fprintf(file, "</testcase>\n");
    }
    fprintf(file, "</testsuite>\n");
    return write_text(file, path, &text, &bytes);
}
