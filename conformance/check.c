/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon-check: runs the rules of conformance on a library, in a process that may be lost: `tenon
 * plugin check` starts it, reads its lines, and starts it again behind a test that killed it.
 *
 *     tenon-check LIBRARY|builtin [--from N] [--only N] [--operator NAME] [--rule ID,...] [--device
 * NAME] [--until ID,ID...] tenon-check --rules
 *
 * --from counts tests in the order in which they run, those of the rules of --until first; N is a
 * test's number, whatever the order. Lines, fields between tabs: "count N"; before a test "begin N
 * RULE OPERATOR KERNEL COMBINATION CONSTANT CASE", after it "end N passed|failed|skipped RULE CAUSE
 * WHY" (CAUSE: TN_CAUSE_...); between them "now N CASE" where another case is tried, and "in N
 * WHERE" in answer to SIGALRM, which ends the process, as does "stuck N WHY" after one to SIGUSR2,
 * where the test was found to run in a circle. "wrong EXIT TEXT": what the options ask for is not
 * there (of --until the names alone are looked at: who reads the lines ends it). What the library
 * itself prints is caught.
 */
#include "base/status.h"
#include "check.h"
#include "rules/needs.h"
#include "worker/libc/locks.h"
#include "worker/libc/written.h"
#include "worker/watch/stuck.h"
#include "worker/watch/heap.h"
#include "worker/watch/trace.h"
#include "worker/process/watch.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static suite s;

static void print_text(const char *text) {
    for (; *text; text++)
        fputc(*text == '\t' || *text == '\n' || *text == '\r' ? ' ' : *text, s.report);
}

static int cause_of(const char *id) {
    for (const tn_rule *rule = tn_rules; rule->id; rule++)
        if (strcmp(rule->id, id) == 0) return rule->cause;
    return TN_CAUSE_OTHER;
}

static void end_test(const char *outcome, const char *rule, const char *why) {
    fprintf(s.report, "end\t%zu\t%s\t%s\t%d\t", s.current, outcome, rule, cause_of(rule));
    print_text(why);
    fputc('\n', s.report);
    fflush(s.report);
}

/* From the fault handler: no stdio. What the library or the C library said comes with it. */
static void report_fault(const char *rule, const char *text) {
    char line[1400], where[64], said[400];
    const char *broken, *why;
    tn_trace_where(where, sizeof(where));
    tn_watch_error_text(said, sizeof(said));
    if (tn_trace_is_broken(&broken, &why)) { /* what was found before it */
        rule = broken;
        text = why;
    }
    const int length = snprintf(line, sizeof(line), "end\t%zu\tfailed\t%s\t%d\t%s%s%s%s%s%s\n",
                                s.current, rule, cause_of(rule), where, where[0] ? ": " : "", text,
                                said[0] ? ": \"" : "", said, said[0] ? "\"" : "");
    if (length > 0 && write(fileno(s.report), line, (size_t)length) < 0) _exit(71);
}

/* "in run", and the lock that its thread waits for. */
static void describe_where(char *where, size_t bytes) {
    char lock[120];
    tn_trace_where(where, bytes);
    const size_t length = strlen(where);
    tn_locks_wanted(lock, sizeof(lock));
    if (lock[0]) snprintf(where + length, bytes - length, ", in %s", lock);
}

/* The first thread runs in a circle. */
static void report_stuck(size_t instructions) {
    char line[600], where[200];
    describe_where(where, sizeof(where));
    const int length = snprintf(line, sizeof(line),
                                "in\t%zu\t%s\nstuck\t%zu\trepeats the same %zu instructions, for "
                                "something that nobody changes\n",
                                s.current, where, s.current, instructions);
    if (length > 0 && write(fileno(s.report), line, (size_t)length) < 0) _exit(71);
    _exit(73);
}

/* The test's time is over, or that of what it gives up then. */
static void answer_where(int number) {
    char line[600], where[200];
    const char *limited = tn_trace_limited();
    (void)number;
    if (limited) {
        const int bytes =
            snprintf(line, sizeof(line), "end\t%zu\tpassed\t%s\t0\t%.400s takes long\n", s.current,
                     s.running->rule->id, limited);
        if (bytes > 0 && write(fileno(s.report), line, (size_t)bytes) < 0) _exit(71);
        _exit(74);
    }
    describe_where(where, sizeof(where));
    const int length = snprintf(line, sizeof(line), "in\t%zu\t%s\n", s.current, where);
    if (length > 0 && write(fileno(s.report), line, (size_t)length) < 0) _exit(71);
    _exit(73);
}

