/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan with the files of its libraries in it: the description is unpacked, its manifest gets what
 * is said of each file, and the sections follow as they were. Bodies are plans with manifests of
 * their own: what only they name is added to the outer manifest, where nothing but loading embedded
 * libraries asks for it. Declared in tenon/engine.h.
 */
#include "base/hash.h"
#include "base/code_cache/sha256.h"
#include "base/status.h"
#include "base/wire.h"
#include "graph/body.h"
#include "plan/write/writer.h"
#include "plugin/library_private.h"
#include "plugin/runtime.h"
#include <tenon/engine.h>

#include <string.h>

/* A library's file, mapped. */
typedef struct embedded_file {
    tn_file file;
    uint64_t hash;
    unsigned char sha256[TN_SHA256_BYTES];
    size_t offset; /* in the section */
} embedded_file;

typedef struct embedding {
    tn_runtime *runtime;
    const tn_allocator *allocator;
    tn_arena *arena;
    const unsigned char *from; /* the plan's bytes */
    tn_plan_layout layout;
    Tenon__Plan__Plan plan;           /* the message with a manifest of its own, in the arena */
    Tenon__Plan__Library **libraries; /* that manifest */
    size_t library_count, library_capacity;
    embedded_file *files; /* each content once */
    size_t file_count, file_capacity;
    size_t bytes; /* of the section */
} embedding;

static tn_library_key key_of(const Tenon__Plan__Library *library) {
    return (tn_library_key){library->name, library->domain, library->hash};
}

/* A copy of an entry, whose texts stay the message's. */
static tn_status add_library(embedding *e, const Tenon__Plan__Library *library) {
    Tenon__Plan__Library *copy = tn_arena_copy(e->arena, library, sizeof(*library));
    if (!copy) return tn_fail_memory("a plan's libraries");
    TN_TRY(tn_grow(e->allocator, (void **)&e->libraries, &e->library_capacity, e->library_count + 1,
                   sizeof(Tenon__Plan__Library *)));
    e->libraries[e->library_count++] = copy;
    e->plan.libraries = e->libraries;
    e->plan.n_libraries = e->library_count;
    return TN_OK;
}

/* Its texts go with the body's message. */
static tn_status add_body_library(embedding *e, const Tenon__Plan__Library *library) {
    const tn_library_key key = key_of(library);
    Tenon__Plan__Library kept = TENON__PLAN__LIBRARY__INIT;
    if (!*library->file_name || tn_plan_find_library(&e->plan, &key) < e->library_count)
        return TN_OK;
    kept.hash = library->hash;
    kept.name = tn_arena_text(e->arena, library->name);
    kept.version = tn_arena_text(e->arena, library->version);
    kept.file_name = tn_arena_text(e->arena, library->file_name);
    kept.domain = tn_arena_text(e->arena, library->domain);
    if (!kept.name || !kept.version || !kept.file_name || !kept.domain)
        return tn_fail_memory("a plan's libraries");
    return add_library(e, &kept);
}

static tn_status add_bodies(embedding *e, const Tenon__Plan__Plan *plan,
                            const unsigned char *weights, size_t depth);

/* The bytes are this process' own work. */
static tn_status add_body(embedding *e, const unsigned char *data, size_t bytes, size_t depth) {
    tn_plan_layout layout;
    ProtobufCMessage *message = NULL;
    if (depth > TN_BODY_DEPTH) return tn_fail(TN_ERROR_FORMAT, "bodies are nested too deep");
    TN_TRY(tn_plan_layout_read(data, bytes, &layout));
    const tn_plan_section *description = tn_plan_layout_find(&layout, TN_SECTION_DESCRIPTION);
    const tn_plan_section *weights = tn_plan_layout_find(&layout, TN_SECTION_WEIGHTS);
    if (!description || !weights)
        return tn_fail(TN_ERROR_FORMAT, "a body has no description or no weights");
    TN_TRY(tn_wire_unpack(e->allocator, &tenon__plan__plan__descriptor, data + description->offset,
                          description->bytes, &message));
    const Tenon__Plan__Plan *plan = (const Tenon__Plan__Plan *)message;
    tn_status status = TN_OK;
    for (size_t i = 0; i < plan->n_libraries && status == TN_OK; i++)
        status = add_body_library(e, plan->libraries[i]);
    if (status == TN_OK) status = add_bodies(e, plan, data + weights->offset, depth + 1);
    tn_wire_free(e->allocator, message);
    return status;
}

