/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of timing share: timing.c (candidates, and what the cache knows of them),
 * timing_subject.c (a candidate that is open to be run), timing_tensors.c (its memory on the
 * processor), timing_device.c (its memory and runs on all other devices), timing_rounds.c (repeated
 * runs of several), timing_samples.c (what they say), timing_clock.c, timing_reformat.c
 * (conversions), timing_key.c. */
#ifndef TN_BUILDER_TIMING_TIMING_PRIVATE_H
#define TN_BUILDER_TIMING_TIMING_PRIVATE_H

#include "builder/lower/candidate_call.h"
#include "builder/timing/timing.h"
#include "builder/timing/timing_policy.h"
#include "builder/timing/timing_samples.h"
#include "program/kernel_instance.h"

#define TN_TIMING_SHARES 32
/* What a kernel had of the time, for the log. */
typedef struct tn_timing_share {
    const tn_kernel *kernel;
    uint32_t count;
    double prepare_ns, run_ns;
} tn_timing_share;
typedef struct tn_timing_shares {
    tn_timing_share items[TN_TIMING_SHARES];
    uint32_t count;
} tn_timing_shares;

/* The threads of this process whose waiting is looked at. */
#define TN_TIMING_THREADS 64
struct tn_timing_threads {
    uint32_t count;
    int32_t ids[TN_TIMING_THREADS];
    int descriptors[TN_TIMING_THREADS];
};

/* Memory of the host for the tensors of one subject, used again by the next. */
typedef struct tn_timing_blocks {
    void **items;
    size_t *bytes;
    size_t count, capacity, bytes_capacity, used;
} tn_timing_blocks;

/* --- timing_clock.c --- */
/* Nanoseconds of a run on the processor. On one thread, what others on a busy machine had of the
 * time is not counted: else kernels longer than a slice of time would look too slow. Where the
 * thread slept of its own accord all is counted, since others may have worked for it. On several
 * threads a sample in which one of them waited for a core is disturbed. */
typedef struct tn_timing_watch {
    double begin_ns, begin_thread_ns, waited_ns;
    long own_switches, forced_switches; /* so far */
} tn_timing_watch;
void tn_timing_watch_start(const tn_lowering *lowering, tn_timing_watch *watch);
tn_timing_sample tn_timing_watch_stop(const tn_lowering *lowering, const tn_timing_watch *watch);
/* Looks for threads of the process that are not followed yet. */
void tn_timing_follow_threads(tn_lowering *lowering);
void tn_timing_leave_threads(struct tn_timing_threads *threads);
/* How much longer computing takes now than when the machine was fastest in this build: 1 or more.
 */
double tn_timing_pace(const tn_lowering *lowering);

bool tn_timing_is_over(const tn_lowering *lowering);

/* --- timing_tensors.c --- */
/* The next block, at least so large. Blocks that were given before are given again where `used` is
 * set to zero. */
tn_status tn_timing_take_block(tn_lowering *lowering, tn_timing_blocks *blocks, size_t bytes,
                               void **out_block);
/* A block for a tensor, and numbers in it. */
tn_status tn_timing_give_data(tn_lowering *lowering, tn_timing_blocks *blocks, tn_tensor *tensor);
/* Constants at aligned addresses; before `prepare`. */
tn_status tn_timing_align_constants(tn_lowering *lowering, uint32_t node,
                                    tn_candidate_call *candidate_call);
/* Memory for all tensors that have no data; before `run`. */
tn_status tn_timing_give_tensors(tn_lowering *lowering, tn_timing_blocks *blocks, uint32_t node,
                                 tn_candidate_call *candidate_call);
void tn_timing_free_blocks(const tn_allocator *allocator, tn_timing_blocks *blocks);

/* --- timing_rounds.c --- */
/* Something that is run again and again: a kernel that is open, or a conversion. */
typedef struct tn_timing_work {
    tn_status (*once)(const tn_lowering *lowering, const struct tn_timing_work *work);
    bool is_remote;         /* `once` puts it into the stream of a device */
    tn_open_kernel *opened; /* null: a conversion, of what follows */
    const tn_tensor *from, *to;
    uint32_t direction;
    void *scratch;
    void *graph;                   /* of a device: a sample, captured; or null */
    int count;                     /* runs of a sample */
    const tn_candidate *candidate; /* null: a conversion */
    tn_timing_samples samples;
} tn_timing_work;
/* Of one candidate alone, and of a conversion, on the build's device or on the processor. */
tn_timing_bounds tn_timing_bounds_alone(const tn_lowering *lowering, bool is_remote);
tn_timing_bounds tn_timing_bounds_of_conversions(const tn_lowering *lowering, bool is_remote);
/* Of candidates beside each other. */
tn_timing_bounds tn_timing_bounds_beside(const tn_lowering *lowering);
/* Runs it until its memory and caches are warm, and sets how many runs make a sample. A kernel that
 * turns out to be slower than the bound has its samples after that. */