/* ----------------------------------------------------------------------------------------------
 * running */

static void run_test(const listed *it) {
    static const char *const outcomes[] = {"passed", "failed", "skipped"};
    tn_verdict verdict = {0};
    char changed[300];
    const char *rule, *why;
    const tn_operator *op = it->test.op;
    s.running = it;
    s.current = it->number;
    fprintf(s.report, "begin\t%zu\t%s\t%s%s%s\t%s\t%s\t%d\t%s\n", s.current, it->rule->id,
            op ? op->domain : "", op && op->domain[0] ? "::" : "", op ? op->name : "",
            it->test.kernel ? it->test.kernel->name : "",
            it->test.combination ? it->test.combination : "", it->test.are_constant,
            it->test.text ? it->test.text : "");
    fflush(s.report);
    tn_test test = it->test;
    test.seed = s.seed;
    test.effort = s.effort;
    test.lines = fileno(s.report);
    tn_watch_begin_test();
    tn_trace_begin(fileno(s.report), s.current, it->test.text);
    tn_trace_functions(it->test.op, it->test.kernel);
    const char *missing = tn_needs_missing(it->rule, &test);
    if (missing)
        tn_verdict_skip(&verdict, missing);
    else
        tn_rule_apply(it->rule, &test, &verdict);
    if (tn_watch_changed(changed, sizeof(changed))) tn_trace_broken("environment", "%s", changed);
    if (tn_watch_used(&rule, changed, sizeof(changed))) tn_trace_broken(rule, "%s", changed);
    if (tn_written_to_stay(changed, sizeof(changed)))
        tn_trace_broken("leaks", "leaves a temporary file behind: %s", changed);
    if (tn_trace_is_broken(&rule, &why) && verdict.outcome != TN_FAILED) {
        tn_verdict_fail(&verdict, "%s", why);
        snprintf(verdict.rule, sizeof(verdict.rule), "%s", rule);
    }
    if (verdict.outcome == TN_PASSED) verdict.why[0] = 0;
    end_test(outcomes[verdict.outcome], verdict.rule[0] ? verdict.rule : it->rule->id, verdict.why);
}

static bool remember_last(void *user, const tn_library_info *library) {
    char *name = user;
    if (library->path[0]) snprintf(name, 256, "%s", library->name);
    return true;
}

/* Others than those that come with Tenon are in TENON_PLUGIN_PATH. */
static void load_devices(void) {
    const char *path = getenv("TENON_PLUGIN_PATH");
    tn_device_libraries_load(s.runtime);
    if (path && path[0]) (void)tn_runtime_load_directory(s.runtime, path);
}

static tn_status take_device(void) {
    load_devices();
    TN_TRY(tn_device_take(s.runtime, s.device_name, &s.device));
    const tn_device *device = s.device.device;
    if (tn_device_is_remote(device)) {
        const tn_status status = device->stream_create(device, &s.stream);
        return status == TN_OK ? TN_OK : tn_device_failed(device, status, "a stream");
    }
    tn_device_give_back(&s.device); /* the processor: the usual rules */
    return TN_OK;
}

/* What the library logs is one line, of a level that there is. */
static void note_log(void *user, uint32_t level, const char *text) {
    (void)user;
    if (strchr(text, '\n'))
        tn_trace_broken("environment", "logs more than one line by host->log: \"%.100s\"", text);
    else if (level < TN_LOG_ERROR || level > TN_LOG_DEBUG)
        tn_trace_broken("environment", "logs by host->log at level %u, which there is not", level);
}

static int load(const char *library) {
    static char name[256];
    char changed[300], why[360];
    const char *rule, *broken;
    s.counter.fail_at = 0;
    const tn_runtime_options options = {.size = sizeof(options),
                                        .log_level = TN_LOG_DEBUG,
                                        .allocator = &s.counter.functions,
                                        .log = note_log};
    if (tn_runtime_create(&options, &s.runtime) != TN_OK) {
        fprintf(s.report, "end\t0\tfailed\tcrash\t%d\tno runtime: %s\n", TN_CAUSE_CRASH,
                tn_last_error()->message);
        return 1;
    }
    const bool is_builtin = strcmp(library, "builtin") == 0;
    if (is_builtin && !s.device_name) return 0;
    fprintf(s.report, "begin\t0\tlibrary-loads\t\t\t\t0\t\n");
    fflush(s.report);
    tn_trace_begin(fileno(s.report), 0, "");
    const char *before = tn_trace_enter("load");
    if ((!is_builtin && tn_runtime_load_library(s.runtime, library) != TN_OK)) {
        end_test("failed", "library-loads", tn_last_error()->message);
        return 1;
    }
    tn_trace_leave(before);
    if (!is_builtin) tn_runtime_visit_libraries(s.runtime, remember_last, name);
    if (!is_builtin) s.library = name;
    if (s.device_name && take_device() != TN_OK) {
        end_test("failed", "library-loads", tn_last_error()->message);
        return 1;
    }
    if (tn_watch_used(&rule, changed, sizeof(changed))) tn_trace_broken(rule, "%s", changed);
    if (tn_watch_changed(changed, sizeof(changed))) {
        snprintf(why, sizeof(why), "loading the library %s", changed);
        end_test("failed", "environment", why);
    } else if (tn_trace_is_broken(&rule, &broken)) {
        snprintf(why, sizeof(why), "loading the library %.300s", broken);
        end_test("failed", rule, why);
    } else {
        end_test("passed", "library-loads", "");
    }
    return 0;
}

