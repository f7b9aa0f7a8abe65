/* SPDX-License-Identifier: Apache-2.0 */
/* Guarded memory and the fault handler; see guarded.h. */
#include "guarded.h"
#include "base/status.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE = 4096, TABLE = 8192, RETIRED = 192, STACK_STEP = 4 << 20 };

/* What the handler looks into: the live buffers. */
static tn_guarded *volatile table[TABLE];
static volatile size_t table_count;
static tn_fault_report fault_report;
/* Of the table's writers, and of the retired buffers; the handler reads without it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tn_guarded retired[RETIRED];
static size_t retired_next;

/* "input 0" and the like. */
static const char *kind_name(uint32_t kind) {
    static const char *const names[] = {"?",    "input",       "output", "operand", "workspace",
                                        "call", "saved state", "field",  "text"};
    return names[kind <= TN_GUARDED_TEXT ? kind : 0];
}

static bool enter(tn_guarded *buffer) {
    for (size_t i = 0; i < table_count; i++) {
        if (table[i]) continue;
        table[i] = buffer;
        return true;
    }
    if (table_count == TABLE) return false;
    table[table_count] = buffer;
    table_count = table_count + 1;
    return true;
}

static void leave(const tn_guarded *buffer) {
    for (size_t i = 0; i < table_count; i++)
        if (table[i] == buffer) table[i] = NULL;
}

/* Hands over what was mapped. */
static tn_status register_made(tn_guarded *made, tn_guarded *buffer, uint8_t slack) {
    made->data = made->guard.data;
    made->is_live = true;
    if (made->bytes > 0) memset(made->data, slack, made->bytes);
    *buffer = *made;
    pthread_mutex_lock(&lock);
    const bool is_entered = enter(buffer);
    pthread_mutex_unlock(&lock);
    if (is_entered) return TN_OK;
    tn_guard_unmap(&buffer->guard);
    *buffer = (tn_guarded){0};
    return tn_fail_memory("a guarded buffer: too many of them");
}

tn_status tn_guarded_create(tn_guarded *buffer, uint32_t kind, uint32_t index, size_t bytes,
                            bool is_at_end, uint8_t slack) {
    tn_guarded made = {.kind = kind, .index = index, .bytes = bytes};
    TN_TRY(tn_guard_place(&made.guard, bytes, is_at_end ? TN_GUARD_AT_END : TN_GUARD_AT_START,
                          slack * UINT64_C(0x0101010101010101)));
    return register_made(&made, buffer, slack);
}

tn_status tn_guarded_create_before(tn_guarded *buffer, uint32_t kind, uint32_t index, size_t bytes,
                                   size_t shift, uint8_t slack) {
    tn_guarded made = {.kind = kind, .index = index, .bytes = bytes};
    TN_TRY(tn_guard_place_between(&made.guard, bytes, shift, slack * UINT64_C(0x0101010101010101)));
    return register_made(&made, buffer, slack);
}

tn_status tn_guarded_create_flush(tn_guarded *buffer, uint32_t kind, uint32_t index, size_t bytes,
                                  uint8_t slack) {
    tn_guarded made = {.kind = kind, .index = index, .bytes = bytes};
    TN_TRY(
        tn_guard_place(&made.guard, bytes, TN_GUARD_FLUSH, slack * UINT64_C(0x0101010101010101)));
    return register_made(&made, buffer, slack);
}

static void destroy_locked(tn_guarded *buffer) {
    if (!buffer->data) return;
    leave(buffer);
    tn_guard_unmap(&buffer->guard);
    *buffer = (tn_guarded){0};
}

void tn_guarded_destroy(tn_guarded *buffer) {
    pthread_mutex_lock(&lock);
    destroy_locked(buffer);
    pthread_mutex_unlock(&lock);
}

static void move_locked(tn_guarded *from, tn_guarded *to) {
    *to = *from;
    for (size_t i = 0; i < table_count; i++)
        if (table[i] == from) table[i] = to;
    *from = (tn_guarded){0};
}

void tn_guarded_move(tn_guarded *from, tn_guarded *to) {
    pthread_mutex_lock(&lock);
    move_locked(from, to);
    pthread_mutex_unlock(&lock);
}

void tn_guarded_retire(tn_guarded *buffer) {
    if (!buffer->data) return;
    tn_guarded_protect(buffer, TN_GUARDED_NONE);
    madvise(buffer->guard.map, buffer->guard.map_bytes, MADV_DONTNEED);
    pthread_mutex_lock(&lock);
    tn_guarded *target = &retired[retired_next];
    retired_next = (retired_next + 1) % RETIRED;
    destroy_locked(target);
    move_locked(buffer, target);
    pthread_mutex_unlock(&lock);
}

