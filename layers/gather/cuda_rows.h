/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of cuda_rows.c. */
#ifndef TN_LAYERS_GATHER_CUDA_ROWS_H
#define TN_LAYERS_GATHER_CUDA_ROWS_H

#include <tenon/plugin.h>

extern const tn_kernel tn_gather_cuda_rows;

#endif
