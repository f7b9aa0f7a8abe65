/* SPDX-License-Identifier: Apache-2.0 */
/* The services of tn_host, and calling callbacks; see call.h. */
#include "plugin/call.h"
#include "base/hash.h"
#include "plugin/bodies.h"
#include "plugin/crash.h"
#include "plugin/library_private.h"
#include "plugin/outputs.h"
#include "plugin/strings/strings.h"
#include "plugin/runtime_private.h"
#include "plugin/sequences/sequences.h"
#include "plugin/devices.h"

#include <tenon/plugin/importer.h>

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_runtime *runtime_of(const tn_host *host) {
    return (tn_runtime *)(uintptr_t)host;
}

static const char *environment_get(const tn_host *host, const char *name) {
    (void)host;
    return name ? getenv(name) : NULL;
}

static bool is_sound(const tn_cost *cost) {
    return isfinite(cost->work) && cost->work > 0 && isfinite(cost->passed) && cost->passed >= 0 &&
           isfinite(cost->grown) && cost->grown >= 0;
}

static void set_cost(tn_call *call, uint32_t tactic, const tn_cost *cost) {
    const tn_call_scope *scope = call ? call->host_private : NULL;
    const tn_tactic_costs *costs = scope ? scope->costs : NULL;
    tn_cost known = {0};
    if (!costs || tactic >= costs->count || !cost || cost->size < sizeof(cost->size)) return;
    memcpy(&known, cost, cost->size < sizeof(known) ? cost->size : sizeof(known));
    known.size = sizeof(known);
    if (is_sound(&known)) costs->items[tactic] = known;
}

static const tn_rewrite_services rewrite_services;
static tn_status acquire_resource(tn_call *call, const tn_resource *resource, void **out_resource);
static void release_resource(tn_call *call, const tn_resource *resource, void *acquired);

static const void *host_extension(const tn_host *host, const char *name) {
    static const tn_environment environment = {.size = sizeof(environment), .get = environment_get};
    static const tn_resources resources = {
        .size = sizeof(resources), .acquire = acquire_resource, .release = release_resource};
    static const tn_cost_service costs = {.size = sizeof(costs), .set = set_cost};
    if (name && strcmp(name, TN_ENVIRONMENT) == 0 && runtime_of(host)->reads_environment)
        return &environment;
    if (name && strcmp(name, TN_REWRITES) == 0) return &rewrite_services;
    if (name && strcmp(name, TN_RESOURCES) == 0) return &resources;
    if (name && strcmp(name, TN_IMPORTERS) == 0) return tn_importers_services();
    if (name && strcmp(name, TN_BODIES) == 0) return tn_body_service_table();
    if (name && strcmp(name, TN_OUTPUT_MEMORY) == 0) return tn_output_memory_table();
    if (name && strcmp(name, TN_COSTS) == 0) return &costs;
    if (name && strcmp(name, TN_STRINGS) == 0) return tn_string_service_table();
    if (name && strcmp(name, TN_SEQUENCES) == 0) return tn_sequence_service_table();
    return NULL;
}

#define MOST_TEXT 1000

static tn_status host_fail(tn_call *call, tn_status status, const char *format, ...) {
    char text[MOST_TEXT + 1];
    tn_call_scope *scope = call ? call->host_private : NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof(text), format ? format : "", arguments) < 0) text[0] = 0;
    va_end(arguments);
    if (status <= TN_OK || status > TN_ERROR_INTERNAL) status = TN_ERROR_PLUGIN;
    tn_fail(status, "%s", text[0] ? text : "no reason given");
    /* bodies of parallel_for may fail at once; who reads it has waited for them */
    if (scope) __atomic_store_n(&scope->failed, status, __ATOMIC_RELAXED);
    return status;
}

static void host_log(const tn_host *host, uint32_t level, const char *text) {
    tn_runtime *runtime = runtime_of(host);
    if (level <= TN_LOG_WARNING && text)
        snprintf(runtime->last_log, sizeof(runtime->last_log), "%s", text);
    tn_runtime_log(runtime, level, "%s", text ? text : "");
}

const char *tn_runtime_last_log(tn_runtime *runtime) {
    return runtime->last_log;
}

void tn_runtime_clear_last_log(tn_runtime *runtime) {
    runtime->last_log[0] = 0;
}

static void *host_allocate(const tn_host *host, uint64_t bytes, uint64_t alignment) {
    if (alignment == 0 || alignment > 4096 || (alignment & (alignment - 1))) return NULL;
    return tn_allocate_aligned(&runtime_of(host)->allocator, bytes, alignment);
}

static void host_deallocate(const tn_host *host, void *memory) {
    tn_deallocate(&runtime_of(host)->allocator, memory);
}

/* A body whose reason for failing is copied to the caller's thread: errors are a thread's own. */
typedef struct parallel_work {
    tn_body body;
    void *user;
    atomic_flag has_failed;
    tn_error_copy error; /* of the first that failed */
} parallel_work;

