/* SPDX-License-Identifier: Apache-2.0 */
/* Building in a lower precision: calibration from a table or from sample inputs, the bound on the
 * loss of accuracy, and the reports of both. */
#ifndef TENON_PRECISION_H
#define TENON_PRECISION_H

#include "cli/cli.h"

/* What calibrating and measuring said, as JSON; null where it was not done. */
typedef struct precision_reports {
    char *calibration, *accuracy;
} precision_reports;
void precision_reports_free(tn_runtime *runtime, precision_reports *reports);

/* Reads --precision, with the second one after a comma, 0: none; false when there is no such. */
bool precision_parse(const char *text, uint32_t *out_precision, uint32_t *out_second);

/* Builds the graph as the options' precision says; `build` has everything else. Null after having
 * said why (*out_exit). */
tn_plan *precision_build(tn_graph *graph, tn_runtime *runtime, const char *model,
                         const cli_options *options, const tn_builder_options *build,
                         precision_reports *out_reports, int *out_exit);

/* The plan's report with those of calibration and accuracy as members; freed by the caller, null
 * when there is no memory. */
char *precision_join_reports(const char *report, const precision_reports *reports);

#endif
