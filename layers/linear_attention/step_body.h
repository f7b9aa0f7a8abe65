/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of step.h for one processor level. Included by a file a level, which names the
 * table as TN_LINEAR_LEVEL. */
#include <tenon/kit/vector.h>
#include "linear_attention/step.h"

enum { VECTORS = TN_LINEAR_COLUMNS / TN_LANES };

static void decay(int64_t depth, const float *factors, float *state) {
    for (int64_t i = 0; i < depth; i++, state += TN_LINEAR_COLUMNS)
        for (int v = 0; v < VECTORS; v++)
            tn_vector_store(state + v * TN_LANES,
                            factors[i] * tn_vector_load(state + v * TN_LANES));
}

/* Four vectors of columns at a time, so that their sums stay in registers. */
static void read(int64_t depth, const float *weights, const float *state, float *sums) {
    for (int first = 0; first < VECTORS; first += 4) {
        tn_vector held[4] = {0};
        for (int64_t i = 0; i < depth; i++) {
            const float *row = state + i * TN_LINEAR_COLUMNS + first * TN_LANES;
            TN_UNROLL for (int v = 0; v < 4; v++) held[v] +=
                weights[i] * tn_vector_load(row + v * TN_LANES);
        }
        for (int v = 0; v < 4; v++)
            tn_vector_store(sums + (first + v) * TN_LANES, held[v]);
    }
}

static void add(int64_t depth, const float *key, const float *values, float *state) {
    for (int64_t i = 0; i < depth; i++, state += TN_LINEAR_COLUMNS)
        for (int v = 0; v < VECTORS; v++)
            tn_vector_store(state + v * TN_LANES,
                            tn_vector_load(state + v * TN_LANES) +
                                key[i] * tn_vector_load(values + v * TN_LANES));
}

const tn_linear_level TN_LINEAR_LEVEL = {decay, read, add};
