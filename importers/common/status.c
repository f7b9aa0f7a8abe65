/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The errors of base/status.h for readers that are libraries of their own: recorded by the reading
 * that the thread is in (tn_import_read), whose host keeps them. Outside of one they are nothing.
 */
#include "base/status.h"
#include "importers/common/import.h"

#include <stdio.h>
#include <string.h>

/* Defined here: see there (__clang_analyzer__). */
#undef tn_error_at
#undef tn_error_in_position
#undef tn_error_at_byte
#undef tn_error_shift
#undef tn_error_mend
#undef tn_error_mend_nearest

static _Thread_local const tn_import *current;

tn_status tn_import_read(tn_import *import, tn_status (*read)(tn_import *import)) {
    const tn_import *outer = current;
    current = import;
    const tn_status status = read(import);
    current = outer;
    return status;
}

static tn_import *reading(void) {
    return (tn_import *)(uintptr_t)current;
}

tn_status(tn_fail)(tn_status status, const char *format, ...) {
    char text[2048];
    va_list arguments;
    if (status == TN_OK) status = TN_ERROR_INTERNAL;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof(text), format, arguments) < 0) text[0] = '\0';
    va_end(arguments);
    return current ? current->services->fail(reading(), status, "%s", text) : status;
}

tn_status(tn_fail_memory)(const char *what) {
    return tn_fail(TN_ERROR_MEMORY, "no memory for %s", what);
}

tn_status tn_error_at(tn_status status, const char *format, ...) {
    char text[1024];
    va_list arguments;
    if (status == TN_OK || !current) return status;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof(text), format, arguments) < 0) text[0] = '\0';
    va_end(arguments);
    return current->services->at(reading(), status, "%s", text);
}

tn_status tn_error_in_position(tn_status status, const tn_error_position *position) {
    const tn_import_place where = {.size = sizeof(where),
                                   .line = position->line,
                                   .column = position->column,
                                   .is_in_message = position->is_in_message,
                                   .offset = UINT64_MAX,
                                   .file = position->file,
                                   .node = position->node,
                                   .node_kind = position->node_kind,
                                   .op = position->op,
                                   .op_kind = position->op_kind,
                                   .mend = position->mend};
    if (status == TN_OK || !current) return status;
    return current->services->at_place(reading(), status, &where);
}

tn_status tn_error_at_byte(tn_status status, uint64_t offset) {
    const tn_import_place where = {.size = sizeof(where), .offset = offset};
    if (status == TN_OK || !current) return status;
    return current->services->at_place(reading(), status, &where);
}

tn_status tn_error_mend(tn_status status, const char *joint, const char *format, ...) {
    char text[1024];
    va_list arguments;
    if (status == TN_OK || !current) return status;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof(text), format, arguments) < 0) text[0] = '\0';
    va_end(arguments);
    return current->services->mend(reading(), status, joint, text);
}

tn_status tn_error_mend_nearest(tn_status status, const char *joint, const char *nearest) {
    return nearest ? tn_error_mend(status, joint, "the nearest is '%s'", nearest) : status;
}

void tn_error_clear(void) {
    if (current) current->services->forget(reading());
}

const tn_error *tn_last_error(void) {
    static _Thread_local tn_error error;
    error = (tn_error){.size = sizeof(error), .message = "", .where = ""};
    if (current) error.status = current->services->last(reading(), &error.message, &error.where);
    return &error;
}
