/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon-check: runs the rules of conformance on a library, in a process that may be lost: `tenon
 * plugin check` starts it, reads its lines, and starts it again behind a test that killed it.
 *
 *     tenon-check LIBRARY|builtin [--from N] [--only N] [--operator NAME] [--rule ID,...] [--device
 * NAME] [--until ID,ID...] tenon-check --rules
 *
 * Lines, fields between tabs: "count N"; before a test "begin N RULE OPERATOR KERNEL COMBINATION
 * CONSTANT CASE", after it "end N passed|failed|skipped RULE CAUSE WHY" (CAUSE: TN_CAUSE_...);
 * between them "now N CASE" where another case is tried, and "in N WHERE" in answer to SIGALRM,
 * which ends the process. "wrong EXIT TEXT": what the options ask
 * for is not there (of --until the names alone are looked at: who reads the lines ends it). What
 * the library itself prints is caught.
 */
#include "base/status.h"
#include "base/text.h"
#include "rules/needs.h"
#include "rules/rules.h"
#include "worker/watch/heap.h"
#include "worker/watch/held.h"
#include "worker/watch/trace.h"
#include "worker/watch/watch.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TABLE_LIMIT = 8192, TABLE_COMBINATIONS = 4096 };

typedef struct listed {
    tn_test test;
    const tn_rule *rule;
} listed;

typedef struct suite {
    tn_runtime *runtime;
    tn_counter counter;
    const char *library; /* name; null: what is linked in */
    const char *path;
    const char *only_operator, *only_rules;
    const char *device_name; /* null: the processor */
    tn_used_device device;
    void *stream;
    const tn_operator *operators[TABLE_LIMIT];
    bool is_own[TABLE_LIMIT];
    uint32_t seed, effort;
    size_t operator_count;
    const tn_kernel *kernels[TABLE_LIMIT];
    size_t kernel_count;
    tn_held before; /* the library was loaded */
    tn_library_test whole;
    listed *tests;
    size_t count, capacity, current;
    tn_arena *arena; /* of combinations that kernels answered */
} suite;

static suite s;
static FILE *report; /* the lines; the standard output is watched */

static void print_text(const char *text) {
    for (; *text; text++)
        fputc(*text == '\t' || *text == '\n' || *text == '\r' ? ' ' : *text, report);
}

static int cause_of(const char *id) {
    for (const tn_rule *rule = tn_rules; rule->id; rule++)
        if (strcmp(rule->id, id) == 0) return rule->cause;
    return TN_CAUSE_OTHER;
}

static void end_test(const char *outcome, const char *rule, const char *why) {
    fprintf(report, "end\t%zu\t%s\t%s\t%d\t", s.current, outcome, rule, cause_of(rule));
    print_text(why);
    fputc('\n', report);
    fflush(report);
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
    if (length > 0 && write(fileno(report), line, (size_t)length) < 0) _exit(71);
}

/* The test's time is over, or that of what it gives up then. */
static void answer_where(int number) {
    char line[600], where[64];
    const char *limited = tn_trace_limited();
    (void)number;
    if (limited) {
        const int bytes =
            snprintf(line, sizeof(line), "end\t%zu\tpassed\t%s\t0\t%.400s takes long\n", s.current,
                     s.tests[s.current - 1].rule->id, limited);
        if (bytes > 0 && write(fileno(report), line, (size_t)bytes) < 0) _exit(71);
        _exit(74);
    }
    tn_trace_where(where, sizeof(where));
    const int length = snprintf(line, sizeof(line), "in\t%zu\t%s\n", s.current, where);
    if (length > 0 && write(fileno(report), line, (size_t)length) < 0) _exit(71);
    _exit(73);
}

/* ----------------------------------------------------------------------------------------------
 * listing */

static bool is_wanted_library(const tn_library_info *library) {
    return s.library ? strcmp(library->name, s.library) == 0 : library->path[0] == 0;
}

/* "NAME" or "DOMAIN::NAME". */
static bool is_asked_for(const tn_operator *op) {
    const char *name = s.only_operator;
    const size_t length = name ? strlen(op->domain) : 0;
    if (!name || strcmp(op->name, name) == 0) return true;
    return strncmp(name, op->domain, length) == 0 && strncmp(name + length, "::", 2) == 0 &&
           strcmp(name + length + 2, op->name) == 0;
}

