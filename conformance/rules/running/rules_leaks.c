/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about what lives of nodes and contexts leave behind: memory, mappings, files, threads; see
 * rules.h. What stays when the library is unloaded is rules_library.c's. */
#include "base/status.h"
#include "rules/rules.h"
#include "tensor/type.h"
#include "worker/probe/frame.h"
#include "worker/process/folder.h"
#include "worker/watch/heap.h"
#include "worker/watch/held.h"
#include "worker/watch/trace.h"

#include <tenon/plugin/plane_mean.h>

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static tn_status run_in(tn_probe_context *context, tn_probe *probe) {
    tn_probe_memory memory = {0};
    tn_status status = tn_probe_memory_create(&memory, probe, true, false, 0xFF);
    if (status == TN_OK) status = tn_probe_run(context, probe, &memory, 0xFF);
    tn_probe_memory_destroy(&memory);
    return status;
}

bool tn_rule_grow(const tn_test *test, tn_subject *subject, tn_subject *grown) {
    const tn_shape *shape = subject->c.input_count > 0 ? &subject->c.inputs[0].shape : NULL;
    tn_verdict none = {0};
    if (!test->kernel || !test->kernel->reshape) return false;
    for (uint32_t axis = shape ? shape->rank : 0; axis-- > 0;) {
        const tn_change change = {.axis = (int32_t)axis, .extent = 3 * shape->extents[axis] + 64};
        if (!tn_test_subject(test, &change, grown, &none)) continue;
        if (tn_subject_shares_constants(subject, grown)) {
            subject->probe.grown = &grown->probe;
            subject->probe.other = &grown->probe;
            return true;
        }
        tn_subject_destroy(grown);
    }
    return false;
}

