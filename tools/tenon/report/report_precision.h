/* SPDX-License-Identifier: Apache-2.0 */
/* What a report's page says of a build in a lower precision: accuracy, calibrated tensors, and why
 * a node stayed in floats. */
#ifndef TENON_REPORT_PRECISION_H
#define TENON_REPORT_PRECISION_H

#include "text/json.h"

#include <stdio.h>

/* Write nothing where the report has nothing about it. */
void report_precision_why(FILE *page, const json *report, const json *node);
void report_precision_put(FILE *page, const json *report);

#endif
