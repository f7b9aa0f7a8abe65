/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of step.h for one processor level. Included by a file a level, which names the
 * table as TN_LINEAR_LEVEL. */
#include <tenon/kit/vector.h>
#include "linear_attention/step.h"

typedef double wide __attribute__((vector_size(TN_VECTOR_BYTES), aligned(8), may_alias));
enum { WIDE_LANES = TN_LANES / 2, VECTORS = TN_LINEAR_COLUMNS / WIDE_LANES };

static wide *vector_at(double *row, int v) {
    return (wide *)(row + v * WIDE_LANES);
}
static wide load(const double *row, int v) {
    return *(const wide *)(row + v * WIDE_LANES);
}

static void decay(int64_t depth, const double *factors, double *state) {
    for (int64_t i = 0; i < depth; i++, state += TN_LINEAR_COLUMNS)
        for (int v = 0; v < VECTORS; v++)
            *vector_at(state, v) *= factors[i];
}

/* Eight vectors of columns at a time, so that their sums stay in registers. */
static void read(int64_t depth, const double *weights, const double *state, double *sums) {
    for (int first = 0; first < VECTORS; first += 8) {
        wide held[8] = {0};
        for (int64_t i = 0; i < depth; i++) {
            const double *row = state + i * TN_LINEAR_COLUMNS;
            TN_UNROLL for (int v = 0; v < 8; v++) held[v] += weights[i] * load(row, first + v);
        }
        for (int v = 0; v < 8; v++)
            *vector_at(sums, first + v) = held[v];
    }
}

static void add(int64_t depth, const double *key, const double *values, double *state) {
    for (int64_t i = 0; i < depth; i++, state += TN_LINEAR_COLUMNS)
        for (int v = 0; v < VECTORS; v++)
            *vector_at(state, v) += key[i] * load(values, v);
}

const tn_linear_level TN_LINEAR_LEVEL = {decay, read, add};
