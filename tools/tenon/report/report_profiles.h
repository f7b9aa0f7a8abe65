/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a plan's profiles in a report's page, where there are several: the ranges of the
 * inputs, and what a run of each takes. All else on the page is of the first one. */
#ifndef TENON_REPORT_PROFILES_H
#define TENON_REPORT_PROFILES_H

#include "report/facts/report_facts.h"

#include <stdio.h>

void report_profiles_put(FILE *page, const report_facts *facts);

#endif
