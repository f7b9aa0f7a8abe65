/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU device: its table, processor features, fingerprint, and parallel_for. The
 * interface that the runtime takes is tenon/plugin.h's.
 */
#ifndef TN_DEVICE_CPU_H
#define TN_DEVICE_CPU_H

#include "base/thread_pool.h"

#include <stdbool.h>

/* The features found that the operating system supports too, joined by commas and named as gcc
 * names them: sse2 sse4.2 avx avx2 fma f16c avxvnni avx512f avx512bw avx512vl avx512dq avx512vnni
 * avx512_bf16 amx_tile amx_int8. Lowered to a level: "baseline" (the first two), "avx2" (up to
 * avxvnni), "avx512", or null for all there are. Answers false for an unknown level, and then
 * leaves `buffer` as it is. The whole list needs less than 256 bytes; names that do not fit are
 * left out. */
bool tn_cpu_features(const char *level, char *buffer, size_t bytes);
/* Fills a device table; `fingerprint` (lent, must outlive it) names the model, features and
 * threads' kind. */
void tn_cpu_device_init(tn_device *out_device, const char *fingerprint);
void tn_cpu_fingerprint(const char *features, char *buffer, size_t bytes);
uint32_t tn_cpu_core_count(void); /* that this process may use, at least 1 */

/* A pool of `threads` threads (0: 1) on the runtime's workers, which are lent, or on the calling
 * thread's OpenMP team, where there is OpenMP; with 1 neither is touched. A loop is cut into a few
 * pieces of at least `grain` items; when a body fails no piece begins any more, and the first
 * failure is the answer. `thread` is below `threads`, and no two bodies that run at once have the
 * same. [thread: any; nothing to free] */
void tn_cpu_pool_init(tn_thread_pool *out_pool, uint32_t threads, struct tn_workers *workers,
                      bool is_openmp);

#endif