static bool note_operator(void *user, const tn_operator *op, const tn_library_info *library) {
    (void)user;
    s.is_own[s.operator_count] = is_wanted_library(library);
    s.operators[s.operator_count++] = op;
    return s.operator_count < TABLE_LIMIT;
}

static bool note_kernel(void *user, const tn_kernel *kernel, const tn_library_info *library) {
    (void)user;
    if (is_wanted_library(library) &&
        strcmp(kernel->device, s.device.device ? s.device.device->kind : "cpu") == 0 &&
        (!kernel->requires_features ||
         tn_runtime_has_features(s.runtime, kernel->requires_features)))
        s.kernels[s.kernel_count++] = kernel;
    return s.kernel_count < TABLE_LIMIT;
}

/* Names between commas: the length of the first one; null behind the last. */
static const char *next_name(const char *names, size_t *length) {
    if (!names) return NULL;
    names += *names == ',';
    *length = strcspn(names, ",");
    return names;
}

static const char *after_name(const char *name, size_t length) {
    return name[length] ? name + length : NULL;
}

static bool is_named(const char *names, const char *id) {
    size_t length = 0;
    for (const char *name = next_name(names, &length); name;
         name = next_name(after_name(name, length), &length))
        if (strlen(id) == length && strncmp(name, id, length) == 0) return true;
    return false;
}

static bool add(const tn_test *test, const tn_rule *rule) {
    if (s.only_rules && !is_named(s.only_rules, rule->id)) return true;
    if (s.count == s.capacity) {
        const size_t capacity = s.capacity ? 2 * s.capacity : 1024;
        listed *grown = realloc(s.tests, capacity * sizeof(*grown));
        if (!grown) return false;
        s.tests = grown;
        s.capacity = capacity;
    }
    s.tests[s.count++] = (listed){*test, rule};
    return true;
}

/* What cannot be applied whatever the case is there once (`is_first`). */
static bool add_rules(const tn_test *test, uint32_t kinds, bool is_first) {
    bool is_added = true;
    for (const tn_rule *rule = tn_rules; rule->id && is_added; rule++)
        if ((rule->kinds & kinds) && (is_first || !tn_needs_missing(rule, test)))
            is_added = add(test, rule);
    return is_added;
}

static bool list_operator(const tn_operator *op) {
    tn_test test = {.runtime = s.runtime,
                    .counter = &s.counter,
                    .op = op,
                    .library = s.library ? s.library : "builtin"};
    bool is_added = add_rules(&test, TN_RULE_OPERATOR, true);
    const uint32_t kinds = op->reference ? TN_RULE_CASE | TN_RULE_REFERENCE : TN_RULE_SHAPES;
    for (uint64_t i = 0; i < op->case_count && is_added; i++) {
        test.text = op->cases[i];
        is_added = add_rules(&test, kinds, i == 0);
    }
    return is_added;
}

typedef struct texts {
    uint32_t count;
    const char *items[TABLE_COMBINATIONS + TN_SUBJECT_COMBINATIONS];
} texts;

/* The kernel's combinations for a case: those of its table, those that it answers (which have the
 * lifetime of the list of tests), and null where it has neither. */
static bool list_texts(const tn_test *test, texts *list) {
    const tn_kernel *kernel = test->kernel;
    uint32_t asked = 0;
    for (uint32_t k = 0; k < kernel->combination_count && k < TABLE_COMBINATIONS; k++)
        list->items[list->count++] = kernel->combinations[k];
    if (kernel->combination && !s.arena &&
        tn_arena_create(tn_allocator_default(), &s.arena) != TN_OK)
        return false;
    if (kernel->combination &&
        tn_subject_combinations(s.arena, test->runtime, test->op, kernel, test->text,
                                test->are_constant, &asked, list->items + list->count) != TN_OK)
        asked = 0; /* the rule combinations says why */
    if (asked > TN_MAX_COMBINATIONS) asked = 1;
    list->count += asked;
    if (list->count == 0) list->items[list->count++] = NULL;
    return true;
}