void tn_guarded_forget_retired(void) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < RETIRED; i++)
        destroy_locked(&retired[i]);
    pthread_mutex_unlock(&lock);
}

void tn_guarded_protect(tn_guarded *buffer, int access) {
    static const uint32_t rights[] = {TN_GUARD_READ, TN_GUARD_WRITE, TN_GUARD_NONE};
    if (!buffer->data) return;
    buffer->is_live = access != TN_GUARDED_NONE;
    tn_guard_allow(&buffer->guard, rights[access]);
}

bool tn_guarded_is_whole(const tn_guarded *buffer) {
    ptrdiff_t offset = 0;
    return !tn_guard_is_damaged(&buffer->guard, &offset);
}

/* ----------------------------------------------------------------------------------------------
 * faults */

static const tn_guarded *find(const char *address) {
    for (size_t i = 0; i < table_count; i++) {
        const tn_guarded *buffer = table[i];
        if (buffer && tn_guard_holds(&buffer->guard, address)) return buffer;
    }
    return NULL;
}

static bool is_write(const void *context) {
#if defined(__x86_64__)
    return ((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2;
#else
    (void)context;
    return false;
#endif
}

static void describe(const tn_guarded *buffer, const char *address, bool is_writing) {
    char text[256];
    const char *rule = is_writing ? "writes-inside" : "reads-inside",
               *end = buffer->data + buffer->bytes;
    const char *verb = is_writing ? "writes" : "reads", *kind = kind_name(buffer->kind);
    if (buffer->kind == TN_GUARDED_FRAME) {
        rule = "pointer-life";
        snprintf(text, sizeof(text),
                 "%s through a pointer of an earlier callback: calls and tensors live until the "
                 "callback "
                 "returns",
                 verb);
    } else if (!buffer->is_live) {
        rule = "pointer-life";
        snprintf(text, sizeof(text), "%s through the address that %s %u had in an earlier run",
                 verb, kind, buffer->index);
    } else if (address >= buffer->data && address < end) {
        rule = "inputs-unchanged";
        snprintf(text, sizeof(text), "%s %s %u, %zu bytes from its start", verb, kind,
                 buffer->index, (size_t)(address - buffer->data));
    } else if (address >= end) {
        snprintf(text, sizeof(text), "%s %zu bytes past the end of %s %u (%zu bytes)", verb,
                 (size_t)(address - end), kind, buffer->index, buffer->bytes);
    } else {
        snprintf(text, sizeof(text), "%s %zu bytes before the start of %s %u", verb,
                 (size_t)(buffer->data - address), kind, buffer->index);
    }
    if (buffer->kind == TN_GUARDED_WORKSPACE && buffer->is_live) rule = "workspace-inside";
    if (buffer->kind == TN_GUARDED_STATE) rule = "state";
    fault_report(rule, text);
}

/* What a fault at no buffer's address is likely to be. */
static void guess(char *text, size_t bytes, int number, const siginfo_t *info,
                  const void *context) {
    const char *address = info->si_addr;
    const char *stack = NULL; /* not known */
#if defined(__x86_64__)
    stack = (const char *)(uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
#else
    (void)context;
#endif
    if (number == SIGABRT)
        snprintf(text, bytes, "the process was aborted (by the C library or an assertion)");
    else if (number == SIGFPE)
        snprintf(text, bytes, "an arithmetic fault (a division by zero?)");
    else if (number == SIGSEGV && info->si_code == SI_KERNEL)
        snprintf(text, bytes,
                 "a misaligned vector load or store, or an address that cannot be "
                 "(tensors begin at 64 bytes, their rows anywhere)");
    else if ((uintptr_t)address < PAGE)
        snprintf(text, bytes,
                 "signal %d at address %p: through a null pointer (data is null where "
                 "a tensor is shape-only, absent, or not known at this stage, or an "
                 "allocation that failed was not looked at)",
                 number, (const void *)address);
    else if (stack && address + STACK_STEP > stack && address < stack + STACK_STEP)
        snprintf(text, bytes,
                 "the stack is exhausted: a callback has 256 KiB, which what "
                 "grows with the data does not fit");
    else
        snprintf(text, bytes, "signal %d at address %p, which is no tensor's", number,
                 (const void *)address);
}

static void handle(int number, siginfo_t *info, void *context) {
    const char *address = info->si_addr;
    const tn_guarded *buffer = number == SIGSEGV || number == SIGBUS ? find(address) : NULL;
    char text[256];
    if (buffer) {
        describe(buffer, address, is_write(context));
    } else {
        guess(text, sizeof(text), number, info, context);
        fault_report("crash", text);
    }
    _exit(70);
}

void tn_guarded_catch_faults(tn_fault_report report) {
    static char stack[65536];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    fault_report = report;
    sigaltstack(&alternate, NULL);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaction(signals[i], &action, NULL);
}
