/* SPDX-License-Identifier: Apache-2.0 */
/* The timing cache: a hash table of numbers, and its file. See timing_cache.h for both. */
#include "builder/timing/timing_cache.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const char file_magic[8] = {'T', 'N', 'T', 'I', 'M', 'I', 'N', 'G'};
enum { FILE_VERSION = 3 };

typedef struct file_header {
    char magic[8];
    uint32_t version, zero;
    uint64_t count;
} file_header;

typedef struct timing {
    uint64_t key;
    tn_timing_result result; /* ns below 0 in the table: an empty slot */
} timing;

struct tn_timing_cache {
    tn_runtime *runtime;
    const tn_allocator *allocator;
    char *path; /* null: in memory only */
    timing *table;
    size_t capacity, count; /* capacity: a power of two, or 0 */
    bool has_new;
};

static size_t slot_of(const tn_timing_cache *cache, uint64_t key) {
    size_t slot = (size_t)key & (cache->capacity - 1);
    while (cache->table[slot].result.ns >= 0 && cache->table[slot].key != key)
        slot = (slot + 1) & (cache->capacity - 1);
    return slot;
}

static tn_status grow_table(tn_timing_cache *cache, size_t capacity) {
    timing *old = cache->table;
    size_t old_capacity = cache->capacity;
    timing *table = tn_allocate_zero(cache->allocator, capacity, sizeof *table);
    if (!table) return tn_fail_memory("the timing cache");
    for (size_t i = 0; i < capacity; i++)
        table[i].result.ns = -1;
    cache->table = table;
    cache->capacity = capacity;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].result.ns >= 0) table[slot_of(cache, old[i].key)] = old[i];
    tn_deallocate(cache->allocator, old);
    return TN_OK;
}

static tn_status put(tn_timing_cache *cache, uint64_t key, tn_timing_result result) {
    if (cache->count + 1 > cache->capacity / 2)
        TN_TRY(grow_table(cache, cache->capacity ? cache->capacity * 2 : 256));
    size_t slot = slot_of(cache, key);
    if (cache->table[slot].result.ns < 0) cache->count++;
    cache->table[slot] = (timing){key, result};
    return TN_OK;
}

static bool is_sound(tn_timing_result result) {
    return result.ns >= 0 && !isinf(result.ns) && result.noise >= 0 && !isinf(result.noise) &&
           result.floor_ns >= 0 && !isinf(result.floor_ns) && result.grown_bytes >= 0 &&
           !isinf(result.grown_bytes);
}

bool tn_timing_cache_get(const tn_timing_cache *cache, uint64_t key, tn_timing_result *out_result) {
    if (cache->capacity == 0) return false;
    const timing *found = &cache->table[slot_of(cache, key)];
    if (found->result.ns < 0) return false;
    *out_result = found->result;
    return true;
}

tn_status tn_timing_cache_set(tn_timing_cache *cache, uint64_t key, tn_timing_result result) {
    if (!is_sound(result)) return tn_fail(TN_ERROR_INTERNAL, "a timing is not a time");
    TN_TRY(put(cache, key, result));
    cache->has_new = true;
    return TN_OK;
}

/* Whether the bytes begin like a cache, as far as they go: all else is somebody's other file. */
static bool begins_like_a_cache(const tn_file *file) {
    const size_t bytes = file->bytes < sizeof file_magic ? file->bytes : sizeof file_magic;
    return memcmp(file->data, file_magic, bytes) == 0;
}

/* Null when the bytes are a sound cache, else what is wrong with them. */
static const char *find_damage(const void *data, size_t bytes, file_header *out_header) {
    uint64_t checksum = 0;
    if (bytes < sizeof *out_header + sizeof checksum) return "it is too short";
    memcpy(out_header, data, sizeof *out_header);
    if (out_header->version != FILE_VERSION) return "it is of another version";
    size_t body_bytes = bytes - sizeof *out_header - sizeof checksum;
    if (body_bytes % sizeof(timing) != 0 || out_header->count != body_bytes / sizeof(timing))
        return "its length does not fit its count";
    memcpy(&checksum, (const char *)data + bytes - sizeof checksum, sizeof checksum);
    if (checksum != tn_hash(data, bytes - sizeof checksum)) return "its checksum does not fit";
    return NULL;
}

/* Adds a file's timings; with `keep_ours`, those that are here already stay. */
static tn_status merge_bytes(tn_timing_cache *cache, const tn_file *file, bool keep_ours) {
    file_header header;
    if (file->bytes == 0) return TN_OK; /* someone made it and has not written yet */
    if (!begins_like_a_cache(file))
        return tn_fail(TN_ERROR_FORMAT,
                       "'%s' is no timing cache, and is left as it is: name a file that is one, or "
                       "that does not exist yet",
                       cache->path);
    const char *damage = find_damage(file->data, file->bytes, &header);
    if (damage) {
        tn_runtime_log(cache->runtime, TN_LOG_WARNING,
                       "the timing cache '%s' is ignored and will be written anew: %s", cache->path,
                       damage);
        return TN_OK;
    }
    const char *at = (const char *)file->data + sizeof header;
    for (uint64_t i = 0; i < header.count; i++, at += sizeof(timing)) {
        timing entry;
        tn_timing_result ours;
        memcpy(&entry, at, sizeof entry);
        if (!is_sound(entry.result)) continue;
        if (keep_ours && tn_timing_cache_get(cache, entry.key, &ours)) continue;
        TN_TRY(put(cache, entry.key, entry.result));
    }
    return TN_OK;
}

