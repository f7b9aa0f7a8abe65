/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the check of a program (program_check.c) share. */
#ifndef TN_PROGRAM_CHECK_H
#define TN_PROGRAM_CHECK_H

#include "program/program.h"

/* Whether the program is for another device than the processor. */
bool tn_program_has_device(const tn_program *program);

/* Each value by itself, and those of inputs and outputs: after this check they may be indexed with.
 * `out_is_made`, by value, gets what is there before the first step; it is zeroed before. */
tn_status tn_program_check_values(const tn_program *program, const tn_graph *graph,
                                  bool *out_is_made);

#endif
