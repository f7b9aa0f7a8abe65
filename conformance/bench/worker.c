/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon-kernel-bench: times the kernels of a library and other kernels of the same operators, in a
 * process that may be lost: `tenon plugin bench` starts it and reads its lines.
 *
 *     tenon-kernel-bench LIBRARY|builtin [--plugin LIBRARY ...] [--operator NAME]
 *         [--case N|TEXT] [--shape NAME=AxB ...] [--type TYPE] [--threads N] [--seconds S]
 *         [--grow BYTES] [--all 1] [--device NAME]
 *
 * Lines, fields between tabs: "machine THREADS INSTRUCTIONS OPERATIONS_A_SECOND BYTES_A_SECOND
 * DEVICE" (of a device: no threads, its name, operations not known); for each case "case OPERATOR
 * NUMBER IS_GROWN BYTES OPERATIONS COPY_BYTES_A_SECOND TEXT" (0 operations: not known); for each
 * kernel and combination "begin KERNEL LIBRARY IS_OWN COMBINATION" and then one of "time BYTES
 * BEST_NS USUAL_NS RUNS IS_STABLE", "left WHY", "failed WHY"; at the end "done". "error WHY" ends
 * it sooner. An empty KERNEL is the operator's reference.
 */
#include "base/status.h"
#include "bench.h"
#include "plugin/sequences/kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TABLE_LIMIT = 8192, LIST_LIMIT = 64, KINDS_LIMIT = 256 };

typedef struct bench {
    tn_runtime *runtime;
    const char *library; /* name; null: what is linked in */
    const char *only_operator, *only_case, *only_type, *device_name;
    tn_bench_target target; /* of the device; the processor where it has none */
    const char *plugins[LIST_LIMIT], *shapes[LIST_LIMIT];
    size_t plugin_count, shape_count, grow_bytes;
    uint32_t threads;
    double seconds;
    bool wants_all;
    bool has_lists; /* what was asked for has sequences or optionals, which run in networks alone */
    const tn_operator *operators[TABLE_LIMIT];
    bool is_own_operator[TABLE_LIMIT];
    size_t operator_count;
    const tn_kernel *kernels[TABLE_LIMIT];
    bool is_own_kernel[TABLE_LIMIT];
    const char *kernel_libraries[TABLE_LIMIT];
    size_t kernel_count;
    size_t case_count; /* that were timed */
} bench;

static bench b = {.threads = 1, .seconds = 0.5, .grow_bytes = (size_t)4 << 20};

static void print_text(const char *text) {
    for (; *text; text++)
        putchar(*text == '\t' || *text == '\n' || *text == '\r' ? ' ' : *text);
}

static void print_line(const char *word, const char *text) {
    printf("%s\t", word);
    print_text(text);
    putchar('\n');
    fflush(stdout);
}

/* What is wrong with a case; the others are timed all the same. */
static void fail_case(const tn_operator *op, const char *text) {
    printf("error\t%s, case \"", op->name);
    print_text(text);
    printf("\": ");
    print_text(tn_last_error()->message);
    putchar('\n');
    fflush(stdout);
}

static int fail(const char *text) {
    print_line("error", text);
    return 1;
}

/* ----------------------------------------------------------------------------------------------
 * listing */

static bool is_own(const tn_library_info *library) {
    return b.library ? strcmp(library->name, b.library) == 0 : library->path[0] == 0;
}

static bool note_operator(void *user, const tn_operator *op, const tn_library_info *library) {
    (void)user;
    b.is_own_operator[b.operator_count] = is_own(library);
    b.operators[b.operator_count++] = op;
    return b.operator_count < TABLE_LIMIT;
}

static bool note_kernel(void *user, const tn_kernel *kernel, const tn_library_info *library) {
    (void)user;
    b.is_own_kernel[b.kernel_count] = is_own(library);
    b.kernel_libraries[b.kernel_count] = strdup(library->name);
    b.kernels[b.kernel_count++] = kernel;
    return b.kernel_count < TABLE_LIMIT;
}

