/* SPDX-License-Identifier: Apache-2.0 */
/* What a helper process is told that reads a model: libraries, search path, options, the model. */
#include "base/status.h"
#include "import/isolated_asking.h"
#include "plugin/library_private.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ----------------------------------------------------------------------------------------------
 * the request */

/* The option as far as the caller knows the struct. */
static tn_status read_option(const tn_attribute *option, uint64_t index, tn_attribute *out_own) {
    if (!option || option->size < offsetof(tn_attribute, i) || !option->name)
        return tn_fail(TN_ERROR_ARGUMENT, "option %" PRIu64 " is null, or has no name", index);
    tn_attribute own = {0};
    memcpy(&own, option, option->size < sizeof(own) ? option->size : sizeof(own));
    *out_own = own;
    if (own.type == TN_FIELD_TENSOR || own.type == TN_FIELD_GRAPH)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "option '%s' is a tensor or a graph, which a helper process does not get",
                       own.name);
    if (own.type == TN_FIELD_STRING && !own.s)
        return tn_fail(TN_ERROR_ARGUMENT, "option '%s' is a null text", own.name);
    if (own.count > 0 && !own.items &&
        (own.type == 0 || own.type == TN_FIELD_BYTES || own.type >= TN_FIELD_I64S))
        return tn_fail(TN_ERROR_ARGUMENT, "option '%s' is a list that is not there", own.name);
    for (uint64_t i = 0; own.type == TN_FIELD_STRINGS && i < own.count; i++)
        if (!((const char *const *)own.items)[i])
            return tn_fail(TN_ERROR_ARGUMENT, "option '%s': string %" PRIu64 " is null", own.name,
                           i);
    return TN_OK;
}

static tn_status put_options(tn_isolated_asking *a) {
    if (a->options->option_count > 1000 || (a->options->option_count > 0 && !a->options->options))
        return tn_fail(TN_ERROR_ARGUMENT, "options are counted, but their list is not there");
    for (uint64_t i = 0; i < a->options->option_count; i++) {
        tn_attribute own;
        TN_TRY(read_option(a->options->options[i], i, &own));
        tn_isolated_put_attribute(&a->request, &own);
    }
    return TN_OK;
}

typedef struct listing {
    tn_isolated_writer *writer;
    uint64_t count;
} listing;

static bool put_library(void *user, const tn_library_info *library) {
    listing *list = user;
    if (!library->path[0]) return true;
    tn_isolated_put_u64(list->writer, library->hash);
    tn_isolated_put_text(list->writer, library->path);
    tn_isolated_put_text(list->writer, library->domain);
    list->count++;
    return true;
}

static tn_status put_request(tn_isolated_asking *a) {
    const size_t path_count = tn_runtime_search_path_count(a->runtime);
    tn_isolated_writer *writer = &a->request;
    tn_isolated_request told = {.log_level = tn_runtime_log_level(a->runtime),
                                .reads_environment = tn_runtime_reads_environment(a->runtime),
                                .search_path_count = path_count,
                                .option_count = a->options->option_count};
    listing list = {.writer = writer};
    tn_isolated_put(writer, &told, sizeof(told));
    tn_isolated_put_text(writer, a->from->path);
    tn_isolated_put_text(writer, a->from->folder);
    tn_isolated_put_text(writer, a->options->format);
    for (size_t i = 0; i < path_count; i++)
        tn_isolated_put_text(writer, tn_runtime_search_path(a->runtime, i));
    tn_runtime_visit_libraries(a->runtime, put_library, &list);
    TN_TRY(put_options(a));
    told.library_count = list.count;
    if (!writer->is_failed) memcpy(writer->data, &told, sizeof(told));
    return writer->is_failed ? tn_fail_memory("a request to a helper process") : TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * files in memory */

static tn_status make_file(uint64_t bytes, int *out_file) {
    const int file = memfd_create("tenon", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    *out_file = file;
    if (file >= 0 && ftruncate(file, (off_t)bytes) == 0) return TN_OK;
    return tn_fail(TN_ERROR_MEMORY, "no shared memory for a helper process: %s", strerror(errno));
}

/* Page and file; the model is the request's end where it is in memory. */
static tn_status share_memory(tn_isolated_asking *a) {
    const size_t model = a->from->path ? 0 : a->from->bytes;
    TN_TRY(make_file(sizeof(tn_isolated_page), &a->page_file));
    TN_TRY(make_file(0, &a->file));
    void *page =
        mmap(NULL, sizeof(tn_isolated_page), PROT_READ | PROT_WRITE, MAP_SHARED, a->page_file, 0);
    if (page == MAP_FAILED) return tn_fail_memory("a helper process");
    a->page = page;
    a->page->version = TN_ISOLATED_VERSION;
    a->page->bytes = sizeof(*a->page);
    a->page->position.offset = UINT64_MAX;
    a->page->request_bytes = a->request.bytes + model;
    a->page->data_begin =
        (a->page->request_bytes + TN_ISOLATED_PAGE - 1) / TN_ISOLATED_PAGE * TN_ISOLATED_PAGE;
    TN_TRY(tn_isolated_write(a->file, a->request.data, a->request.bytes, 0));
    return tn_isolated_write(a->file, a->from->data, model, a->request.bytes);
}

tn_status tn_isolated_ask_for(tn_isolated_asking *a) {
    TN_TRY(put_request(a));
    return share_memory(a);
}