static bool list_kernel(const tn_operator *op, const tn_kernel *kernel) {
    tn_test test = {.runtime = s.runtime,
                    .counter = &s.counter,
                    .op = op,
                    .kernel = kernel,
                    .library = s.library ? s.library : "builtin",
                    .operators = s.operators,
                    .operator_count = s.operator_count};
    bool is_added = true;
    for (uint64_t i = 0; i < op->case_count && is_added; i++)
        for (int constant = 0; constant < (op->input_count > 1 ? 2 : 1) && is_added; constant++) {
            texts list = {0};
            test.text = op->cases[i];
            test.are_constant = constant;
            is_added = list_texts(&test, &list);
            for (uint32_t k = 0; k < list.count && is_added; k++) {
                test.combination = list.items[k];
                is_added = add_rules(&test, TN_RULE_KERNEL, i + k == 0 && !constant);
            }
        }
    return is_added;
}

/* A kernel of an operator that there is not is a test too. */
static bool list_combinations(const tn_kernel *kernel) {
    static tn_operator missing[TABLE_LIMIT]; /* has the name that the kernel asks for */
    static size_t missing_count;
    tn_test test = {.runtime = s.runtime,
                    .counter = &s.counter,
                    .kernel = kernel,
                    .library = s.library ? s.library : "builtin",
                    .operators = s.operators,
                    .operator_count = s.operator_count};
    bool is_added = true;
    for (size_t i = 0; i < s.operator_count && !test.op; i++)
        if (tn_kernel_serves(kernel, s.operators[i])) test.op = s.operators[i];
    if (!test.op) {
        missing[missing_count] = (tn_operator){.domain = kernel->domain, .name = kernel->op};
        test.op = &missing[missing_count++];
    }
    if (!is_asked_for(test.op)) return true;
    for (uint32_t k = 0;
         k < (kernel->combination_count ? kernel->combination_count : 1) && is_added; k++) {
        test.combination = kernel->combination_count ? kernel->combinations[k] : NULL;
        is_added = add_rules(&test, TN_RULE_COMBINATION, true);
    }
    return is_added;
}

static bool has_kernel_of(const tn_operator *op) {
    for (size_t i = 0; i < s.kernel_count; i++)
        if (tn_kernel_serves(s.kernels[i], op)) return true;
    return false;
}

/* The cases of the operators that the library has kernels for on the device. */
static bool list_on_device(void) {
    bool is_added = true;
    for (size_t i = 0; i < s.operator_count; i++) {
        const tn_operator *op = s.operators[i];
        if (!has_kernel_of(op) || !is_asked_for(op)) continue;
        tn_test test = {.runtime = s.runtime,
                        .counter = &s.counter,
                        .op = op,
                        .device = s.device.device,
                        .stream = s.stream,
                        .library = s.library ? s.library : "builtin"};
        for (uint64_t k = 0; k < op->case_count && is_added; k++) {
            test.text = op->cases[k];
            is_added = add_rules(&test, TN_RULE_DEVICE, true);
        }
    }
    return is_added;
}

/* What is linked in is never unloaded. */
static bool list_library(void) {
    s.whole = (tn_library_test){.runtime = &s.runtime,
                                .path = s.path,
                                .operators = s.operators,
                                .is_own = s.is_own,
                                .operator_count = s.operator_count,
                                .kernels = s.kernels,
                                .kernel_count = s.kernel_count,
                                .before = &s.before};
    const tn_test test = {
        .runtime = s.runtime, .counter = &s.counter, .library = s.library, .whole = &s.whole};
    return !s.library || s.only_operator || add_rules(&test, TN_RULE_LIBRARY, true);
}

/* A rewrite is shown as "rewrite::NAME". */
static bool note_rewrite(void *user, const tn_rewrite *rewrite, const tn_library_info *library) {
    static tn_operator shown[TABLE_LIMIT];
    static size_t shown_count;
    bool *is_added = user;
    if (!is_wanted_library(library) || shown_count == TABLE_LIMIT) return true;
    tn_operator *op = &shown[shown_count++];
    *op = (tn_operator){.domain = "rewrite", .name = rewrite->name};
    if (!is_asked_for(op)) return true;
    tn_test test = {.runtime = s.runtime,
                    .counter = &s.counter,
                    .op = op,
                    .rewrite = rewrite,
                    .library = s.library ? s.library : "builtin"};
    if (rewrite->case_count == 0) *is_added = *is_added && add_rules(&test, TN_RULE_REWRITE, true);
    for (uint64_t i = 0; i < rewrite->case_count && *is_added; i++) {
        test.text = rewrite->cases[i];
        *is_added = add_rules(&test, TN_RULE_REWRITE, true);
    }
    test.is_near_miss = true;
    for (uint64_t i = 0; i < rewrite->near_miss_count && *is_added; i++) {
        test.text = rewrite->near_misses[i];
        *is_added = add_rules(&test, TN_RULE_REWRITE, true);
    }
    return *is_added;
}

