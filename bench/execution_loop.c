/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the execution loop costs: a chain of 1,000 nodes of a plugin's operator that can neither be
 * fused nor lie in place, on one element. Prints nanoseconds a node, those of the kernel when it is
 * called directly in a loop, and the difference; and the allocations that were counted in runs with
 * the same shape and with two shapes in turn. It uses the public interface alone, like any program.
 *
 *     tenon-bench-execution-loop [--nodes N] [--limit NANOSECONDS]
 *
 * Exit: 0; 1 when something fails, the difference is not below the limit, or a run allocates.
 */
#include "step.h"

#include <stdlib.h>
#include <string.h>

static uint64_t allocations(const bench *b) {
    tn_context_statistics statistics = {.size = sizeof(statistics)};
    tn_context_get_statistics(b->context, &statistics);
    return statistics.allocations;
}

static tn_status run_with(bench *b, int64_t extent) {
    const tn_status status = tn_context_set_shape(b->context, 0, 1, &extent);
    return status == TN_OK ? tn_context_run(b->context) : status;
}

enum { ROUNDS = 30, RUNS_A_ROUND = 100 };

/* The shortest of several rounds, a node. */
static tn_status time_loop(bench *b, double *out_ns) {
    tn_status status = run_with(b, 1);
    *out_ns = 1e30;
    for (int round = 0; round < ROUNDS && status == TN_OK; round++) {
        const double before = now_ns();
        for (int i = 0; i < RUNS_A_ROUND && status == TN_OK; i++)
            status = tn_context_run(b->context);
        const double ns = (now_ns() - before) / RUNS_A_ROUND / b->nodes;
        if (ns < *out_ns) *out_ns = ns;
    }
    return status;
}

/* The kernel alone, through a pointer that the compiler cannot see through. */
static double time_kernel(const bench *b) {
    int64_t extent = 1, stride = 1;
    float data[2] = {0};
    tn_tensor tensors[2];
    for (int i = 0; i < 2; i++)
        tensors[i] = (tn_tensor){.size = sizeof(tn_tensor),
                                 .type = TN_F32,
                                 .rank = 1,
                                 .data = &data[i],
                                 .bytes = sizeof(float),
                                 .shape = &extent,
                                 .strides = &stride};
    const tn_tensor *const inputs[] = {&tensors[0]};
    tn_tensor *const outputs[] = {&tensors[1]};
    tn_call call = {.size = sizeof(call),
                    .input_count = 1,
                    .output_count = 1,
                    .inputs = inputs,
                    .outputs = outputs};
    tn_status (*volatile run)(tn_call *) = step_run;
    double best = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        const double before = now_ns();
        for (uint32_t i = 0; i < b->nodes * RUNS_A_ROUND; i++)
            run(&call);
        const double ns = (now_ns() - before) / RUNS_A_ROUND / b->nodes;
        if (ns < best) best = ns;
    }
    return best;
}

/* Allocations of ten runs after both shapes were seen. */
static tn_status count_allocations(bench *b, bool alternates, uint64_t *out_count) {
    tn_status status = run_with(b, 1);
    if (status == TN_OK) status = run_with(b, 2);
    const uint64_t before = allocations(b);
    for (int i = 0; i < 10 && status == TN_OK; i++)
        status = run_with(b, alternates ? 1 + i % 2 : 2);
    *out_count = allocations(b) - before;
    return status;
}

static int measure(bench *b, double limit) {
    double loop = 0, kernel = 0;
    uint64_t same = 0, alternating = 0;
    tn_status status = set_up(b);
    if (status == TN_OK) status = time_loop(b, &loop);
    if (status == TN_OK) status = count_allocations(b, false, &same);
    if (status == TN_OK) status = count_allocations(b, true, &alternating);
    if (status != TN_OK) {
        fprintf(stderr, "tenon-bench-execution-loop: %s %s\n", tn_last_error()->where,
                tn_last_error()->message);
        return 1;
    }
    if (!is_right(b)) {
        fprintf(stderr, "tenon-bench-execution-loop: the result is %g, expected %g\n",
                (double)b->output[0], (double)b->input[0] + b->nodes);
        return 1;
    }
    kernel = time_kernel(b);
    printf("loop_ns=%.1f kernel_ns=%.1f beyond_ns=%.1f nodes=%u allocations=%llu "
           "allocations_alternating=%llu\n",
           loop, kernel, loop - kernel, b->nodes, (unsigned long long)same,
           (unsigned long long)alternating);
    return loop - kernel < limit && same == 0 && alternating == 0 ? 0 : 1;
}

int main(int argument_count, char **arguments) {
    bench b = {.nodes = 1000, .input = {2, 3}};
    double limit = 1e30;
    for (int i = 1; i < argument_count; i += 2) {
        const char *value = i + 1 < argument_count ? arguments[i + 1] : NULL;
        if (value && strcmp(arguments[i], "--nodes") == 0 && atoi(value) > 0) {
            b.nodes = (uint32_t)atoi(value);
        } else if (value && strcmp(arguments[i], "--limit") == 0 && atof(value) > 0) {
            limit = atof(value);
        } else {
            fprintf(stderr,
                    "usage: tenon-bench-execution-loop [--nodes N] [--limit NANOSECONDS]\n");
            return 2;
        }
    }
    const int code = measure(&b, limit);
    tear_down(&b);
    return code;
}
