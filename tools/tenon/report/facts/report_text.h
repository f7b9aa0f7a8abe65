/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for a report's page. Names come from a model and may be anything: every function here writes
 * what is safe in HTML, in a quoted attribute and in SVG. Bytes that are not UTF-8, control
 * characters and marks that turn the direction of writing become U+FFFD. Numbers do not depend on
 * the locale.
 */
#ifndef TENON_REPORT_TEXT_H
#define TENON_REPORT_TEXT_H

#include "text/json.h"

#include <stddef.h>
#include <stdio.h>

/* At most `limit` characters: of a longer text the beginning and the end, with an ellipsis. */
void report_put_text(FILE *page, const char *text, size_t limit);
/* As a JSON string in quotes that may stand inside a script element; shortened in the same way. */
void report_put_json(FILE *page, const char *text, size_t limit);

void report_put_fixed(FILE *page, double value, int decimals);
/* A number of a document, and a share of it in percent; nothing where it is not there. */
void report_put_number(FILE *page, const json *number);
void report_put_share(FILE *page, const json *share);
/* With a unit, to about three digits: "12.3 µs", "45.6 KiB". */
void report_put_time(FILE *page, double ns);
void report_put_bytes(FILE *page, double bytes);
void report_put_percent(FILE *page, double part, double whole);

#endif
