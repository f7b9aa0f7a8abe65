/* SPDX-License-Identifier: Apache-2.0 */
/* The chart of a run's memory for a report's page: each buffer of the arena as a rectangle, from
 * the step that makes it to the one that reads it last, and the bytes in use at each step. */
#ifndef TENON_REPORT_CHART_H
#define TENON_REPORT_CHART_H

#include "report/facts/report_facts.h"

#include <stdio.h>

/* Writes nothing where the report has no memory. False: no memory for it. */
bool report_chart_put(FILE *page, const report_facts *facts);

#endif
