/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread's last error. All text lies in the thread's room (error_store.h), of fixed size. The
 * chain of positions grows at its front, since the outer callers add theirs last.
 */
#include "base/status.h"
#include "base/error_store.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#undef tn_fail
#undef tn_fail_memory

/* Of a thread that never failed, and of one whose error found no room. */
static const tn_error no_error = {
    .size = sizeof(tn_error), .status = TN_OK, .message = "", .where = ""};
static const tn_error lost_error = {.size = sizeof(tn_error),
                                    .status = TN_ERROR_MEMORY,
                                    .message = "no memory for the text of this thread's last error",
                                    .where = ""};
static atomic_bool is_any_lost;

const tn_error *tn_last_error(void) {
    tn_error_room *room = tn_error_store_find();
    if (!room) return atomic_load(&is_any_lost) ? &lost_error : &no_error;
    room->view = (tn_error){.size = sizeof(tn_error),
                            .status = room->error.status,
                            .message = room->error.message,
                            .where = room->error.where};
    return &room->view;
}

/* Where to record an error; null where there is no memory for it. */
static tn_error_copy *get_error(void) {
    tn_error_room *room = tn_error_store_get();
    if (!room) atomic_store(&is_any_lost, true);
    return room ? &room->error : NULL;
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
    tn_error_copy *error = get_error();
    char text[sizeof(error->message)]; /* the arguments may point into the last error */
    if (status == TN_OK) status = TN_ERROR_INTERNAL;
    vsnprintf(text, sizeof(text), format, arguments);
    if (!error) return status;
    memcpy(error->message, text, sizeof(text));
    error->where[0] = 0;
    error->status = status;
    return status;
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

/* Puts `before` and ": " in front of what is there, as far as there is room. */
static void prepend(char *text, size_t room, const char *before) {
    char joined[sizeof(((tn_error_copy *)0)->where)];
    const int length = snprintf(joined, sizeof(joined), text[0] ? "%s: %s" : "%s", before, text);
    if (length >= 0) memcpy(text, joined, room); /* cut where it is longer */
}

tn_status tn_error_at(tn_status status, const char *format, ...) {
    tn_error_copy *error = status == TN_OK ? NULL : get_error();
    char text[sizeof(error->where)];
    va_list arguments;
    if (!error) return status;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    prepend(error->where, sizeof(error->where), text);
    return status;
}

void tn_error_save(tn_error_copy *out_copy) {
    const tn_error_room *room = tn_error_store_find();
    if (room)
        *out_copy = room->error;
    else
        *out_copy = (tn_error_copy){.status = TN_OK};
}

void tn_error_restore(const tn_error_copy *copy) {
    tn_error_copy *error = get_error();
    if (error) *error = *copy;
}

void tn_error_clear(void) {
    tn_error_room *room = tn_error_store_find();
    if (!room) return;
    room->error.status = TN_OK;
    room->error.message[0] = 0;
    room->error.where[0] = 0;
}
