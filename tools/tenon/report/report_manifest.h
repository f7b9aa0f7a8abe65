/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a report's page about the whole: the network's inputs and outputs with their shapes,
 * and, of a plan, the libraries that it needs. */
#ifndef TENON_REPORT_MANIFEST_H
#define TENON_REPORT_MANIFEST_H

#include "report/facts/report_facts.h"

#include <stdio.h>

void report_ports_put(FILE *page, const report_facts *facts);
void report_libraries_put(FILE *page, const report_facts *facts); /* nothing where none is named */

#endif
