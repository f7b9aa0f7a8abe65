/* SPDX-License-Identifier: Apache-2.0 */
/* One request to the helper, and what becomes of it when the helper does not live to answer.
 * Declared in isolation.h. */
#include "base/process/child_process.h"
#include "base/clock.h"
#include "base/status.h"
#include "isolation/isolation.h"

#include <stdio.h>
#include <string.h>

tn_status tn_isolation_put(tn_isolation *isolation, const void *data, size_t bytes) {
    if (bytes > TN_ISOLATION_PAYLOAD - isolation->used)
        return tn_fail(TN_ERROR_MEMORY, "a request to the helper process is too large");
    if (bytes > 0) memcpy(isolation->page->payload + isolation->used, data, bytes);
    isolation->used += bytes;
    return TN_OK;
}

static const char *stage_text(uint32_t stage) {
    static const char *const names[TN_ISOLATION_STAGE_COUNT] = {
        "between calls", "while libraries were loaded",
        "in prepare",    "in open",
        "in reshape",    "in run",
        "in close",      "in release"};
    return stage < TN_ISOLATION_STAGE_COUNT ? names[stage] : "somewhere";
}

/* Puts node, operator, kernel and library before the error: those of the call, or of the step that
 * the helper was about. */
static tn_status name_step(const tn_isolation *isolation, const tn_call *call, tn_status status) {
    const tn_engine *engine = isolation->engine;
    const uint32_t step = atomic_load(&isolation->page->step);
    if (call) return status; /* whoever invoked its callback does so */
    if (step >= engine->program->step_count || !engine->steps[step].is_isolated) return status;
    tn_call about = engine->steps[step].prepared.call;
    tn_call_scope scope = engine->steps[step].prepared.scope;
    about.host_private = &scope;
    scope.failed = status;
    return tn_call_failed(&about, status, "");
}

static tn_status lose_call(tn_isolation *isolation, tn_call *call, bool is_late) {
    const uint32_t limit = isolation->engine->isolation_limit_ms;
    const char *stage = stage_text(atomic_load(&isolation->page->stage));
    char how[200];
    tn_status status;
    isolation->is_lost = true;
    tn_child_process_describe(isolation->process.how, how, sizeof(how));
    tn_helper_process_end(&isolation->process);
    if (is_late)
        status = tn_fail(TN_ERROR_PLUGIN,
                         "it did not return within %u ms, %s: its process was ended, and the "
                         "context with it",
                         limit, stage);
    else
        status =
            tn_fail(TN_ERROR_PLUGIN,
                    "the process in which it runs %s, %s: the context is lost with it", how, stage);
    if (call) ((tn_call_scope *)call->host_private)->failed = status;
    return name_step(isolation, call, status);
}

/* Short sleeps, so that an ended process is noticed soon; the limit is each callback's own. */
static tn_status await(tn_isolation *isolation, tn_call *call) {
    tn_isolation_page *page = isolation->page;
    const uint64_t limit_ns = (uint64_t)isolation->engine->isolation_limit_ms * 1000000u;
    uint64_t begin = tn_now_ns(), slice_ns = 1000000u;
    uint32_t progress = atomic_load(&page->progress);
    tn_isolation_patience *patience = &isolation->patience;
    while (!tn_isolation_await_answer(page, patience, slice_ns)) {
        const uint32_t now = atomic_load(&page->progress);
        patience = NULL;
        if (slice_ns < 16000000u) slice_ns *= 2;
        if (now != progress) begin = tn_now_ns();
        progress = now;
        if (tn_helper_process_is_over(&isolation->process)) {
            if (tn_isolation_await_answer(page, NULL, 0)) break; /* its last word */
            return lose_call(isolation, call, false);
        }
        if (limit_ns > 0 && tn_now_ns() - begin > limit_ns) return lose_call(isolation, call, true);
    }
    return TN_OK;
}

tn_status tn_isolation_request(tn_isolation *isolation, uint32_t request, uint32_t argument,
                               tn_call *call) {
    tn_isolation_page *page = isolation->page;
    isolation->used = 0;
    if (isolation->is_lost) {
        const tn_status status = tn_fail(
            TN_ERROR_STATE, "the process in which its kernels ran is gone: make another context");
        if (call) ((tn_call_scope *)call->host_private)->failed = status;
        return status;
    }
    page->request = request;
    page->argument = argument;
    tn_isolation_ask(page);
    return await(isolation, call);
}

tn_status tn_isolation_answered(const tn_isolation *isolation) {
    const tn_isolation_page *page = isolation->page;
    char message[TN_ISOLATION_MESSAGE];
    const tn_status status = page->status;
    if (status == TN_OK) return TN_OK;
    memcpy(message, page->message, sizeof(message));
    message[sizeof(message) - 1] = 0;
    const bool is_known = status > TN_OK && status <= TN_ERROR_INTERNAL;
    return tn_fail(is_known ? status : TN_ERROR_PLUGIN, "%s",
                   message[0] ? message : "no reason given");
}
