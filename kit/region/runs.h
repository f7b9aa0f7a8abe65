/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of many runs of bytes of one length, which lie at even distances: rows of planes. Each is
 * moved in whole vectors, of which the last two may overlap; compiled once a processor level from
 * runs_body.h. [thread: any]
 */
#ifndef TN_KIT_REGION_RUNS_H
#define TN_KIT_REGION_RUNS_H

#include <stddef.h>
#include <stdint.h>
#include <tenon/kit/levels.h>

/* counts[0] x counts[1] runs; distances are in bytes, of any sign. */
typedef struct tn_runs {
    int64_t bytes; /* of a run */
    int64_t counts[2], to_steps[2], from_steps[2];
} tn_runs;

/* The sides do not overlap. */
typedef void (*tn_runs_function)(const tn_runs *runs, void *to, const void *from);

typedef struct tn_runs_level {
    tn_runs_function copy;
} tn_runs_level;

extern const tn_runs_level tn_runs_baseline, tn_runs_avx2, tn_runs_avx512;

/* At the processor's highest level. */
static inline tn_runs_function tn_runs_best(void) {
    return TN_KIT_BEST(tn_runs)->copy;
}

#endif
