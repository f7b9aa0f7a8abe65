/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon plugin list --missing DEVICE: the operators that no kernel computes on a device, so that
 * their reference does, on the processor. Not among them is what needs none: views, which the
 * engine gives the memory of their input, and the lists below.
 */
#include "cli/cli.h"
#include "plugin_command.h"
#include "plugin_show.h"
#include "text/json_print.h"

#include <stdlib.h>
#include <string.h>

typedef struct exception {
    const char *domain, *name, *reason;
} exception;

#define BY_SHAPES "follows from shapes and constants alone, and is a constant where these are"
#define LISTS     "lists of tensors: their reference moves tensors and computes nothing"
#define TEXTS     "strings, one after the other: their reference is all that there is to do"

static const exception exceptions[] = {
    {"", "BlackmanWindow", BY_SHAPES},
    {"", "ConcatFromSequence", LISTS},
    {"", "Constant", "a constant when the network is read"},
    {"", "Dropout", "removed at the build: its output is its input"},
    {"", "EyeLike", BY_SHAPES},
    {"", "HammingWindow", BY_SHAPES},
    {"", "HannWindow", BY_SHAPES},
    {"", "MelWeightMatrix", BY_SHAPES},
    {"", "Optional", LISTS},
    {"", "OptionalGetElement", LISTS},
    {"", "OptionalHasElement", LISTS},
    {"", "Range", "shape arithmetic: computed with the shapes"},
    {"", "SequenceAt", LISTS},
    {"", "SequenceConstruct", LISTS},
    {"", "SequenceEmpty", LISTS},
    {"", "SequenceErase", LISTS},
    {"", "SequenceInsert", LISTS},
    {"", "SequenceLength", LISTS},
    {"", "Shape", "shape arithmetic: computed with the shapes"},
    {"", "Size", "shape arithmetic: computed with the shapes"},
    {"", "SplitToSequence", LISTS},
    {"", "StringConcat", TEXTS},
    {"", "StringNormalizer", TEXTS},
    {"", "StringSplit", TEXTS},
    {"Tenon", "OptionalGetSequence", LISTS},
    {"Tenon", "OptionalHasSequence", LISTS},
    {"Tenon", "OptionalSequence", LISTS},
    {"Caffe", "DetectionOutput", "the end of a network: a few boxes, whose number only data knows"},
    {"Caffe", "PriorBox", BY_SHAPES},
};

#define BODIES                                                                                     \
    "runs its graphs, whose nodes have kernels of their own; conditions and counts are read"

/* What the processor does in networks of every device, though it has kernels for it. */
static const exception host_only[] = {
    {"", "If", BODIES},
    {"", "Loop", BODIES},
    {"", "Scan", BODIES},
    {"", "SequenceMap", BODIES},
    {"", "RegexFullMatch", "strings: they lie in the host's memory alone"},
    {"", "TfIdfVectorizer",
     "looks up sequences of strings or tokens, at the beginning of a network"},
};

static const char *reason_in(const exception *list, size_t count, const tn_operator *op) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].domain, op->domain) == 0 && strcmp(list[i].name, op->name) == 0)
            return list[i].reason;
    return NULL;
}

/* The reason for which an operator needs no kernel; null: there is none. */
static const char *find_reason(const tn_operator *op, const char *device) {
    bool is_view = op->output_count > 0;
    for (uint32_t i = 0; i < op->output_count; i++)
        is_view = is_view && (op->outputs[i].flags & TN_PORT_VIEW);
    if (is_view) return "a view: its output has the memory of its input";
    const char *reason = reason_in(exceptions, sizeof(exceptions) / sizeof(exceptions[0]), op);
    if (reason || strcmp(device, "cpu") == 0) return reason;
    return reason_in(host_only, sizeof(host_only) / sizeof(host_only[0]), op);
}

/* Whether an operator's port may have 32-bit floats: by its own types, or by those of the port that
 * its variable is bound at. */
static bool allows_f32(const tn_operator *op, const tn_port *port) {
    const char *types = port->types, *colon = strchr(types, ':');
    for (uint32_t i = 0; i < op->input_count && !colon; i++) {
        const char *bound = strchr(op->inputs[i].types, ':');
        const size_t length = bound ? (size_t)(bound - op->inputs[i].types) : 0;
        if (length == strlen(types) && strncmp(op->inputs[i].types, types, length) == 0)
            types = bound;
    }
    return strstr(types, "f32") || strstr(types, "float") || strstr(types, "number") ||
           strstr(types, "any");
}

