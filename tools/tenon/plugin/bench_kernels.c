/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and JSON of measured kernels; see bench_kernels.h. */
#include "bench_kernels.h"
#include "text/json_print.h"

#include <stdlib.h>
#include <string.h>

enum { FIELD_LIMIT = 9 };

/* ----------------------------------------------------------------------------------------------
 * lines */

static double number(const char *text) {
    return text ? strtod(text, NULL) : 0;
}

static char *copy(const char *text) {
    return strdup(text ? text : "");
}

static void free_case(bench_case *c) {
    for (size_t i = 0; i < c->count; i++) {
        free(c->rows[i].kernel);
        free(c->rows[i].library);
        free(c->rows[i].combination);
        free(c->rows[i].why);
    }
    free(c->rows);
    free(c->op);
    free(c->text);
    *c = (bench_case){0};
}

static bench_row *add_row(bench_case *c) {
    if (c->count == c->capacity) {
        const size_t capacity = c->capacity ? 2 * c->capacity : 32;
        bench_row *grown = realloc(c->rows, capacity * sizeof(*grown));
        if (!grown) return NULL;
        c->rows = grown;
        c->capacity = capacity;
    }
    c->rows[c->count] = (bench_row){0};
    return &c->rows[c->count++];
}

/* "begin KERNEL LIBRARY IS_OWN COMBINATION" */
static bool begin(bench_kernels *all, char *const *fields) {
    bench_row *row = add_row(&all->current);
    if (!row) return false;
    row->kernel = copy(fields[1]);
    row->library = copy(fields[2]);
    row->is_own = number(fields[3]) != 0;
    row->combination = copy(fields[4]);
    all->has_open = true;
    return row->kernel && row->library && row->combination;
}

static bool end_row(bench_kernels *all, char *const *fields) {
    if (!all->has_open || all->current.count == 0) return true;
    bench_row *row = &all->current.rows[all->current.count - 1];
    all->has_open = false;
    if (strcmp(fields[0], "time") != 0) {
        row->is_failed = strcmp(fields[0], "failed") == 0;
        all->has_failed |= row->is_failed;
        row->why = copy(fields[1]);
        return row->why != NULL;
    }
    row->bytes = number(fields[1]);
    row->best_ns = number(fields[2]);
    row->usual_ns = number(fields[3]);
    row->runs = number(fields[4]);
    row->is_stable = number(fields[5]) != 0;
    return true;
}

static void print_case(bench_kernels *all);

/* "case OPERATOR NUMBER IS_GROWN BYTES OPERATIONS COPY_BYTES_A_SECOND TEXT" */
static bool begin_case(bench_kernels *all, char *const *fields) {
    print_case(all);
    all->current = (bench_case){.op = copy(fields[1]),
                                .number = number(fields[2]),
                                .is_grown = number(fields[3]) != 0,
                                .bytes = number(fields[4]),
                                .operations = number(fields[5]),
                                .copy_bytes_a_second = number(fields[6]),
                                .text = copy(fields[7])};
    return all->current.op && all->current.text;
}

static void print_machine(const bench_kernels *all);

bool bench_kernels_take(bench_kernels *all, char *line) {
    char *fields[FIELD_LIMIT] = {0};
    for (size_t i = 0; i < FIELD_LIMIT && line; i++)
        fields[i] = strsep(&line, "\t");
    const char *word = fields[0] ? fields[0] : "";
    if (strcmp(word, "begin") == 0) return begin(all, fields);
    if (strcmp(word, "case") == 0) return begin_case(all, fields);
    if (strcmp(word, "time") == 0 || strcmp(word, "left") == 0 || strcmp(word, "failed") == 0)
        return end_row(all, fields);
    if (strcmp(word, "done") == 0) all->is_done = true;
    if (strcmp(word, "error") == 0 && !all->error) return (all->error = copy(fields[1])) != NULL;
    if (strcmp(word, "machine") == 0) {
        all->machine = (bench_machine){.threads = number(fields[1]),
                                       .name = copy(fields[2]),
                                       .operations_a_second = number(fields[3]),
                                       .bytes_a_second = number(fields[4]),
                                       .device = copy(fields[5])};
        print_machine(all);
        return all->machine.name && all->machine.device;
    }
    return true;
}