tn_status tn_timing_warm_up(tn_lowering *lowering, tn_timing_work *work,
                            const tn_timing_bounds *bounds);
/* Takes samples of each in turn until those that are not left off agree, or until the
 * bounds. *out_failed: the one whose run failed. */
tn_status tn_timing_rounds(tn_lowering *lowering, tn_timing_work *const *works, uint32_t count,
                           const tn_timing_bounds *bounds, uint32_t *out_failed);

/* --- timing_subject.c --- */
/* A candidate that is prepared and open. Must not be moved. */
typedef struct tn_timing_subject {
    tn_candidate_call candidate_call;
    tn_prepared_kernel prepared;
    tn_open_kernel opened;
    tn_packed_store *packed;
    tn_arena *arena;
    size_t device_mark; /* device blocks before its own */
    uint64_t bytes;     /* of its tensors, constants too */
    double grown_bytes; /* what it packed of its constants, beyond their bytes */
    tn_timing_work work;
} tn_timing_subject;
/* timing.c's: when the time is over. */
struct tn_timing_clock {
    double all_ns;           /* for everything */
    double begin_ns, end_ns; /* of kernels and conversions */
    double nodes_end_ns;     /* for all but conversions */
    double rounds_end_ns;    /* for measuring again in rounds */
    double trials_end_ns;    /* for networks as a whole */
};
/* timing_device.c's. */
struct tn_timing_device {
    void *stream, *begin, *end; /* null: not made yet */
    bool is_warm;               /* its clocks have settled */
    void **blocks;
    size_t block_count, block_capacity;
};
struct tn_timing {
    tn_timing_cache *cache;
    tn_timing_cache *own_cache; /* of this build alone: of unkeyed candidates, and of all where the
                                   caller has none, so that equal nodes are measured once */
    struct tn_timing_clock clock;
    tn_timing_subject subjects[TN_TIMING_MOST_OPEN];
    tn_timing_blocks blocks[TN_TIMING_MOST_OPEN]; /* of each; conversions use the first */
    uint64_t *beside_keys; /* timing.c's: of candidates that were measured beside others */
    size_t beside_count, beside_capacity;
    struct tn_timing_threads threads; /* timing_clock.c's */
    double least_pace_ns;             /* timing_clock.c's: of its loop; 0: it did not run */
    tn_timing_shares shares;          /* timing.c's */
    struct tn_timing_device device;
};

/* `blocks`: for its tensors in the host's memory. Nothing is to be closed after a failure. */
tn_status tn_timing_subject_open(tn_lowering *lowering, uint32_t node,
                                 const tn_candidate *candidate, tn_timing_blocks *blocks,
                                 tn_timing_subject *subject);
/* The last one that was opened first. */
void tn_timing_subject_close(tn_lowering *lowering, tn_timing_subject *subject);

void tn_timing_shares_add(tn_timing_shares *shares, const tn_kernel *kernel, uint32_t count,
                          double prepare_ns, double run_ns);
void tn_timing_shares_log(const tn_lowering *lowering);

/* --- timing_reformat.c --- */
/* What a conversion takes: from the cache, or measured and put there; not known when the time is
 * over. The tensors have no data yet. */
tn_status tn_timing_conversion(tn_lowering *lowering, uint64_t key, tn_tensor_storage *from,
                               uint32_t from_space, tn_tensor_storage *to, uint32_t to_space,
                               double *out_ns, bool *out_is_known);

/* --- timing_device.c --- */
/* The stream of all timings on the build's device; made when it is asked for first. */
tn_status tn_timing_stream(tn_lowering *lowering, void **out_stream);
/* Memory and numbers for a kernel of the device that is prepared and reshaped. */
tn_status tn_timing_device_tensors(tn_lowering *lowering, uint32_t node,
                                   tn_candidate_call *candidate_call, tn_open_kernel *opened);
/* Once between guard zones in the device's memory. */
tn_status tn_timing_device_checked(tn_lowering *lowering, uint32_t node, tn_open_kernel *opened);
tn_status tn_timing_device_warm_up(tn_lowering *lowering, tn_timing_work *work,
                                   const tn_timing_bounds *bounds);
/* One sample: the runs between two events. */
tn_status tn_timing_device_sample(const tn_lowering *lowering, const tn_timing_work *work,
                                  double *out_ns);
/* Waits for the device, and frees what was captured. */
void tn_timing_device_settle(tn_lowering *lowering, tn_timing_work *work);
/* Frees the blocks from `mark` on. */
void tn_timing_device_release(tn_lowering *lowering, size_t mark);
/* A conversion from, to or on the device; the tensors have no data yet. */
tn_status tn_timing_transfer(tn_lowering *lowering, tn_tensor *from, uint32_t from_space,
                             tn_tensor *to, uint32_t to_space, tn_timing_samples *out_samples);
void tn_timing_end_device(tn_lowering *lowering);

#endif
