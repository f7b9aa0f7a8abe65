/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU device: its table, processor features, fingerprint, and the threads that parallel_for
 * uses (one OpenMP team for each calling thread, shared with the numerical libraries). The
 * interface that the runtime takes is tenon/plugin.h's.
 */
#ifndef TN_DEVICE_CPU_H
#define TN_DEVICE_CPU_H

#include "plugin/host.h"

/* The features found, "sse2,...,avx512f", lowered to a level: "baseline", "avx2", "avx512", or null
 * for all there are. Answers false for an unknown level. `buffer` has room for 256 bytes. */
bool tn_cpu_features(const char *level, char *buffer, size_t bytes);
/* Fills a device table; `fingerprint` (lent, must outlive it) names the model, features and
 * threads' kind. */
void tn_cpu_device_init(tn_device *out_device, const char *fingerprint);
void tn_cpu_fingerprint(const char *features, char *buffer, size_t bytes);
uint32_t tn_cpu_core_count(void); /* that this process may use */

/* A pool of `threads` threads; with 1 no team is touched. */
void tn_cpu_pool_init(tn_thread_pool *out_pool, uint32_t threads);

#endif
