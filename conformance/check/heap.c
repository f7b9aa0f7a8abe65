/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations that fail when they are asked to; see heap.h. A library that is loaded binds its
 * calls of malloc to this program's functions, since the program comes first; they go on to the
 * next ones (the C library's, or a sanitizer's that was loaded ahead). */
#include "heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define IS_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED
#endif

enum { FRAMES_AT_MOST = 16 };

static _Thread_local struct {
    const void *object; /* where the library lies; null: nothing is counted */
    uint64_t count, fail_at;
    uint32_t depth; /* of callbacks */
    bool is_asking; /* who calls: not to be asked again while that is found out */
} heap;

void tn_heap_enter(void) {
    heap.depth++;
}

void tn_heap_leave(void) {
    heap.depth--;
}

void tn_heap_begin(const void *code, uint64_t fail_at) {
    Dl_info info;
    heap.object = code && dladdr(code, &info) ? info.dli_fbase : NULL;
    heap.count = 0;
    heap.fail_at = fail_at;
}

uint64_t tn_heap_end(void) {
    heap.object = NULL;
    return heap.count;
}

#ifdef IS_SANITIZED

bool tn_heap_is_watched(void) {
    return false;
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
    if (info.dli_fbase == heap.object) return OF_LIBRARY;
    for (size_t i = 0; info.dli_fname && i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
        if (strstr(info.dli_fname, runtimes[i])) return OF_RUNTIME;
    return OF_OTHER;
}

/* The frames from the caller of malloc outwards: those of the C and C++ libraries stand between. */
typedef struct walk {
    const void *caller;
    uint32_t frames;
    bool is_past, is_counted;
} walk;

static _Unwind_Reason_Code visit_frame(struct _Unwind_Context *context, void *user) {
    walk *w = user;
    const void *code = (const void *)(uintptr_t)_Unwind_GetIP(context);
    w->is_past = w->is_past || code == w->caller;
    if (!w->is_past && w->frames++ < FRAMES_AT_MOST) return _URC_NO_REASON;
    const object_kind kind = w->is_past ? find_kind((const char *)code - 1) : OF_OTHER;
    w->is_counted = kind == OF_LIBRARY;
    return kind == OF_RUNTIME && w->frames++ < FRAMES_AT_MOST ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static bool is_of_library(const void *caller) {
    walk w = {.caller = caller};
    const object_kind kind = find_kind(caller);
    if (kind != OF_RUNTIME) return kind == OF_LIBRARY;
    _Unwind_Backtrace(visit_frame, &w);
    return w.is_counted;
}

/* Whether this allocation is the one that fails. */
static bool fails(const void *caller) {
    if (!heap.object || heap.depth == 0 || heap.is_asking) return false;
    heap.is_asking = true;
    const bool is_counted = is_of_library(caller);
    heap.is_asking = false;
    if (!is_counted || ++heap.count != heap.fail_at) return false;
    errno = ENOMEM;
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * the functions */

typedef struct next_functions {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*memalign)(size_t, size_t);
    bool is_found;
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
    next.is_found = true;
    return &next;
}

/* Seen by the libraries that are loaded, unlike all else of this program. */
#pragma GCC visibility push(default)
#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))

void *malloc(size_t bytes) {
    return fails(CALLER) ? NULL : find_next()->malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
    return fails(CALLER) ? NULL : find_next()->calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes) {
    return fails(CALLER) ? NULL : find_next()->realloc(memory, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
    return fails(CALLER) ? NULL : find_next()->memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    return fails(CALLER) ? NULL : find_next()->memalign(alignment, bytes);
}

int posix_memalign(void **out_memory, size_t alignment, size_t bytes) {
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0)
        return EINVAL;
    void *memory = fails(CALLER) ? NULL : find_next()->memalign(alignment, bytes);
    if (!memory) return ENOMEM;
    *out_memory = memory;
    return 0;
}
#pragma GCC visibility pop

#endif
