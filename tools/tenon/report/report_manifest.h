/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a report's page about the whole: the network's inputs and outputs with their shapes,
 * and, of a plan, the libraries that it needs and what its model said of itself. */
#ifndef TENON_REPORT_MANIFEST_H
#define TENON_REPORT_MANIFEST_H

#include "report/facts/report_facts.h"

#include <stdio.h>

void report_ports_put(FILE *page, const report_facts *facts);
void report_libraries_put(FILE *page, const report_facts *facts); /* nothing where none is named */
/* Nothing where the plan says nothing. */
void report_model_put(FILE *page, const report_facts *facts);

#endif
