/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks, the handler and its text; see crash.h. Signal handlers belong to the process, and so does
 * what this file keeps. The handler formats into memory of its own and writes line by line, so that
 * what it knows is out before it reads what a crash may have damaged.
 */
#include "base/process/fault_signals.h"
#include "plugin/call.h"
#include "plugin/crash.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { SLOT_COUNT = 64, SHOWN_AT_MOST = 4 };

/* A thread with marks. */
typedef struct thread_slot {
    atomic_uintptr_t thread; /* 0: free */
    _Atomic(tn_crash_mark *) top;
} thread_slot;

atomic_bool tn_crash_is_watched;
static thread_slot slots[SLOT_COUNT];
static tn_crash_report_options options;
static tn_fault_handlers before; /* the handlers that were there */
static atomic_uintptr_t reporter;

/* ----------------------------------------------------------------------------------------------
 * marks */

static uintptr_t self(void) {
    return (uintptr_t)pthread_self();
}

static thread_slot *find_slot(uintptr_t thread) {
    for (int i = 0; i < SLOT_COUNT; i++)
        if (atomic_load_explicit(&slots[i].thread, memory_order_relaxed) == thread)
            return &slots[i];
    return NULL;
}

static thread_slot *claim_slot(void) {
    for (int i = 0; i < SLOT_COUNT; i++) {
        uintptr_t nobody = 0;
        if (atomic_compare_exchange_strong(&slots[i].thread, &nobody, self())) return &slots[i];
    }
    return NULL; /* a crash of this thread is then named without its node */
}

void tn_crash_push(tn_crash_mark *mark) {
    thread_slot *slot = find_slot(self());
    if (!slot) slot = claim_slot();
    if (!slot) return;
    mark->slot = slot;
    mark->outer = atomic_load_explicit(&slot->top, memory_order_relaxed);
    atomic_store_explicit(&slot->top, mark, memory_order_release);
}

void tn_crash_pop(const tn_crash_mark *mark) {
    thread_slot *slot = mark->slot;
    atomic_store_explicit(&slot->top, mark->outer, memory_order_release);
    if (!mark->outer) atomic_store(&slot->thread, 0);
}

/* ----------------------------------------------------------------------------------------------
 * text, in a handler: no allocation, no locale, no lock */

typedef struct line {
    char text[1024];
    size_t length;
} line;

static void add_text(line *to, const char *text) {
    while (text && *text && to->length < sizeof(to->text) - 1)
        to->text[to->length++] = *text++;
}

static void add_hexadecimal(line *to, uintptr_t value) {
    char digits[2 * sizeof(value) + 1];
    size_t at = sizeof(digits) - 1;
    digits[at] = 0;
    do
        digits[--at] = "0123456789abcdef"[value & 15];
    while ((value >>= 4) != 0);
    add_text(to, "0x");
    add_text(to, digits + at);
}

static void put(line *from) {
    from->text[from->length++] = '\n'; /* add leaves room for it */
    for (size_t done = 0; done < from->length;) {
        const ssize_t count = write(options.descriptor, from->text + done, from->length - done);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        done += (size_t)count;
    }
    from->length = 0;
}

static const char *describe_signal(int number) {
    switch (number) {
    case SIGSEGV:
        return "Segmentation fault (SIGSEGV)";
    case SIGBUS:
        return "Bus error (SIGBUS)";
    case SIGFPE:
        return "Arithmetic fault (SIGFPE)";
    case SIGILL:
        return "Illegal instruction (SIGILL)";
    default:
        return "Abort (SIGABRT)";
    }
}

