/* SPDX-License-Identifier: Apache-2.0 */
/* Bars for a report's page: time by operator, by kernel and by step, and what the candidates of
 * each step took. */
#ifndef TENON_REPORT_BARS_H
#define TENON_REPORT_BARS_H

#include "report/facts/report_facts.h"

#include <stdio.h>

/* Both write nothing where nothing is known. False: no memory. */
bool report_bars_put(FILE *page, const report_facts *facts);
bool report_candidates_put(FILE *page, const report_facts *facts);

/* The step numbers by falling time, to be freed; null: no memory. */
uint32_t *report_steps_by_time(const report_facts *facts);
/* "direct_avx512 + Relu, f32 c16 → f32 c16" */
void report_candidate_label(const json *candidate, char *label, size_t bytes);

#endif