static tn_status add_bodies(embedding *e, const Tenon__Plan__Plan *plan,
                            const unsigned char *weights, size_t depth) {
    for (size_t n = 0; n < plan->n_nodes; n++) {
        const Tenon__Plan__Node *node = plan->nodes[n];
        for (size_t a = 0; a < node->n_attributes; a++) {
            const Tenon__Plan__Body *body = node->attributes[a]->graph;
            if (body)
                TN_TRY(add_body(e, weights + (size_t)body->offset, (size_t)body->bytes, depth));
        }
    }
    return TN_OK;
}

/* The path of a loaded library, in the arena. */
typedef struct path_search {
    embedding *e;
    tn_library_key key;
    const char *path;
    bool is_failed;
} path_search;

static bool visit_library(void *user, const tn_library_info *library) {
    path_search *search = user;
    if (library->hash != search->key.hash || strcmp(library->name, search->key.name) != 0)
        return true;
    search->path = tn_arena_text(search->e->arena, library->path);
    search->is_failed = !search->path;
    return false;
}

static tn_status find_path(embedding *e, const Tenon__Plan__Library *library,
                           const char **out_path) {
    path_search search = {.e = e, .key = key_of(library)};
    tn_runtime_visit_libraries(e->runtime, visit_library, &search);
    if (search.is_failed) return tn_fail_memory("a path");
    if (!search.path)
        return tn_fail(TN_ERROR_NOT_FOUND,
                       "library '%s' (%s) is not loaded in the runtime of the plan", library->name,
                       library->file_name);
    *out_path = search.path;
    return TN_OK;
}

/* Maps it, once for each content. */
static tn_status add_file(embedding *e, const Tenon__Plan__Library *library, const char *path,
                          size_t *out_index) {
    for (*out_index = 0; *out_index < e->file_count; ++*out_index)
        if (e->files[*out_index].hash == library->hash) return TN_OK;
    embedded_file added = {.hash = library->hash};
    TN_TRY(tn_grow(e->allocator, (void **)&e->files, &e->file_capacity, e->file_count + 1,
                   sizeof(*e->files)));
    TN_TRY(tn_file_map(e->allocator, path, &added.file));
    tn_status status = TN_OK;
    if (tn_hash(added.file.data, added.file.bytes) != library->hash)
        status = tn_fail(TN_ERROR_PLUGIN,
                         "'%s' has other content now than library '%s', which was loaded from it",
                         path, library->name);
    else if (!tn_align_size(e->bytes, TN_PLAN_WEIGHT_ALIGNMENT, &added.offset) ||
             !tn_add_size(added.offset, added.file.bytes, &e->bytes))
        status = tn_fail_memory("a plan's libraries");
    if (status != TN_OK) {
        tn_file_unmap(&added.file);
        return status;
    }
    tn_sha256(added.file.data, added.file.bytes, added.sha256);
    e->files[e->file_count++] = added;
    return TN_OK;
}

static tn_status embed_library(embedding *e, Tenon__Plan__Library *library) {
    const char *path = NULL;
    size_t index = 0;
    if (!*library->file_name) return TN_OK;
    TN_TRY(find_path(e, library, &path));
    if (tn_library_is_own(e->runtime, path)) return TN_OK;
    TN_TRY(add_file(e, library, path, &index));
    library->embedded_offset = e->files[index].offset;
    library->embedded_bytes = e->files[index].file.bytes;
    return TN_OK;
}

/* When no more files come, so that they stay where they are. */
static void set_digests(embedding *e) {
    for (size_t i = 0; i < e->library_count; i++)
        for (size_t f = 0; f < e->file_count && e->libraries[i]->embedded_bytes > 0; f++)
            if (e->files[f].offset == e->libraries[i]->embedded_offset)
                e->libraries[i]->sha256 =
                    (ProtobufCBinaryData){TN_SHA256_BYTES, e->files[f].sha256};
}

static void copy_section(const embedding *e, uint32_t kind, const tn_plan_layout *layout,
                         unsigned char *to) {
    const tn_plan_section *old = tn_plan_layout_find(&e->layout, kind);
    const tn_plan_section *section = tn_plan_layout_find(layout, kind);
    if (old && section) memcpy(to + section->offset, e->from + old->offset, old->bytes);
}

