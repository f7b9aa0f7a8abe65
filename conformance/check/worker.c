/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon-check: runs the rules of conformance on a library, in a process that may be lost: `tenon
 * plugin check` starts it, reads its lines, and starts it again behind a test that killed it.
 *
 *     tenon-check LIBRARY|builtin [--from N] [--only N] [--operator NAME] [--rule ID] [--device
 * NAME] tenon-check --rules
 *
 * Lines, fields between tabs: "count N"; before a test "begin N RULE OPERATOR KERNEL COMBINATION
 * CONSTANT CASE", after it "end N passed|failed|skipped RULE WHY". What the library itself
 * prints to stdout is caught.
 */
#include "base/status.h"
#include "rules.h"
#include "watch.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TABLE_LIMIT = 8192 };

typedef struct listed {
    tn_test test;
    const tn_rule *rule;
} listed;

typedef struct suite {
    tn_runtime *runtime;
    tn_counter counter;
    const char *library; /* name; null: what is linked in */
    const char *only_operator, *only_rule;
    const char *device_name; /* null: the processor */
    tn_used_device device;
    void *stream;
    const tn_operator *operators[TABLE_LIMIT];
    bool is_own[TABLE_LIMIT];
    size_t operator_count;
    const tn_kernel *kernels[TABLE_LIMIT];
    size_t kernel_count;
    listed *tests;
    size_t count, capacity, current;
} suite;

static suite s;
static FILE *report; /* the lines; the standard output is watched */

static void print_text(const char *text) {
    for (; *text; text++)
        fputc(*text == '\t' || *text == '\n' || *text == '\r' ? ' ' : *text, report);
}

static void end_test(const char *outcome, const char *rule, const char *why) {
    fprintf(report, "end\t%zu\t%s\t%s\t", s.current, outcome, rule);
    print_text(why);
    fputc('\n', report);
    fflush(report);
}

/* From the fault handler: no stdio. */
static void report_fault(const char *rule, const char *text) {
    char line[700];
    const int length =
        snprintf(line, sizeof(line), "end\t%zu\tfailed\t%s\t%s\n", s.current, rule, text);
    if (length > 0 && write(fileno(report), line, (size_t)length) < 0) _exit(71);
}

/* ----------------------------------------------------------------------------------------------
 * listing */

