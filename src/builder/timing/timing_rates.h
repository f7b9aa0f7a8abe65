/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device takes for a step and moves in a nanosecond, for estimates of what is not measured
 * itself: measured by conversions of a small and a large tensor, kept in the timing cache as all
 * timings are; where nothing is measured the policy's.
 */
#ifndef TN_BUILDER_TIMING_TIMING_RATES_H
#define TN_BUILDER_TIMING_TIMING_RATES_H

#include "builder/lower/lower_private.h"

/* Sets lowering->rates and is_resident. */
tn_status tn_timing_rates_find(tn_lowering *lowering);

#endif
