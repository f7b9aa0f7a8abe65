/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page for people from one JSON document: the report of a build, what is in a plan, or the times
 * of a run. One file, nothing from elsewhere; it reads without its script, too, which adds zoom,
 * search, sorting and the details of a step. In the order of the page:
 *
 *   report_page.c        head and summary
 *   report_bars.c        time by operator, kernel and step
 *   report_graph.c       the picture of the network (report_layout.c: where things lie; boxes,
 *                        edges)
 *   report_chart.c       memory over the steps
 *   report_candidates.c  what the candidates took
 *   report_tables.c      conversions and steps
 *   report_manifest.c    inputs, outputs, libraries
 *   report_precision.c   accuracy and calibration (report_picture.c: histograms)
 *   report_embed.c       the facts as JSON
 *
 * report_facts.c reads the document, report_text.c writes text safely.
 */
#ifndef TENON_REPORT_PAGE_H
#define TENON_REPORT_PAGE_H

#include <stdbool.h>

/* `what` is "build", "plan" or "run". False after having said why. */
bool report_page_write(const char *path, const char *model, const char *what, const char *report);

#endif
