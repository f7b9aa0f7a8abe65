/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of a network for a report's page: one box a step, edges with the type, format and
 * shape of what goes along them, and an overview where the picture is tall. */
#ifndef TENON_REPORT_GRAPH_H
#define TENON_REPORT_GRAPH_H

#include "report/facts/report_facts.h"

#include <stdio.h>

/* False: no memory. */
bool report_graph_put(FILE *page, const report_facts *facts);

#endif
