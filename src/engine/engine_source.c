/* SPDX-License-Identifier: Apache-2.0 */
/* See engine_source.h. */
#include "engine/engine_source.h"
#include "base/hash.h"
#include "base/status.h"
#include "plugin/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void tn_engine_source_release(tn_runtime *runtime, tn_shared_weight *copy, size_t mapped_bytes) {
    if (!copy) return;
    void *data = tn_weight_store_release(tn_runtime_weights(runtime), copy);
    tn_file file = {.allocator = tn_runtime_allocator(runtime),
                    .data = data,
                    .bytes = mapped_bytes,
                    .is_mapped = mapped_bytes > 0};
    if (data && mapped_bytes > 0)
        tn_file_unmap(&file);
    else
        tn_deallocate(file.allocator, data);
}

void tn_engine_source_close(tn_runtime *runtime, tn_engine_source *from) {
    tn_file_unmap(&from->file);
    tn_engine_source_release(runtime, from->copy, from->mapped_bytes);
    if (from->descriptor >= 0) close(from->descriptor);
}

/* One mapping for all engines of a file, which has not been written to in between. */
static tn_status share_mapping(tn_runtime *runtime, tn_engine_source *from) {
    tn_weight_store *weights = tn_runtime_weights(runtime);
    const tn_weight_key key = {
        .content = from->file.identity, .bytes = from->file.bytes, .library = "file"};
    if (!from->file.is_mapped) return TN_OK;
    from->copy = tn_weight_store_find(weights, &key);
    if (!from->copy)
        TN_TRY(tn_weight_store_add(weights, &key, (void *)(uintptr_t)from->file.data, &from->copy));
    const tn_file shared = {.data = tn_shared_weight_data(from->copy), .bytes = from->file.bytes};
    if (shared.data != from->file.data) tn_file_unmap(&from->file);
    from->mapped_bytes = shared.bytes;
    from->file = shared;
    return TN_OK;
}

/* Helper processes read the file that is mapped here, though another may have its name by then. */
tn_status tn_engine_source_open_file(tn_runtime *runtime, const char *path,
                                     const tn_engine_options *options, tn_engine_source *from) {
    if (options->flags & TN_ENGINE_ISOLATED) {
        from->descriptor = open(path, O_RDONLY | O_CLOEXEC);
        if (from->descriptor < 0 && errno != ENOENT)
            return tn_fail(TN_ERROR_IO, "cannot read '%s': %s", path, strerror(errno));
    }
    tn_status status = tn_file_map(tn_runtime_allocator(runtime), path, &from->file);
    if (status == TN_OK) {
        status = share_mapping(runtime, from);
        if (status != TN_OK) tn_file_unmap(&from->file);
    }
    if (status != TN_OK && from->descriptor >= 0) close(from->descriptor);
    return status;
}

static tn_status write_all(int descriptor, const void *data, size_t bytes) {
    const char *at = data;
    while (bytes > 0) {
        const ssize_t written = write(descriptor, at, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0)
            return tn_fail(TN_ERROR_MEMORY, "no memory for a copy of the plan: %s",
                           strerror(errno));
        at += written;
        bytes -= (size_t)written;
    }
    return TN_OK;
}

/* For helper processes, which cannot see this one's memory. */
tn_status tn_engine_source_open_memory(const void *data, size_t bytes,
                                       const tn_engine_options *options, tn_engine_source *from) {
    if (!(options->flags & TN_ENGINE_ISOLATED)) return TN_OK;
    from->descriptor = memfd_create("tenon-plan", MFD_CLOEXEC);
    if (from->descriptor < 0) return tn_fail_memory("a copy of the plan");
    const tn_status status = write_all(from->descriptor, data, bytes);
    if (status != TN_OK) close(from->descriptor);
    return status;
}

/* A copy that engines of the same bytes share. */
static tn_status copy_plan(tn_runtime *runtime, const void *data, size_t bytes,
                           tn_engine_source *from) {
    const tn_allocator *allocator = tn_runtime_allocator(runtime);
    tn_weight_store *weights = tn_runtime_weights(runtime);
    const tn_weight_key key = {.content = tn_hash(data, bytes), .bytes = bytes, .library = "plan"};
    from->copy = tn_weight_store_find(weights, &key);
    if (!from->copy) {
        void *copy = tn_allocate_aligned(allocator, bytes, 64);
        if (!copy) return tn_fail_memory("a copy of the plan");
        memcpy(copy, data, bytes);
        const tn_status status = tn_weight_store_add(weights, &key, copy, &from->copy);
        if (status != TN_OK || tn_shared_weight_data(from->copy) != copy)
            tn_deallocate(allocator, copy);
        TN_TRY(status);
    }
    const void *shared = tn_shared_weight_data(from->copy);
    if (memcmp(shared, data, bytes) == 0) {
        from->file = (tn_file){.data = shared, .bytes = bytes};
        return TN_OK;
    }
    /* other bytes of the same hash */
    tn_deallocate(allocator, tn_weight_store_release(weights, from->copy));
    from->copy = NULL;
    return tn_file_copy(allocator, data, bytes, &from->file);
}

tn_status tn_engine_source_copy(tn_runtime *runtime, const void *data, size_t bytes,
                                const tn_engine_options *options, tn_engine_source *from) {
    TN_TRY(tn_engine_source_open_memory(data, bytes, options, from));
    const tn_status status =
        bytes > 0 ? copy_plan(runtime, data, bytes, from)
                  : tn_file_copy(tn_runtime_allocator(runtime), data, 0, &from->file);
    if (status != TN_OK && from->descriptor >= 0) close(from->descriptor);
    return status;
}
