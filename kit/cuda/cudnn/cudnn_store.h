/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of cuDNN as files, so that what it compiled for a graph is there the next time: one file a
 * plan in `tenon/cudnn` of XDG_CACHE_HOME or ~/.cache. What lies there will be run, so that the
 * folder must be the user's own and not writable by others; a file that is damaged or does not fit
 * its key is as good as none. The oldest go when there are too many. Nothing here knows cuDNN.
 */
#ifndef TN_KIT_CUDA_CUDNN_CUDNN_STORE_H
#define TN_KIT_CUDA_CUDNN_CUDNN_STORE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All that a plan depends on: numbers that say what is computed, and text that says where. */
typedef struct tn_cudnn_store_key {
    const void *numbers;
    uint64_t number_bytes;
    const char *location;
    uint32_t index; /* which of the configurations */
} tn_cudnn_store_key;

/* False when it is not there. The text is malloc's and the caller's. */
bool tn_cudnn_store_read(const tn_cudnn_store_key *key, bool *out_is_fused, char **out_text,
                         uint64_t *out_bytes);
/* False when it could not be kept. */
bool tn_cudnn_store_write(const tn_cudnn_store_key *key, bool is_fused, const char *text,
                          uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