/* ----------------------------------------------------------------------------------------------
 * the program */

static void print_rules(void) {
    for (const tn_rule *rule = tn_rules; rule->id; rule++)
        printf("%s\t%s\n", rule->id, rule->doc);
}

/* A file that is left open in each run must not use up what the others may open. */
static void allow_files(void) {
    enum { FILES = 65536 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= FILES) return;
    limit.rlim_cur = limit.rlim_max < FILES ? limit.rlim_max : FILES;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* What a callback may use is less than a program's first thread usually has; main's frames lie in
 * it, too. Sanitizers make frames larger. */
static void limit_stack(void) {
    enum { STACK = 512 << 10 };
    struct rlimit limit;
    pthread_attr_t attributes;
    if (tn_heap_is_sanitized() || getrlimit(RLIMIT_STACK, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max < STACK ? limit.rlim_max : STACK;
    setrlimit(RLIMIT_STACK, &limit);
    if (pthread_attr_init(&attributes) != 0) return;
    if (pthread_attr_setstacksize(&attributes, STACK) == 0) pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
}

int main(int argc, char **argv) {
    const char *library = argc > 1 ? argv[1] : "";
    const struct sigaction alarmed = {.sa_handler = answer_where};
    size_t from = 1, only = 0;
    if (strcmp(library, "--rules") == 0) {
        print_rules();
        return 0;
    }
    s.seed = s.effort = 1;
    for (int i = 2; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--from") == 0) from = strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--only") == 0) only = strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--operator") == 0) s.only_operator = argv[i + 1];
        if (strcmp(argv[i], "--rule") == 0) s.only_rules = argv[i + 1];
        if (strcmp(argv[i], "--device") == 0) s.device_name = argv[i + 1];
        if (strcmp(argv[i], "--until") == 0) s.until = argv[i + 1];
        if (strcmp(argv[i], "--seed") == 0) s.seed = (uint32_t)strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--effort") == 0) s.effort = (uint32_t)strtoul(argv[i + 1], NULL, 10);
    }
    if (argc < 2 || library[0] == '-') {
        fprintf(stderr, "usage: tenon-check LIBRARY|builtin [--from N] [--only N] [--operator "
                        "NAME] [--rule ID,...] [--device NAME]\n");
        return 2;
    }
    const int output = tn_watch_output();
    s.report = output < 0 ? NULL : fdopen(output, "w");
    if (!s.report) return 1;
    allow_files();
    limit_stack();
    mallopt(M_PERTURB, 0xA5); /* what malloc gives, and what was freed, is no zeros */
    tn_counter_init(&s.counter);
    tn_guarded_catch_faults(report_fault);
    sigaction(SIGALRM, &alarmed, NULL);
    tn_stuck_catch(report_stuck);
    if (!check_rules_are_there(&s, s.only_rules, true) ||
        !check_rules_are_there(&s, s.until, false))
        return 1;
    tn_watch_begin();
    s.path = library;
    tn_heap_library(strcmp(library, "builtin") == 0 ? "/proc/self/exe" : library);
    tn_held_now(&s.before);
    if (load(library) != 0 || !check_list_tests(&s) || !check_options_fit(&s, only)) return 1;
    fprintf(s.report, "count\t%zu\n", s.count);
    for (size_t i = only ? 0 : from - 1; i < s.count; i++) {
        if (only && s.tests[i].number != only) continue;
        run_test(&s.tests[i]);
        if (s.device.device && tn_device_alive(s.device.device) != TN_OK)
            _exit(72); /* the next process goes on behind this test */
    }
    fprintf(s.report, "done\n");
    fflush(s.report);
    _exit(0); /* what the library does when a process ends is not asked */
}
