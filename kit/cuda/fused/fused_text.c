/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text; see fused_text.h. */
#include "kit/cuda/fused/fused_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool tn_fused_text_fail(tn_fused_text *source, tn_status status, const char *format, ...) {
    va_list arguments;
    if (source->status != TN_OK) return false;
    source->status = status;
    va_start(arguments, format);
    if (source->why_bytes > 0 && vsnprintf(source->why, source->why_bytes, format, arguments) < 0)
        source->why[0] = 0;
    va_end(arguments);
    return false;
}

static bool grow(tn_fused_text *source, size_t length) {
    if (source->length + length < source->capacity) return true;
    const size_t capacity = (source->length + length) * 2 + 8192;
    char *data = source->host->allocate(source->host, capacity, 64);
    if (!data)
        return tn_fused_text_fail(source, TN_ERROR_MEMORY, "no memory for the source of a kernel");
    if (source->data) memcpy(data, source->data, source->length);
    source->host->deallocate(source->host, source->data);
    source->data = data;
    source->capacity = capacity;
    return true;
}

bool tn_fused_text_append(tn_fused_text *source, const char *text) {
    const size_t length = strlen(text);
    if (source->status != TN_OK || !grow(source, length)) return false;
    memcpy(source->data + source->length, text, length + 1);
    source->length += length;
    return true;
}

bool tn_fused_text_add(tn_fused_text *source, const char *format, ...) {
    char line[600];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof(line))
        return tn_fused_text_fail(source, TN_ERROR_INTERNAL, "a line of a source is too long");
    return tn_fused_text_append(source, line);
}
