/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a report's page: the conversions and all steps. A column that is empty for all rows is
 * left out. */
#ifndef TENON_REPORT_TABLES_H
#define TENON_REPORT_TABLES_H

#include "report/facts/report_facts.h"

#include <stdio.h>

void report_conversions_put(FILE *page, const report_facts *facts);
/* False: no memory. */
bool report_steps_put(FILE *page, const report_facts *facts);

#endif
