/* SPDX-License-Identifier: Apache-2.0 */
/* What tenon build prints of a plan that it made, from the builder's report. */
#ifndef TENON_BUILD_SUMMARY_H
#define TENON_BUILD_SUMMARY_H

/* A few lines on stdout: nodes, time, memory; the loss where it was measured; what fell to the
 * processor. Nothing where the report cannot be read. */
void build_summary_print(const char *report);

#endif
