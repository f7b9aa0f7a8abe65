/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timing cache: measured nanoseconds by key (a hash of everything that the time depends on,
 * made by timing.c), in memory during a build and, where a file is named, between builds. The file
 * is safe between processes: it is merged and rewritten under a lock of its own, written beside and
 * renamed. A damaged one is ignored with a warning; what does not begin like one is somebody's
 * other file, and stays.
 *
 * The file, little-endian: "TNTIMING", u32 version 3, u32 zero, u64 count, then `count` times a u64
 * key, a f64 of nanoseconds, a f64 of their relative noise, a f64 of the nanoseconds that it takes
 * at least and a f64 of the bytes by which it makes weights larger, sorted by key, then the u64
 * XXH3 of all before.
 */
#ifndef TN_BUILDER_TIMING_TIMING_CACHE_H
#define TN_BUILDER_TIMING_TIMING_CACHE_H

#include "builder/lower/lower.h"

typedef struct tn_timing_result {
    double ns;
    double noise;       /* relative: how much longer the next shortest sample was */
    double floor_ns;    /* it takes no less: ns, or less where all samples were disturbed */
    double grown_bytes; /* packed weights, beyond the bytes of the constants */
} tn_timing_result;

/* `path` null: in memory only. TN_ERROR_FORMAT: the file is something else.
 * [thread: one at a time for one cache] */
tn_status tn_timing_cache_open(tn_runtime *runtime, const char *path, tn_timing_cache **out_cache);
void tn_timing_cache_close(tn_timing_cache *cache); /* without saving; null is fine */
bool tn_timing_cache_get(const tn_timing_cache *cache, uint64_t key, tn_timing_result *out_result);
tn_status tn_timing_cache_set(tn_timing_cache *cache, uint64_t key, tn_timing_result result);
/* Writes what was set since it was opened; what other processes wrote meanwhile is kept.
 * TN_ERROR_IO; TN_ERROR_FORMAT as above.
 */
tn_status tn_timing_cache_save(tn_timing_cache *cache);

#endif
