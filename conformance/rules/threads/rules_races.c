/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Races, whether threads happen to meet or not: bytes that two ranges of one parallel_for write
 * (a part of threads), and static variables that a run writes (a part of contexts); see rules.h.
 */
#include "base/status.h"
#include "rules/rules.h"
#include "worker/probe/frame.h"
#include "worker/race_pool.h"
#include "worker/watch/statics.h"
#include "worker/watch/stepped.h"

#include <stdlib.h>
#include <string.h>

/* Where the library's code is: any of the functions that compute. */
static const void *code_of(const tn_probe *probe) {
    const void *code = NULL;
    const tn_callback function = probe->kernel ? probe->kernel->run : probe->op->reference;
    memcpy(&code, &function, sizeof(code));
    return code;
}

static void watch(tn_race_pool *pool, const tn_probe *probe, const tn_probe_memory *memory,
                  const tn_probe_context *context) {
    tn_statics statics;
    for (uint32_t i = 0; i < probe->output_count; i++) {
        const tn_guarded *at = tn_probe_memory_output(memory, i);
        if (probe->outputs[i].is_given) tn_race_pool_watch(pool, at->data, at->bytes, "output", i);
    }
    tn_race_pool_watch(pool, context->workspace.data, context->workspace.bytes, "workspace", 0);
    tn_statics_of(code_of(probe), &statics);
    for (size_t i = 0; i < statics.count; i++)
        tn_race_pool_watch(pool, statics.data[i], statics.bytes[i], "library", 0);
}

static void say_race(const tn_race_pool *pool, tn_verdict *verdict) {
    const size_t at = pool->offset;
    if (strcmp(pool->at.what, "output") == 0)
        tn_verdict_fail(verdict,
                        "two threads write byte %zu of output %u, in different ranges of one "
                        "parallel_for and without atomic instructions",
                        at, pool->at.index);
    else if (strcmp(pool->at.what, "workspace") == 0)
        tn_verdict_fail(verdict,
                        "two threads write byte %zu of the workspace: what ranges of one "
                        "parallel_for write at once is to be each one's own",
                        at);
    else
        tn_verdict_fail(verdict,
                        "two threads write to the same %s, in different ranges of one "
                        "parallel_for and without atomic instructions",
                        strcmp(pool->at.what, "stack") == 0 ? "variable of their caller"
                                                            : "static variable");
}

void tn_rule_check_races(tn_subject *subject, tn_verdict *verdict) {
    enum { THREADS = 3 };
    tn_probe *probe = &subject->probe;
    tn_probe_life life = {0};
    tn_probe_context context = {0};
    tn_probe_memory memory = {0};
    tn_race_pool pool;
    const uint32_t threads = probe->threads;
    if (verdict->outcome != TN_PASSED || tn_probe_is_unbounded(probe)) return;
    tn_race_pool_init(&pool, THREADS);
    probe->threads = THREADS;
    probe->pool = &pool.pool;
    tn_status status = tn_probe_prepare(&life, probe);
    if (status == TN_OK) status = tn_probe_open(&context, &life);
    if (status == TN_OK) status = tn_probe_reshape(&context, probe);
    if (status == TN_OK) status = tn_probe_memory_create(&memory, probe, true, false, 0xFF);
    if (status == TN_OK) status = tn_probe_run(&context, probe, &memory, 0xFF);
    if (status == TN_OK) {
        watch(&pool, probe, &memory, &context);
        status = tn_probe_memory_refill(&memory, probe, 0xFF);
    }
    if (status == TN_OK) status = tn_probe_run(&context, probe, &memory, 0xFF);
    if (status == TN_OK && pool.is_found) say_race(&pool, verdict);
    tn_probe_memory_destroy(&memory);
    tn_probe_close(&context);
    if (life.probe) tn_probe_release(&life);
    probe->pool = NULL;
    probe->threads = threads;
}

/* ----------------------------------------------------------------------------------------------
 * static variables */

typedef struct one_run {
    tn_probe_context *context;
    tn_probe *probe;
    tn_probe_memory memory;
    tn_status status;
} one_run;

static bool run_once(one_run *run) {
    run->status = tn_probe_memory_refill(&run->memory, run->probe, 0xFF);
    if (run->status == TN_OK)
        run->status = tn_probe_run(run->context, run->probe, &run->memory, 0xFF);
    return run->status == TN_OK;
}

typedef struct bare_run {
    tn_callback callback;
    tn_call *call;
    tn_status status;
} bare_run;

static void do_run(void *user) {
    bare_run *r = user;
    r->status = r->callback(r->call);
}

/* The callback alone: what this program does around it uses locks. */
static bool is_plain(one_run *run) {
    tn_frame frame;
    const tn_probe *probe = run->probe;
    if (tn_probe_memory_refill(&run->memory, probe, 0xFF) != TN_OK ||
        tn_frame_open(&frame, probe, run->context->life, &run->memory, TN_SEES_ALL) != TN_OK)
        return false;
    frame.call->context = run->context->context;
    frame.call->workspace = run->context->workspace.data;
    frame.call->workspace_bytes = run->context->workspace_bytes;
    frame.scope.packed = NULL;
    bare_run bare = {.callback = probe->kernel ? probe->kernel->run : probe->op->reference,
                     .call = frame.call};
    const bool is_it = tn_stepped_call(do_run, &bare) == TN_STEPPED_PLAIN && bare.status == TN_OK;
    tn_frame_close(&frame);
    return is_it;
}

static char *copy_of(const tn_statics *statics) {
    size_t bytes = 1;
    for (size_t i = 0; i < statics->count; i++)
        bytes += statics->bytes[i];
    char *copy = malloc(bytes), *to = copy;
    for (size_t i = 0; copy && i < statics->count; i++) {
        memcpy(to, statics->data[i], statics->bytes[i]);
        to += statics->bytes[i];
    }
    return copy;
}

static bool is_as_before(const tn_statics *statics, const char *copy) {
    for (size_t i = 0; i < statics->count; i++) {
        if (memcmp(copy, statics->data[i], statics->bytes[i]) != 0) return false;
        copy += statics->bytes[i];
    }
    return true;
}

/* Each of both has run before: what is made once is made. */
void tn_rule_check_statics(tn_probe_context *const *contexts, tn_subject *const *subjects,
                           tn_verdict *verdict) {
    one_run runs[2] = {{.context = contexts[0], .probe = &subjects[0]->probe},
                       {.context = contexts[1], .probe = &subjects[1]->probe}};
    tn_statics statics;
    tn_statics_of(code_of(runs[0].probe), &statics);
    if (verdict->outcome != TN_PASSED || statics.count == 0 || tn_probe_is_unbounded(runs[0].probe))
        return;
    bool is_there = true;
    for (int i = 0; i < 2; i++)
        is_there &=
            tn_probe_memory_create(&runs[i].memory, runs[i].probe, true, false, 0xFF) == TN_OK;
    is_there = is_there && run_once(&runs[0]) && run_once(&runs[1]);
    char *before = is_there ? copy_of(&statics) : NULL;
    if (before && run_once(&runs[0]) && !is_as_before(&statics, before) && is_plain(&runs[1]))
        tn_verdict_fail(verdict, "run writes to static variables of its library, which all "
                                 "contexts share, without atomic instructions or a lock");
    free(before);
    for (int i = 0; i < 2; i++)
        tn_probe_memory_destroy(&runs[i].memory);
}
