/* SPDX-License-Identifier: Apache-2.0 */
/* Runs again and again; see often.h. */
#include "base/clock.h"
#include "base/hash.h"
#include "rules/threads/often.h"
#include "worker/probe/frame.h"
#include "worker/watch/trace.h"

#include <string.h>

static const double WALL_SECONDS = 0.5;
enum { LEAST_RUNS = 12, UNSHARED_RUNS = 64, CHUNK = 16 };

double tn_often_seconds(const tn_test *test) {
    const char *own = tn_test_first_type(test->text);
    for (uint64_t i = 0; i < test->op->case_count; i++) {
        const char *other = test->op->cases[i];
        if (other == test->text) break;
        if (strncmp(own, tn_test_first_type(other), strcspn(own, "[") + 1) == 0)
            return TN_OFTEN_OTHER_SECONDS;
    }
    return TN_OFTEN_SECONDS;
}

static double seconds(clockid_t clock) {
    return 1e-9 * (double)tn_clock_ns(clock);
}

static uint64_t hash_outputs(const tn_probe *probe, const tn_probe_memory *memory) {
    uint64_t hash = 0;
    for (uint32_t i = 0; i < probe->output_count; i++)
        if (probe->outputs[i].is_given)
            hash = tn_hash_add(hash, memory->outputs[i].data, memory->outputs[i].bytes);
    return hash;
}

/* A kernel finds its outputs as the first run found them, but for what they hold. */
static void restore_shapes(const tn_frame *frame, const tn_probe *probe) {
    for (uint32_t i = 0; i < probe->output_count; i++)
        if (frame->outputs[i])
            memcpy(frame->outputs[i]->shape, probe->outputs[i].shape.extents,
                   probe->outputs[i].shape.rank * sizeof(int64_t));
}

bool tn_often_compare(const tn_probe *probe, const tn_probe_memory *memory,
                      const tn_outcome *expected, bool is_exact, const char *during,
                      tn_verdict *verdict) {
    tn_outcome found = {0};
    char why[300] = "";
    if (tn_probe_results(probe, memory, &found) != TN_OK)
        tn_verdict_error(verdict, NULL, during);
    else if (!tn_results_equal(expected, &found, is_exact, why, sizeof(why)))
        tn_verdict_fail(verdict, "%s: %s", during, why);
    tn_outcome_free(&found);
    return verdict->outcome == TN_PASSED;
}

void tn_often_run(tn_probe_context *context, tn_probe *probe, const tn_outcome *expected,
                  const tn_often *how, const char *during, tn_verdict *verdict) {
    const bool is_exact = how->is_exact;
    const tn_callback run = probe->kernel ? probe->kernel->run : probe->op->reference;
    tn_probe_memory memory = {0};
    tn_frame frame = {0};
    tn_status status = tn_probe_memory_create(&memory, probe, true, false, 0xFF);
    for (uint32_t i = 0; status == TN_OK && i < (tn_probe_is_unbounded(probe) ? LEAST_RUNS : 1);
         i++)
        status = tn_probe_run(context, probe, &memory, 0xFF);
    if (status == TN_OK) status = tn_frame_open(&frame, probe, context->life, &memory, TN_SEES_ALL);
    if (status != TN_OK)
        tn_verdict_error(verdict, probe, during);
    else if (tn_often_compare(probe, &memory, expected, is_exact, during, verdict)) {
        frame.call->context = context->context;
        frame.call->workspace = context->workspace.data;
        frame.call->workspace_bytes = context->workspace_bytes;
        frame.scope.packed = NULL;
        uint64_t known = hash_outputs(probe, &memory);
        const uint32_t most =
            how->shared_count && *how->shared_count == 0 ? UNSHARED_RUNS : UINT32_MAX;
        const double until = seconds(CLOCK_THREAD_CPUTIME_ID) + how->seconds,
                     latest = seconds(CLOCK_MONOTONIC) + WALL_SECONDS;
        for (uint32_t i = 0;
             i < most && verdict->outcome == TN_PASSED && !tn_probe_is_unbounded(probe); i++) {
            if (i >= LEAST_RUNS && i % CHUNK == 0 &&
                (seconds(CLOCK_THREAD_CPUTIME_ID) > until || seconds(CLOCK_MONOTONIC) > latest))
                break;
            restore_shapes(&frame, probe);
            tn_probe_empty_heaps(&memory);
            const char *before = tn_trace_enter(probe->kernel ? "run" : "reference");
            if (run(frame.call) != TN_OK ||
                tn_probe_take_strings(probe, &frame, &memory, 0xFF) != TN_OK)
                tn_verdict_error(verdict, probe, during);
            tn_trace_leave(before);
            const uint64_t hash = hash_outputs(probe, &memory);
            if (hash == known || verdict->outcome != TN_PASSED) continue;
            tn_often_compare(probe, &memory, expected, is_exact, during, verdict);
            known = hash;
        }
    }
    tn_frame_close(&frame);
    tn_probe_memory_destroy(&memory);
}
