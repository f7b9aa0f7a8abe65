/* SPDX-License-Identifier: Apache-2.0 */
/* What a check found, in three forms; see check_report.h. */
#include "check_report.h"
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const outcomes[] = {"passed", "failed", "skipped"};

/* ----------------------------------------------------------------------------------------------
 * the table */

enum { RULE_LIMIT = 64, SHOWN_LIMIT = 12 };

typedef struct row {
    const char *rule;
    size_t totals[3];
} row;

static row *find_row(row *rows, size_t *count, const char *rule) {
    for (size_t i = 0; i < *count; i++)
        if (strcmp(rows[i].rule, rule) == 0) return &rows[i];
    if (*count == RULE_LIMIT) return &rows[RULE_LIMIT - 1];
    rows[*count] = (row){.rule = rule};
    return &rows[(*count)++];
}

static void print_failure(const check_result *it, const char *library) {
    printf("FAIL %s: %s%s%s%s%s: %s\n", it->rule, it->op[0] ? it->op : "the library",
           it->kernel[0] ? ", kernel " : "", it->kernel, it->combination[0] ? ", " : "",
           it->combination, it->why);
    if (it->text[0])
        printf("     case: %s%s\n", it->text,
               it->is_constant ? "   (inputs after the first constant)" : "");
    if (it->number)
        printf("     again: tenon plugin check %s --only %zu   (found by the test %s)\n", library,
               it->number, it->test);
}

void check_report_table(const check_results *results, const char *library) {
    row rows[RULE_LIMIT];
    size_t row_count = 0, shown = 0;
    for (size_t i = 0; i < results->count; i++) {
        const check_result *it = &results->items[i];
        find_row(rows, &row_count, it->rule)->totals[it->outcome]++;
        if (it->outcome == CHECK_FAILED && shown++ < SHOWN_LIMIT) print_failure(it, library);
    }
    if (shown > SHOWN_LIMIT)
        printf("     ... and %zu more (--json - has them all)\n", shown - SHOWN_LIMIT);
    printf("%-20s %8s %8s %8s\n", "rule", "passed", "failed", "skipped");
    for (size_t i = 0; i < row_count; i++)
        printf("%-20s %8zu %8zu %8zu\n", rows[i].rule, rows[i].totals[0], rows[i].totals[1],
               rows[i].totals[2]);
    printf("%zu passed, %zu failed, %zu skipped\n", results->totals[0], results->totals[1],
           results->totals[2]);
}

/* ----------------------------------------------------------------------------------------------
 * files: written beside, and renamed */

static FILE *open_beside(const char *path, char *beside, size_t bytes) {
    if (strcmp(path, "-") == 0) return stdout;
    snprintf(beside, bytes, "%s.XXXXXX", path);
    const int file = mkstemp(beside);
    return file < 0 ? NULL : fdopen(file, "w");
}

static int close_beside(FILE *file, const char *path, const char *beside) {
    if (file == stdout)
        return fflush(file) == 0 ? EXIT_DONE : cli_fault("cannot write the results");
    const bool is_written = !ferror(file);
    if (fclose(file) == 0 && is_written && rename(beside, path) == 0) return EXIT_DONE;
    const int error = errno;
    unlink(beside);
    return cli_fault("cannot write '%s': %s", path, strerror(error));
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
    char beside[4096];
    FILE *file = open_beside(path, beside, sizeof(beside));
    if (!file) return cli_fault("cannot write '%s': %s", path, strerror(errno));
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
        write_member(file, "why", it->why);
        fputc('}', file);
    }
    fprintf(file, "\n]}\n");
    return close_beside(file, path, beside);
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
    char beside[4096];
    FILE *file = open_beside(path, beside, sizeof(beside));
    if (!file) return cli_fault("cannot write '%s': %s", path, strerror(errno));
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
        if (it->outcome == CHECK_SKIPPED) fprintf(file, "<skipped/>");
        if (it->outcome == CHECK_FAILED) {
            fprintf(file, "<failure type=\"%s\" message=\"", it->rule);
            write_xml_text(file, it->why);
            fprintf(file, "\"/>");
        }
        fprintf(file, "</testcase>\n");
    }
    fprintf(file, "</testsuite>\n");
    return close_beside(file, path, beside);
}
