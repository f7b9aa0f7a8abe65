/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread's last error. All text lies in the thread's state (error_store.h), of fixed size. The
 * chain of positions grows at its front, since the outer callers add theirs last.
 */
#include "base/status.h"
#include "base/error_store.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#undef tn_fail
#undef tn_fail_memory
#undef tn_error_at
#undef tn_error_in_position
#undef tn_error_at_byte
#undef tn_error_shift
#undef tn_error_mend
#undef tn_error_mend_nearest

#define WITHOUT_POSITION                                                                           \
    .where = "", .node = "", .op = "", .library = "", .file = "", .offset = UINT64_MAX, .mend = ""
/* Of a thread that never failed, and of one whose error found no memory. */
static const tn_error no_error = {
    .size = sizeof(tn_error), .status = TN_OK, .message = "", WITHOUT_POSITION};
static const tn_error lost_error = {.size = sizeof(tn_error),
                                    .status = TN_ERROR_MEMORY,
                                    .message = "no memory for the text of this thread's last error",
                                    WITHOUT_POSITION};
static atomic_bool is_any_lost;

const tn_error *tn_last_error(void) {
    tn_error_state *state = tn_error_store_find();
    if (!state) return atomic_load(&is_any_lost) ? &lost_error : &no_error;
    const tn_error_copy *error = &state->error;
    state->view = (tn_error){.size = sizeof(tn_error),
                             .status = error->status,
                             .message = error->message,
                             .where = error->where,
                             .node = error->node,
                             .op = error->op,
                             .library = error->library,
                             .file = error->file,
                             .offset = error->status == TN_OK ? UINT64_MAX : error->offset,
                             .line = error->line,
                             .column = error->column,
                             .mend = error->mend};
    return &state->view;
}