void bench_kernels_free(bench_kernels *all) {
    free_case(&all->current);
    free(all->machine.name);
    free(all->machine.device);
    free(all->error);
}

/* ----------------------------------------------------------------------------------------------
 * what both forms need */

static bool is_measured(const bench_row *row) {
    return row->best_ns > 0;
}

static int compare_rows(const void *a, const void *b) {
    const bench_row *x = a, *y = b;
    if (is_measured(x) != is_measured(y)) return is_measured(y) - is_measured(x);
    return (x->best_ns > y->best_ns) - (x->best_ns < y->best_ns);
}

static double reference_ns(const bench_case *c) {
    for (size_t i = 0; i < c->count; i++)
        if (!c->rows[i].kernel[0]) return c->rows[i].best_ns;
    return 0;
}

/* Whether no combination of this row's kernel was measured, and this is its first row. */
static bool is_left_out(const bench_case *c, size_t index) {
    const bench_row *row = &c->rows[index];
    for (size_t i = 0; i < c->count; i++) {
        const bool is_same = strcmp(c->rows[i].kernel, row->kernel) == 0 &&
                             strcmp(c->rows[i].library, row->library) == 0;
        if (is_same && (is_measured(&c->rows[i]) || i < index)) return false;
    }
    return row->why && !row->is_failed;
}

/* ----------------------------------------------------------------------------------------------
 * tables */

static void print_table_row(const bench_kernels *all, const bench_row *row, double fastest,
                            double reference) {
    const bench_case *c = &all->current;
    const double bytes_a_second = row->bytes / (row->best_ns * 1e-9);
    printf("%c %-24s %-12s %10.2f %8.2f ", row->is_own ? '*' : ' ',
           row->kernel[0] ? row->kernel : "(the reference)", row->library, row->best_ns / 1e3,
           row->best_ns / fastest);
    if (reference > 0)
        printf("%9.1f ", reference / row->best_ns);
    else
        printf("%9s ", "-");
    printf("%8.2f %5.0f%%", bytes_a_second / 1e9,
           c->copy_bytes_a_second > 0 ? 100 * bytes_a_second / c->copy_bytes_a_second : 0);
    if (c->operations > 0) {
        const double operations = c->operations / (row->best_ns * 1e-9);
        const double most = all->machine.operations_a_second;
        printf(" %9.2f", operations / 1e9);
        if (most > 0)
            printf(" %5.0f%%", 100 * operations / most);
        else
            printf(" %6s", "-");
    }
    printf("  %s%s\n", row->combination,
           row->is_stable        ? ""
           : row->combination[0] ? "   (not stable)"
                                 : "(not stable)");
}

static void print_left_out(const bench_case *c) {
    for (size_t i = 0; i < c->count; i++) {
        const char *why = c->rows[i].why;
        bool is_said = false;
        for (size_t k = 0; k < i && why && !is_said; k++)
            is_said = is_left_out(c, k) && strcmp(c->rows[k].why, why) == 0;
        if (!is_left_out(c, i) || is_said) continue;
        printf("  left out, %s:", why);
        const char *before = " ";
        for (size_t k = i; k < c->count; k++) {
            if (!is_left_out(c, k) || strcmp(c->rows[k].why, why) != 0) continue;
            printf("%s%s (%s)", before, c->rows[k].kernel, c->rows[k].library);
            before = ", ";
        }
        printf("\n");
    }
}

static void print_table(const bench_kernels *all) {
    const bench_case *c = &all->current;
    const double fastest = c->rows[0].best_ns, reference = reference_ns(c);
    printf("\n%s", c->op);
    if (c->number > 0) printf(", case %.0f%s", c->number, c->is_grown ? " grown" : "");
    printf(": %s\n  %.4g MiB", c->text, c->bytes / 1048576);
    if (c->operations > 0) printf(", %.4g million operations", c->operations / 1e6);
    printf("; so many bytes are copied at %.1f GB/s\n", c->copy_bytes_a_second / 1e9);
    printf("  %-24s %-12s %10s %8s %9s %8s %6s%s  combination\n", "kernel", "library", "us",
           "/fastest", "x faster", "GB/s", "/copy", c->operations > 0 ? "    Gop/s  /peak" : "");
    for (size_t i = 0; i < c->count; i++) {
        const bench_row *row = &c->rows[i];
        if (is_measured(row)) print_table_row(all, row, fastest, reference);
    }
    for (size_t i = 0; i < c->count; i++)
        if (c->rows[i].is_failed)
            printf("  FAILED %s, %s: %s\n",
                   c->rows[i].kernel[0] ? c->rows[i].kernel : "the reference",
                   c->rows[i].combination, c->rows[i].why);
    print_left_out(c);
}

