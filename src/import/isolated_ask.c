/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The asking side of reading a model in a helper process: the process, the wait for it, and what
 * becomes of one that does not live to answer.
 */
#include "base/process/child_process.h"
#include "base/clock.h"
#include "base/status.h"
#include "import/isolated_asking.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT_MS 60000u

/* ----------------------------------------------------------------------------------------------
 * a helper that is gone */

/* What it was about, into `text`. */
static void describe_work(const tn_isolated_asking *a, char *text, size_t capacity) {
    char importer[sizeof(a->page->importer)], library[sizeof(a->page->library)];
    const uint32_t stage = atomic_load(&a->page->stage);
    tn_isolated_copy_clean(importer, a->page->importer, sizeof(importer));
    tn_isolated_copy_clean(library, a->page->library, sizeof(library));
    if (stage == TN_ISOLATED_LOADS)
        snprintf(text, capacity, "while library %s was loaded", library);
    else if (stage == TN_ISOLATED_READS)
        snprintf(text, capacity, "in the importer '%s'%s%s%s", importer,
                 library[0] ? " of library " : "", library,
                 library[0] ? "" : ", which is built in");
    else
        snprintf(text, capacity, "%s",
                 stage == TN_ISOLATED_CHOOSES ? "while an importer was looked for"
                 : stage == TN_ISOLATED_PACKS ? "while the graph was handed over"
                                              : "before it began");
}

/* The position, as far as the importer said it. */
static tn_status locate_error(const tn_isolated_asking *a, tn_status status) {
    char node[sizeof(a->page->position.node)], library[sizeof(a->page->library)];
    const uint64_t offset = a->page->position.offset;
    tn_isolated_copy_clean(node, a->page->position.node, sizeof(node));
    tn_isolated_copy_clean(library, a->page->library, sizeof(library));
    if (library[0]) (void)tn_error_in(status, .library = library, .is_in_message = true);
    if (node[0]) (void)tn_error_in(status, .node = node);
    if (offset != UINT64_MAX) {
        (void)tn_error_at(status, "byte %" PRIu64, offset);
        (void)tn_error_at_byte(status, offset);
    }
    return a->from->path ? tn_error_in(status, .file = a->from->path) : status;
}

static tn_status lose_helper(tn_isolated_asking *a, const char *why) {
    char work[1024], how[200];
    describe_work(a, work, sizeof(work));
    tn_child_process_describe(a->process.how, how, sizeof(how));
    return locate_error(
        a, tn_fail(TN_ERROR_PLUGIN, "the process that read it %s, %s", why ? why : how, work));
}

/* ----------------------------------------------------------------------------------------------
 * the wait */

/* Of its own, files that it maps not counted; and what it has written for us. */
static uint64_t memory_of(const tn_isolated_asking *a) {
    char path[64], text[128];
    uint64_t all, resident = 0, shared = 0;
    struct stat about;
    snprintf(path, sizeof(path), "/proc/%d/statm", (int)a->process.id);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        const ssize_t length = read(file, text, sizeof(text) - 1);
        close(file);
        text[length > 0 ? length : 0] = 0;
        if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &all, &resident, &shared) != 3)
            resident = shared = 0;
    }
    const uint64_t written = fstat(a->file, &about) == 0 ? (uint64_t)about.st_blocks * 512 : 0;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return (resident > shared ? (resident - shared) * page : 0) + written;
}

static tn_status await(tn_isolated_asking *a) {
    const uint32_t given = a->options->isolation_limit_ms;
    const uint64_t limit = given == UINT32_MAX ? UINT64_MAX : given ? given : LIMIT_MS;
    const uint64_t begin = tn_now_ns() / 1000000u;
    struct pollfd socket = {.fd = a->process.socket, .events = POLLRDHUP};
    char why[120];
    int slice = 1;
    while (!tn_helper_process_is_over(&a->process)) {
        const uint64_t passed = tn_now_ns() / 1000000u - begin;
        if (passed >= limit) {
            snprintf(why, sizeof(why), "was ended after %" PRIu64 " ms, which is its limit", limit);
            return lose_helper(a, why);
        }
        if (a->memory != UINT64_MAX && memory_of(a) > a->memory) {
            snprintf(why, sizeof(why), "was ended when it had taken more than %" PRIu64 " MiB",
                     a->memory >> 20);
            return lose_helper(a, why);
        }
        if ((uint64_t)slice > limit - passed) slice = (int)(limit - passed);
        if (poll(&socket, 1, slice) > 0) (void)usleep(200); /* it is about to end */
        if (slice < 16) slice *= 2;
    }
    return atomic_load(&a->page->stage) == TN_ISOLATED_ENDED ? TN_OK : lose_helper(a, NULL);
}

/* ----------------------------------------------------------------------------------------------
 * all of it */

static uint64_t memory_limit(const tn_import_options *options) {
    if (options->isolation_memory) return options->isolation_memory;
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages / 4 * 3 * (uint64_t)page : UINT64_MAX;
}

static tn_status ask_helper(tn_isolated_asking *a, tn_graph **out_graph) {
    const char *helper;
    TN_TRY(tn_helper_program(a->arena, a->options->isolation_helper, &helper));
    TN_TRY(tn_isolated_ask_for(a));
    TN_TRY(tn_helper_process_start(helper, "read", true, a->page_file, a->file, &a->process));
    TN_TRY(await(a));
    return tn_isolated_take_answer(a, out_graph);
}

tn_status tn_isolated_reading_load(tn_runtime *runtime, const tn_import_options *options,
                                   const tn_reading_source *from, tn_graph **out_graph) {
    tn_reading_source own = *from;
    tn_isolated_asking a = {.runtime = runtime,
                            .options = options,
                            .from = &own,
                            .request = {.allocator = tn_runtime_allocator(runtime)},
                            .page_file = -1,
                            .file = -1,
                            .memory = memory_limit(options)};
    TN_TRY(tn_arena_create(tn_runtime_allocator(runtime), &a.arena));
    tn_status status = TN_OK;
    if (own.path) {
        own.folder = tn_path_folder(a.arena, own.path);
        if (!own.folder) status = tn_fail_memory("a path");
    }
    if (status == TN_OK) status = ask_helper(&a, out_graph);
    tn_helper_process_end(&a.process);
    if (a.page) munmap(a.page, sizeof(*a.page));
    if (a.page_file >= 0) close(a.page_file);
    if (a.file >= 0) close(a.file);
    tn_deallocate(tn_runtime_allocator(runtime), a.records);
    tn_isolated_writer_deinit(&a.request);
    tn_arena_destroy(a.arena);
    return status;
}