static bool list_tests(void) {
    bool is_added = true;
    tn_runtime_visit_operators(s.runtime, note_operator, NULL);
    tn_runtime_visit_kernels(s.runtime, note_kernel, NULL);
    if (s.device.device) return list_on_device();
    for (size_t k = 0; k < s.kernel_count && is_added; k++)
        is_added = list_combinations(s.kernels[k]);
    for (size_t i = 0; i < s.operator_count && is_added; i++) {
        const tn_operator *op = s.operators[i];
        if (!is_asked_for(op)) continue;
        if (s.is_own[i]) is_added = list_operator(op);
        for (size_t k = 0; k < s.kernel_count && is_added; k++)
            if (tn_kernel_serves(s.kernels[k], op)) is_added = list_kernel(op, s.kernels[k]);
    }
    if (is_added)
        tn_registry_visit_rewrites(tn_runtime_registry(s.runtime), note_rewrite, &is_added);
    return is_added && list_library();
}

/* ----------------------------------------------------------------------------------------------
 * running */

static void run_test(const listed *it) {
    static const char *const outcomes[] = {"passed", "failed", "skipped"};
    tn_verdict verdict = {0};
    char changed[300];
    const char *rule, *why;
    const tn_operator *op = it->test.op;
    fprintf(report, "begin\t%zu\t%s\t%s%s%s\t%s\t%s\t%d\t%s\n", s.current, it->rule->id,
            op ? op->domain : "", op && op->domain[0] ? "::" : "", op ? op->name : "",
            it->test.kernel ? it->test.kernel->name : "",
            it->test.combination ? it->test.combination : "", it->test.are_constant,
            it->test.text ? it->test.text : "");
    fflush(report);
    tn_test test = it->test;
    test.seed = s.seed;
    test.effort = s.effort;
    test.lines = fileno(report);
    tn_trace_begin(fileno(report), s.current, it->test.text);
    tn_trace_functions(it->test.op, it->test.kernel);
    const char *missing = tn_needs_missing(it->rule, &test);
    if (missing)
        tn_verdict_skip(&verdict, missing);
    else
        it->rule->check(&test, &verdict);
    if (tn_watch_changed(changed, sizeof(changed))) tn_trace_broken("environment", "%s", changed);
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
        fprintf(report, "end\t0\tfailed\tcrash\t%d\tno runtime: %s\n", TN_CAUSE_CRASH,
                tn_last_error()->message);
        return 1;
    }
    const bool is_builtin = strcmp(library, "builtin") == 0;
    if (is_builtin && !s.device_name) return 0;
    fprintf(report, "begin\t0\tlibrary-loads\t\t\t\t0\t\n");
    fflush(report);
    tn_trace_begin(fileno(report), 0, "");
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
 * what the options ask for */

enum { LIBRARY_AT_FAULT = 1, WRONG_USAGE = 2 };

/* With the nearest name, where there is one. */
static int wrong(int code, const char *what, const tn_nearest *nearest) {
    fprintf(report, "wrong\t%d\t%s", code, what);
    if (nearest && nearest->best) fprintf(report, "; the nearest is '%s'", nearest->best);
    fputc('\n', report);
    fflush(report);
    return 1;
}

