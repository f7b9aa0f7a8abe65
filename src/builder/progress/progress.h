/* SPDX-License-Identifier: Apache-2.0 */
/* Telling the caller of a long work how far it has come, and hearing from him that it is to end. */
#ifndef TN_BUILDER_PROGRESS_PROGRESS_H
#define TN_BUILDER_PROGRESS_PROGRESS_H

#include <tenon/status.h>

typedef struct tn_progress {
    bool (*function)(void *user, const char *stage, uint64_t done,
                     uint64_t count); /* may be null */
    void *user;
    /* what was told last, and when */
    const char *stage;
    uint64_t done, count;
    double told_ns;
    bool is_cancelled;
} tn_progress;

/* TN_ERROR_CANCELLED where the caller says so, now and ever after. Null: nobody is told. [thread:
 * the caller's] */
tn_status tn_progress_tell(tn_progress *progress, const char *stage, uint64_t done, uint64_t count);
/* The same as last time, for the inside of long steps; asks now and then only. */
tn_status tn_progress_again(tn_progress *progress);

#endif