/* A kernel of every elementwise operator that lists combinations has them of floats. */
static bool serves(const tn_kernel *kernel, const tn_operator *op) {
    bool is_float = true;
    if (!show_kernel_serves(kernel, op)) return false;
    if (strcmp(kernel->op, "*") != 0 || kernel->combination_count == 0) return true;
    for (uint32_t i = 0; i < op->input_count; i++)
        is_float = is_float && allows_f32(op, &op->inputs[i]);
    return is_float && allows_f32(op, &op->outputs[0]);
}

/* By any version of an operator that is named so. */
static bool has_kernel(const show_tables *tables, const tn_operator *op, const char *device) {
    for (size_t i = 0; i < tables->operator_count; i++) {
        const tn_operator *other = tables->operators[i].op;
        if (strcmp(other->name, op->name) != 0 || strcmp(other->domain, op->domain) != 0) continue;
        for (size_t k = 0; k < tables->kernel_count; k++) {
            const tn_kernel *kernel = tables->kernels[k].kernel;
            if (strcmp(kernel->device, device) == 0 && serves(kernel, other)) return true;
        }
    }
    return false;
}

/* Whether an earlier entry is a version of the same operator. */
static bool is_listed(const show_tables *tables, size_t at) {
    const tn_operator *op = tables->operators[at].op;
    for (size_t i = 0; i < at; i++)
        if (strcmp(tables->operators[i].op->name, op->name) == 0 &&
            strcmp(tables->operators[i].op->domain, op->domain) == 0)
            return true;
    return false;
}

static void print_json(const tn_operator *op, const char *reason, bool is_first) {
    printf("%s\n    {", is_first ? "" : ",");
    json_print_member("", "domain", op->domain);
    json_print_member(", ", "name", op->name);
    if (reason) json_print_member(", ", "reason", reason);
    printf("}");
}

static void print_text(const tn_operator *op, const char *reason) {
    printf("%s%s%s%s%s\n", op->domain, op->domain[0] ? "::" : "", op->name, reason ? "  " : "",
           reason ? reason : "");
}

/* Those without a kernel that are to have one, or those that need none. */
static size_t print_list(const show_tables *tables, const char *device, bool is_json,
                         bool is_excepted) {
    size_t count = 0;
    for (size_t i = 0; i < tables->operator_count; i++) {
        const tn_operator *op = tables->operators[i].op;
        const char *reason = find_reason(op, device);
        if ((reason != NULL) != is_excepted || is_listed(tables, i) ||
            has_kernel(tables, op, device))
            continue;
        if (is_json)
            print_json(op, reason, count == 0);
        else
            print_text(op, reason);
        count++;
    }
    return count;
}

static void print_all(const show_tables *tables, const char *device, bool is_json) {
    if (is_json) {
        printf("{\n  ");
        json_print_member("", "device", device);
        printf(",\n  \"missing\": [");
        print_list(tables, device, true, false);
        printf("\n  ],\n  \"excepted\": [");
        print_list(tables, device, true, true);
        printf("\n  ]\n}\n");
        return;
    }
    const size_t missing = print_list(tables, device, false, false);
    printf("%s%zu operators have no kernel on %s; without one, but not missing:\n",
           missing ? "\n" : "", missing, device);
    print_list(tables, device, false, true);
}

int plugin_missing(tn_runtime *runtime, const cli_options *options) {
    show_tables tables = {0};
    const char *device = options->missing;
    bool is_known = false;
    cli_load_kernels(runtime);
    if (!show_tables_read(&tables, runtime)) {
        show_tables_free(&tables);
        return cli_fault("no memory for the list of operators");
    }
    for (size_t i = 0; i < tables.kernel_count && !is_known; i++)
        is_known = strcmp(tables.kernels[i].kernel->device, device) == 0;
    if (is_known) print_all(&tables, device, options->json);
    show_tables_free(&tables);
    return is_known ? EXIT_DONE
                    : cli_unsupported("--missing: no library that is loaded has kernels for the "
                                      "device '%s'",
                                      device);
}
