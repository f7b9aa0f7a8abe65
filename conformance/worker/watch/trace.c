/* SPDX-License-Identifier: Apache-2.0 */
/* What is under way; see trace.h. */
#include "trace.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include <unwind.h>

enum { TEXT = 4096, FUNCTIONS = 32, FRAMES = 256 };

typedef struct function {
    const void *code;
    const char *name;
} function;

static struct {
    int lines;
    size_t number;
    char text[TEXT];
    _Atomic(const char *) callback; /* null: none */
    _Atomic(const char *) last;     /* of this test */
    function functions[FUNCTIONS];
    size_t function_count;
    _Atomic(const char *) limited; /* null: no limit of its own */
    char rule[32], broken[500];
} trace;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* two contexts run on two threads */

void tn_trace_begin(int lines, size_t number, const char *text) {
    trace.lines = lines;
    trace.number = number;
    trace.callback = NULL;
    trace.last = NULL;
    trace.rule[0] = 0;
    snprintf(trace.text, sizeof(trace.text), "%s", text ? text : "");
}

void tn_trace_case(const char *text) {
    char line[TEXT + 40];
    pthread_mutex_lock(&lock);
    if (text && strcmp(text, trace.text) != 0) {
        snprintf(trace.text, sizeof(trace.text), "%s", text);
        const int length = snprintf(line, sizeof(line), "now\t%zu\t%s\n", trace.number, trace.text);
        if (length > 0 && write(trace.lines, line, (size_t)length) < 0) _exit(71);
    }
    pthread_mutex_unlock(&lock);
}

/* Callbacks of two contexts run on two threads: then it is one of both. */
const char *tn_trace_enter(const char *name) {
    return atomic_exchange(&trace.callback, name);
}

void tn_trace_leave(const char *before) {
    atomic_store(&trace.last, atomic_exchange(&trace.callback, before));
}

const char *tn_trace_callback(void) {
    return atomic_load(&trace.callback);
}

/* ----------------------------------------------------------------------------------------------
 * the callback that the engine called: the function that encloses a frame of the stack */

static void add(const void *code, const char *name) {
    if (code && trace.function_count < FUNCTIONS)
        trace.functions[trace.function_count++] = (function){code, name};
}

#define ADD(table, member) add((const void *)(uintptr_t)(table)->member, #member)

void tn_trace_functions(const tn_operator *op, const tn_kernel *kernel) {
    trace.function_count = 0;
    if (kernel) {
        ADD(kernel, accepts);
        ADD(kernel, tactics);
        ADD(kernel, prepare);
        ADD(kernel, release);
        ADD(kernel, open);
        ADD(kernel, close);
        ADD(kernel, reshape);
        ADD(kernel, run);
    }
    if (op) {
        ADD(op, infer);
        ADD(op, reference);
        ADD(op, is_identity);
        ADD(op, facet);
        ADD(op, row);
        ADD(op, upgrade);
        ADD(op, save);
        ADD(op, load);
        ADD(op, destroy_params);
        ADD(op, operations);
    }
}

typedef struct search {
    const char *name;
    size_t frames;
} search;

static _Unwind_Reason_Code visit_frame(struct _Unwind_Context *context, void *user) {
    search *s = user;
    int is_before = 0;
    char *code = (char *)(uintptr_t)_Unwind_GetIPInfo(context, &is_before);
    const void *start = code ? _Unwind_FindEnclosingFunction(code - (is_before ? 0 : 1)) : NULL;
    for (size_t i = 0; start && i < trace.function_count && !s->name; i++)
        if (trace.functions[i].code == start) s->name = trace.functions[i].name;
    return s->name || ++s->frames == FRAMES ? _URC_END_OF_STACK : _URC_NO_REASON;
}

void tn_trace_where(char *where, size_t bytes) {
    static volatile bool is_searching; /* a fault meanwhile: the stack is not to be trusted */
    search s = {.name = trace.callback};
    if (!s.name && !is_searching) {
        is_searching = true;
        _Unwind_Backtrace(visit_frame, &s);
        is_searching = false;
    }
    if (s.name)
        snprintf(where, bytes, "in %s", s.name);
    else
        snprintf(where, bytes, "%s%s", trace.last ? "after " : "", trace.last ? trace.last : "");
}

/* ---------------------------------------------------------------------------------------------- */

void tn_trace_limit(double seconds, const char *what) {
    const long microseconds = what ? (long)(seconds * 1e6) : 0;
    const struct itimerval timer = {.it_value = {microseconds / 1000000, microseconds % 1000000}};
    trace.limited = what;
    setitimer(ITIMER_REAL, &timer, NULL);
}

const char *tn_trace_limited(void) {
    return trace.limited;
}

void tn_trace_broken(const char *rule, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&lock);
    if (!trace.rule[0]) {
        snprintf(trace.rule, sizeof(trace.rule), "%s", rule);
        vsnprintf(trace.broken, sizeof(trace.broken), format, arguments);
    }
    pthread_mutex_unlock(&lock);
    va_end(arguments);
}

bool tn_trace_is_broken(const char **out_rule, const char **out_text) {
    *out_rule = trace.rule;
    *out_text = trace.broken;
    return trace.rule[0] != 0;
}
