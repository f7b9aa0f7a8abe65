/* SPDX-License-Identifier: Apache-2.0 */
/* --range TENSOR=7.2 or TENSOR=LO:HI: ranges by hand, in the tensor's own numbers, on top of those
 * that calibration found. */
#ifndef TENON_RANGES_H
#define TENON_RANGES_H

#include "cli/cli.h"

/* Whether each range is one, and of a tensor of the network; false after having said why
 * (*out_exit). */
bool ranges_check(const cli_options *options, const tn_graph *graph, int *out_exit);
/* Sets them in the table, which is made where it is null. Scales are symmetric: a range counts by
 * its larger magnitude m, as m / 127. */
bool ranges_apply(const cli_options *options, tn_runtime *runtime, tn_calibration **inout_table,
                  int *out_exit);

#endif