static tn_status write_bytes(embedding *e, tn_plan *plan) {
    const tn_plan_section *packed = tn_plan_layout_find(&e->layout, TN_SECTION_PACKED);
    tn_plan_layout layout;
    TN_TRY(tn_plan_layout_make(tenon__plan__plan__get_packed_size(&e->plan),
                               tn_plan_layout_find(&e->layout, TN_SECTION_WEIGHTS)->bytes,
                               packed ? packed->bytes : 0, e->bytes, &layout));
    unsigned char *data =
        tn_allocate_aligned(plan->allocator, layout.bytes, TN_PLAN_WEIGHT_ALIGNMENT);
    if (!data) return tn_fail_memory("a plan");
    memset(data, 0, layout.bytes);
    tenon__plan__plan__pack(&e->plan, data + layout.sections[0].offset);
    copy_section(e, TN_SECTION_WEIGHTS, &layout, data);
    copy_section(e, TN_SECTION_PACKED, &layout, data);
    const tn_plan_section *libraries = tn_plan_layout_find(&layout, TN_SECTION_LIBRARIES);
    for (size_t i = 0; i < e->file_count; i++)
        memcpy(data + libraries->offset + e->files[i].offset, e->files[i].file.data,
               e->files[i].file.bytes);
    tn_plan_layout_write(&layout, data);
    plan->bytes = layout.bytes;
    plan->data = plan->buffer = data;
    return TN_OK;
}

static tn_status make_plan(embedding *e, const tn_plan *from, tn_plan **out_plan) {
    tn_plan *plan = tn_allocate_zero(e->allocator, 1, sizeof(*plan));
    if (!plan) return tn_fail_memory("a plan");
    plan->allocator = e->allocator;
    plan->runtime = tn_runtime_retain(e->runtime);
    plan->has_refit = from->has_refit;
    atomic_init(&plan->owners, 1);
    pthread_mutex_init(&plan->joining, NULL);
    tn_status status = write_bytes(e, plan);
    if (status == TN_OK && from->report &&
        !(plan->report = tn_duplicate_text(e->allocator, from->report)))
        status = tn_fail_memory("a report");
    if (status == TN_OK)
        *out_plan = plan;
    else
        tn_plan_destroy(plan);
    return status;
}

static tn_status embed(embedding *e, const tn_plan *from, const Tenon__Plan__Plan *message,
                       tn_plan **out_plan) {
    const tn_plan_section *weights = tn_plan_layout_find(&e->layout, TN_SECTION_WEIGHTS);
    e->plan = *message;
    e->plan.n_libraries = 0;
    for (size_t i = 0; i < message->n_libraries; i++)
        TN_TRY(add_library(e, message->libraries[i]));
    TN_TRY(add_bodies(e, message, e->from + weights->offset, 0));
    for (size_t i = 0; i < e->library_count; i++)
        TN_TRY(embed_library(e, e->libraries[i]));
    set_digests(e);
    return make_plan(e, from, out_plan);
}

static tn_status embed_unpacked(embedding *e, const tn_plan *from, tn_plan **out_plan) {
    uint64_t bytes = 0;
    ProtobufCMessage *message = NULL;
    e->from = tn_plan_bytes(from, &bytes);
    if (!e->from) return tn_fail_memory("a plan");
    TN_TRY(tn_plan_layout_read(e->from, (size_t)bytes, &e->layout));
    const tn_plan_section *description = tn_plan_layout_find(&e->layout, TN_SECTION_DESCRIPTION);
    TN_TRY(tn_wire_unpack(e->allocator, &tenon__plan__plan__descriptor,
                          e->from + description->offset, description->bytes, &message));
    const tn_status status = embed(e, from, (const Tenon__Plan__Plan *)message, out_plan);
    tn_wire_free(e->allocator, message);
    return status;
}

tn_status tn_plan_embed_libraries(const tn_plan *plan, tn_plan **out_plan) {
    if (!plan || !out_plan)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_plan_embed_libraries needs a plan and out_plan");
    embedding e = {.runtime = plan->runtime, .allocator = plan->allocator};
    TN_TRY(tn_arena_create(e.allocator, &e.arena));
    const tn_status status = embed_unpacked(&e, plan, out_plan);
    for (size_t i = 0; i < e.file_count; i++)
        tn_file_unmap(&e.files[i].file);
    tn_deallocate(e.allocator, e.files);
    tn_deallocate(e.allocator, e.libraries);
    tn_arena_destroy(e.arena);
    return status;
}
