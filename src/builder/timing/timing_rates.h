/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device takes for a step and moves in a nanosecond, for estimates of what is not measured
 * itself: measured by conversions of a small and a large tensor, kept in the timing cache as all
 * timings are; where nothing is measured the policy's. The processor's are always the policy's:
 * what decides is how bytes, work and steps compare, and a load beside a short copy would change
 * that, so that no two builds had the same estimates. How fast runs read the network's weights,
 * measured by reading them. And how far off the estimates of each kernel were where it was
 * measured, kept there too: a build without measuring corrects its estimates by that.
 */
#ifndef TN_BUILDER_TIMING_TIMING_RATES_H
#define TN_BUILDER_TIMING_TIMING_RATES_H

#include "builder/lower/candidate.h"

/* Sets lowering->rates and is_resident. */
tn_status tn_timing_rates_find(tn_lowering *lowering);

/* A factor on the estimates of a candidate's kernel with the format that it writes, in a build that
 * measures nothing and has a timing cache; else 1. */
double tn_timing_fit_of(const tn_lowering *lowering, uint32_t node, const tn_candidate *candidate);
/* Notes in the cache by how much measured times of a build that measures differ from estimates. */
tn_status tn_timing_fit_keep(tn_lowering *lowering);

#endif
