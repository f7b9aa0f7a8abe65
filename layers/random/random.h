/* SPDX-License-Identifier: Apache-2.0 */
/* What the operators of random numbers and their CUDA kernels share. */
#ifndef TN_LAYERS_RANDOM_RANDOM_H
#define TN_LAYERS_RANDOM_RANDOM_H

#include <stdint.h>

/* Where a node's sequence begins. */
uint64_t tn_random_key(float seed);

#endif
