/* SPDX-License-Identifier: Apache-2.0 */
/* See progress.h. */
#include "builder/progress/progress.h"
#include "base/clock.h"
#include "base/status.h"

#include <inttypes.h>

#define INTERVAL_NS 20e6

tn_status tn_progress_tell(tn_progress *progress, const char *stage, uint64_t done,
                           uint64_t count) {
    if (!progress || !progress->function) return TN_OK;
    progress->stage = stage;
    progress->done = done;
    progress->count = count;
    progress->is_cancelled =
        progress->is_cancelled || !progress->function(progress->user, stage, done, count);
    progress->told_ns = (double)tn_now_ns();
    if (!progress->is_cancelled) return TN_OK;
    return tn_fail(TN_ERROR_CANCELLED, "stopped by the caller at %" PRIu64 " of %" PRIu64 " (%s)",
                   done, count, stage);
}

tn_status tn_progress_again(tn_progress *progress) {
    if (!progress || !progress->function || !progress->stage) return TN_OK;
    if (!progress->is_cancelled && (double)tn_now_ns() - progress->told_ns < INTERVAL_NS)
        return TN_OK;
    return tn_progress_tell(progress, progress->stage, progress->done, progress->count);
}