static tn_status run_work(void *user, int64_t begin, int64_t end, uint32_t thread) {
    parallel_work *work = user;
    const tn_status status = work->body(work->user, begin, end, thread);
    if (status != TN_OK && !atomic_flag_test_and_set(&work->has_failed))
        tn_error_save(&work->error);
    return status;
}

static tn_status host_parallel_for(tn_call *call, int64_t count, int64_t grain, tn_body body,
                                   void *user) {
    tn_call_scope *scope = call->host_private;
    if (count <= 0) return TN_OK;
    if (!scope || !scope->pool || scope->pool->threads <= 1) return body(user, 0, count, 0);
    parallel_work work; /* most of it is the error, which is written when there is one */
    work.body = body;
    work.user = user;
    atomic_flag_clear(&work.has_failed);
    const tn_status status = scope->pool->parallel_for(scope->pool, count, grain, run_work, &work);
    if (status == TN_OK) return TN_OK;
    if (atomic_flag_test_and_set(&work.has_failed))
        tn_error_restore(&work.error);
    else /* no body did, but the pool itself, which said why */
        scope->failed = status;
    return status;
}

uint64_t tn_packer_hash(const tn_kernel_entry *entry) {
    if (!entry) return 0;
    const tn_loaded_library *library = entry->library;
    uint64_t hash = tn_hash_add_text(0, library->name);
    hash = tn_hash_add_text(hash, library->version);
    hash = tn_hash_add_u64(hash, library->hash);
    hash = tn_hash_add_text(hash, entry->kernel->name);
    return tn_hash_add_u64(hash, entry->kernel->revision);
}

static tn_status host_packed(tn_call *call, uint32_t input, const char *key, uint64_t bytes,
                             tn_fill fill, void *user, const void **out_data) {
    tn_call_scope *scope = call->host_private;
    if (!scope || !scope->packed)
        return host_fail(call, TN_ERROR_STATE, "packed weights can be asked for in prepare alone");
    if (!key || !fill || !out_data || input >= call->input_count || !call->inputs[input] ||
        !call->inputs[input]->data)
        return host_fail(call, TN_ERROR_ARGUMENT,
                         "packed weights need a key, a fill function and a constant input");
    tn_constant_note *known = scope->constants ? scope->constants[input] : NULL;
    const tn_tensor *constant = call->inputs[input];
    const uint64_t checksum =
        known ? known->checksum : tn_hash(constant->data, (size_t)constant->bytes);
    const tn_weight_key wanted = {.content = tn_constant_content(constant, checksum),
                                  .bytes = bytes,
                                  .library = scope->library,
                                  .kernel = scope->kernel,
                                  .key = key,
                                  .owner = scope->library,
                                  .packer = tn_packer_hash(scope->entry)};
    const tn_status status =
        tn_packed_store_get(scope->packed, &wanted, known, scope->pool, fill, user, out_data);
    if (status != TN_OK) scope->failed = status;
    return status;
}

/* Where a resource is the only one of its key; null: there is none. */
static const void *owner_of(const tn_call *call, const tn_resource *resource) {
    const tn_call_scope *scope = call->host_private;
    return resource->scope == TN_SCOPE_DEVICE ? (const void *)call->device : scope->context;
}

static tn_status acquire_resource(tn_call *call, const tn_resource *resource, void **out_resource) {
    tn_call_scope *scope = call ? call->host_private : NULL;
    if (!scope || !resource || resource->size < sizeof(*resource) || !resource->key ||
        !resource->create || !resource->destroy || !out_resource ||
        (resource->scope != TN_SCOPE_CONTEXT && resource->scope != TN_SCOPE_DEVICE))
        return host_fail(call, TN_ERROR_ARGUMENT,
                         "a resource needs a key, a scope and both callbacks");
    const void *owner = owner_of(call, resource);
    if (!owner)
        return host_fail(call, TN_ERROR_STATE,
                         "a context's resource is asked for where there is no context: expected "
                         "open");
    const tn_status status =
        tn_resource_store_acquire(scope->runtime->resources, owner, call, resource, out_resource);
    return status == TN_OK || status == TN_ERROR_MEMORY || scope->failed != TN_OK
               ? status
               : host_fail(call, status, "the resource '%s' was not made", resource->key);
}

static void release_resource(tn_call *call, const tn_resource *resource, void *acquired) {
    const tn_call_scope *scope = call ? call->host_private : NULL;
    if (scope && resource && resource->key)
        tn_resource_store_release(scope->runtime->resources, owner_of(call, resource), call,
                                  resource, acquired);
}

static tn_status registering(const tn_host *host, tn_library *library,
                             tn_loaded_library **out_loaded) {
    tn_runtime *runtime = runtime_of(host);
    tn_loaded_library *loading = atomic_load(&runtime->loading);
    if (!loading || loading->table != library)
        return tn_fail(TN_ERROR_STATE,
                       "operators and kernels can be registered in the library's load alone");
    *out_loaded = loading;
    return TN_OK;
}

