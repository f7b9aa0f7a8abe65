/* SPDX-License-Identifier: Apache-2.0 */
/* The results of a check as a table, as JSON (docs/conformance.md has the schema), as JUnit's XML.
 */
#ifndef TENON_CHECK_REPORT_H
#define TENON_CHECK_REPORT_H

#include "check_run.h"

void check_report_table(const check_results *results, const char *library);
/* Into a file, or "-" for stdout. EXIT_DONE, or an exit code after having said why not. */
int check_report_json(const check_results *results, const char *library, const char *path);
int check_report_junit(const check_results *results, const char *library, const char *path);

#endif
