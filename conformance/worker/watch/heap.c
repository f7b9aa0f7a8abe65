/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations that fail when they are asked to; see heap.h. A library that is loaded binds its
 * calls of malloc to this program's functions, since the program comes first; they go on to the
 * next ones (the C library's, or a sanitizer's that was loaded ahead). */
#include "heap.h"

#include "base/hash.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

enum { FRAMES_AT_MOST = 16 };

static _Thread_local struct {
    bool is_counting;
    uint64_t count, fail_at;
    uint32_t depth;    /* of callbacks */
    const void *owner; /* of the blocks that are allocated now; null: they are not noted */
    bool is_asking;    /* who calls: not to be asked again while that is found out */
} heap;

static char library_file[256]; /* without its folder; "": there is none */

void tn_heap_enter(void) {
    heap.depth++;
}

void tn_heap_leave(void) {
    heap.depth--;
}

bool tn_heap_is_within(void) {
    return heap.depth > 0;
}

bool tn_heap_is_sanitized(void) {
    static const char *const names[] = {"__asan_init", "__tsan_init", "__msan_init"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (dlsym(RTLD_DEFAULT, names[i])) return true;
    return false;
}

static const char *without_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void tn_heap_library(const char *path) {
    char *resolved = realpath(path, NULL);
    snprintf(library_file, sizeof(library_file), "%s", without_folder(resolved ? resolved : path));
    free(resolved);
}

void tn_heap_begin(uint64_t fail_at) {
    heap.is_counting = true;
    heap.count = 0;
    heap.fail_at = fail_at;
}

uint64_t tn_heap_end(void) {
    heap.is_counting = false;
    return heap.count;
}

/* ----------------------------------------------------------------------------------------------
 * blocks of an owner */

enum { BLOCKS = 512, MOST_HASHED = 1 << 20 };

typedef struct block {
    const void *owner, *memory; /* null: the slot is free */
    size_t bytes;
} block;

static struct {
    pthread_mutex_t lock;
    block items[BLOCKS];
    size_t count; /* slots in use are below it */
} blocks = {.lock = PTHREAD_MUTEX_INITIALIZER};

void tn_heap_own(const void *owner) {
    heap.owner = owner;
}

void tn_heap_note(const void *memory, size_t bytes) {
    if (!heap.owner || !memory) return;
    pthread_mutex_lock(&blocks.lock);
    size_t i = 0;
    while (i < blocks.count && blocks.items[i].memory)
        i++;
    if (i < BLOCKS) blocks.items[i] = (block){heap.owner, memory, bytes};
    if (i == blocks.count && i < BLOCKS) blocks.count++;
    pthread_mutex_unlock(&blocks.lock);
}

/* Of one owner, or (null) the one block. */
static void forget(const void *owner, const void *memory) {
    if (blocks.count == 0) return;
    pthread_mutex_lock(&blocks.lock);
    for (size_t i = 0; i < blocks.count; i++)
        if (owner ? blocks.items[i].owner == owner : blocks.items[i].memory == memory)
            blocks.items[i] = (block){0};
    while (blocks.count > 0 && !blocks.items[blocks.count - 1].memory)
        blocks.count--;
    pthread_mutex_unlock(&blocks.lock);
}

void tn_heap_disown(const void *owner) {
    forget(owner, NULL);
}

uint64_t tn_heap_contents(const void *owner) {
    uint64_t hash = 0;
    pthread_mutex_lock(&blocks.lock);
    for (size_t i = 0; i < blocks.count; i++)
        if (blocks.items[i].memory && blocks.items[i].owner == owner &&
            blocks.items[i].bytes <= MOST_HASHED)
            hash ^= tn_hash(blocks.items[i].memory, blocks.items[i].bytes) + i;
    pthread_mutex_unlock(&blocks.lock);
    return hash;
}

#if TN_IS_SANITIZED

bool tn_heap_is_watched(void) {
    return false;
}

bool tn_heap_is_of_library(const void *caller) {
    (void)caller;
    return false;
}

size_t tn_heap_live_bytes(void) {
    const struct mallinfo2 said = mallinfo2();
    return said.uordblks + said.hblkhd;
}

#else

bool tn_heap_is_watched(void) {
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * who asks */

typedef enum object_kind { OF_LIBRARY, OF_RUNTIME, OF_OTHER } object_kind;

static object_kind find_kind(const void *code) {
    static const char *const runtimes[] = {"/libc.so", "/libstdc++.so", "/libc++.so",
                                           "/libc++abi.so"};
    Dl_info info;
    if (!dladdr(code, &info)) return OF_OTHER;
    if (library_file[0] && info.dli_fname &&
        strcmp(without_folder(info.dli_fname), library_file) == 0)
        return OF_LIBRARY;
    for (size_t i = 0; info.dli_fname && i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
        if (strstr(info.dli_fname, runtimes[i])) return OF_RUNTIME;
    return OF_OTHER;
}

/* The frames from the caller of malloc outwards: those of the C and C++ libraries stand between. */
typedef struct search {
    const void *caller;
    uint32_t frames;
    bool is_past, is_counted;
} search;

static _Unwind_Reason_Code visit_frame(struct _Unwind_Context *context, void *user) {
    search *w = user;
    const void *code = (const void *)(uintptr_t)_Unwind_GetIP(context);
    w->is_past = w->is_past || code == w->caller;
    if (!w->is_past && w->frames++ < FRAMES_AT_MOST) return _URC_NO_REASON;
    const object_kind kind = w->is_past ? find_kind((const char *)code - 1) : OF_OTHER;
    w->is_counted = kind == OF_LIBRARY;
    return kind == OF_RUNTIME && w->frames++ < FRAMES_AT_MOST ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static bool is_of_library(const void *caller) {
    search w = {.caller = caller};
    const object_kind kind = find_kind(caller);
    if (kind != OF_RUNTIME) return kind == OF_LIBRARY;
    _Unwind_Backtrace(visit_frame, &w);
    return w.is_counted;
}

bool tn_heap_is_of_library(const void *caller) {
    if (heap.is_asking || !library_file[0]) return false;
    heap.is_asking = true;
    const bool answer = is_of_library(caller);
    heap.is_asking = false;
    return answer;
}

/* Whether this allocation is the one that fails. */
static bool fails(const void *caller) {
    if (!heap.is_counting || heap.depth == 0 || !tn_heap_is_of_library(caller) ||
        ++heap.count != heap.fail_at)
        return false;
    errno = ENOMEM;
    return true;
}

static void *noted(void *memory, size_t bytes, const void *caller) {
    if (heap.owner && heap.depth > 0 && tn_heap_is_of_library(caller)) tn_heap_note(memory, bytes);
    return memory;
}

/* ----------------------------------------------------------------------------------------------
 * the functions */

typedef struct next_functions {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*memalign)(size_t, size_t);
    void (*free)(void *);
    bool is_found;
    bool is_counted; /* a sanitizer's malloc does not say a block's size before it has begun */
} next_functions;
static next_functions next;

static void *find(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

/* The first allocation comes before any thread is made. */
static const next_functions *find_next(void) {
    if (next.is_found) return &next;
    *(void **)&next.malloc = find("malloc");
    *(void **)&next.calloc = find("calloc");
    *(void **)&next.realloc = find("realloc");
    *(void **)&next.memalign = find("memalign");
    *(void **)&next.free = find("free");
    next.is_found = true;
    next.is_counted = !tn_heap_is_sanitized(); /* which may allocate */
    return &next;
}

/* What is allocated and not freed, to the byte: what the C library says of itself counts blocks
 * that it keeps for the next call of this size as if they were in use. */
static atomic_size_t live_bytes;

static void *live(void *memory) {
    if (memory && next.is_counted)
        atomic_fetch_add_explicit(&live_bytes, malloc_usable_size(memory), memory_order_relaxed);
    return memory;
}

static size_t size_of(void *memory) {
    return next.is_counted ? malloc_usable_size(memory) : 0;
}

static void dead(size_t bytes) {
    atomic_fetch_sub_explicit(&live_bytes, bytes, memory_order_relaxed);
}

size_t tn_heap_live_bytes(void) {
    return atomic_load_explicit(&live_bytes, memory_order_relaxed);
}

/* Seen by the libraries that are loaded, unlike all else of this program. */
#pragma GCC visibility push(default)
#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))

void *malloc(size_t bytes) {
    return fails(CALLER) ? NULL : noted(live(find_next()->malloc(bytes)), bytes, CALLER);
}

void *calloc(size_t count, size_t bytes) {
    return fails(CALLER) ? NULL
                         : noted(live(find_next()->calloc(count, bytes)), count * bytes, CALLER);
}

void *realloc(void *memory, size_t bytes) {
    if (fails(CALLER)) return NULL;
    forget(NULL, memory);
    const size_t before = size_of(memory);
    void *moved = find_next()->realloc(memory, bytes);
    if (moved || bytes == 0) dead(before);
    return noted(live(moved), bytes, CALLER);
}

void free(void *memory) {
    forget(NULL, memory);
    dead(size_of(memory));
    find_next()->free(memory);
}

void *memalign(size_t alignment, size_t bytes) {
    return fails(CALLER) ? NULL
                         : noted(live(find_next()->memalign(alignment, bytes)), bytes, CALLER);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    return fails(CALLER) ? NULL
                         : noted(live(find_next()->memalign(alignment, bytes)), bytes, CALLER);
}

int posix_memalign(void **out_memory, size_t alignment, size_t bytes) {
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0)
        return EINVAL;
    void *memory = fails(CALLER) ? NULL : live(find_next()->memalign(alignment, bytes));
    if (!memory) return ENOMEM;
    *out_memory = noted(memory, bytes, CALLER);
    return 0;
}
#pragma GCC visibility pop

#endif