static tn_status merge_file(tn_timing_cache *cache, bool keep_ours) {
    tn_file file = {0};
    if (!tn_file_exists(cache->path)) return TN_OK;
    tn_status status = tn_file_map(cache->allocator, cache->path, &file);
    if (status == TN_ERROR_MEMORY) return status;
    if (status != TN_OK) {
        tn_runtime_log(cache->runtime, TN_LOG_WARNING,
                       "the timing cache '%s' cannot be read and is ignored: %s", cache->path,
                       tn_last_error()->message);
        tn_error_clear();
        return TN_OK;
    }
    status = merge_bytes(cache, &file, keep_ours);
    tn_file_unmap(&file);
    return status;
}

tn_status tn_timing_cache_open(tn_runtime *runtime, const char *path, tn_timing_cache **out_cache) {
    const tn_allocator *allocator = tn_runtime_allocator(runtime);
    tn_timing_cache *cache = tn_allocate_zero(allocator, 1, sizeof *cache);
    tn_status status = TN_OK;
    if (!cache) return tn_fail_memory("the timing cache");
    cache->runtime = runtime;
    cache->allocator = allocator;
    if (path) {
        cache->path = tn_duplicate_text(allocator, path);
        if (!cache->path) TN_GO(tn_fail_memory("the timing cache"));
        TN_GO(merge_file(cache, false));
    }
    *out_cache = cache;
    return TN_OK;
done:
    tn_timing_cache_close(cache);
    return status;
}

void tn_timing_cache_close(tn_timing_cache *cache) {
    if (!cache) return;
    const tn_allocator *allocator = cache->allocator;
    tn_deallocate(allocator, cache->table);
    tn_deallocate(allocator, cache->path);
    tn_deallocate(allocator, cache);
}

/* Waits for the lock that all writers of this file take. It is a file of its own, which stays: the
 * cache itself is replaced, and a lock on it would not meet the next writer's. */
static tn_status lock_file(const tn_timing_cache *cache, int *out_descriptor) {
    tn_text path;
    tn_text_init(&path, cache->allocator);
    tn_text_add_format(&path, "%s.lock", cache->path);
    if (path.is_failed) {
        tn_text_deinit(&path);
        return tn_fail_memory("the timing cache");
    }
    int descriptor = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    int result = descriptor;
    while (descriptor >= 0 && (result = flock(descriptor, LOCK_EX)) != 0 && errno == EINTR)
        continue;
    tn_status status = TN_OK;
    if (result < 0)
        status = tn_fail(TN_ERROR_IO, "cannot lock '%s': %s", path.data, strerror(errno));
    if (result < 0 && descriptor >= 0) close(descriptor);
    tn_text_deinit(&path);
    if (status == TN_OK) *out_descriptor = descriptor;
    return status;
}

static int compare_keys(const void *a, const void *b) {
    uint64_t left = ((const timing *)a)->key, right = ((const timing *)b)->key;
    return left < right ? -1 : left > right;
}

static tn_status write_file(const tn_timing_cache *cache) {
    size_t bytes = sizeof(file_header) + cache->count * sizeof(timing) + sizeof(uint64_t);
    char *data = tn_allocate_zero(cache->allocator, 1, bytes);
    if (!data) return tn_fail_memory("the timing cache");
    file_header header = {.version = FILE_VERSION, .count = cache->count};
    timing *entries = (timing *)(void *)(data + sizeof header);
    size_t count = 0;
    memcpy(header.magic, file_magic, sizeof file_magic);
    memcpy(data, &header, sizeof header);
    for (size_t i = 0; i < cache->capacity; i++)
        if (cache->table[i].result.ns >= 0) entries[count++] = cache->table[i];
    qsort(entries, count, sizeof *entries, compare_keys);
    uint64_t checksum = tn_hash(data, bytes - sizeof checksum);
    memcpy(data + bytes - sizeof checksum, &checksum, sizeof checksum);
    tn_status status = tn_file_write(cache->allocator, cache->path, data, bytes);
    tn_deallocate(cache->allocator, data);
    return status;
}

tn_status tn_timing_cache_save(tn_timing_cache *cache) {
    int descriptor = -1;
    if (!cache->path || !cache->has_new) return TN_OK;
    TN_TRY(lock_file(cache, &descriptor));
    tn_status status = merge_file(cache, true);
    if (status == TN_OK) status = write_file(cache);
    close(descriptor); /* gives up the lock */
    if (status == TN_OK) cache->has_new = false;
    return status;
}
