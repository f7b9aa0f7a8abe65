/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one idiom for errors: a function that can fail sets the thread's last error and returns its
 * status; callers use TN_TRY, or TN_GO with one `done:` label that frees in reverse. The text lies
 * in a state of the thread's own (error_store.h), of fixed size. Public side: tenon/status.h.
 */
#ifndef TN_BASE_STATUS_H
#define TN_BASE_STATUS_H

#include "base/error_copy.h"

#include <stdarg.h>
#include <tenon/plugin/try.h>
#include <tenon/status.h>

/* Sets `status` (a local variable) and goes to `done` when the call fails. */
#define TN_GO(call)                                                                                \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != TN_OK) goto done;                                                            \
    } while (0)

/* Records a new error (message and status; the chain of locations becomes empty) and returns
 * `status`, or TN_ERROR_INTERNAL when that is TN_OK: a failure is never taken for success. */
tn_status tn_fail(tn_status status, const char *format, ...) TN_PRINTF(2, 3);
/* The common case: no memory for `what`. */
tn_status tn_fail_memory(const char *what);
/* Tells the compiler so, which then sees that results are set wherever a call succeeded. */
#define TN_STATUS_FAILED(call)                                                                     \
    __extension__({                                                                                \
        const tn_status tn_status_failed = (call);                                                 \
        if (tn_status_failed == TN_OK) __builtin_unreachable();                                    \
        tn_status_failed;                                                                          \
    })
#define tn_fail(...)         TN_STATUS_FAILED(tn_fail(__VA_ARGS__))
#define tn_fail_memory(what) TN_STATUS_FAILED(tn_fail_memory(what))
/* Puts a position before the chain of the last error and returns `status` unchanged (nothing
 * happens on TN_OK): `return tn_error_at(status, "input '%s'", name)`. */
tn_status tn_error_at(tn_status status, const char *format, ...) TN_PRINTF(2, 3);
/* A position that callers of the library may ask for by itself. What is null or 0 is not said. */
typedef struct tn_error_position {
    const char *file;
    const char *node, *node_kind;      /* node_kind null: "node" */
    const char *domain, *op, *op_kind; /* op_kind null: "operator" */
    const char *kernel, *library;
    uint32_t line, column; /* in the file; in the chain a node's line alone */
    const char *mend;      /* what the message ends with; never in the chain */
    bool is_in_message;    /* the message says all this: the parts are kept, the chain stays */
} tn_error_position;
/* Puts it before the chain as "FILE: node 'NODE': operator DOMAIN::OP: kernel KERNEL (library
 * LIBRARY)" and keeps its parts, each where none was kept before: the innermost counts. Operator
 * and library belong to the node: once that is known, outer ones are not kept. */
tn_status tn_error_in_position(tn_status status, const tn_error_position *position);
#define tn_error_in(status, ...)                                                                   \
    tn_error_in_position((status), &(const tn_error_position){__VA_ARGS__})
/* Keeps where in the file it is; the message says it in words. */
tn_status tn_error_at_byte(tn_status status, uint64_t offset);
/* What was read begins there in the file: the offset counts from it. */
tn_status tn_error_shift(tn_status status, uint64_t begin);
/* Ends the message with what would mend it, after `joint` ("; "), and keeps that by itself. */
tn_status tn_error_mend(tn_status status, const char *joint, const char *format, ...)
    TN_PRINTF(3, 4);
/* The same for the nearest of the names that there are; null: there is none near. */
tn_status tn_error_mend_nearest(tn_status status, const char *joint, const char *nearest);
/* The analyzer, which sees one file, is told that these return `status` unchanged. */
#ifdef __clang_analyzer__
#define tn_error_at(status, ...)          ((void)tn_error_at(TN_OK, __VA_ARGS__), (status))
#define tn_error_in_position(status, ...) ((void)tn_error_in_position(TN_OK, __VA_ARGS__), (status))
#define tn_error_at_byte(status, offset)  ((void)tn_error_at_byte(TN_OK, offset), (status))
#define tn_error_shift(status, begin)     ((void)tn_error_shift(TN_OK, begin), (status))
#define tn_error_mend(status, ...)        ((void)tn_error_mend(TN_OK, __VA_ARGS__), (status))
#define tn_error_mend_nearest(status, joint, nearest)                                              \
    ((void)tn_error_mend_nearest(TN_OK, joint, nearest), (status))
#endif
/* Keeps the last error safe while clean-up runs code that may fail. */
void tn_error_save(tn_error_copy *out_copy);
void tn_error_restore(const tn_error_copy *copy);
/* Copies what a caller's struct of options has of `bytes`, which may be less or more, as its first
 * member, the size, says; the rest is zero, and all of it where `given` is null. TN_ERROR_ARGUMENT:
 * the size is not set. `what`: "the builder options". */
tn_status tn_options_read(void *to, size_t bytes, const void *given, const char *what);
/* TN_ERROR_ARGUMENT where there are flags that are not known. */
tn_status tn_options_check_flags(uint32_t flags, uint32_t known, const char *what);
/* Threads of one engine: more than any machine has, and few enough to make. */
#define TN_THREAD_LIMIT 1024u
/* TN_ERROR_ARGUMENT where there are more. `what`: "the builder options". */
tn_status tn_options_check_threads(uint32_t threads, const char *what);
/* An array of texts, or of pointers to structs, that a caller counts: TN_ERROR_ARGUMENT where it is
 * not there, or has a null in it. `what`: "nodes to keep". */
tn_status tn_options_check_array(uint64_t count, const void *array, const char *what);
/* Forgets the last error, where a failure was an answer (a probe), not a fault. */
void tn_error_clear(void);

#endif
