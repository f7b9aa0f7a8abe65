/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a model comes from: names, versions and metadata, as its file or the caller says them. They
 * are kept in the graph and mean nothing to it. Public side: tenon/describe.h.
 */
#include "base/map.h"
#include "base/status.h"
#include "graph/graph_private.h"

#include <inttypes.h>
#include <string.h>

/* The members that are texts. */
static const size_t texts[] = {offsetof(tn_model_info, graph_name),
                               offsetof(tn_model_info, producer_name),
                               offsetof(tn_model_info, producer_version),
                               offsetof(tn_model_info, domain),
                               offsetof(tn_model_info, doc),
                               offsetof(tn_model_info, source_format)};
#define TEXT_COUNT (sizeof(texts) / sizeof(texts[0]))

static const char **text_at(tn_model_info *info, size_t index) {
    return (const char **)(void *)((unsigned char *)info + texts[index]);
}

static uint64_t bytes_of(const char *text) {
    return text ? strlen(text) : 0;
}

static uint64_t text_bytes(tn_model_info info) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < TEXT_COUNT; i++)
        bytes += bytes_of(*text_at(&info, i));
    for (uint64_t i = 0; i < info.metadata_count; i++)
        bytes += bytes_of(info.metadata[i].key) + bytes_of(info.metadata[i].value);
    return bytes;
}

static tn_status check_bounds(const tn_model_info *info) {
    if (info->metadata_count > TN_METADATA_MAX_COUNT)
        return tn_fail(TN_ERROR_RANGE, "%" PRIu64 " entries of metadata; at most %d are possible",
                       info->metadata_count, TN_METADATA_MAX_COUNT);
    const uint64_t bytes = text_bytes(*info);
    if (bytes > TN_METADATA_MAX_BYTES)
        return tn_fail(TN_ERROR_RANGE,
                       "the texts of a model's description take %" PRIu64 " bytes; at most %" PRIu64
                       " are possible",
                       bytes, TN_METADATA_MAX_BYTES);
    return TN_OK;
}

static tn_status check_keys(const tn_allocator *allocator, const tn_model_info *info) {
    tn_map *keys;
    TN_TRY(tn_map_create(allocator, &keys));
    tn_status status = TN_OK;
    for (uint64_t i = 0; i < info->metadata_count && status == TN_OK; i++) {
        const tn_metadata *entry = &info->metadata[i];
        if (!entry->key || !*entry->key || !entry->value)
            status = tn_fail(TN_ERROR_ARGUMENT,
                             "entry %" PRIu64 " of the metadata has no key or no value", i);
        else if (tn_map_get(keys, entry->key, &(uint64_t){0}))
            status = tn_fail(TN_ERROR_ARGUMENT, "the metadata has the key '%s' twice", entry->key);
        else
            status = tn_map_set(keys, entry->key, i);
    }
    tn_map_destroy(keys);
    return status;
}

static tn_status copy_text(tn_graph *graph, const char **text) {
    if (!*text) return TN_OK;
    *text = tn_arena_text(graph->arena, *text);
    return *text ? TN_OK : tn_fail_memory("a model's description");
}

/* Copies the strings of `metadata`, and the array itself with room for one more. */
static tn_status copy_metadata(tn_graph *graph, const tn_metadata *metadata, uint64_t count,
                               tn_metadata **out_metadata) {
    tn_metadata *copy = tn_allocate_zero(graph->allocator, (size_t)count + 1, sizeof(*copy));
    tn_status status = copy ? TN_OK : tn_fail_memory("a model's metadata");
    for (uint64_t i = 0; i < count && status == TN_OK; i++) {
        copy[i] = metadata[i];
        status = copy_text(graph, &copy[i].key);
        if (status == TN_OK) status = copy_text(graph, &copy[i].value);
    }
    if (status == TN_OK)
        *out_metadata = copy;
    else
        tn_deallocate(graph->allocator, copy);
    return status;
}

