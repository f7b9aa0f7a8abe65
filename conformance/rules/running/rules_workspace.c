/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of reshape: the workspace of shapes that no run here could have. What a kernel asks for is
 * computed in 64 bits: it grows with the extents, or is refused. Nothing is run in these shapes.
 * See rules.h.
 */
#include "base/status.h"
#include "rules/rules.h"
#include "worker/watch/trace.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* All of 32 bits are 0 of the last ones' bytes. */
static const int64_t MODERATE = INT64_C(1) << 22;
static const int64_t long_extents[] = {INT64_C(1) << 29, INT64_C(1) << 30, INT64_C(1) << 31,
                                       INT64_C(1) << 32};

/* Tables of so many elements cannot be had: what asks for them is refused. */
static struct rlimit limit_memory(void) {
    enum { SPARE_BYTES = 1 << 30 };
    struct rlimit before = {RLIM_INFINITY, RLIM_INFINITY};
    unsigned long pages = 0;
    getrlimit(RLIMIT_AS, &before);
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%lu", &pages) == 1) {
        struct rlimit less = before;
        less.rlim_cur = (rlim_t)pages * 4096 + SPARE_BYTES;
        if (less.rlim_cur < before.rlim_cur) setrlimit(RLIMIT_AS, &less);
    }
    if (file) fclose(file);
    return before;
}

/* The bytes for one extent of a profile from the case's to that one; false: it is refused. */
static bool ask_workspace(const tn_subject *subject, uint32_t axis, int64_t extent,
                          uint64_t *out_bytes, tn_verdict *verdict) {
    tn_probe base = subject->probe, larger = subject->probe;
    tn_probe_life life = {0};
    tn_probe_context context = {0};
    char during[80];
    snprintf(during, sizeof(during), "with an axis %u of %lld", axis, (long long)extent);
    if (!tn_sizes_infer(&larger, axis, extent, during, verdict)) return false;
    base.other = &larger;
    tn_status status = tn_probe_prepare(&life, &base);
    if (status == TN_OK) status = tn_probe_open(&context, &life);
    if (status == TN_OK) status = tn_probe_ask_workspace(&context, &larger);
    *out_bytes = context.workspace_bytes;
    tn_probe_close(&context);
    if (life.probe) tn_probe_release(&life);
    return status == TN_OK;
}

static void check_axis(const tn_subject *subject, uint32_t axis, tn_verdict *verdict) {
    const int64_t extent = subject->probe.inputs[0].shape.extents[axis];
    uint64_t own = 0, next = 0, moderate = 0, bytes = 0;
    if (!ask_workspace(subject, axis, extent, &own, verdict) ||
        !ask_workspace(subject, axis, 2 * extent + 3, &next, verdict) || next <= own ||
        !ask_workspace(subject, axis, MODERATE, &moderate, verdict) || moderate <= next)
        return;
    for (size_t i = 0; i < TN_COUNT(long_extents) && verdict->outcome == TN_PASSED; i++) {
        if (!ask_workspace(subject, axis, long_extents[i], &bytes, verdict)) continue;
        if (bytes >= moderate && bytes <= INT64_MAX) continue;
        tn_verdict_fail(verdict,
                        "reshape asks for a workspace of %llu bytes where axis %u has %lld "
                        "elements, and for %llu where it has %lld (is it computed in 32 bits?)",
                        (unsigned long long)bytes, axis, (long long)long_extents[i],
                        (unsigned long long)moderate, (long long)MODERATE);
        snprintf(verdict->rule, sizeof(verdict->rule), "workspace-inside");
    }
}

void tn_rule_run_workspace(const tn_test *test, tn_verdict *verdict) {
    static const double SECONDS = 0.3;
    tn_subject subject;
    tn_verdict none = {0}, found = {0};
    if (!test->kernel || !test->kernel->reshape || !tn_test_subject(test, NULL, &subject, &none))
        return;
    const tn_probe_port *first = &subject.probe.inputs[0];
    const bool is_data =
        subject.probe.input_count > 0 && first->is_given && !first->is_value_needed;
    const struct rlimit before = limit_memory();
    tn_trace_limit(SECONDS, test->text);
    for (uint32_t axis = 0; is_data && axis < first->shape.rank; axis++)
        if (found.outcome == TN_PASSED) check_axis(&subject, axis, &found);
    tn_trace_limit(0, NULL);
    setrlimit(RLIMIT_AS, &before);
    if (found.outcome == TN_FAILED && strcmp(found.rule, "workspace-inside") == 0) *verdict = found;
    tn_subject_destroy(&subject);
}
