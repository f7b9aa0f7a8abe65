/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a library of NVIDIA's at first use: which file, which version, which functions. Ours is
 * not linked with it, so that it loads on machines without it. Nothing here knows CUDA: what the
 * functions do is of those who asked (cudnn.cu, cublaslt.cu).
 */
#ifndef TN_KIT_CUDA_LOADER_H
#define TN_KIT_CUDA_LOADER_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_cuda_loader {
    const char *title;         /* for people: "cuDNN" */
    const char *file;          /* "libcudnn.so.9" */
    const char *const *others; /* files of versions that do not do, to be named when they are all
                                  there is; ends with a null */
    /* Answers major * 10000 + minor * 100 + patch. */
    const char *version_function;
    size_t least_version; /* in the same numbers */
    size_t count;
    const char *const *names;
} tn_cuda_loader;

/* Finds all functions: `count` pointers, in the order of `names`. False with one line for the log,
 * which says what is wanted and what there is. The library stays open. */
bool tn_cuda_loader_open(const tn_cuda_loader *wanted, void **out_functions, char *text,
                         size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
