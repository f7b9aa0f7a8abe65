/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a context's helper: what it is told of the engine, and what both sides must agree on.
 * Declared in isolation.h. */
#include "base/hash.h"
#include "base/status.h"
#include "device/cpu/cpu.h"
#include "isolation/isolation.h"
#include "plugin/runtime.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

uint64_t tn_isolation_digest(const tn_engine *engine) {
    const tn_program *program = engine->program;
    uint64_t digest = tn_hash_add_u64(0, program->step_count);
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        const tn_engine_step *prepared = &engine->steps[s];
        digest = tn_hash_add_u64(digest, step->kind);
        digest = tn_hash_add_u64(digest, step->node);
        digest = tn_hash_add_u64(digest, step->tactic);
        digest = tn_hash_add_text(digest, step->kernel);
        digest = tn_hash_add_text(digest, step->library);
        digest = tn_hash_add_u64(digest, step->library_hash);
        digest = tn_hash_add_text(digest, step->library_domain);
        digest = tn_hash_add_u64(digest, prepared->is_isolated);
    }
    for (uint32_t v = 0; v < program->value_count; v++) {
        digest = tn_hash_add_u64(digest, program->values[v].tensor);
        digest = tn_hash_add_u64(digest, program->values[v].type);
        digest = tn_hash_add_u64(digest, program->values[v].format);
    }
    return digest;
}

typedef struct putting {
    tn_isolation *isolation;
    uint32_t count;
    tn_status status;
} putting;

static bool put_library(void *user, const tn_library_info *library) {
    putting *put = user;
    if (!library->path[0]) return true;
    put->status = tn_isolation_put(put->isolation, &library->hash, sizeof(library->hash));
    if (put->status == TN_OK)
        put->status = tn_isolation_put(put->isolation, library->path, strlen(library->path) + 1);
    if (put->status == TN_OK)
        put->status =
            tn_isolation_put(put->isolation, library->domain, strlen(library->domain) + 1);
    put->count += put->status == TN_OK;
    return put->status == TN_OK;
}

static tn_status put_device(tn_isolation *isolation, const tn_device *device) {
    char name[TN_DEVICE_NAME_BYTES];
    tn_device_name(device, name);
    return tn_isolation_put(isolation, name, strlen(name) + 1);
}

/* The START request's payload into the page. */
static tn_status put_start(tn_isolation *isolation) {
    const tn_engine *engine = isolation->engine;
    const char *dump = engine->checked_dump;
    const bool reads = tn_runtime_reads_environment(engine->runtime);
    tn_isolation_start start = {.threads = engine->pool.threads,
                                .flags = (reads ? 0u : TN_ISOLATION_NO_ENVIRONMENT) |
                                         (engine->is_checked ? TN_ISOLATION_CHECKED : 0u) |
                                         (engine->allows_not_finite ? TN_ISOLATION_ANY_NUMBER : 0u),
                                .dump_bytes = dump ? (uint32_t)strlen(dump) + 1 : 0,
                                .profile = engine->profile};
    putting put = {.isolation = isolation, .status = TN_OK};
    TN_TRY(tn_isolation_put(isolation, &start, sizeof(start)));
    TN_TRY(put_device(isolation, engine->device));
    if (dump) TN_TRY(tn_isolation_put(isolation, dump, start.dump_bytes));
    tn_runtime_visit_libraries(engine->runtime, put_library, &put);
    TN_TRY(put.status);
    start.library_count = put.count;
    memcpy(isolation->page->payload, &start, sizeof(start));
    return TN_OK;
}

static tn_status agree(tn_isolation *isolation) {
    const tn_engine *engine = isolation->engine;
    TN_TRY(put_start(isolation));
    TN_TRY(tn_isolation_request(isolation, TN_ISOLATION_START, 0, NULL));
    TN_TRY(tn_isolation_answered(isolation));
    if (isolation->page->value == tn_isolation_digest(engine)) return TN_OK;
    return tn_fail(TN_ERROR_STATE, "the helper process understands the plan otherwise: it, or a "
                                   "library, was replaced since it was loaded");
}

static tn_status start_helper(tn_isolation *isolation) {
    const tn_engine *engine = isolation->engine;
    int descriptor = -1;
    void *page = NULL;
    TN_TRY(tn_isolation_share(sizeof(tn_isolation_page), &descriptor, &page));
    isolation->page = page;
    isolation->page->version = TN_ISOLATION_VERSION;
    atomic_init(&isolation->page->step, TN_ISOLATION_NO_STEP);
    const tn_status status =
        tn_helper_process_start(engine->isolation_helper, "serve", false, descriptor,
                                engine->plan_descriptor, &isolation->process);
    close(descriptor);
    TN_TRY(status);
    return agree(isolation);
}

tn_status tn_isolation_create(const tn_isolation_owner *owner, tn_isolation **out_isolation) {
    const tn_engine *engine = owner->engine;
    bool is_needed = false;
    for (uint32_t i = 0; i < engine->program->step_count; i++)
        is_needed |= engine->steps[i].is_isolated;
    if (!is_needed) return TN_OK;
    tn_isolation *isolation = tn_allocate_zero(owner->allocator, 1, sizeof(*isolation));
    if (!isolation) return tn_fail_memory("a context");
    isolation->engine = engine;
    isolation->allocator = owner->allocator;
    isolation->statistics = owner->statistics;
    isolation->patience.is_alone = tn_cpu_core_count() <= 1;
    tn_status status = TN_OK;
    isolation->step_calls = tn_allocate_zero(owner->allocator, engine->program->step_count + 1u,
                                             sizeof(*isolation->step_calls));
    if (!isolation->step_calls) status = tn_fail_memory("a context");
    if (status == TN_OK) status = start_helper(isolation);
    for (uint32_t i = 0; status == TN_OK && i < engine->program->step_count; i++)
        if (engine->steps[i].is_isolated)
            tn_isolated_call_init(isolation, i, &isolation->step_calls[i], &owner->kernels[i].call);
    if (status != TN_OK) {
        tn_error_copy error;
        tn_error_save(&error);
        tn_isolation_destroy(isolation);
        tn_error_restore(&error);
        return status;
    }
    *out_isolation = isolation;
    return TN_OK;
}

/* The helper closes and releases its kernels before it goes. */
static void stop(tn_isolation *isolation) {
    tn_error_copy before;
    tn_error_save(&before);
    if (isolation->process.id && !isolation->is_lost &&
        tn_isolation_request(isolation, TN_ISOLATION_STOP, 0, NULL) != TN_OK)
        tn_runtime_log(isolation->engine->runtime, TN_LOG_WARNING, "%s: %s", tn_last_error()->where,
                       tn_last_error()->message);
    tn_error_restore(&before);
    tn_helper_process_end(&isolation->process);
}

void tn_isolation_destroy(tn_isolation *isolation) {
    if (!isolation) return;
    const tn_allocator *allocator = isolation->allocator;
    if (isolation->page) stop(isolation);
    for (size_t i = 0; i < isolation->buffer_count; i++)
        if (isolation->buffers[i].memory)
            munmap(isolation->buffers[i].memory, isolation->buffers[i].bytes);
    if (isolation->page) munmap(isolation->page, sizeof(*isolation->page));
    tn_deallocate(allocator, isolation->buffers);
    tn_deallocate(allocator, isolation->step_calls);
    tn_deallocate(allocator, isolation);
}