static void put_metadata(tn_graph *graph, tn_metadata *metadata, uint64_t count) {
    tn_model_info *info = &graph->private_part->info;
    tn_deallocate(graph->allocator, (void *)(uintptr_t)info->metadata);
    info->metadata = metadata;
    info->metadata_count = count;
}

/* What is given over what there was. */
static tn_model_info merge(tn_model_info old, tn_model_info given) {
    for (size_t i = 0; i < TEXT_COUNT; i++)
        if (*text_at(&given, i)) *text_at(&old, i) = *text_at(&given, i);
    old.model_version = given.model_version;
    if (given.metadata) {
        old.metadata = given.metadata;
        old.metadata_count = given.metadata_count;
    }
    return old;
}

static tn_status set_info(tn_graph *graph, tn_model_info given) {
    tn_model_info *info = &graph->private_part->info;
    tn_metadata *metadata = NULL;
    for (size_t i = 0; i < TEXT_COUNT; i++)
        TN_TRY(copy_text(graph, text_at(&given, i)));
    if (given.metadata)
        TN_TRY(copy_metadata(graph, given.metadata, given.metadata_count, &metadata));
    given.metadata = NULL;
    *info = merge(*info, given);
    if (given.graph_name) graph->name = given.graph_name;
    if (metadata) put_metadata(graph, metadata, given.metadata_count);
    return TN_OK;
}

tn_status tn_graph_set_model_info(tn_graph *graph, const tn_model_info *info) {
    tn_model_info given = {0};
    if (!graph || !info || info->size < sizeof(info->size))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_graph_set_model_info needs a graph and a struct with its size");
    memcpy(&given, info, info->size < sizeof(given) ? info->size : sizeof(given));
    if (!given.metadata && given.metadata_count > 0)
        return tn_fail(TN_ERROR_ARGUMENT, "%" PRIu64 " entries of metadata, but the list is null",
                       given.metadata_count);
    const tn_model_info merged = merge(graph->private_part->info, given);
    if (given.metadata_count <= TN_METADATA_MAX_COUNT) TN_TRY(check_keys(graph->allocator, &given));
    TN_TRY(check_bounds(&merged));
    return set_info(graph, given);
}

static uint64_t find_key(const tn_model_info *info, const char *key) {
    uint64_t i = 0;
    while (i < info->metadata_count && strcmp(info->metadata[i].key, key) != 0)
        i++;
    return i;
}

static void remove_entry(tn_model_info *info, uint64_t index) {
    tn_metadata *entries = (tn_metadata *)(uintptr_t)info->metadata;
    memmove(&entries[index], &entries[index + 1],
            (size_t)(info->metadata_count - index - 1) * sizeof(*entries));
    info->metadata_count--;
}

tn_status tn_graph_set_metadata(tn_graph *graph, const char *key, const char *value) {
    if (!graph || !key || !*key)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_graph_set_metadata needs a graph and a key");
    tn_model_info *info = &graph->private_part->info, next = *info;
    const uint64_t index = find_key(info, key);
    if (!value) {
        if (index < info->metadata_count) remove_entry(info, index);
        return TN_OK;
    }
    tn_metadata *entries = NULL;
    const bool is_new = index == info->metadata_count;
    if (is_new && ++next.metadata_count > TN_METADATA_MAX_COUNT) return check_bounds(&next);
    if (text_bytes(*info) + strlen(key) + strlen(value) > TN_METADATA_MAX_BYTES)
        return tn_fail(TN_ERROR_RANGE,
                       "with the value of '%s' a model's description takes more than %" PRIu64
                       " bytes",
                       key, TN_METADATA_MAX_BYTES);
    tn_metadata entry = {key, value};
    TN_TRY(copy_text(graph, &entry.key));
    TN_TRY(copy_text(graph, &entry.value));
    entries = tn_allocate_zero(graph->allocator, (size_t)next.metadata_count, sizeof(*entries));
    if (!entries) return tn_fail_memory("a model's metadata");
    if (info->metadata_count > 0)
        memcpy(entries, info->metadata, (size_t)info->metadata_count * sizeof(*entries));
    entries[index] = entry;
    put_metadata(graph, entries, next.metadata_count);
    return TN_OK;
}