/* Rules that are named are there; those to try have tests of their own. */
static int check_rules(const char *names, bool are_tried) {
    size_t length = 0;
    for (const char *name = next_name(names, &length); name;
         name = next_name(after_name(name, length), &length)) {
        tn_nearest nearest;
        char id[61], what[200];
        snprintf(id, sizeof(id), "%.*s", (int)length, name);
        tn_nearest_init(&nearest, id);
        const tn_rule *rule = tn_rules;
        for (; rule->id && strcmp(rule->id, id) != 0; rule++)
            tn_nearest_offer(&nearest, rule->id);
        snprintf(what, sizeof(what), "there is no rule '%s' (tenon plugin check --rules)", id);
        if (!rule->id) return wrong(WRONG_USAGE, what, &nearest);
        snprintf(what, sizeof(what),
                 "rule '%s' has no tests of its own: those of other rules find it broken", id);
        if (are_tried && !rule->check) return wrong(WRONG_USAGE, what, NULL);
    }
    return 0;
}

static int check_operator(void) {
    tn_nearest nearest;
    char what[200];
    tn_nearest_init(&nearest, s.only_operator);
    for (size_t i = 0; i < s.operator_count; i++) {
        if (!s.is_own[i] && !has_kernel_of(s.operators[i])) continue;
        if (is_asked_for(s.operators[i])) return 0;
        tn_nearest_offer(&nearest, s.operators[i]->name);
    }
    size_t at = (size_t)snprintf(what, sizeof(what), "the library has no operator '%.60s'; it has",
                                 s.only_operator);
    for (size_t i = 0, shown = 0; i < s.operator_count && at + 40 < sizeof(what); i++) {
        if (!s.is_own[i] && !has_kernel_of(s.operators[i])) continue;
        at += (size_t)snprintf(what + at, sizeof(what) - at, "%s %.30s", shown++ ? "," : "",
                               s.operators[i]->name);
    }
    return wrong(LIBRARY_AT_FAULT, what, &nearest);
}

static int check_given_options(size_t only) {
    char what[200];
    if (s.only_operator && check_operator() != 0) return 1;
    if (only <= s.count && s.count > 0) return 0;
    if (s.count > 0)
        snprintf(what, sizeof(what), "there is no test %zu: the last one is %zu", only, s.count);
    else if (s.only_rules)
        snprintf(what, sizeof(what), "rule '%.40s' has no test in this library%s%.60s",
                 s.only_rules, s.only_operator ? ", operator " : "",
                 s.only_operator ? s.only_operator : "");
    else if (only == 0)
        return 0; /* a library without operators and kernels has loaded, and that is all */
    else
        snprintf(what, sizeof(what), "there is no test %zu: the library has none", only);
    return wrong(LIBRARY_AT_FAULT, what, NULL);
}

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
    const char *until = NULL;
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
        if (strcmp(argv[i], "--until") == 0) until = argv[i + 1];
        if (strcmp(argv[i], "--seed") == 0) s.seed = (uint32_t)strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--effort") == 0) s.effort = (uint32_t)strtoul(argv[i + 1], NULL, 10);
    }
    if (argc < 2 || library[0] == '-') {
        fprintf(stderr, "usage: tenon-check LIBRARY|builtin [--from N] [--only N] [--operator "
                        "NAME] [--rule ID,...] [--device NAME]\n");
        return 2;
    }
    const int output = tn_watch_output();
    report = output < 0 ? NULL : fdopen(output, "w");
    if (!report) return 1;
    allow_files();
    limit_stack();
    mallopt(M_PERTURB, 0xA5); /* what malloc gives, and what was freed, is no zeros */
    tn_counter_init(&s.counter);
    tn_guarded_catch_faults(report_fault);
    sigaction(SIGALRM, &alarmed, NULL);
    if (check_rules(s.only_rules, true) != 0 || check_rules(until, false) != 0) return 1;
    tn_watch_begin();
    s.path = library;
    tn_heap_library(strcmp(library, "builtin") == 0 ? "/proc/self/exe" : library);
    tn_held_now(&s.before);
    if (load(library) != 0 || !list_tests() || check_given_options(only) != 0) return 1;
    fprintf(report, "count\t%zu\n", s.count);
    for (size_t i = only ? only : from; i <= (only ? only : s.count) && i <= s.count; i++) {
        s.current = i;
        run_test(&s.tests[i - 1]);
        if (s.device.device && tn_device_alive(s.device.device) != TN_OK)
            _exit(72); /* the next process goes on behind this test */
    }
    fprintf(report, "done\n");
    fflush(report);
    _exit(0); /* what the library does when a process ends is not asked */
}
