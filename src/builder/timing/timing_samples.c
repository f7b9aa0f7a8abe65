/* SPDX-License-Identifier: Apache-2.0 */
/* What repeated timings of one thing say of it; see timing_samples.h. */
#include "builder/timing/timing_samples.h"
#include "builder/timing/timing_policy.h"

#include <math.h>

static void add_clean(tn_timing_samples *samples, double ns) {
    if (samples->clean_count == 0 || ns < samples->clean_least) {
        samples->clean_second = samples->clean_least;
        samples->clean_least = ns;
    } else if (samples->clean_count == 1 || ns < samples->clean_second) {
        samples->clean_second = ns;
    }
    samples->clean_count++;
}

void tn_timing_samples_add(tn_timing_samples *samples, tn_timing_sample sample) {
    if (samples->count == 0 || sample.ns < samples->least) samples->least = sample.ns;
    samples->left = fmax(samples->left, sample.ns - sample.waited_ns);
    samples->count++;
    if (!sample.is_disturbed) add_clean(samples, sample.ns);
}

double tn_timing_samples_noise(const tn_timing_samples *samples) {
    if (samples->clean_count < 2) return tn_timing_policy.most_noise;
    if (!(samples->least > 0)) return tn_timing_policy.least_noise;
    const double noise = samples->clean_second / samples->least - 1;
    return fmin(fmax(noise, tn_timing_policy.least_noise), tn_timing_policy.most_noise);
}

double tn_timing_samples_floor(const tn_timing_samples *samples) {
    return samples->clean_count > 0 ? samples->least : fmin(samples->left, samples->least);
}

bool tn_timing_samples_agree(const tn_timing_samples *samples, double tolerance) {
    return samples->clean_count >= 2 && samples->clean_second <= (1 + tolerance) * samples->least;
}
