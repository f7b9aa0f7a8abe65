/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper process: loads the same plan and libraries as the process that started it, prepares
 * and opens the plugins' kernels, and runs them when it is asked to. It ends when it is told to, or
 * when the other end of its socket is closed: that is watched by a thread of its own, so that it
 * ends in the middle of an endless loop too. (A signal at the parent's death would come at the end
 * of the thread that made the context, which is another thing.) Public side: tenon/isolation.h.
 */
#include "isolation/isolation_serve.h"
#include "base/status.h"
#include "device/cpu/cpu.h"
#include "engine/checked.h"
#include "isolation/isolation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/isolation.h>
#include <unistd.h>

void tn_server_note(tn_server *server, uint32_t stage, uint32_t step) {
    atomic_store(&server->page->stage, stage);
    atomic_store(&server->page->step, step);
    atomic_fetch_add(&server->page->progress, 1);
}

/* ----------------------------------------------------------------------------------------------
 * start */

static void print_log(void *user, uint32_t level, const char *text) {
    (void)user;
    (void)level;
    fprintf(stderr, "tenon-isolate: %s\n", text);
}

/* The payload of START, read piece by piece. */
typedef struct reading {
    const unsigned char *at, *end;
} reading;

static tn_status read_bytes(reading *read, void *to, size_t bytes) {
    if ((size_t)(read->end - read->at) < bytes)
        return tn_fail(TN_ERROR_INTERNAL, "the helper process was told too little");
    memcpy(to, read->at, bytes);
    read->at += bytes;
    return TN_OK;
}

static tn_status take_text(reading *read, const char **out_text) {
    const void *end = memchr(read->at, 0, (size_t)(read->end - read->at));
    if (!end) return tn_fail(TN_ERROR_INTERNAL, "the helper process was told half a name");
    *out_text = (const char *)read->at;
    read->at = (const unsigned char *)end + 1;
    return TN_OK;
}

static tn_status load_library(tn_server *server, reading *read) {
    uint64_t hash = 0;
    const char *path = NULL;
    tn_library_load_options options = {0};
    tn_loaded_library *library = NULL;
    TN_TRY(read_bytes(read, &hash, sizeof(hash)));
    TN_TRY(take_text(read, &path));
    TN_TRY(take_text(read, &options.domain));
    TN_TRY(tn_library_load(server->runtime, path, &options, &library));
    if (library->hash == hash) return TN_OK; /* the count is the process's */
    return tn_fail(TN_ERROR_STATE, "library %s was replaced by another one since it was loaded",
                   path);
}

static void note_prepare(void *user, uint32_t step) {
    tn_server_note(user, TN_ISOLATION_IN_PREPARE, step);
}

static tn_status open_kernels(tn_server *server) {
    const tn_engine *engine = server->engine;
    server->kernels = tn_allocate_zero(server->allocator, engine->program->step_count + 1u,
                                       sizeof(*server->kernels));
    if (!server->kernels) return tn_fail_memory("a helper process");
    for (uint32_t i = 0; i < engine->program->step_count; i++) {
        if (!engine->steps[i].is_isolated) continue;
        tn_server_note(server, TN_ISOLATION_IN_OPEN, i);
        server->kernels[i].context = server;
        TN_TRY(tn_open_kernel_init(&server->kernels[i], &engine->steps[i].prepared));
    }
    return TN_OK;
}

static tn_status start_checking(tn_server *server, const tn_isolation_start *start) {
    const tn_engine *engine = server->engine;
    tn_checked_options options = {.allocator = server->allocator,
                                  .pool = &engine->pool,
                                  .dump_directory = server->dump_directory,
                                  .allows_not_finite = start->flags & TN_ISOLATION_ANY_NUMBER};
    TN_TRY(tn_checked_describe(engine, server->allocator, &options, &server->is_constant));
    TN_TRY(tn_checked_create(&options, &server->checked));
    for (uint32_t i = 0; i < engine->program->step_count; i++)
        if (server->kernels[i].is_open && server->kernels[i].scope.pool)
            server->kernels[i].scope.pool = &server->checked->pool;
    return TN_OK;
}

static tn_status load_all(tn_server *server, reading *read, const tn_isolation_start *start,
                          const char *device) {
    char plan[64];
    const tn_engine_options options = {
        .size = sizeof(options), .threads = start->threads, .device = device};
    for (uint32_t i = 0; i < start->library_count; i++)
        TN_TRY(load_library(server, read));
    snprintf(plan, sizeof(plan), "/proc/self/fd/%d", TN_HELPER_SECOND);
    TN_TRY(tn_engine_load_serving(server->runtime, plan, &options, start->profile, note_prepare,
                                  server, &server->engine));
    TN_TRY(open_kernels(server));
    return start->flags & TN_ISOLATION_CHECKED ? start_checking(server, start) : TN_OK;
}

