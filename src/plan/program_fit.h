/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a stored program is one for this machine, and what is different where it is not, in words
 * for people: a device's fingerprint is a row of parts, of which mostly one differs.
 */
#ifndef TN_PLAN_PROGRAM_FIT_H
#define TN_PLAN_PROGRAM_FIT_H

#include "base/text.h"

/* What a program was lowered for, or what there is. */
typedef struct tn_program_target {
    const char *fingerprint;
    uint32_t threads; /* 0: any */
} tn_program_target;

bool tn_program_fits(const tn_program_target *program, const tn_program_target *here);
/* Appends what the program was built for and this machine is not, like "for 4 threads, not 2" or
 * "with avx512f,avx512bw, which this machine lacks". Nothing where it fits. */
void tn_program_fit_explain(tn_text *text, const tn_program_target *program,
                            const tn_program_target *here);

#endif
