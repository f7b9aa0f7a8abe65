/* SPDX-License-Identifier: Apache-2.0 */
/* Errors at a position of a text. */
#ifndef TN_IMPORTERS_PROTOTEXT_POSITION_H
#define TN_IMPORTERS_PROTOTEXT_POSITION_H

#include "base/status.h"

#include <stdint.h>

/* A new error at a position of the text: "line 3, column 5: ...". */
tn_status tn_prototext_fail_at(uint32_t line, uint32_t column, tn_status status, const char *format,
                               ...) TN_PRINTF(4, 5);

#endif
