/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of a page as JSON inside it: for its script, and for who reads the page by program. */
#ifndef TENON_REPORT_EMBED_H
#define TENON_REPORT_EMBED_H

#include "report/facts/report_facts.h"

#include <stdio.h>

void report_embed_put(FILE *page, const report_facts *facts);

#endif