tn_status tn_rule_live_once(tn_probe *probe) {
    tn_probe_life life = {0};
    tn_probe_context first = {0}, second = {0};
    tn_status status = tn_probe_prepare(&life, probe);
    if (status != TN_OK) return status;
    status = tn_probe_open(&first, &life);
    if (status == TN_OK) status = tn_probe_open(&second, &life);
    for (int i = 0; i < 2 && status == TN_OK; i++) /* as for a shape that comes back */
        status = tn_probe_reshape(&first, probe);
    if (status == TN_OK) status = run_in(&first, probe);
    for (int i = 0; i < 2 && status == TN_OK && probe->grown; i++) {
        tn_probe *shapes = i == 0 ? probe->grown : probe;
        status = tn_probe_reshape(&first, shapes);
        if (status == TN_OK) status = run_in(&first, shapes);
        if (shapes != probe) memcpy(probe->rule, shapes->rule, sizeof(probe->rule));
    }
    tn_probe_close(&first);
    tn_probe_close(&second);
    tn_probe_release(&life);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * what there is */

typedef struct footprint {
    size_t heap, mapped;
    uint64_t host;
    tn_held held;
} footprint;

/* Bytes of address space. */
static size_t mapped_bytes(void) {
    char text[64];
    const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? 0 : read(file, text, sizeof(text) - 1);
    if (file >= 0) close(file);
    text[length > 0 ? length : 0] = 0;
    return (size_t)strtoul(text, NULL, 10) * 4096;
}

static void measure(const tn_test *test, footprint *out_footprint) {
    tn_probe_forget_frames();
    tn_guarded_forget_retired();
    *out_footprint = (footprint){
        .heap = tn_heap_live_bytes(), .mapped = mapped_bytes(), .host = test->counter->live};
    tn_held_now(&out_footprint->held);
}

/* How often each grew. */
typedef struct growth {
    size_t heap, mapped, host, files, threads, bytes;
} growth;

static void add_growth(growth *g, const footprint *last, const footprint *now) {
    g->heap += now->heap > last->heap;
    g->bytes += now->heap > last->heap ? now->heap - last->heap : 0;
    g->mapped += (now->mapped > last->mapped && !tn_heap_is_sanitized()) ||
                 now->held.mappings > last->held.mappings;
    g->host += now->host > last->host;
    g->files += now->held.files > last->held.files;
    g->threads += now->held.threads > last->held.threads;
}

enum { TIMES = 8 };

static void judge(const growth *g, const char *what, tn_verdict *verdict) {
    char more[100] = "";
    if (verdict->outcome != TN_PASSED) return;
    if (g->host == TIMES)
        snprintf(more, sizeof(more), "memory of host->allocate");
    else if (g->heap == TIMES)
        snprintf(more, sizeof(more), "about %zu bytes of heap", g->bytes / TIMES);
    else if (g->files == TIMES)
        snprintf(more, sizeof(more), "an open file");
    else if (g->threads == TIMES)
        snprintf(more, sizeof(more), "a thread");
    else if (g->mapped == TIMES)
        snprintf(more, sizeof(more), "a mapping");
    if (more[0]) tn_verdict_fail(verdict, "each %s leaves %s behind", what, more);
}

/* ----------------------------------------------------------------------------------------------
 * lives */

/* One life of what is tested; without a kernel, also of a node: shape rule and saved state. */
static bool live(const tn_test *test, tn_subject *subject, tn_verdict *verdict) {
    tn_subject node;
    if (tn_rule_live_once(&subject->probe) != TN_OK) {
        tn_verdict_error(verdict, &subject->probe, "");
        return false;
    }
    if (!test->kernel && tn_test_subject(test, NULL, &node, verdict)) tn_subject_destroy(&node);
    return verdict->outcome == TN_PASSED;
}

static void check_lives(const tn_test *test, tn_subject *subject, tn_verdict *verdict) {
    growth g = {0};
    for (int i = 0; i < 2 && verdict->outcome == TN_PASSED; i++) /* what is made once is made now */
        live(test, subject, verdict);
    footprint now, last;
    measure(test, &last);
    for (int i = 0; i < TIMES && verdict->outcome == TN_PASSED; i++) {
        if (!live(test, subject, verdict)) break;
        measure(test, &now);
        add_growth(&g, &last, &now);
        last = now;
    }
    judge(&g, "life", verdict);
}

/* A child that is not waited for; this process has others only while it waits for them. */
static void check_children(tn_verdict *verdict) {
    siginfo_t child;
    if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0)
        tn_verdict_fail(verdict, "a life leaves a child process that nobody waits for");
}

/* One life in an empty working folder. A case that needs a file there is not run so. */
static void check_files(tn_subject *subject, tn_verdict *verdict) {
    char name[128];
    tn_folder folder;
    if (!tn_folder_enter(&folder)) return;
    const tn_status status = tn_rule_live_once(&subject->probe);
    tn_folder_leave(&folder, name, sizeof(name));
    if (status == TN_OK && name[0])
        tn_verdict_fail(verdict,
                        "a life leaves the file '%s' in the process' working or temporary folder",
                        name);
}

/* What grows from run to run, though close may give it back: a context runs for years. */
static void check_runs(const tn_test *test, tn_subject *subject, tn_verdict *verdict) {
    tn_probe_life life = {0};
    tn_probe_context context = {0};
    growth g = {0};
    tn_status status = tn_probe_prepare(&life, &subject->probe);
    if (status == TN_OK) status = tn_probe_open(&context, &life);
    if (status == TN_OK) status = tn_probe_reshape(&context, &subject->probe);
    footprint now, last = {0};
    for (int i = -2; i < TIMES && status == TN_OK; i++) {
        status = run_in(&context, &subject->probe);
        measure(test, &now);
        if (i >= 0) add_growth(&g, &last, &now);
        last = now;
    }
    if (status != TN_OK) tn_verdict_error(verdict, &subject->probe, "");
    tn_probe_close(&context);
    if (life.probe) tn_probe_release(&life);
    judge(&g, "run", verdict);
}

