/* SPDX-License-Identifier: Apache-2.0 */
/* The lines that tenon build ends with; see build_summary.h. */
#include "build_summary.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

#define OPERATORS_AT_MOST 5
#define LEFT_AT_MOST      3

static void print_count(double count, const char *what) {
    printf("%.0f %s%s", count, what, count == 1 ? "" : "s");
}

static void print_bytes(double bytes) {
    if (bytes < 1e3)
        printf("%.0f bytes", bytes);
    else if (bytes < 1e6)
        printf("%.1f kB", bytes / 1e3);
    else
        printf("%.1f MB", bytes / 1e6);
}

static void print_ns(double ns) {
    if (ns < 1e6)
        printf("%.1f us", ns / 1e3);
    else if (ns < 1e9)
        printf("%.2f ms", ns / 1e6);
    else
        printf("%.2f s", ns / 1e9);
}

static bool is_kernel(const json *node) {
    return strcmp(json_text_of(node, "kind"), "kernel") == 0;
}

static bool is_lower(const json *values) {
    for (const json *value = values ? values->first : NULL; value; value = value->next) {
        const char *type = json_text_of(value, "type");
        if (json_is_there(json_member(value, "scale")) || strcmp(type, "f16") == 0 ||
            strcmp(type, "bf16") == 0)
            return true;
    }
    return false;
}

typedef struct kernel_counts {
    size_t kernels, nodes, lower;
} kernel_counts;

static kernel_counts count_kernels(const json *nodes) {
    kernel_counts counts = {0};
    for (const json *node = nodes ? nodes->first : NULL; node; node = node->next) {
        if (!is_kernel(node)) continue;
        counts.kernels++;
        counts.nodes += 1 + json_count(json_member(node, "absorbed"));
        counts.lower +=
            is_lower(json_member(node, "inputs")) || is_lower(json_member(node, "outputs"));
    }
    return counts;
}

static void print_work(const json *report, const kernel_counts *counts) {
    const json *totals = json_member(report, "totals");
    const double ns = json_number_of(totals, "kernel_ns") + json_number_of(totals, "reformat_ns");
    printf("  ");
    print_count((double)counts->nodes, "node");
    printf(" in ");
    print_count((double)counts->kernels, "kernel");
    printf(", ");
    print_count(json_number_of(totals, "reformats"), "conversion");
    if (ns > 0) {
        printf("; ");
        print_ns(ns);
        printf(" as the sum of measured times");
    } else {
        printf("; chosen by rule, nothing was measured");
    }
    printf("; ");
    print_bytes(json_number_of(totals, "constant_bytes"));
    printf(" of weights, ");
    print_bytes(json_number_of(totals, "arena_bytes"));
    printf(" for tensors in a run\n");
}

static void print_precision(const json *report, const kernel_counts *counts) {
    const json *accuracy = json_member(report, "accuracy"),
               *precision = json_member(accuracy, "precision");
    size_t kept = 0;
    if (!precision) precision = json_member(report, "precision");
    if (strcmp(json_text(precision, "f32"), "f32") == 0) return;
    printf("  %s: %zu of ", json_text(precision, ""), counts->lower);
    print_count((double)counts->kernels, "kernel");
    const json *units = json_member(accuracy, "measured_alone");
    for (const json *unit = units ? units->first : NULL; unit; unit = unit->next)
        if (json_number_of(unit, "kept") != 0) kept += json_count(json_member(unit, "nodes"));
    if (kept > 0) {
        printf(", ");
        print_count((double)kept, "node");
        printf(" back in fp32");
    }
    if (accuracy) {
        printf("; loss of accuracy %.3g", json_number_of(accuracy, "loss"));
        if (json_is_there(json_member(accuracy, "max_loss")))
            printf(" (bound %.3g)", json_number_of(accuracy, "max_loss"));
        printf(" over ");
        print_count(json_number_of(accuracy, "batches"), "sample input");
    }
    printf("\n");
}

