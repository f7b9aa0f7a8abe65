/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled kernels on disk: one file each, `fused-<hash>.cubin` in the folder where Tenon keeps
 * what it compiles (docs/compile-from-source.md). A file holds the whole key (what was compiled,
 * for which GPU, by which compiler) beside the code and a checksum, so that another key's file, a
 * damaged one or half of one is as good as none. Files are written beside and renamed: readers and
 * writers need no lock. Never an error: without a folder everything is compiled anew.
 */
#ifndef TN_KIT_CUDA_FUSED_FUSED_CACHE_H
#define TN_KIT_CUDA_FUSED_FUSED_CACHE_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The user's folder by the environment, made if need be: $XDG_CACHE_HOME/tenon, else
 * ~/.cache/tenon. False: there is none, or others may write there, or the program runs without its
 * environment. */
bool tn_cuda_fused_cache_folder(const tn_host *host, char *out_folder, size_t bytes);

/* The code that is kept for a key; false: none. *out_code is given back by host->deallocate. */
bool tn_cuda_fused_cache_find(const tn_host *host, const char *folder, const char *key,
                              void **out_code, size_t *out_bytes);

/* Keeps it, if it can. */
void tn_cuda_fused_cache_add(const char *folder, const char *key, const void *code, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
