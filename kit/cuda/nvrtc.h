/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVRTC, NVIDIA's compiler as a library, opened when it is first needed: a source to code of one
 * GPU's instructions. What is compiled is fused_source.h's; keeping it is fused_cache.h's.
 */
#ifndef TN_KIT_CUDA_NVRTC_H
#define TN_KIT_CUDA_NVRTC_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether it is there; the first time that it is not, a line in the log says which library is
 * missing. [thread: any] */
bool tn_nvrtc_is_there(const tn_host *host);

/* Its version, as 13000 for 13.0; 0 where it is missing. */
int tn_nvrtc_version(const tn_host *host);

/* Compiles for a compute capability, 90 for 9.0. On success *out_code (host->allocate) and its
 * bytes; on failure the status and what the compiler said first, in `out_why`. [thread: any] */
tn_status tn_nvrtc_compile(const tn_host *host, const char *source, int capability, void **out_code,
                           size_t *out_bytes, char *out_why, size_t why_bytes);

#ifdef __cplusplus
}
#endif

#endif