static const void *instruction_of(const void *context) {
#if defined(__x86_64__)
    return (const void *)(uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (const void *)(uintptr_t)((const ucontext_t *)context)->uc_mcontext.pc;
#else
    (void)context;
    return NULL;
#endif
}

static void put_head(int number, const siginfo_t *info) {
    line head = {.length = 0};
    add_text(&head, options.title);
    add_text(&head, ": ");
    add_text(&head, describe_signal(number));
    if (number == SIGSEGV || number == SIGBUS) {
        add_text(&head, " at address ");
        add_hexadecimal(&head, (uintptr_t)info->si_addr);
    }
    put(&head);
}

/* "node 'up': operator Test::Gain, kernel 'avx2' of library 'gain', in run". */
static void add_call(line *to, const tn_call *call, const char *callback) {
    const tn_call_scope *scope = call->host_private;
    add_text(to, "node '");
    add_text(to, call->node);
    add_text(to, "': operator ");
    if (call->op && call->op->domain && call->op->domain[0]) {
        add_text(to, call->op->domain);
        add_text(to, "::");
    }
    add_text(to, call->op ? call->op->name : "?");
    if (scope && scope->kernel) {
        add_text(to, ", kernel '");
        add_text(to, scope->kernel);
        add_text(to, "'");
    }
    if (scope && scope->library) {
        add_text(to, " of library '");
        add_text(to, scope->library);
        add_text(to, "'");
    }
    add_text(to, ", in ");
    add_text(to, callback ? callback : scope && scope->kernel ? "run" : "the reference");
}

static void put_mark(const tn_crash_mark *mark, const char *before_it) {
    line text = {.length = 0};
    const tn_call *call = atomic_load(&mark->call);
    add_text(&text, before_it);
    if (call && call->host_private) {
        add_call(&text, call, mark->callback);
    } else if (call) {
        add_text(&text, "a conversion between formats, Tenon's own");
    } else if (mark->path) {
        add_text(&text, "library '");
        add_text(&text, mark->path[0] ? mark->path : "linked in");
        add_text(&text, "', in ");
        add_text(&text, mark->callback);
    } else {
        add_text(&text, "a run, between its nodes");
    }
    put(&text);
}

/* A thread without marks works for one of those that have some, if for any. */
static void put_marks(void) {
    const thread_slot *own = find_slot(self());
    const tn_crash_mark *mark = own ? atomic_load(&own->top) : NULL;
    if (mark) {
        put_mark(mark, "  ");
        return;
    }
    int shown = 0;
    for (int i = 0; i < SLOT_COUNT && shown < SHOWN_AT_MOST; i++) {
        mark = atomic_load(&slots[i].thread) ? atomic_load(&slots[i].top) : NULL;
        if (mark) put_mark(mark, shown++ ? "  or of " : "  in a thread of ");
    }
    line nothing = {.length = 0};
    add_text(&nothing, "  in no callback of a plugin");
    if (shown == 0) put(&nothing);
}

/* Of dladdr and the like this one alone takes no lock. Older C libraries do not have it. */
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35) && !defined(TENON_PORTABLE)
#pragma weak _dl_find_object
#define HAS_FIND_OBJECT
#endif
static void put_file(const void *instruction) {
#ifdef HAS_FIND_OBJECT
    line text = {.length = 0};
    struct dl_find_object found;
    if (!_dl_find_object || !instruction ||
        _dl_find_object((void *)(uintptr_t)instruction, &found) != 0)
        return;
    const char *name = found.dlfo_link_map->l_name;
    add_text(&text, "  the instruction lies in ");
    add_text(&text, name && name[0] ? name : "the program");
    add_text(&text, " at offset ");
    add_hexadecimal(&text, (uintptr_t)instruction - (uintptr_t)found.dlfo_link_map->l_addr);
    put(&text);
#else
    (void)instruction;
#endif
}

static void put_advice(void) {
    line text = {.length = 0};
    if (!options.advice) return;
    add_text(&text, options.advice);
    put(&text);
}

/* ----------------------------------------------------------------------------------------------
 * the handler */

/* Another thread is at it, and ends the process. */
static void wait_for_the_end(void) {
    const struct timespec second = {.tv_sec = 1};
    for (int i = 0; i < 5; i++)
        nanosleep(&second, NULL);
}

static void handle(int number, siginfo_t *info, void *context) {
    uintptr_t nobody = 0;
    if (atomic_compare_exchange_strong(&reporter, &nobody, self())) {
        const int kept = errno;
        put_head(number, info);
        put_marks();
        put_file(instruction_of(context));
        put_advice();
        errno = kept;
    } else if (nobody != self()) {
        wait_for_the_end();
    }
    tn_fault_hand_on(&before, number, info, context);
}

tn_status tn_crash_report_start(const tn_crash_report_options *given) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char stack[TN_FAULT_STACK_BYTES];
    tn_crash_report_options all;
    tn_fault_stack ignored;
    tn_status status = TN_OK;
    TN_TRY(tn_options_read(&all, sizeof(all), given, "the crash report's options"));
    if (all.size < offsetof(tn_crash_report_options, title)) all.descriptor = STDERR_FILENO;
    if (!all.title) all.title = "tenon";
    pthread_mutex_lock(&lock);
    const bool is_first = !atomic_load(&tn_crash_is_watched);
    options = all;
    if (is_first) status = tn_fault_install(&before, handle);
    if (is_first && status == TN_OK) {
        tn_fault_set_stack(stack, &ignored);
        atomic_store(&tn_crash_is_watched, true);
    }
    pthread_mutex_unlock(&lock);
    return status;
}