/* Runs that are refused again and again: whoever sends such inputs is no reason to lose memory. */
void tn_rule_check_refused(const tn_test *test, tn_subject *subject, const char *during,
                           tn_verdict *verdict) {
    char what[160];
    growth g = {0};
    footprint now, last;
    tn_outcome none = {0};
    measure(test, &last);
    for (int i = 0; i < TIMES; i++) {
        if (tn_probe_once(&subject->probe, true, false, 0xFF, &none) == TN_OK) break;
        measure(test, &now);
        add_growth(&g, &last, &now);
        last = now;
    }
    tn_outcome_free(&none);
    snprintf(what, sizeof(what), "refused run (%s)", during);
    judge(&g, what, verdict);
    if (verdict->outcome == TN_FAILED) snprintf(verdict->rule, sizeof(verdict->rule), "leaks");
}

/* ----------------------------------------------------------------------------------------------
 * questions: callbacks that have nothing to release */

typedef struct question {
    const char *name;
    bool (*ask)(tn_subject *subject); /* false: there is no such callback */
} question;

static bool ask_accepts(tn_subject *subject) {
    tn_probe_accepts(&subject->probe);
    return subject->kernel && subject->kernel->accepts;
}

static bool ask_tactics(tn_subject *subject) {
    tn_probe_tactics(&subject->probe);
    return subject->kernel && subject->kernel->tactics;
}

static bool ask_operator(tn_subject *subject, tn_callback callback, const char *name, int sees) {
    tn_frame frame;
    if (!callback || subject->kernel ||
        tn_frame_open(&frame, &subject->probe, NULL, NULL, sees) != TN_OK)
        return false;
    tn_frame_ask(&frame, &subject->probe, callback, name);
    return true;
}

static bool ask_infer(tn_subject *subject) {
    return ask_operator(subject, subject->op->infer, "infer", TN_SEES_VALUES);
}

static bool ask_is_identity(tn_subject *subject) {
    return (subject->op->traits & TN_OPERATOR_IDENTITY) &&
           ask_operator(subject, subject->op->is_identity, "is_identity", TN_SEES_CONSTANTS);
}

static bool ask_facet_of(tn_subject *subject, uint32_t input, const char *name) {
    enum { COUNT = 4096 };
    static double numbers[2 * COUNT];
    tn_affine affine = {
        .size = sizeof(affine), .count = COUNT, .factors = numbers, .shifts = numbers + COUNT};
    uint64_t buffer[16] = {0};
    tn_facet facet = {.size = sizeof(facet), .what = buffer, .what_bytes = sizeof(buffer)};
    tn_frame_watch watch;
    tn_frame frame;
    if (strcmp(name, TN_FACET_AFFINE) == 0) facet.what = &affine, facet.what_bytes = sizeof(affine);
    if (tn_frame_open(&frame, &subject->probe, NULL, NULL, TN_SEES_CONSTANTS) != TN_OK)
        return false;
    tn_frame_enter(&frame, &subject->probe, "facet", &watch);
    (void)subject->op->facet(frame.call, input, name, &facet);
    tn_frame_finish(&frame, &subject->probe, &watch);
    return true;
}

static bool ask_facets(tn_subject *subject) {
    static const char *const names[] = {
        TN_FACET_BIAS,       TN_FACET_SCALE,      TN_FACET_RESIDUAL,
        TN_FACET_ACTIVATION, TN_FACET_WINDOW_MAX, TN_FACET_SOFTMAX,
        TN_FACET_LINEAR,     TN_FACET_AFFINE,     TN_FACET_PLANE_MEAN};
    bool is_asked = false;
    if (!subject->op->facet || subject->kernel) return false;
    for (uint32_t i = 0; i < subject->probe.input_count; i++)
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
            if (subject->probe.inputs[i].is_given) is_asked |= ask_facet_of(subject, i, names[k]);
    return is_asked;
}

