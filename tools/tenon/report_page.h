/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a build as a page: for each layer its types, time, scale, clipping and error, and
 * why it stayed in floats; histograms as pictures. One file, nothing from elsewhere. */
#ifndef TENON_REPORT_PAGE_H
#define TENON_REPORT_PAGE_H

#include <stdbool.h>

/* `report` is the builder's JSON, with those of calibration and accuracy as members where they are
 * there. False after having said why. */
bool report_page_write(const char *path, const char *model, const char *report);

#endif