static tn_status host_register_operator(const tn_host *host, tn_library *library,
                                        const tn_operator *op) {
    tn_loaded_library *loaded = NULL;
    TN_TRY(registering(host, library, &loaded));
    return tn_registry_add_operator(runtime_of(host)->registry, loaded, op);
}

static tn_status host_register_kernel(const tn_host *host, tn_library *library,
                                      const tn_kernel *kernel) {
    tn_loaded_library *loaded = NULL;
    TN_TRY(registering(host, library, &loaded));
    return tn_registry_add_kernel(runtime_of(host)->registry, loaded, kernel);
}

/* The library that loads, or one that is loaded, with a count; null: neither. */
static tn_loaded_library *hold_library(tn_runtime *runtime, const tn_library *table) {
    tn_loaded_library *found = NULL;
    tn_loaded_library *loading = atomic_load(&runtime->loading);
    if (loading && loading->table == table) /* it is not listed yet */
        return tn_library_retain(loading);
    tn_runtime_lock(runtime);
    for (size_t i = runtime->library_count; i-- > 0 && !found;)
        if (runtime->libraries[i]->table == table) found = tn_library_retain(runtime->libraries[i]);
    tn_runtime_unlock(runtime);
    return found;
}

static tn_status host_add_rewrite(const tn_host *host, tn_library *library,
                                  const tn_rewrite *rewrite) {
    tn_loaded_library *loaded = hold_library(runtime_of(host), library);
    if (!loaded)
        return tn_fail(TN_ERROR_STATE, "a rewrite is added to a library that is not loaded");
    const tn_status status = tn_registry_add_rewrite(runtime_of(host)->registry, loaded, rewrite);
    tn_library_release(loaded);
    return status;
}

static const tn_rewrite_services rewrite_services = {.size = sizeof(rewrite_services),
                                                     .add = host_add_rewrite};

tn_loaded_library *tn_runtime_set_loading(tn_runtime *runtime, tn_loaded_library *library) {
    return atomic_exchange(&runtime->loading, library);
}

void tn_host_init(tn_runtime *runtime) {
    runtime->host = (tn_host){.size = sizeof(tn_host),
                              .abi_major = TN_ABI_MAJOR,
                              .abi_minor = TN_ABI_MINOR,
                              .extension = host_extension,
                              .fail = host_fail,
                              .log = host_log,
                              .allocate = host_allocate,
                              .deallocate = host_deallocate,
                              .parallel_for = host_parallel_for,
                              .packed = host_packed,
                              .register_operator = host_register_operator,
                              .register_kernel = host_register_kernel};
}

const tn_host *tn_runtime_host(tn_runtime *runtime) {
    return &runtime->host;
}

/* ----------------------------------------------------------------------------------------------
 * calling */

tn_status tn_call_failed(tn_call *call, tn_status status, const char *callback_name) {
    const tn_call_scope *scope = call->host_private;
    const bool is_given = scope->failed != TN_OK && tn_last_error()->status != TN_OK;
    if (!is_given && status == TN_ERROR_MEMORY) {
        tn_fail_memory(callback_name);
    } else if (!is_given) {
        const bool is_known = status > TN_OK && status <= TN_ERROR_INTERNAL;
        tn_fail(is_known ? status : TN_ERROR_PLUGIN, "%s returned %d (%s) without a reason",
                callback_name, status,
                is_known ? tn_status_name(status) : "not a status of Tenon's");
    }
    status = tn_last_error()->status;
    const char *domain = call->op ? call->op->domain : "", *name = call->op ? call->op->name : "?";
    if (scope->kernel)
        return tn_error_in(status, .node = call->node ? call->node : "", .domain = domain,
                           .op = name, .kernel = scope->kernel,
                           .library = scope->library ? scope->library : "?");
    return tn_error_in(status, .node = call->node ? call->node : "", .domain = domain, .op = name,
                       .library = scope->library);
}

tn_status tn_call_ask(tn_call *call, tn_callback callback, const char *callback_name) {
    const uint32_t before = call->device ? tn_device_enter(call->device) : 0;
    tn_crash_mark mark;
    tn_crash_enter(&mark, call, callback_name, NULL);
    const tn_status status = callback(call);
    tn_crash_leave(&mark);
    if (call->device) tn_device_leave(call->device, before);
    return status;
}

bool tn_call_facet(tn_call *call, uint32_t input, const char *name, tn_facet *facet) {
    tn_crash_mark mark;
    if (!call->op->facet) return false;
    tn_crash_enter(&mark, call, "facet", NULL);
    const bool is_described = call->op->facet(call, input, name, facet) == TN_OK;
    tn_crash_leave(&mark);
    return is_described;
}

tn_status tn_call_invoke(tn_call *call, tn_callback callback, const char *callback_name) {
    tn_call_scope *scope = call->host_private;
    scope->failed = TN_OK;
    const tn_status status = tn_call_ask(call, callback, callback_name);
    return status == TN_OK ? TN_OK : tn_call_failed(call, status, callback_name);
}
