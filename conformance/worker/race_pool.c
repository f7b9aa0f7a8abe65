/* SPDX-License-Identifier: Apache-2.0 */
/* What two threads write; see race_pool.h. */
#include "worker/race_pool.h"
#include "worker/probe/callback_stack.h"
#include "worker/watch/stepped.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS = 4, MOST_BYTES = 16 << 20 };

/* A call of parallel_for. */
typedef struct sharing {
    tn_race_pool *own;
    size_t bytes; /* of all regions */
    char *before, *after[PARTS];
    int64_t begin[PARTS + 1];
    uint32_t parts;
    tn_body body;
    void *user;
} sharing;

typedef struct range {
    const sharing *of;
    uint32_t part;
    tn_status status;
} range;

static void do_range(void *user) {
    range *r = user;
    const sharing *of = r->of;
    r->status = of->body(of->user, of->begin[r->part], of->begin[r->part + 1],
                         of->own->pool.threads - 1 - r->part);
}

static void keep(const sharing *s, char *copy) {
    for (size_t i = 0; i < s->own->count; i++) {
        memcpy(copy, s->own->regions[i].data, s->own->regions[i].bytes);
        copy += s->own->regions[i].bytes;
    }
}

/* Only what is different: some of it may be memory that cannot be written now. */
static void restore(const sharing *s, const char *copy) {
    for (size_t i = 0; i < s->own->count; i++) {
        const tn_race_region *region = &s->own->regions[i];
        if (memcmp(region->data, copy, region->bytes) != 0)
            memcpy(region->data, copy, region->bytes);
        copy += region->bytes;
    }
}

/* The first byte that two parts changed. */
static bool find_race(const sharing *s, uint32_t *out_part, size_t *out_at) {
    for (uint32_t a = 0; a < s->parts; a++)
        for (uint32_t b = a + 1; b < s->parts; b++)
            for (size_t i = 0; i < s->bytes; i++)
                if (s->after[a][i] != s->before[i] && s->after[b][i] != s->before[i]) {
                    *out_part = b;
                    *out_at = i;
                    return true;
                }
    return false;
}

static void note_race(const sharing *s, size_t at) {
    size_t i = 0;
    while (at >= s->own->regions[i].bytes)
        at -= s->own->regions[i++].bytes;
    s->own->is_found = true;
    s->own->at = s->own->regions[i];
    s->own->offset = at;
}

static tn_status do_in_order(const sharing *s) {
    for (uint32_t i = 0; i < s->parts; i++) {
        range r = {.of = s, .part = i};
        do_range(&r);
        if (r.status != TN_OK) return r.status;
    }
    return TN_OK;
}

static tn_status do_apart(sharing *s) {
    uint32_t part = 0;
    size_t at = 0;
    keep(s, s->before);
    for (uint32_t i = 0; i < s->parts; i++) {
        range r = {.of = s, .part = i};
        do_range(&r);
        keep(s, s->after[i]);
        restore(s, s->before);
        if (r.status != TN_OK) return do_in_order(s); /* as it fails elsewhere */
    }
    if (find_race(s, &part, &at)) {
        range r = {.of = s, .part = part};
        if (tn_stepped_call(do_range, &r) == TN_STEPPED_PLAIN) note_race(s, at);
        restore(s, s->before);
    }
    return do_in_order(s);
}

static tn_status share(const tn_thread_pool *pool, int64_t count, int64_t grain, tn_body body,
                       void *user) {
    tn_race_pool *own = (tn_race_pool *)(void *)(uintptr_t)pool;
    sharing s = {.own = own, .body = body, .user = user};
    const size_t regions = own->count;
    char *const here = (char *)__builtin_frame_address(0) + 2 * sizeof(void *);
    char *const end = tn_callback_stack_end();
    const int64_t most = count / (grain < 1 ? 1 : grain);
    s.parts = (uint32_t)(most < 1 ? 1 : most > pool->threads ? pool->threads : most);
    if (s.parts > PARTS) s.parts = PARTS;
    for (uint32_t i = 0; i < s.parts; i++)
        s.begin[i] = count / s.parts * i;
    s.begin[s.parts] = count;
    if (end) own->regions[own->count++] = (tn_race_region){here, (size_t)(end - here), "stack", 0};
    for (size_t i = 0; i < own->count; i++)
        s.bytes += own->regions[i].bytes;
    char *copies = s.parts > 1 && s.bytes <= MOST_BYTES && !own->is_found
                       ? malloc(s.bytes * (s.parts + 1) + 1)
                       : NULL;
    s.before = copies;
    for (uint32_t i = 0; copies && i < s.parts; i++)
        s.after[i] = copies + (i + 1) * s.bytes;
    const tn_status status = copies ? do_apart(&s) : do_in_order(&s);
    free(copies);
    own->count = regions;
    return status;
}

void tn_race_pool_init(tn_race_pool *out_pool, uint32_t threads) {
    *out_pool = (tn_race_pool){.pool = {.threads = threads, .parallel_for = share}};
}

void tn_race_pool_watch(tn_race_pool *pool, char *data, size_t bytes, const char *what,
                        uint32_t index) {
    if (data && bytes > 0 && pool->count < TN_RACE_REGIONS)
        pool->regions[pool->count++] = (tn_race_region){data, bytes, what, index};
}
