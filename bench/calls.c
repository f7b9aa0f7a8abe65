/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call of the C interface costs by itself: a network of one step (a plugin's, on one
 * element) is run, with and without setting shapes, binding memory and asking for the output before
 * each run. Prints the median and the least nanoseconds of a call, the kernel's within. It uses
 * the public interface alone, like any program.
 *
 *     tenon-bench-calls [--rounds N]
 */
#include "step.h"

#include <stdlib.h>
#include <string.h>

/* That was set last. */
static int64_t extent = 1;

static tn_status set_shape(bench *b) {
    return tn_context_set_shape(b->context, 0, 1, &extent);
}
static tn_status set_other_shape(bench *b) {
    extent = 3 - extent;
    return tn_context_set_shape(b->context, 0, 1, &extent);
}
static tn_status bind_input(bench *b) {
    return tn_context_bind_input(b->context, 0, b->input, sizeof(b->input));
}
static tn_status bind_output(bench *b) {
    return tn_context_bind_output(b->context, 0, b->output, sizeof(b->output));
}
static tn_status run(bench *b) {
    return tn_context_run(b->context);
}
static tn_status ask_output(bench *b) {
    const tn_tensor *tensor;
    return tn_context_output(b->context, 0, &tensor);
}

enum { MOST_CALLS = 5, CALLS_A_ROUND = 2000, MOST_ROUNDS = 1000 };

static const struct row {
    const char *name;
    tn_status (*calls[MOST_CALLS])(bench *b);
} rows[] = {{"run", {run}},
            {"bind_input", {bind_input}},
            {"bind_output", {bind_output}},
            {"set_shape", {set_shape}},
            {"output", {ask_output}},
            {"bind_run_output", {bind_input, bind_output, run, ask_output}},
            {"shape_bind_run_output", {set_shape, bind_input, bind_output, run, ask_output}},
            {"other_shape_run", {set_other_shape, run}}};

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static tn_status time_row(bench *b, const struct row *row, int rounds) {
    double times[MOST_ROUNDS];
    tn_status status = TN_OK;
    for (int round = 0; round < rounds && status == TN_OK; round++) {
        const double before = now_ns();
        for (int i = 0; i < CALLS_A_ROUND && status == TN_OK; i++)
            for (int call = 0; call < MOST_CALLS && row->calls[call] && status == TN_OK; call++)
                status = row->calls[call](b);
        times[round] = (now_ns() - before) / CALLS_A_ROUND;
    }
    if (status != TN_OK) return status;
    qsort(times, (size_t)rounds, sizeof(double), compare);
    printf("%s_ns=%.1f least=%.1f\n", row->name, times[rounds / 2], times[0]);
    return TN_OK;
}

int main(int argument_count, char **arguments) {
    bench b = {.nodes = 1, .input = {2, 3}};
    const int rounds = argument_count == 3 && strcmp(arguments[1], "--rounds") == 0
                           ? atoi(arguments[2])
                           : (argument_count == 1 ? 100 : 0);
    if (rounds < 1 || rounds > MOST_ROUNDS)
        return fprintf(stderr, "usage: tenon-bench-calls [--rounds N]\n"), 2;
    tn_status status = set_up(&b);
    if (status == TN_OK) status = set_other_shape(&b);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && status == TN_OK; i++)
        status = time_row(&b, &rows[i], rounds);
    if (status != TN_OK)
        fprintf(stderr, "tenon-bench-calls: %s %s\n", tn_last_error()->where,
                tn_last_error()->message);
    else if (!is_right(&b))
        fprintf(stderr, "tenon-bench-calls: the result is %g\n", (double)b.output[0]);
    tear_down(&b);
    return status == TN_OK && is_right(&b) ? 0 : 1;
}