/* "16-bit floats computed in 32 bits: 98 nodes", where there are any. */
static void print_widened(const json *widened) {
    const size_t count = json_count(widened);
    if (count == 0) return;
    printf("  16-bit floats computed in 32 bits: ");
    print_count((double)count, "node");
    printf("\n");
}

static void print_operators(const json *operators) {
    size_t count = 0;
    for (const json *item = operators ? operators->first : NULL; item; item = item->next, count++)
        if (count < OPERATORS_AT_MOST)
            printf("%s%s %.0f", count ? ", " : "", json_text(json_member(item, "op"), "?"),
                   json_number_of(item, "nodes"));
    if (count > OPERATORS_AT_MOST) printf(" and %zu more", count - OPERATORS_AT_MOST);
}

/* "rewrites: silu 3, gelu.erf 2", where there are any. */
static void print_rewrites(const json *rewrites) {
    const json *first = rewrites ? rewrites->first : NULL;
    for (const json *item = first; item; item = item->next)
        printf("%s%s %.0f", item == first ? "  rewrites: " : ", ",
               json_text(json_member(item, "name"), "?"), json_number_of(item, "count"));
    if (first) printf("\n");
}

/* What may be refitted, and what was left as it is for that. */
static void print_refit(const json *refit) {
    const json *left = json_member(refit, "left");
    if (!refit) return;
    printf("  refit: ");
    print_count((double)json_count(json_member(refit, "constants")), "constant");
    size_t count = 0;
    for (const json *item = left ? left->first : NULL; item; item = item->next, count++)
        if (count < LEFT_AT_MOST)
            printf("%s'%s' (%s: %s)",
                   count ? ", " : "; left as they are: ", json_text(json_member(item, "node"), "?"),
                   json_text(json_member(item, "constant"), "?"),
                   json_text(json_member(item, "why"), "?"));
    if (count > LEFT_AT_MOST) printf(" and %zu more", count - LEFT_AT_MOST);
    printf("\n");
}

static void print_processor(const json *processor) {
    const json *share = json_member(processor, "share");
    const char *sized = json_text(json_member(processor, "sized_by_run"), NULL);
    if (sized)
        printf("  sized by its data: node '%s'; in each run the host waits for its size\n", sized);
    if (json_number_of(processor, "nodes") == 0) return;
    printf("  on the processor: %.0f of ", json_number_of(processor, "nodes"));
    print_count(json_number_of(processor, "of"), "node");
    printf(" (");
    print_operators(json_member(processor, "operators"));
    printf(")");
    if (json_number_of(processor, "copies") > 0) {
        printf(", ");
        print_bytes(json_number_of(processor, "copy_bytes"));
        const double copies = json_number_of(processor, "copies");
        printf(" in %.0f cop%s", copies, copies == 1 ? "y" : "ies");
    }
    const double percent = 100 * json_number(share, 0);
    if (!json_is_there(share))
        printf(", not measured\n");
    else if (percent > 0 && percent < 1)
        printf(", less than 1%% of the measured time\n");
    else
        printf(", %.0f%% of the measured time\n", percent);
}

/* Of several: the sum of times and the memory of each. */
static void print_profiles(const json *profiles) {
    size_t number = 0;
    if (json_count(profiles) < 2) return;
    for (const json *item = profiles->first; item; item = item->next) {
        const kernel_counts counts = count_kernels(json_member(item, "nodes"));
        printf("  profile %zu:\n  ", number++);
        print_work(item, &counts);
    }
}

void build_summary_print(const char *report) {
    json *document = json_read(report);
    if (!document) return;
    const kernel_counts counts = count_kernels(json_member(document, "nodes"));
    if (json_count(json_member(document, "profiles")) < 2) print_work(document, &counts);
    print_profiles(json_member(document, "profiles"));
    print_precision(document, &counts);
    print_widened(json_member(document, "widened"));
    print_rewrites(json_member(document, "rewrites"));
    print_refit(json_member(document, "refit"));
    print_processor(json_member(document, "processor"));
    json_free(document);
}