/* NAME or DOMAIN::NAME. */
static bool is_named(const tn_operator *op, const char *name) {
    const size_t length = strlen(op->domain);
    if (strcmp(op->name, name) == 0) return true;
    return strncmp(name, op->domain, length) == 0 && strncmp(name + length, "::", 2) == 0 &&
           strcmp(name + length + 2, op->name) == 0;
}

static bool is_wanted(size_t index) {
    const tn_operator *op = b.operators[index];
    bool is_served = b.is_own_operator[index];
    for (size_t k = 0; k < b.kernel_count && !is_served; k++)
        is_served = b.is_own_kernel[k] && tn_kernel_serves(b.kernels[k], op);
    /* A case of the caller's own is one for the newest version. */
    for (size_t i = 0; i < b.operator_count && b.only_case && strchr(b.only_case, '|'); i++)
        if (strcmp(b.operators[i]->name, op->name) == 0 &&
            strcmp(b.operators[i]->domain, op->domain) == 0 &&
            b.operators[i]->since_version > op->since_version)
            return false;
    if (!is_served || (b.only_operator && !is_named(op, b.only_operator))) return false;
    b.has_lists = b.has_lists || tn_operator_has_kinds(op);
    return !tn_operator_has_kinds(op);
}

/* ----------------------------------------------------------------------------------------------
 * one case */

static void measure(const tn_bench_subject *subject, const tn_kernel *kernel,
                    const char *combination, const char *library, bool is_own_kernel) {
    tn_stopwatch watch = {.seconds = b.seconds};
    size_t bytes = 0;
    const char *why = NULL;
    printf("begin\t%s\t%s\t%d\t%s\n", kernel ? kernel->name : "", library, is_own_kernel,
           combination ? combination : "");
    fflush(stdout);
    const char *device = b.target.device.device ? b.target.device.device->kind : "cpu";
    if (kernel && strcmp(kernel->device, device) != 0) {
        print_line("left", "it is for another device");
    } else if (kernel && kernel->requires_features &&
               !tn_runtime_has_features(b.runtime, kernel->requires_features)) {
        printf("left\tthis processor lacks %s\n", kernel->requires_features);
    } else if (tn_bench_subject_measure(subject, kernel, combination, b.threads, &b.target, &watch,
                                        &bytes, &why) != TN_OK) {
        print_line("failed", tn_last_error()->message);
    } else if (why) {
        print_line("left", why);
    } else {
        printf("time\t%zu\t%.1f\t%.1f\t%llu\t%d\n", bytes, watch.best_ns, watch.usual_ns,
               (unsigned long long)watch.runs, watch.is_stable);
    }
    fflush(stdout);
}

static tn_status measure_copy(size_t bytes, double *out_bytes_a_second) {
    return b.target.device.device ? tn_limits_copy_on_device(&b.target, bytes, out_bytes_a_second)
                                  : tn_limits_copy(b.runtime, b.threads, bytes, out_bytes_a_second);
}

static void time_case(const tn_operator *op, uint64_t number, bool is_grown, const char *text) {
    tn_bench_subject subject;
    double copy = 0;
    if (tn_bench_subject_create(&subject, b.runtime, op, text) != TN_OK) {
        fail_case(op, text);
        return;
    }
    b.case_count++;
    if (measure_copy(subject.bytes, &copy) != TN_OK) copy = 0;
    printf("case\t%s%s%s\t%llu\t%d\t%zu\t%.0f\t%.0f\t", op->domain, op->domain[0] ? "::" : "",
           op->name, (unsigned long long)number, is_grown, subject.bytes, subject.operations, copy);
    print_text(text);
    putchar('\n');
    if (op->reference) measure(&subject, NULL, NULL, "", false);
    for (size_t k = 0; k < b.kernel_count; k++) {
        const tn_kernel *kernel = b.kernels[k];
        if (!tn_kernel_serves(kernel, op)) continue;
        for (uint32_t i = 0; i < (kernel->combination_count ? kernel->combination_count : 1); i++)
            measure(&subject, kernel, kernel->combination_count ? kernel->combinations[i] : NULL,
                    b.kernel_libraries[k], b.is_own_kernel[k]);
    }
    tn_bench_subject_destroy(&subject);
}

/* ----------------------------------------------------------------------------------------------
 * the cases of an operator */

