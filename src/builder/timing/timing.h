/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing: runs candidates, alone or beside each other, and conversions between storages on the
 * profile's optimum shapes, and answers the shortest of several samples and their noise. Knows the
 * cache's keys, and when the time that it may take is over; what an unmeasured candidate costs is
 * lower_cost.c's matter.
 */
#ifndef TN_BUILDER_TIMING_TIMING_H
#define TN_BUILDER_TIMING_TIMING_H

#include "builder/lower/candidate.h"

/* Prepares for timings with the lowering's options, and counts the time from now on; sets
 * lowering->timing. */
tn_status tn_timing_begin(tn_lowering *lowering);
void tn_timing_end(tn_lowering *lowering); /* before a beginning is fine */
/* Measuring in rounds may take as long from now on as measuring took since then, or a tenth of all
 * the time. */
void tn_timing_limit(tn_lowering *lowering);

/* The time of a candidate and its noise: from the cache, or measured and put there.
 * Leaves is_measured false when it is in neither: no timing is wanted, the time is over, or this
 * kind of node cannot be timed. A kernel that fails is reported with its own error. `best_ns`: of
 * another one that does at least as much; infinity: none was measured. */
tn_status tn_timing_candidate(tn_lowering *lowering, uint32_t node, tn_candidate *candidate,
                              double best_ns);
/* The same, from the cache alone. */
tn_status tn_timing_recall(tn_lowering *lowering, uint32_t node, tn_candidate *candidate);
/* Whether it could be measured, had it the time. */
bool tn_timing_can(const tn_lowering *lowering, uint32_t node, const tn_candidate *candidate);
/* Whether no more candidates are measured. Some of the time is left for conversions. */
bool tn_timing_is_over_for_nodes(const tn_lowering *lowering);
/* What `prepare` of a kernel took so far, on average; 0: it did not run. */
double tn_timing_prepare_ns(const tn_lowering *lowering, const tn_kernel *kernel);
/* When the time for networks as a whole is over. */
double tn_timing_trials_end_ns(const tn_lowering *lowering);
/* What one network may run for, to be compared. */
double tn_timing_trial_ns(const tn_lowering *lowering);
/* That is later by what choosing took since the time for kernels and conversions was over: in
 * networks of hundreds of nodes it takes long, and is not measuring. */
void tn_timing_delay_trials(tn_lowering *lowering);
/* Swaps on a device may take as long from now on as all did so far, or what is kept for networks:
 * not all of the time that is left. */
void tn_timing_limit_trials(tn_lowering *lowering);
double tn_timing_now_ns(const tn_lowering *lowering); /* timing_clock.c's */
/* Made-up numbers in a tensor of the host; zeros where integers are read. */
void tn_timing_fill(const tn_tensor *tensor);
/* Measures candidates of one node once more and beside each other, the first ones of
 * the list where the memory for all is too large; nothing when the time is over. *out_failed: by
 * its number in the list, whose kernel failed. */
tn_status tn_timing_beside(tn_lowering *lowering, uint32_t node, tn_candidate *const *candidates,
                           uint32_t count, uint32_t *out_failed);
tn_status tn_timing_reformat(tn_lowering *lowering, tn_tensor_id tensor, tn_storage from,
                             tn_storage to, double *out_ns, bool *out_is_known);

/* What a candidate's time depends on; the candidate keeps it. */
tn_status tn_timing_key(const tn_lowering *lowering, uint32_t node, tn_candidate *candidate,
                        uint64_t *out_key);
/* Adds the build's device or the processor: which one, its driver, the libraries that its kernels
 * call, and the number of threads. */
uint64_t tn_timing_key_device(const tn_lowering *lowering, uint64_t key, bool is_on_device);
/* The same of how a tensor is stored. */
uint64_t tn_timing_key_storage(const tn_lowering *lowering, uint64_t key, tn_tensor_id tensor,
                               tn_storage storage);

#endif
