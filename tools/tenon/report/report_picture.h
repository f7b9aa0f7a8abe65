/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of a report, as SVG inside a page. */
#ifndef TENON_REPORT_PICTURE_H
#define TENON_REPORT_PICTURE_H

#include "text/json.h"

#include <stdio.h>

/* The histogram of a tensor's report: bars of logarithmic height, what is cut off in another
 * colour, a line at the bound; with an axis when `has_axis`. */
void report_picture_histogram(FILE *page, const json *tensor, int width, int height, bool has_axis);

#endif