/* What a case is in the choice of cases: its types, and how large it is. */
typedef struct kind {
    uint64_t number; /* of the case, from 1 */
    size_t bytes;
    uint32_t count;
    tn_type types[16];
} kind;

static bool read_kind(const tn_operator *op, uint64_t index, kind *out) {
    tn_bench_subject subject;
    if (tn_bench_subject_create(&subject, b.runtime, op, op->cases[index]) != TN_OK) {
        fail_case(op, op->cases[index]);
        return false;
    }
    *out = (kind){.number = index + 1, .bytes = subject.bytes};
    for (; out->count < 16 && out->count < subject.c.input_count; out->count++)
        out->types[out->count] = subject.c.inputs[out->count].type;
    const bool is_wanted_type =
        !b.only_type ||
        (out->count > 0 && out->types[0] == tn_type_parse(b.only_type, strlen(b.only_type)));
    tn_bench_subject_destroy(&subject);
    return is_wanted_type;
}

/* The largest case of each list of types, or all. */
static size_t choose_cases(const tn_operator *op, kind *kinds) {
    size_t count = 0;
    for (uint64_t i = 0; i < op->case_count && count < KINDS_LIMIT; i++) {
        kind one;
        size_t same = count;
        if (!read_kind(op, i, &one)) continue;
        for (size_t k = 0; k < count && !b.wants_all; k++)
            if (kinds[k].count == one.count &&
                memcmp(kinds[k].types, one.types, sizeof(one.types)) == 0)
                same = k;
        if (same == count)
            kinds[count++] = one;
        else if (one.bytes > kinds[same].bytes)
            kinds[same] = one;
    }
    return count;
}

/* As it is, and grown. */
static void time_both(const tn_operator *op, uint64_t number, const char *text) {
    tn_arena *arena = NULL;
    const char *shaped = text, *grown = text;
    tn_status status = tn_arena_create(tn_allocator_default(), &arena);
    for (size_t i = 0; i < b.shape_count && status == TN_OK; i++)
        status = tn_grow_set_shape(op, shaped, b.shapes[i], arena, &shaped);
    if (status != TN_OK) {
        fail_case(op, text);
    } else {
        time_case(op, number, false, shaped);
        if (b.grow_bytes && b.shape_count == 0 &&
            tn_grow_case(b.runtime, op, shaped, b.grow_bytes, arena, &grown) == TN_OK &&
            grown != shaped)
            time_case(op, number, true, grown);
    }
    tn_arena_destroy(arena);
}

static void time_operator(const tn_operator *op) {
    static kind kinds[KINDS_LIMIT];
    if (b.only_case && strchr(b.only_case, '|')) {
        time_case(op, 0, false, b.only_case);
        return;
    }
    if (b.only_case) {
        const unsigned long long number = strtoull(b.only_case, NULL, 10);
        if (number >= 1 && number <= op->case_count) time_both(op, number, op->cases[number - 1]);
        return;
    }
    const size_t count = choose_cases(op, kinds);
    for (size_t i = 0; i < count; i++)
        time_both(op, kinds[i].number, op->cases[kinds[i].number - 1]);
}

/* ----------------------------------------------------------------------------------------------
 * all */

static bool remember_last(void *user, const tn_library_info *library) {
    char *name = user;
    if (library->path[0]) snprintf(name, 256, "%s", library->name);
    return true;
}

/* The kernel libraries that come with Tenon: beside the core library, which is linked into this
 * program, they are found from where the program lies, in a build folder or installed. */
static tn_status load_companions(void) {
    static const char *const folders[] = {"../lib/tenon/kernels", "kernels"};
    char self[4096], folder[4096 + 32];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0) return TN_OK;
    self[length] = 0;
    char *slash = strrchr(self, '/');
    if (!slash) return TN_OK;
    *slash = 0;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(folder, sizeof(folder), "%s/%s", self, folders[i]);
        if (access(folder, R_OK) == 0) return tn_runtime_load_directory(b.runtime, folder);
    }
    return TN_OK;
}