/* ----------------------------------------------------------------------------------------------
 * JSON */

static void print_row_json(const bench_row *row) {
    json_print_member("", "kernel", row->kernel[0] ? row->kernel : "reference");
    json_print_member(", ", "library", row->library);
    json_print_member(", ", "combination", row->combination);
    printf(", \"reference\": %s, \"own\": %s", row->kernel[0] ? "false" : "true",
           row->is_own ? "true" : "false");
    if (row->why)
        json_print_member(", ", row->is_failed ? "failed" : "left_out", row->why);
    else
        printf(", \"best_ns\": %.1f, \"median_ns\": %.1f, \"runs\": %.0f, \"stable\": %s, "
               "\"bytes\": %.0f, \"bytes_per_second\": %.0f",
               row->best_ns, row->usual_ns, row->runs, row->is_stable ? "true" : "false",
               row->bytes, row->bytes / (row->best_ns * 1e-9));
}

static void print_case_json(const bench_kernels *all) {
    const bench_case *c = &all->current;
    printf("%s\n    {", all->case_count > 0 ? "," : "");
    json_print_member("", "operator", c->op);
    json_print_member(", ", "case", c->text);
    printf(", \"number\": %.0f, \"grown\": %s, \"bytes\": %.0f, \"operations\": %.0f, "
           "\"copy_bytes_per_second\": %.0f, \"kernels\": [",
           c->number, c->is_grown ? "true" : "false", c->bytes, c->operations,
           c->copy_bytes_a_second);
    for (size_t i = 0; i < c->count; i++) {
        const bench_row *row = &c->rows[i];
        printf("%s\n      {", i > 0 ? "," : "");
        print_row_json(row);
        if (!row->why && c->operations > 0)
            printf(", \"operations_per_second\": %.0f", c->operations / (row->best_ns * 1e-9));
        printf("}");
    }
    printf("\n    ]}");
}

/* ----------------------------------------------------------------------------------------------
 * both */

static void print_machine(const bench_kernels *all) {
    const bench_machine *m = &all->machine;
    const bool is_device = m->device && m->device[0];
    if (all->is_json) {
        printf("{\n  \"machine\": {\"threads\": %.0f, \"operations_per_second\": %.0f, "
               "\"copy_bytes_per_second\": %.0f, ",
               m->threads, m->operations_a_second, m->bytes_a_second);
        json_print_member("", is_device ? "device" : "instructions", m->name);
        printf("},\n  \"cases\": [");
        return;
    }
    if (is_device)
        printf("%s, %s: memory is copied at %.1f GB/s, read and written\n", m->device, m->name,
               m->bytes_a_second / 1e9);
    else
        printf("this machine, %.0f thread%s: %.1f Gop/s on 32-bit floats (%s); memory is copied at "
               "%.1f GB/s, read and written\n",
               m->threads, m->threads == 1 ? "" : "s", m->operations_a_second / 1e9, m->name,
               m->bytes_a_second / 1e9);
    printf("us: shortest time of a run; /fastest: times the fastest; x faster: than the reference; "
           "* of the library\n");
}

static void print_case(bench_kernels *all) {
    bench_case *c = &all->current;
    if (!c->op) return;
    if (c->count > 0) {
        qsort(c->rows, c->count, sizeof(*c->rows), compare_rows);
        if (all->is_json)
            print_case_json(all);
        else
            print_table(all);
        all->case_count++;
        fflush(stdout);
    }
    free_case(c);
}

void bench_kernels_end(bench_kernels *all) {
    print_case(all);
    if (all->is_json && all->machine.name) printf("\n  ]\n}\n");
    fflush(stdout);
}
