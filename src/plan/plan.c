/* SPDX-License-Identifier: Apache-2.0 */
/* A plan in memory, for its owners: bytes, file, report. Written by writer.c. */
#include "plan/plan.h"

#include "graph/graph.h"

#include "base/file.h"
#include "base/status.h"
#include "base/thread_start.h"

static void release_pieces(tn_plan *plan) {
    tn_plan_pieces_deinit(&plan->pieces);
    tn_arena_destroy(plan->sources.arena);
    tn_graph_destroy(plan->sources.graph);
    plan->sources = (tn_plan_sources){0};
}

/* Under the lock. */
static tn_status join(tn_plan *plan) {
    if (plan->data) return TN_OK;
    TN_TRY(tn_plan_pieces_sum(&plan->pieces));
    tn_plan_pieces_join(&plan->pieces, plan->buffer);
    plan->data = plan->buffer;
    if (!plan->is_read) release_pieces(plan);
    return TN_OK;
}

/* A plan is the same before and after, but for where its bytes lie. */
static tn_plan *lock(const tn_plan *plan) {
    tn_plan *own = (tn_plan *)(uintptr_t)plan;
    pthread_mutex_lock(&own->joining);
    return own;
}

const void *tn_plan_bytes(const tn_plan *plan, uint64_t *out_bytes) {
    if (out_bytes) *out_bytes = 0;
    if (!plan) return NULL;
    tn_plan *own = lock(plan);
    const tn_status status = join(own);
    pthread_mutex_unlock(&own->joining);
    if (status == TN_OK && out_bytes) *out_bytes = plan->bytes;
    return plan->data;
}

tn_status tn_plan_share(const tn_plan *plan, bool needs_bytes, const tn_plan_pieces **out_pieces) {
    tn_plan *own = lock(plan);
    const bool takes_bytes = needs_bytes || own->has_refit || (own->data && !own->is_read);
    const tn_status status = takes_bytes ? join(own) : tn_plan_pieces_align(&own->pieces);
    own->is_read |= status == TN_OK && !takes_bytes;
    pthread_mutex_unlock(&own->joining);
    if (status != TN_OK) return status;
    atomic_fetch_add(&own->owners, 1);
    *out_pieces = takes_bytes ? NULL : &own->pieces;
    return TN_OK;
}

/* Checksums that are computed while the system copies the weights into the file. */
typedef struct plan_sums {
    tn_plan_pieces *pieces;
    pthread_t thread;
    bool is_running;
    tn_status status;
} plan_sums;

static void *compute_sums(void *user) {
    plan_sums *sums = user;
    sums->status = tn_plan_pieces_sum(sums->pieces);
    return NULL;
}

static void wait_for_sums(plan_sums *sums) {
    if (sums->is_running) pthread_join(sums->thread, NULL);
    sums->is_running = false;
}

/* Without the thread, or where it had no memory, here and now: the reason is this thread's. */
static tn_status finish_sums(void *user) {
    plan_sums *sums = user;
    wait_for_sums(sums);
    return sums->status == TN_OK ? TN_OK : tn_plan_pieces_sum(sums->pieces);
}

static tn_status save_pieces(tn_plan *plan, const char *path) {
    tn_plan_pieces *pieces = &plan->pieces;
    plan_sums sums = {.pieces = pieces, .status = TN_ERROR_STATE};
    if (!pieces->has_checksums)
        sums.is_running = tn_thread_start(&sums.thread, compute_sums, &sums);
    const tn_status status = tn_file_write_parts(plan->allocator, path, pieces->part_count,
                                                 pieces->parts, finish_sums, &sums);
    wait_for_sums(&sums);
    return status;
}

tn_status tn_plan_save(const tn_plan *plan, const char *path) {
    if (!plan || !path) return tn_fail(TN_ERROR_ARGUMENT, "tn_plan_save needs a plan and a path");
    tn_plan *own = lock(plan);
    const tn_status status = own->data ? tn_file_write(own->allocator, path, own->data, own->bytes)
                                       : save_pieces(own, path);
    pthread_mutex_unlock(&own->joining);
    return status;
}

void tn_plan_keep(tn_plan *plan, const tn_plan_sources *sources) {
    plan->sources = *sources;
}

const char *tn_plan_report(const tn_plan *plan) {
    return plan && plan->report ? plan->report : "{}";
}

void tn_plan_destroy(tn_plan *plan) {
    if (!plan || atomic_fetch_sub(&plan->owners, 1) != 1) return;
    const tn_allocator *allocator = plan->allocator;
    tn_runtime *runtime = plan->runtime;
    tn_deallocate(allocator, plan->report);
    release_pieces(plan);
    pthread_mutex_destroy(&plan->joining);
    tn_deallocate(allocator, plan->buffer);
    tn_deallocate(allocator, plan);
    tn_runtime_release(runtime);
}

void tn_text_free(tn_runtime *runtime, char *text) {
    if (runtime) tn_deallocate(tn_runtime_allocator(runtime), text);
}