static tn_status load(const char *library) {
    static char name[256];
    TN_TRY(tn_runtime_create(NULL, &b.runtime));
    if (strcmp(library, "builtin") != 0) {
        TN_TRY(tn_runtime_load_library(b.runtime, library));
        tn_runtime_visit_libraries(b.runtime, remember_last, name);
        b.library = name;
    }
    for (size_t i = 0; i < b.plugin_count; i++)
        TN_TRY(tn_runtime_load_library(b.runtime, b.plugins[i]));
    TN_TRY(load_companions());
    if (!b.device_name) return TN_OK;
    const char *path = getenv("TENON_PLUGIN_PATH");
    tn_device_libraries_load(b.runtime);
    if (path && path[0]) TN_TRY(tn_runtime_load_directory(b.runtime, path));
    return tn_bench_target_open(&b.target, b.runtime, b.device_name);
}

static bool read_option(const char *name, const char *value) {
    if (strcmp(name, "--operator") == 0) b.only_operator = value;
    if (strcmp(name, "--case") == 0) b.only_case = value;
    if (strcmp(name, "--type") == 0) b.only_type = value;
    if (strcmp(name, "--threads") == 0) b.threads = (uint32_t)strtoul(value, NULL, 10);
    if (strcmp(name, "--seconds") == 0) b.seconds = strtod(value, NULL);
    if (strcmp(name, "--grow") == 0) b.grow_bytes = strtoull(value, NULL, 10);
    if (strcmp(name, "--all") == 0) b.wants_all = true;
    if (strcmp(name, "--device") == 0) b.device_name = value;
    const bool is_plugin = strcmp(name, "--plugin") == 0, is_shape = strcmp(name, "--shape") == 0;
    if ((is_plugin && b.plugin_count == LIST_LIMIT) || (is_shape && b.shape_count == LIST_LIMIT))
        return false;
    if (is_plugin) b.plugins[b.plugin_count++] = value;
    if (is_shape) b.shapes[b.shape_count++] = value;
    return true;
}

static tn_status print_machine(void) {
    double operations = 0, bytes = 0;
    const char *name = "";
    const tn_device *device = b.target.device.device;
    if (!device) TN_TRY(tn_limits_arithmetic(b.runtime, b.threads, &operations, &name));
    TN_TRY(measure_copy((size_t)256 << 20, &bytes));
    printf("machine\t%u\t%s\t%.0f\t%.0f\t%s\n", device ? 0 : b.threads,
           device ? device->name : name, operations, bytes, device ? device->kind : "");
    fflush(stdout);
    return TN_OK;
}

static int time_all(void) {
    size_t wanted = 0;
    tn_runtime_visit_operators(b.runtime, note_operator, NULL);
    tn_runtime_visit_kernels(b.runtime, note_kernel, NULL);
    for (size_t i = 0; i < b.operator_count; i++)
        wanted += is_wanted(i);
    if (wanted == 0 && b.has_lists)
        return fail("operators of sequences and optionals are not timed alone: expected a network, "
                    "for tenon bench");
    if (wanted == 0)
        return fail(b.only_operator
                        ? "the library has no operator and no kernel of one with that name"
                        : "the library has neither operators nor kernels");
    if (b.only_type && tn_type_parse(b.only_type, strlen(b.only_type)) == TN_NONE)
        return fail("that is no element type; types are f32 f16 bf16 f64 i8 u8 i32 i64 ...");
    if (print_machine() != TN_OK) return fail(tn_last_error()->message);
    for (size_t i = 0; i < b.operator_count; i++)
        if (is_wanted(i)) time_operator(b.operators[i]);
    if (b.case_count == 0)
        return fail("no case fits what was asked for (tenon plugin show lists the cases)");
    printf("done\n");
    fflush(stdout);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 2 || argv[1][0] == '-') {
        fprintf(stderr, "usage: tenon-kernel-bench LIBRARY|builtin [options]\n");
        return 2;
    }
    for (int i = 2; i + 1 < argc; i += 2)
        if (!read_option(argv[i], argv[i + 1])) return fail("too many options of one kind");
    if (b.threads < 1 || b.threads > 1024) b.threads = 1;
    if (load(argv[1]) != TN_OK) return fail(tn_last_error()->message);
    const int code = time_all();
    _exit(code); /* what the libraries do when a process ends is not asked */
}