static bool ask_operations(tn_subject *subject) {
    double operations = 0;
    tn_frame_watch watch;
    tn_frame frame;
    if (!subject->op->operations || subject->kernel ||
        tn_frame_open(&frame, &subject->probe, NULL, NULL, TN_SEES_CONSTANTS) != TN_OK)
        return false;
    tn_frame_enter(&frame, &subject->probe, "operations", &watch);
    const tn_status status = subject->op->operations(frame.call, &operations);
    tn_frame_finish(&frame, &subject->probe, &watch);
    if (status == TN_OK && !(operations >= 0 && isfinite(operations)))
        tn_trace_broken("describes", "operations answers %g: a number of operations is not below 0",
                        operations);
    return true;
}

static const question questions[] = {{"accepts", ask_accepts}, {"tactics", ask_tactics},
                                     {"infer", ask_infer},     {"is_identity", ask_is_identity},
                                     {"facet", ask_facets},    {"operations", ask_operations}};

void tn_rule_ask_node(tn_subject *subject) {
    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
        questions[i].ask(subject);
}

static void check_questions(const tn_test *test, tn_subject *subject, tn_verdict *verdict) {
    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
        char what[40];
        growth g = {0};
        if (verdict->outcome != TN_PASSED || !questions[i].ask(subject)) continue;
        footprint now, last;
        measure(test, &last);
        for (int k = 0; k < TIMES; k++) {
            questions[i].ask(subject);
            measure(test, &now);
            add_growth(&g, &last, &now);
            last = now;
        }
        snprintf(what, sizeof(what), "call of %s", questions[i].name);
        judge(&g, what, verdict);
    }
}

/* Constants that prepare may refuse, with other numbers than the case's. */
static void set_constants(tn_subject *subject, double value) {
    for (uint32_t i = 0; i < subject->probe.input_count; i++) {
        const tn_probe_port *port = &subject->probe.inputs[i];
        if (!port->is_given || !port->is_constant || port->is_value_needed ||
            !tn_type_is_float(port->own_type))
            continue;
        tn_case_input *input = &subject->c.inputs[tn_subject_case_input(subject, i)];
        for (size_t k = 0; k < tn_case_input_elements(input); k++)
            tn_element_set_f64(input->data, input->type, k, value);
    }
}

static void check_refused_constants(const tn_test *test, double value, tn_verdict *verdict) {
    const tn_change copy = {.axis = -1, .frees_values = true};
    tn_subject subject;
    tn_verdict none = {0};
    growth g = {0};
    footprint now, last = {0};
    if (verdict->outcome != TN_PASSED || !tn_test_subject(test, &copy, &subject, &none)) return;
    set_constants(&subject, value);
    bool is_refused = true;
    for (int i = -2; i < TIMES && is_refused; i++) {
        tn_probe_life life = {0};
        is_refused = tn_probe_prepare(&life, &subject.probe) != TN_OK && !subject.probe.rule[0];
        if (life.is_prepared) tn_probe_release(&life);
        measure(test, &now);
        if (i >= 0) add_growth(&g, &last, &now);
        last = now;
    }
    if (is_refused) judge(&g, "prepare that refuses a constant", verdict);
    tn_subject_destroy(&subject);
}

void tn_rule_leaks(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    check_questions(test, &subject, verdict);
    if (verdict->outcome == TN_PASSED) check_runs(test, &subject, verdict);
    tn_subject grown;
    if (verdict->outcome == TN_PASSED) check_lives(test, &subject, verdict);
    if (verdict->outcome == TN_PASSED && tn_rule_grow(test, &subject, &grown)) {
        check_lives(test, &subject, verdict);
        subject.probe.grown = NULL;
        subject.probe.other = NULL;
        tn_subject_destroy(&grown);
    }
    const bool has_constants = test->kernel && test->kernel->prepare && test->are_constant;
    static const double values[] = {-1, 0, 1e30};
    for (size_t i = 0; i < TN_COUNT(values) && has_constants; i++)
        check_refused_constants(test, values[i], verdict);
    if (verdict->outcome == TN_PASSED) check_files(&subject, verdict);
    if (verdict->outcome == TN_PASSED) check_children(verdict);
    tn_subject_destroy(&subject);
}
