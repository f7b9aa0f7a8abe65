/* SPDX-License-Identifier: Apache-2.0 */
/* Errors at a position of a text; see position.h. */
#include "importers/prototext/position.h"

#include <stdarg.h>
#include <stdio.h>

tn_status tn_prototext_fail_at(uint32_t line, uint32_t column, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (line == 0) return tn_fail(TN_ERROR_FORMAT, "%s", text);
    const tn_status status = tn_fail(TN_ERROR_FORMAT, "line %u, column %u: %s", line, column, text);
    return tn_error_in(status, .line = line, .column = column);
}
