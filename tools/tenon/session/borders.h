/* SPDX-License-Identifier: Apache-2.0 */
/* --border NAME=TYPE[:nhwc]: other types, or channels last, at the network's inputs and outputs. */
#ifndef TENON_BORDERS_H
#define TENON_BORDERS_H

#include "cli/cli.h"

/* Applies those of the options to a graph. False after having said why (*out_exit). */
bool borders_apply(tn_graph *graph, const cli_options *options, int *out_exit);

#endif
