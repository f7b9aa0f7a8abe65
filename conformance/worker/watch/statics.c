/* SPDX-License-Identifier: Apache-2.0 */
/* Static variables; see statics.h. */
#include "worker/watch/statics.h"
#include "worker/watch/heap.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

enum { MOST_BYTES = 8 << 20 };

typedef struct search {
    uintptr_t code;
    tn_statics *found;
} search;

static void add(tn_statics *to, uintptr_t begin, uintptr_t end) {
    if (begin >= end || to->count == TN_STATICS_PARTS) return;
    to->data[to->count] = (char *)begin; // NOLINT(performance-no-int-to-ptr)
    to->bytes[to->count++] = end - begin;
}

/* What is not in the hole. */
static void cut(tn_statics *inout, uintptr_t begin, uintptr_t end) {
    tn_statics rest = {0};
    for (size_t i = 0; i < inout->count; i++) {
        const uintptr_t from = (uintptr_t)inout->data[i], to = from + inout->bytes[i];
        add(&rest, from, begin < to ? begin : to);
        add(&rest, end > from ? end : from, to);
    }
    if (begin < end) *inout = rest;
}

/* Addresses of functions, which the loader looks up when they are called first. */
static void cut_linkage(tn_statics *inout, uintptr_t base, const ElfW(Dyn) * entry) {
    uintptr_t table = 0, bytes = 0;
    for (; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_PLTGOT) table = entry->d_un.d_ptr;
        if (entry->d_tag == DT_PLTRELSZ) bytes = entry->d_un.d_val;
    }
    if (table != 0 && table < base) table += base; /* the loader of some systems adds it */
    if (table != 0) cut(inout, table, table + (3 + bytes / sizeof(ElfW(Rela))) * sizeof(uintptr_t));
}

static int visit(struct dl_phdr_info *info, size_t size, void *user) {
    const search *s = user;
    const uintptr_t base = info->dlpi_addr;
    bool is_it = false;
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        is_it |= part->p_type == PT_LOAD && s->code - base - part->p_vaddr < part->p_memsz;
    }
    if (!is_it || !info->dlpi_name || !info->dlpi_name[0]) return is_it;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_W))
            add(s->found, base + part->p_vaddr, base + part->p_vaddr + part->p_memsz);
    }
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_GNU_RELRO)
            cut(s->found, base + part->p_vaddr, base + part->p_vaddr + part->p_memsz);
        if (part->p_type == PT_DYNAMIC) {
            // NOLINTNEXTLINE(performance-no-int-to-ptr)
            cut_linkage(s->found, base, (const ElfW(Dyn) *)(base + part->p_vaddr));
        }
    }
    return 1;
}

/* A program that counts how often each of its lines runs has libraries that do, too. */
extern void __gcov_dump(void) __attribute__((weak));

void tn_statics_of(const void *function, tn_statics *out_statics) {
    search s = {.code = (uintptr_t)function, .found = out_statics};
    size_t bytes = 0;
    *out_statics = (tn_statics){0};
    if (!function || __gcov_dump || tn_heap_is_sanitized()) return;
    dl_iterate_phdr(visit, &s);
    for (size_t i = 0; i < out_statics->count; i++)
        bytes += out_statics->bytes[i];
    if (bytes > MOST_BYTES) out_statics->count = 0;
}
