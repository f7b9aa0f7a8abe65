/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one idiom for errors: a function that can fail sets the thread's last error and returns its
 * status; callers use TN_TRY, or TN_GO with one `done:` label that frees in reverse. The text lies
 * in a room of the thread's own (error_store.h), of fixed size. Public side: tenon/status.h.
 */
#ifndef TN_BASE_STATUS_H
#define TN_BASE_STATUS_H

#include "base/error_copy.h"

#include <stdarg.h>
#include <tenon/status.h>

#define TN_TRY(call)                                                                               \
    do {                                                                                           \
        tn_status tn_try_status = (call);                                                          \
        if (tn_try_status != TN_OK) return tn_try_status;                                          \
    } while (0)

/* Sets `status` (a local variable) and goes to `done` when the call fails. */
#define TN_GO(call)                                                                                \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != TN_OK) goto done;                                                            \
    } while (0)

/* Records a new error (message and status; the chain of places becomes empty) and returns `status`,
 * or TN_ERROR_INTERNAL when that is TN_OK: a failure is never taken for success. */
tn_status tn_fail(tn_status status, const char *format, ...) TN_PRINTF(2, 3);
/* The common case: no memory for `what`. */
tn_status tn_fail_memory(const char *what);
/* Tells the compiler so, which then sees that results are set wherever a call succeeded. */
static inline tn_status tn_status_failed(tn_status status) {
    if (status == TN_OK) __builtin_unreachable();
    return status;
}
#define tn_fail(...)         tn_status_failed(tn_fail(__VA_ARGS__))
#define tn_fail_memory(what) tn_status_failed(tn_fail_memory(what))
/* Puts a place before the chain of the last error and returns `status` unchanged (nothing happens
 * on TN_OK): `return tn_error_at(status, "node '%s'", name)`. */
tn_status tn_error_at(tn_status status, const char *format, ...) TN_PRINTF(2, 3);
/* Keeps the last error safe while clean-up runs code that may fail. */
void tn_error_save(tn_error_copy *out_copy);
void tn_error_restore(const tn_error_copy *copy);
/* Forgets the last error, where a failure was an answer (a probe), not a fault. */
void tn_error_clear(void);

#endif
