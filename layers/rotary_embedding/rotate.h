/* SPDX-License-Identifier: Apache-2.0 */
/* RotaryEmbedding of one head of floats, compiled once a processor level from rotate_body.h. */
#ifndef TN_LAYERS_ROTARY_EMBEDDING_ROTATE_H
#define TN_LAYERS_ROTARY_EMBEDDING_ROTATE_H

#include <stdbool.h>
#include <stdint.h>

/* Turns `half` pairs of elements by the angles of these cosines and sines: element i and i + half
 * are a pair, or, interleaved, 2 i and 2 i + 1. y may be x. */
typedef void (*tn_rotary_function)(int64_t half, bool is_interleaved, const float *x,
                                   const float *cosines, const float *sines, float *y);

void tn_rotary_baseline(int64_t half, bool is_interleaved, const float *x, const float *cosines,
                        const float *sines, float *y);
void tn_rotary_avx2(int64_t half, bool is_interleaved, const float *x, const float *cosines,
                    const float *sines, float *y);
void tn_rotary_avx512(int64_t half, bool is_interleaved, const float *x, const float *cosines,
                      const float *sines, float *y);

#endif
