/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator LRN and its kernels share. */
#ifndef TN_LAYERS_LRN_LRN_H
#define TN_LAYERS_LRN_LRN_H

#include <tenon/plugin.h>

typedef struct tn_lrn_params {
    uint64_t present;
    float alpha, beta, bias;
    int64_t size;
} tn_lrn_params;

/* The channels before and after one that count. At least zero. */
static inline int64_t tn_lrn_before(const tn_lrn_params *params) {
    return (params->size - 1) / 2;
}
static inline int64_t tn_lrn_after(const tn_lrn_params *params) {
    return params->size / 2;
}

extern const tn_kernel *const tn_lrn_kernels[3];

#endif
