/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What repeated timings of one thing say of it: how long it takes, and how sure that is. The
 * shortest sample counts, for whatever disturbs a run makes it longer; the second shortest of the
 * undisturbed ones says how well the shortest was confirmed. Pure arithmetic.
 */
#ifndef TN_BUILDER_TIMING_TIMING_SAMPLES_H
#define TN_BUILDER_TIMING_TIMING_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tn_timing_sample {
    double ns;         /* of one run */
    bool is_disturbed; /* a thread of the process waited for a core in the meantime */
    double waited_ns;  /* so long, of one run, where that is known; else as long as it took */
} tn_timing_sample;

/* Zeroed: none yet. */
typedef struct tn_timing_samples {
    uint32_t count, clean_count;
    double least, clean_least, clean_second; /* meaningful as far as the counts reach */
    double left; /* the most that is left of a sample without the waiting */
} tn_timing_samples;

void tn_timing_samples_add(tn_timing_samples *samples, tn_timing_sample sample);
/* Relative: 0.02 is 2%. The most that the policy has where fewer than two are undisturbed. */
double tn_timing_samples_noise(const tn_timing_samples *samples);
/* It takes no less: the shortest, or where all are disturbed what is left without the waiting. */
double tn_timing_samples_floor(const tn_timing_samples *samples);
/* Whether two undisturbed samples are within `tolerance` of the shortest of all. */
bool tn_timing_samples_agree(const tn_timing_samples *samples, double tolerance);

#endif
