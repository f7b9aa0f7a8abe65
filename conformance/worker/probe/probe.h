/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One operator or kernel under test, called directly and by the letter of the contract: every
 * callback gets a call, tensors and shapes that are gone when it returns; inputs cannot be written,
 * outputs are poisoned, the workspace is exactly as large as was asked for. What breaks the
 * contract so that a return value shows it is an error with the rule's id in `rule`; what shows
 * as a fault ends the process through guarded.h.
 */
#ifndef TN_CONFORMANCE_WORKER_PROBE_PROBE_H
#define TN_CONFORMANCE_WORKER_PROBE_PROBE_H

#include "worker/probe/probe_state.h"

/* Whether the kernel takes this node: its `accepts`. */
bool tn_probe_accepts(tn_probe *probe);
/* Whether it has an output without a bound. */
bool tn_probe_is_unbounded(const tn_probe *probe);
/* How many tactics it has, at least 1. */
uint32_t tn_probe_tactics(tn_probe *probe);
/* Where a chain leaves fewer tactics than the one that is to run, one of those. Answers that one,
 * to be set again. */
uint32_t tn_probe_limit_tactic(tn_probe *probe);
/* Asks for the kernel's timing key in exactly the buffer that the host has, twice. */
void tn_probe_ask_timing_key(tn_probe *probe);
tn_status tn_probe_prepare(tn_probe_life *life, tn_probe *probe);
/* The same by the kernel's load. */
tn_status tn_probe_load(tn_probe_life *life, tn_probe *probe, const void *data, size_t bytes);
/* What the kernel saves of a prepared life, in memory that ends with it; freed by
 * tn_guarded_destroy. TN_ERROR_PLUGIN: it writes more than it asked for. */
tn_status tn_probe_save(tn_probe_life *life, tn_guarded *out_saved);
void tn_probe_release(tn_probe_life *life);
tn_status tn_probe_open(tn_probe_context *context, tn_probe_life *life);
void tn_probe_close(tn_probe_context *context);
/* The shapes are those of `shapes`, which may be another probe of the same node, kernel and
 * combination. */
/* The first half of a reshape: the context knows how much workspace it needs, and has none. */
tn_status tn_probe_ask_workspace(tn_probe_context *context, tn_probe *shapes);
tn_status tn_probe_reshape(tn_probe_context *context, tn_probe *shapes);
/* Memory with the inputs' values, outputs full of `poison`; in place: as probe->laid_on has it. */
tn_status tn_probe_memory_create(tn_probe_memory *memory, const tn_probe *values, bool is_at_end,
                                 bool is_in_place, uint8_t poison);
/* Other values at the same addresses, where the shapes are the same; outputs full of `poison`.
 * What is constant in an engine stays. */
tn_status tn_probe_memory_refill(tn_probe_memory *memory, const tn_probe *values, uint8_t poison);
void tn_probe_memory_destroy(tn_probe_memory *memory);
/* One run, the workspace full of `poison` before. */
tn_status tn_probe_run(tn_probe_context *context, tn_probe *values, tn_probe_memory *memory,
                       uint8_t poison);
/* The outputs as linear elements of own_type; freed by tn_outcome_free. */
tn_status tn_probe_results(const tn_probe *values, const tn_probe_memory *memory, tn_outcome *out);

/* The whole life: prepare, open, reshape, run, results, close, release; memory at its end or start.
 */
tn_status tn_probe_once(tn_probe *probe, bool is_at_end, bool is_in_place, uint8_t poison,
                        tn_outcome *out);

/* All of that but prepare and release. */
tn_status tn_probe_run_life(tn_probe_life *life, bool is_at_end, bool is_in_place, uint8_t poison,
                            tn_outcome *out);

#endif
