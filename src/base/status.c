/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread's last error. All text lies in a fixed buffer of the thread's own: failing never
 * allocates. The chain of places grows at its front, since the outer callers add theirs last.
 */
#include "base/status.h"

#include <stdio.h>
#include <string.h>

#undef tn_fail
#undef tn_fail_memory

static _Thread_local tn_error_copy last_error;
static _Thread_local tn_error last_error_view;

const tn_error *tn_last_error(void) {
    last_error_view.size = sizeof(last_error_view);
    last_error_view.status = last_error.status;
    last_error_view.message = last_error.message;
    last_error_view.where = last_error.where;
    return &last_error_view;
}

const char *tn_status_name(tn_status status) {
    static const char *const names[] = {
        "TN_OK",           "TN_ERROR_ARGUMENT",  "TN_ERROR_MEMORY",      "TN_ERROR_IO",
        "TN_ERROR_FORMAT", "TN_ERROR_NOT_FOUND", "TN_ERROR_UNSUPPORTED", "TN_ERROR_SHAPE",
        "TN_ERROR_TYPE",   "TN_ERROR_RANGE",     "TN_ERROR_STATE",       "TN_ERROR_PLUGIN",
        "TN_ERROR_DEVICE", "TN_ERROR_CANCELLED", "TN_ERROR_INTERNAL"};
    if (status < 0 || (size_t)status >= sizeof(names) / sizeof(names[0])) return "unknown status";
    return names[status];
}

const char *tn_version(void) {
    return TENON_VERSION;
}

static tn_status fail_with(tn_status status, const char *format, va_list arguments) {
    char text[sizeof(last_error.message)]; /* the arguments may point into the last error */
    vsnprintf(text, sizeof(text), format, arguments);
    memcpy(last_error.message, text, sizeof(text));
    last_error.where[0] = 0;
    last_error.status = status == TN_OK ? TN_ERROR_INTERNAL : status;
    return last_error.status;
}

tn_status tn_fail(tn_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    status = fail_with(status, format, arguments);
    va_end(arguments);
    return status;
}

tn_status tn_fail_memory(const char *what) {
    return tn_fail(TN_ERROR_MEMORY, "no memory for %s", what);
}

tn_status tn_error_at(tn_status status, const char *format, ...) {
    char text[sizeof(last_error.where)];
    va_list arguments;
    if (status == TN_OK) return status;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (length > 0 && (size_t)length < sizeof(text) - 3 && last_error.where[0]) {
        const size_t room = sizeof(text) - (size_t)length - 3, more = strlen(last_error.where);
        memcpy(text + length, ": ", 2);
        memcpy(text + length + 2, last_error.where, more < room ? more : room);
        text[(size_t)length + 2 + (more < room ? more : room)] = 0;
    }
    memcpy(last_error.where, text, sizeof(text));
    return status;
}

void tn_error_save(tn_error_copy *out_copy) {
    *out_copy = last_error;
}
void tn_error_restore(const tn_error_copy *copy) {
    last_error = *copy;
}

void tn_error_clear(void) {
    last_error.status = TN_OK;
    last_error.message[0] = 0;
    last_error.where[0] = 0;
}