/* Where to record an error; null where there is no memory for it. */
static tn_error_copy *get_error(void) {
    tn_error_state *state = tn_error_store_get();
    if (!state) atomic_store(&is_any_lost, true);
    return state ? &state->error : NULL;
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

static void forget(tn_error_copy *error) {
    error->status = TN_OK;
    error->line = error->column = 0;
    error->offset = UINT64_MAX;
    error->message[0] = error->where[0] = error->mend[0] = 0;
    error->node[0] = error->op[0] = error->library[0] = error->file[0] = 0;
}

/* Errors are several kilobytes; most of what is kept and set back is that there is none. */
static void copy_error(tn_error_copy *to, const tn_error_copy *from) {
    if (from->status == TN_OK)
        forget(to);
    else
        *to = *from;
}

static tn_status fail_with(tn_status status, const char *format, va_list arguments) {
    tn_error_copy *error = get_error();
    char text[sizeof(error->message)]; /* the arguments may point into the last error */
    if (status == TN_OK) status = TN_ERROR_INTERNAL;
    vsnprintf(text, sizeof(text), format, arguments);
    if (!error) return status;
    forget(error);
    memcpy(error->message, text, strlen(text) + 1);
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
static void prepend(char *text, size_t capacity, const char *before) {
    char joined[sizeof(((tn_error_copy *)0)->where)];
    const int length = snprintf(joined, sizeof(joined), text[0] ? "%s: %s" : "%s", before, text);
    const size_t bytes = length >= 0 ? strlen(joined) + 1 : 0; /* cut where it is longer */
    memcpy(text, joined, bytes < capacity ? bytes : capacity);
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

/* A text that grows within an array of its own. */
typedef struct bounded_text {
    char data[sizeof(((tn_error_copy *)0)->where)];
    size_t length;
} bounded_text;

static void TN_PRINTF(2, 3) add_text(bounded_text *text, const char *format, ...) {
    const size_t capacity = sizeof(text->data) - text->length;
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text->data + text->length, capacity, format, arguments);
    va_end(arguments);
    if (length > 0) text->length += (size_t)length < capacity ? (size_t)length : capacity - 1;
}

static void compose(bounded_text *text, const tn_error_position *position) {
    const char *const domain = position->domain ? position->domain : "";
    const char *const node_kind = position->node_kind ? position->node_kind : "node";
    const char *const op_kind = position->op_kind ? position->op_kind : "operator";
    if (position->file) add_text(text, "%s", position->file);
    if (position->node)
        add_text(text, "%s%s '%s'", text->length ? ": " : "", node_kind, position->node);
    if (position->node && position->line) add_text(text, " (line %" PRIu32 ")", position->line);
    if (position->op)
        add_text(text, "%s%s %s%s%s", text->length ? ": " : "", op_kind, domain,
                 domain[0] ? "::" : "", position->op);
    if (position->kernel) add_text(text, "%skernel %s", text->length ? ": " : "", position->kernel);
    if (position->library && (position->op || position->kernel))
        add_text(text, " (library %s)", position->library);
    else if (position->library)
        add_text(text, "%slibrary '%s'", text->length ? ": " : "", position->library);
}

static void keep_name(char *kept, size_t capacity, const char *name) {
    if (!kept[0] && name) snprintf(kept, capacity, "%s", name);
}

tn_status tn_error_in_position(tn_status status, const tn_error_position *position) {
    tn_error_copy *error = status == TN_OK ? NULL : get_error();
    bounded_text text = {.length = 0};
    if (!error) return status;
    if (!position->is_in_message) compose(&text, position);
    if (!error->node[0]) {
        const char *domain = position->op && position->domain ? position->domain : "";
        if (!error->op[0] && domain[0])
            snprintf(error->op, sizeof(error->op), "%s::%s", domain, position->op);
        keep_name(error->op, sizeof(error->op), position->op);
        keep_name(error->library, sizeof(error->library), position->library);
    }
    keep_name(error->node, sizeof(error->node), position->node);
    keep_name(error->file, sizeof(error->file), position->file);
    if (!error->line) {
        error->line = position->line;
        error->column = position->column;
    }
    keep_name(error->mend, sizeof(error->mend), position->mend);
    if (text.length) prepend(error->where, sizeof(error->where), text.data);
    return status;
}

tn_status tn_error_at_byte(tn_status status, uint64_t offset) {
    tn_error_copy *error = status == TN_OK ? NULL : get_error();
    if (error && error->offset == UINT64_MAX) error->offset = offset;
    return status;
}

tn_status tn_error_shift(tn_status status, uint64_t begin) {
    tn_error_copy *error = status == TN_OK ? NULL : get_error();
    if (error && error->offset != UINT64_MAX) error->offset += begin;
    return status;
}

tn_status tn_error_mend(tn_status status, const char *joint, const char *format, ...) {
    tn_error_copy *error = status == TN_OK ? NULL : get_error();
    char text[sizeof(error->mend)]; /* the arguments may point into the last error */
    va_list arguments;
    if (!error) return status;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    memcpy(error->mend, text, sizeof(text));
    const size_t length = strlen(error->message);
    snprintf(error->message + length, sizeof(error->message) - length, "%s%s", joint, text);
    return status;
}

tn_status tn_error_mend_nearest(tn_status status, const char *joint, const char *nearest) {
    return nearest ? tn_error_mend(status, joint, "the nearest is '%s'", nearest) : status;
}

void tn_error_save(tn_error_copy *out_copy) {
    const tn_error_state *state = tn_error_store_find();
    if (state)
        copy_error(out_copy, &state->error);
    else
        forget(out_copy);
}

void tn_error_restore(const tn_error_copy *copy) {
    tn_error_copy *error = get_error();
    if (error) copy_error(error, copy);
}

void tn_error_clear(void) {
    tn_error_state *state = tn_error_store_find();
    if (!state) return;
    forget(&state->error);
}

/* ----------------------------------------------------------------------------------------------
 * options */

tn_status tn_options_read(void *to, size_t bytes, const void *given, const char *what) {
    uint32_t size = 0;
    memset(to, 0, bytes);
    if (!given) return TN_OK;
    memcpy(&size, given, sizeof(size));
    if (size < sizeof(size) || size > UINT16_MAX)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "`size` of %s is not set, it is %" PRIu32 ": expected their sizeof, %zu",
                       what, size, bytes);
    memcpy(to, given, size < bytes ? size : bytes);
    return TN_OK;
}

tn_status tn_options_check_flags(uint32_t flags, uint32_t known, const char *what) {
    if (!(flags & ~known)) return TN_OK;
    return tn_fail(TN_ERROR_ARGUMENT, "%s have flags that are not known: 0x%" PRIx32, what,
                   flags & ~known);
}

tn_status tn_options_check_threads(uint32_t threads, const char *what) {
    if (threads <= TN_THREAD_LIMIT) return TN_OK;
    return tn_fail(TN_ERROR_ARGUMENT, "%" PRIu32 " threads in %s: expected at most %u", threads,
                   what, TN_THREAD_LIMIT);
}

tn_status tn_options_check_array(uint64_t count, const void *array, const char *what) {
    if (count > 0 && !array)
        return tn_fail(TN_ERROR_ARGUMENT, "%s are counted but not given", what);
    for (uint64_t i = 0; i < count; i++) {
        const void *item;
        memcpy(&item, (const char *)array + i * sizeof(item), sizeof(item));
        if (!item)
            return tn_fail(TN_ERROR_ARGUMENT, "number %" PRIu64 " of the %s is null", i, what);
    }
    return TN_OK;
}
