/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of tenon-kernel-bench share: what the machine can do at most, cases that grow to
 * shapes worth timing, and the time of one kernel in one combination on one case. The listing and
 * the lines on stdout are worker.c's matter, tables and JSON tools/tenon's.
 */
#ifndef TN_CONFORMANCE_BENCH_H
#define TN_CONFORMANCE_BENCH_H

#include "cases/stored/stored.h"
#include "plugin/devices.h"

/* --- stopwatch.c --- */
/* What repeated runs of one thing took, in nanoseconds a run. */
typedef struct tn_stopwatch {
    double seconds;           /* before: the longest that it may measure */
    double best_ns, usual_ns; /* after: the shortest, and the median */
    uint64_t runs;
    bool is_stable; /* the shortest did not improve by a hundredth in the second half of the time */
} tn_stopwatch;
/* Runs `body` until its shortest time is stable or the time is over; short bodies several times
 * between two looks at the clock. The first failure ends it. */
tn_status tn_stopwatch_measure(tn_stopwatch *watch, tn_status (*body)(void *user), void *user);
/* The same from samples that somebody else times, each the nanoseconds of one of `repeats` runs. */
tn_status tn_stopwatch_sample(tn_stopwatch *watch, tn_status (*sample)(void *user, double *out_ns),
                              void *user, uint64_t repeats);

/* --- on_device.c --- */
/* A device and a stream of it; no device: the processor. */
typedef struct tn_bench_target {
    tn_used_device device;
    void *stream;
} tn_bench_target;
/* TN_ERROR_NOT_FOUND. It stays until the process ends. */
tn_status tn_bench_target_open(tn_bench_target *target, tn_runtime *runtime, const char *name);
/* The device's time of what `enqueue` enqueues, many at a time. */
tn_status tn_bench_on_device(tn_stopwatch *watch, const tn_bench_target *target, bool is_capturable,
                             tn_status (*enqueue)(void *user), void *user);
/* As tn_limits_copy, in the device's memory. */
tn_status tn_limits_copy_on_device(const tn_bench_target *target, size_t bytes,
                                   double *out_bytes_a_second);

/* --- limits.c --- */
/* Bytes a second, read and written together, of a copy that touches `bytes` in all, by `threads`
 * threads or by one, whichever is faster. */
tn_status tn_limits_copy(const tn_runtime *runtime, uint32_t threads, size_t bytes,
                         double *out_bytes_a_second);
/* Operations a second on 32-bit floats, where a multiply and an add count two, from registers;
 * *out_name says with which instructions. */
tn_status tn_limits_arithmetic(const tn_runtime *runtime, uint32_t threads,
                               double *out_operations_a_second, const char **out_name);

/* --- grow.c --- */
/* A case with larger extents, as text in `arena`: axes double, one after the other, as long as the
 * operator's shape rule agrees, until inputs and outputs have `bytes` together. An axis takes along
 * what has the same extent at the same axis of other inputs or, where the shape rule does not like
 * that, everywhere. Inputs whose values are written stay as they are. The text is the case's own
 * where nothing can grow. */
tn_status tn_grow_case(tn_runtime *runtime, const tn_operator *op, const char *text, size_t bytes,
                       tn_arena *arena, const char **out_text);
/* The case with one input's extents replaced: NAME=1x3x8x8. */
tn_status tn_grow_set_shape(const tn_operator *op, const char *text, const char *shape,
                            tn_arena *arena, const char **out_text);

/* --- subject.c --- */
/* A case, ready to be run by the operator's reference and by kernels. */
typedef struct tn_bench_subject {
    tn_runtime *runtime;
    const tn_operator *op;
    tn_arena *arena;
    tn_case c;
    tn_graph *graph;
    tn_inference_plan plan;
    tn_inference inference;
    size_t bytes;      /* of inputs that are read, and outputs, linear, in their own types */
    double operations; /* as the operator counts them; 0: it does not */
} tn_bench_subject;
/* All inputs but the first are constants. On failure nothing is to be destroyed. */
tn_status tn_bench_subject_create(tn_bench_subject *subject, tn_runtime *runtime,
                                  const tn_operator *op, const char *text);
void tn_bench_subject_destroy(tn_bench_subject *subject);
/* The kernel (null: the reference) in the combination (null: the operator's own types, linear).
 * *out_why is null when it was measured, else says why the kernel was left out. `out_bytes` counts
 * what is stored. `target` is where a device's kernel runs. A failure is the kernel's. */
tn_status tn_bench_subject_measure(const tn_bench_subject *subject, const tn_kernel *kernel,
                                   const char *combination, uint32_t threads,
                                   const tn_bench_target *target, tn_stopwatch *watch,
                                   size_t *out_bytes, const char **out_why);

#endif