static tn_status start_server(tn_server *server) {
    reading read = {server->page->payload, server->page->payload + TN_ISOLATION_PAYLOAD};
    tn_isolation_start told;
    const char *device = NULL; /* in the page, which is this request's for as long */
    tn_runtime_options options = {
        .size = sizeof(options), .log_level = TN_LOG_WARNING, .log = print_log};
    if (server->runtime) return tn_fail(TN_ERROR_INTERNAL, "the helper process is started twice");
    TN_TRY(read_bytes(&read, &told, sizeof(told)));
    if (told.flags & TN_ISOLATION_NO_ENVIRONMENT) options.flags = TN_RUNTIME_NO_ENVIRONMENT;
    tn_server_note(server, TN_ISOLATION_IN_LOAD, TN_ISOLATION_NO_STEP);
    TN_TRY(tn_runtime_create(&options, &server->runtime));
    server->allocator = tn_runtime_allocator(server->runtime);
    TN_TRY(take_text(&read, &device));
    if (told.dump_bytes) {
        const char *name = NULL;
        TN_TRY(take_text(&read, &name));
        server->dump_directory = tn_duplicate_text(server->allocator, name);
        if (!server->dump_directory) return tn_fail_memory("a helper process");
    }
    TN_TRY(load_all(server, &read, &told, device));
    server->page->value = tn_isolation_digest(server->engine);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * end */

static void stop(tn_server *server) {
    const uint32_t count = server->engine ? server->engine->program->step_count : 0;
    tn_checked_destroy(server->checked);
    for (uint32_t i = count; server->kernels && i-- > 0;) {
        if (!server->kernels[i].is_open) continue;
        tn_server_note(server, TN_ISOLATION_IN_CLOSE, i);
        tn_open_kernel_deinit(&server->kernels[i]);
    }
    for (uint32_t i = count; i-- > 0;) {
        if (!server->engine->steps[i].prepared.is_prepared) continue;
        tn_server_note(server, TN_ISOLATION_IN_RELEASE, i);
        tn_prepared_kernel_deinit(&server->engine->steps[i].prepared);
    }
}

/* ----------------------------------------------------------------------------------------------
 * requests */

static tn_status do_request(tn_server *server, tn_status *out_failed) {
    const uint32_t argument = server->page->argument;
    *out_failed = TN_OK;
    switch (server->page->request) {
    case TN_ISOLATION_START:
        return *out_failed = start_server(server);
    case TN_ISOLATION_MAP:
        return *out_failed = tn_server_map(server, argument);
    case TN_ISOLATION_UNMAP:
        return *out_failed = tn_server_unmap(server, argument);
    case TN_ISOLATION_DEFINE:
        return *out_failed = tn_server_define(server, argument);
    case TN_ISOLATION_FORGET:
        return *out_failed = tn_server_forget(server, argument);
    case TN_ISOLATION_RESHAPE:
        return tn_server_reshape(server, argument, out_failed);
    case TN_ISOLATION_RUN:
        return tn_server_run(server, argument, out_failed);
    case TN_ISOLATION_STOP:
        stop(server);
        return TN_OK;
    default:
        return *out_failed = tn_fail(TN_ERROR_INTERNAL, "the helper process was asked for nothing");
    }
}

static void answer(tn_server *server) {
    tn_isolation_page *page = server->page;
    tn_status failed = TN_OK;
    const tn_status status = do_request(server, &failed);
    const tn_error *error = tn_last_error();
    /* of a callback the asker adds where it was; of all else it cannot know */
    const bool has_position = page->request == TN_ISOLATION_START && failed != TN_OK;
    page->message[0] = 0;
    if (failed != TN_OK)
        snprintf(page->message, sizeof(page->message), "%s%s%s", has_position ? error->where : "",
                 has_position && error->where[0] ? ": " : "", error->message);
    page->status = status;
    page->failed = failed;
    if (status == TN_OK) tn_server_note(server, TN_ISOLATION_IDLE, TN_ISOLATION_NO_STEP);
    tn_isolation_answer(page);
}

int tn_isolation_serve(int argument_count, char **arguments) {
    tn_server server = {0};
    if (argument_count == 2 && strcmp(arguments[1], "read") == 0) return tn_helper_read();
    const bool is_asked = argument_count == 2 && strcmp(arguments[1], "serve") == 0;
    server.page = is_asked ? tn_helper_map_page(sizeof(tn_isolation_page)) : NULL;
    if (!server.page || server.page->version != TN_ISOLATION_VERSION) {
        fprintf(stderr,
                "tenon-isolate: it runs plugins' kernels and reads models for --isolate and for "
                "engines with TN_ENGINE_ISOLATED of the same build, which start it\n");
        return 2;
    }
    if (!tn_helper_watch()) return 1;
    tn_isolation_patience patience = {.is_alone = tn_cpu_core_count() <= 1};
    for (;;) {
        tn_isolation_await_request(server.page, &patience);
        const bool is_last = server.page->request == TN_ISOLATION_STOP;
        answer(&server);
        if (is_last) _exit(0);
    }
}