static bool is_wanted_library(const tn_library_info *library) {
    return s.library ? strcmp(library->name, s.library) == 0 : library->path[0] == 0;
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

static bool add(const tn_test *test, const tn_rule *rule) {
    if (s.only_rule && strcmp(rule->id, s.only_rule) != 0) return true;
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

static bool add_rules(const tn_test *test, uint32_t kinds) {
    bool is_added = true;
    for (const tn_rule *rule = tn_rules; rule->id && is_added; rule++)
        if (rule->kinds & kinds) is_added = add(test, rule);
    return is_added;
}

static bool list_operator(const tn_operator *op) {
    tn_test test = {.runtime = s.runtime,
                    .counter = &s.counter,
                    .op = op,
                    .library = s.library ? s.library : "builtin"};
    bool is_added = add_rules(&test, TN_RULE_OPERATOR);
    for (uint64_t i = 0; i < op->case_count && is_added && op->reference; i++) {
        test.text = op->cases[i];
        is_added = add_rules(&test, TN_RULE_CASE | TN_RULE_REFERENCE);
    }
    return is_added;
}

static bool list_kernel(const tn_operator *op, const tn_kernel *kernel) {
    tn_test test = {.runtime = s.runtime,
                    .counter = &s.counter,
                    .op = op,
                    .kernel = kernel,
                    .library = s.library ? s.library : "builtin"};
    bool is_added = true;
    for (uint64_t i = 0; i < op->case_count && is_added; i++)
        for (uint32_t k = 0; k < (kernel->combination_count ? kernel->combination_count : 1); k++)
            for (int constant = 0; constant < (op->input_count > 1 ? 2 : 1) && is_added;
                 constant++) {
                test.text = op->cases[i];
                test.combination = kernel->combination_count ? kernel->combinations[k] : NULL;
                test.are_constant = constant;
                is_added = add_rules(&test, TN_RULE_KERNEL);
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
    if (s.only_operator && strcmp(test.op->name, s.only_operator) != 0) return true;
    for (uint32_t k = 0;
         k < (kernel->combination_count ? kernel->combination_count : 1) && is_added; k++) {
        test.combination = kernel->combination_count ? kernel->combinations[k] : NULL;
        is_added = add_rules(&test, TN_RULE_COMBINATION);
    }
    return is_added;
}

/* The cases of the operators that the library has kernels for on the device. */
static bool list_on_device(void) {
    bool is_added = true;
    for (size_t i = 0; i < s.operator_count; i++) {
        const tn_operator *op = s.operators[i];
        bool has_kernel = false;
        for (size_t k = 0; k < s.kernel_count && !has_kernel; k++)
            has_kernel = tn_kernel_serves(s.kernels[k], op);
        if (!has_kernel || (s.only_operator && strcmp(op->name, s.only_operator) != 0)) continue;
        tn_test test = {.runtime = s.runtime,
                        .counter = &s.counter,
                        .op = op,
                        .device = s.device.device,
                        .stream = s.stream,
                        .library = s.library ? s.library : "builtin"};
        for (uint64_t k = 0; k < op->case_count && is_added; k++) {
            test.text = op->cases[k];
            is_added = add_rules(&test, TN_RULE_DEVICE);
        }
    }
    return is_added;
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
        if (s.only_operator && strcmp(op->name, s.only_operator) != 0) continue;
        if (s.is_own[i]) is_added = list_operator(op);
        for (size_t k = 0; k < s.kernel_count && is_added; k++)
            if (tn_kernel_serves(s.kernels[k], op)) is_added = list_kernel(op, s.kernels[k]);
    }
    return is_added;
}

/* ----------------------------------------------------------------------------------------------
 * running */

static void run_test(const listed *it) {
    static const char *const outcomes[] = {"passed", "failed", "skipped"};
    tn_verdict verdict = {0};
    char changed[300];
    fprintf(report, "begin\t%zu\t%s\t%s%s%s\t%s\t%s\t%d\t%s\n", s.current, it->rule->id,
            it->test.op->domain, it->test.op->domain[0] ? "::" : "", it->test.op->name,
            it->test.kernel ? it->test.kernel->name : "",
            it->test.combination ? it->test.combination : "", it->test.are_constant,
            it->test.text ? it->test.text : "");
    fflush(report);
    it->rule->check(&it->test, &verdict);
    if (tn_watch_changed(changed, sizeof(changed)) && verdict.outcome != TN_FAILED) {
        tn_verdict_fail(&verdict, "%s", changed);
        snprintf(verdict.rule, sizeof(verdict.rule), "environment");
    }
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

static int load(const char *library) {
    static char name[256];
    s.counter.fail_at = 0;
    const tn_runtime_options options = {.size = sizeof(options), .allocator = &s.counter.functions};
    if (tn_runtime_create(&options, &s.runtime) != TN_OK) {
        fprintf(report, "end\t0\tfailed\tcrash\tno runtime: %s\n", tn_last_error()->message);
        return 1;
    }
    const bool is_builtin = strcmp(library, "builtin") == 0;
    if (is_builtin && !s.device_name) return 0;
    fprintf(report, "begin\t0\tlibrary-loads\t\t\t\t0\t\n");
    fflush(report);
    if ((!is_builtin && tn_runtime_load_library(s.runtime, library) != TN_OK)) {
        end_test("failed", "library-loads", tn_last_error()->message);
        return 1;
    }
    if (!is_builtin) tn_runtime_visit_libraries(s.runtime, remember_last, name);
    if (!is_builtin) s.library = name;
    if (s.device_name && take_device() != TN_OK) {
        end_test("failed", "library-loads", tn_last_error()->message);
        return 1;
    }
    end_test("passed", "library-loads", "");
    return 0;
}

static void print_rules(void) {
    for (const tn_rule *rule = tn_rules; rule->id; rule++)
        printf("%s\t%s\n", rule->id, rule->doc);
}

int main(int argc, char **argv) {
    const char *library = argc > 1 ? argv[1] : "";
    size_t from = 1, only = 0;
    if (strcmp(library, "--rules") == 0) {
        print_rules();
        return 0;
    }
    for (int i = 2; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--from") == 0) from = strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--only") == 0) only = strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--operator") == 0) s.only_operator = argv[i + 1];
        if (strcmp(argv[i], "--rule") == 0) s.only_rule = argv[i + 1];
        if (strcmp(argv[i], "--device") == 0) s.device_name = argv[i + 1];
    }
    if (argc < 2 || library[0] == '-') {
        fprintf(stderr, "usage: tenon-check LIBRARY|builtin [--from N] [--only N] [--operator "
                        "NAME] [--rule ID] [--device NAME]\n");
        return 2;
    }
    const int output = tn_watch_output();
    report = output < 0 ? NULL : fdopen(output, "w");
    if (!report) return 1;
    mallopt(M_PERTURB, 0xA5); /* what malloc gives, and what was freed, is no zeros */
    tn_counter_init(&s.counter);
    tn_fault_install(report_fault);
    if (load(library) != 0 || !list_tests()) return 1;
    fprintf(report, "count\t%zu\n", s.count);
    tn_watch_begin();
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
