/* SPDX-License-Identifier: Apache-2.0 */
/* What timing.c (candidates on the processor), timing_device.c (on all other devices) and
 * timing_reformat.c (conversions) share. */
#ifndef TN_BUILD_TIMING_PRIVATE_H
#define TN_BUILD_TIMING_PRIVATE_H

#include "build/candidate_call.h"
#include "build/timing.h"
#include "plugin/kernel_instance.h"

#define TN_TIMING_RUNS_AT_LEAST    3
#define TN_TIMING_RUNS_AT_MOST     50
#define TN_TIMING_PERIOD           65521 /* elements after which made-up numbers repeat; a prime */
#define TN_TIMING_RUN_NS           10e6 /* enough for one candidate, once it ran as often as it must */
#define TN_TIMING_CONVERSION_NS    2e6  /* enough for one conversion: many, and they vary little */
#define TN_TIMING_CONVERSION_SHARE 0.08 /* of the time, on a device */
#define TN_TIMING_LONG_RUN_NS                                                                      \
    200e6 /* longer ones are run once more after the first, not thrice                             \
           */

#define TN_TIMING_SHARES 32
/* What a kernel had of the time, for the log. */
typedef struct tn_timing_share {
    const tn_kernel *kernel;
    uint32_t count;
    double prepare_ns, run_ns;
} tn_timing_share;

struct tn_timing_scratch {
    double begin_ns, end_ns; /* when the time is over; 0: not started */
    double nodes_end_ns;     /* when it is over for all but conversions */
    double again_end_ns;     /* of measuring again */
    /* memory for tensors, used again from candidate to candidate */
    void **blocks;
    size_t *block_bytes;
    size_t block_count, block_capacity, bytes_capacity, used;
    tn_timing_share shares[TN_TIMING_SHARES];
    uint32_t share_count;
    double best_ns; /* of what is timed now, among those of its node; 0: not known */
    /* timing_device.c's */
    void *stream, *begin, *end; /* null: not made yet */
    bool is_device_warm;        /* its clocks have settled */
    void **device_blocks;
    size_t device_block_count, device_block_capacity;
};

double tn_timing_now_ns(const tn_lowering *lowering);

/* Nanoseconds of a run on the processor. On one thread, what others on a busy machine had of the
 * time is not counted: else kernels longer than a slice of time would look too slow. Where the
 * thread slept of its own accord all is counted, since others may have worked for it. */
typedef struct tn_timing_watch {
    double begin_ns, begin_thread_ns;
    long own_switches, forced_switches; /* of the thread so far */
} tn_timing_watch;
void tn_timing_watch_start(const tn_lowering *lowering, tn_timing_watch *watch);
double tn_timing_watch_stop(const tn_lowering *lowering, const tn_timing_watch *watch);

bool tn_timing_is_over(const tn_lowering *lowering);
/* Numbers in a tensor of the host. */
void tn_timing_fill(const tn_tensor *tensor);
/* Memory of the host for a tensor, and numbers in it; what was given before is used again where
 * `used` of the scratch is set to zero. */
tn_status tn_timing_give_data(tn_lowering *lowering, tn_tensor *tensor);

/* --- timing_shares.c --- */
void tn_timing_shares_add(struct tn_timing_scratch *timing, const tn_kernel *kernel,
                          double prepare_ns, double run_ns);
void tn_timing_shares_log(const tn_lowering *lowering);

/* --- timing_device.c --- */
/* The stream of all timings on the build's device; made when it is asked for first. */
tn_status tn_timing_stream(tn_lowering *lowering, void **out_stream);
/* Opens and runs a kernel of the device that is prepared. */
tn_status tn_timing_on_device(tn_lowering *lowering, uint32_t index,
                              tn_candidate_call *candidate_call, tn_prepared_kernel *prepared,
                              double *out_ns);
/* A conversion from, to or on the device; the tensors have no data yet. */
tn_status tn_timing_transfer(tn_lowering *lowering, tn_tensor *from, uint32_t from_space,
                             tn_tensor *to, uint32_t to_space, double *out_ns);
void tn_timing_end_device(tn_lowering *lowering);

#endif