tn_status tn_graph_get_model_info(const tn_graph *graph, tn_model_info *out_info) {
    if (!graph || !out_info || out_info->size < sizeof(out_info->size))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_graph_get_model_info needs a graph and a struct with its size");
    const struct tn_graph_private *own = graph->private_part;
    tn_model_info info = own->info;
    const uint32_t size = out_info->size;
    info.graph_name = graph->name;
    for (size_t i = 0; i < TEXT_COUNT; i++)
        if (!*text_at(&info, i)) *text_at(&info, i) = "";
    info.opset_count = (uint32_t)own->opset_count;
    info.opsets = own->opsets;
    info.size = size;
    memcpy(out_info, &info, size < sizeof(info) ? size : sizeof(info));
    return TN_OK;
}

tn_status tn_graph_copy_model_info(tn_graph *to, const tn_graph *from) {
    return set_info(to, from->private_part->info);
}

/* A bound on what is still taken; a text that does not fit is none. */
static const char *take_text(const char *text, uint64_t *bytes_left, uint64_t *left_out) {
    const uint64_t bytes = bytes_of(text);
    if (bytes > *bytes_left) {
        ++*left_out;
        return NULL;
    }
    *bytes_left -= bytes;
    return text;
}

/* The entries of `info` that are sound, into `entries`. */
static tn_status take_metadata(const tn_model_info *info, tn_map *keys, tn_metadata *entries,
                               uint64_t *count, uint64_t *bytes_left, uint64_t *left_out) {
    for (uint64_t i = 0; i < info->metadata_count; i++) {
        const tn_metadata *entry = &info->metadata[i];
        const uint64_t bytes = bytes_of(entry->key) + bytes_of(entry->value);
        if (!entry->key || !*entry->key || bytes > *bytes_left || *count == TN_METADATA_MAX_COUNT ||
            tn_map_get(keys, entry->key, &(uint64_t){0})) {
            ++*left_out;
            continue;
        }
        TN_TRY(tn_map_set(keys, entry->key, i));
        entries[(*count)++] = (tn_metadata){entry->key, entry->value ? entry->value : ""};
        *bytes_left -= bytes;
    }
    return TN_OK;
}

tn_status tn_graph_import_model_info(tn_graph *graph, const tn_model_info *info) {
    tn_model_info own = *info;
    tn_map *keys;
    uint64_t bytes_left = TN_METADATA_MAX_BYTES, left_out = 0;
    tn_metadata *entries =
        tn_allocate_zero(graph->allocator, (size_t)info->metadata_count + 1, sizeof(*entries));
    if (!entries) return tn_fail_memory("a model's metadata");
    tn_status status = tn_map_create(graph->allocator, &keys);
    if (status == TN_OK) {
        for (size_t i = 0; i < TEXT_COUNT; i++)
            *text_at(&own, i) = take_text(*text_at(&own, i), &bytes_left, &left_out);
        own.metadata = entries;
        own.metadata_count = 0;
        status = take_metadata(info, keys, entries, &own.metadata_count, &bytes_left, &left_out);
        if (status == TN_OK) status = set_info(graph, own);
        tn_map_destroy(keys);
    }
    tn_deallocate(graph->allocator, entries);
    if (status == TN_OK && left_out > 0)
        tn_runtime_log(graph->runtime, TN_LOG_WARNING,
                       "%" PRIu64 " texts of the model's description are left out: an entry has no "
                       "key or one that is there already, or they are more than %d entries or "
                       "%" PRIu64 " bytes",
                       left_out, TN_METADATA_MAX_COUNT, TN_METADATA_MAX_BYTES);
    return status;
}

const char *tn_model_info_find(const tn_model_info *info, const char *key) {
    if (!info || !key || info->size < sizeof(*info)) return NULL;
    const uint64_t index = find_key(info, key);
    return index < info->metadata_count ? info->metadata[index].value : NULL;
}
