/* SPDX-License-Identifier: Apache-2.0 */
/* Errors at a position of a text. */
#ifndef TN_IMPORTERS_PROTOTEXT_POSITION_H
#define TN_IMPORTERS_PROTOTEXT_POSITION_H

#include "base/status.h"

#include <stdint.h>

/* A new TN_ERROR_FORMAT at a position of the text: "line 3, column 5: ..."; line 0: there is none.
 */
tn_status tn_prototext_fail_at(uint32_t line, uint32_t column, const char *format, ...)
    TN_PRINTF(3, 4);

#endif
