/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The combinations that store floating-point values in narrower types. The case's inputs are
 * rounded to the stored type, the operator's reference computes from the rounded values
 * (stored_draw.c), and the kernel's output is compared with that, after the epilogues
 * (stored_chain.c), within what rounding allows (stored_compare.c, where the bounds are). What is
 * here goes through the kernels, their combinations (stored_describe.c), the draws, the chains and
 * the numbers of threads.
 */
#include "cases/stored/stored.h"
#include "cases/stored/stored_private.h"

#include <tenon/plugin/device.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const draw_names[] = {"exact", "range", "saturate", "equal",
                                         "far",   "tiny",  "high",     "no"};
/* Outputs of more elements are checked in fewer variants. */
enum { LARGE = 20000 };

static void check_run(tn_drawn *d, tn_stored_run *run, const char *combination, uint32_t chain) {
    char why[300] = "";
    bool is_taken = false, is_passed;
    const tn_status status = tn_stored_do(run, &is_taken);
    if (status == TN_OK && !is_taken) return;
    if (status != TN_OK)
        snprintf(why, sizeof(why), "%s: %s", tn_last_error()->where, tn_last_error()->message);
    is_passed = status == TN_OK && tn_stored_compare(d, run, why, sizeof(why));
    tn_stored_free(run);
    *d->passed += is_passed;
    *d->failed += !is_passed;
    if (!is_passed)
        printf("FAIL %s version %u, %s on %s, \"%s\", %s values, chain %u, %u threads: case "
               "\"%s\": %s\n",
               d->op->name, d->op->since_version, run->kernel->name, run->kernel->device,
               combination, draw_names[d->draw], chain, run->threads, d->text, why);
}

static void check_combination(tn_drawn *d, const tn_kernel_entry *entry, uint32_t index) {
    const size_t count = d->expected.count ? tn_drawn_count(&d->expected.shapes[0]) : 0;
    float *operand = malloc(tn_stored_operand_count(d) * sizeof(*operand));
    tn_stored_run *run = malloc(sizeof(*run));
    tn_shape channels;
    const bool is_large = count > LARGE;
    const uint32_t most_threads = d->device ? 1 : 2, least_threads = is_large ? most_threads : 1;
    const uint32_t chains = tn_stored_is_special(d) ? 1 : is_large ? 2 : TN_STORED_CHAINS;
    for (uint32_t chain = 0; chain < chains && operand && run; chain++) {
        for (uint32_t threads = least_threads; threads <= most_threads; threads++) {
            if (!tn_stored_describe(d, entry->kernel, &entry->combinations[index], run) ||
                !tn_stored_add_chain(d, run, chain, operand, &channels))
                continue;
            run->threads = threads;
            check_run(d, run, entry->kernel->combinations[index], chain);
        }
    }
    free(run);
    free(operand);
}

static bool has_tf32(const tn_kernel_entry **entries, uint32_t entry_count) {
    for (uint32_t e = 0; e < entry_count; e++)
        if (entries[e]->kernel->traits & TN_KERNEL_TF32) return true;
    return false;
}

/* Of the kernels that multiply as tf32, or of the others, those combinations that store the inputs
 * `narrow` as d->stored. */
static void check_alike(tn_drawn *d, const tn_kernel_entry **entries, uint32_t entry_count,
                        uint64_t narrow, bool rounds) {
    for (uint32_t e = 0; e < entry_count; e++) {
        const bool is_rounding = entries[e]->kernel->traits & TN_KERNEL_TF32;
        for (uint32_t k = 0; is_rounding == rounds && k < entries[e]->combination_count; k++) {
            uint64_t wanted;
            if (tn_stored_narrow_inputs(d, &entries[e]->combinations[k], &wanted) &&
                wanted == narrow)
                check_combination(d, entries[e], k);
        }
    }
}

/* The same for both: tf32 replaces the stored type in what the kernel rounds itself. */
static tn_status check_both(tn_drawn *d, const tn_kernel_entry **entries, uint32_t entry_count,
                            uint64_t narrow) {
    check_alike(d, entries, entry_count, narrow, false);
    if (!has_tf32(entries, entry_count)) return TN_OK;
    if (d->slack.count > 0) {
        const tn_bound_case bound = tn_drawn_bound(d);
        tn_outcome_free(&d->slack);
        d->slack = (tn_outcome){0};
        TN_TRY(tn_bound_tf32(&bound, &d->slack));
    }
    check_alike(d, entries, entry_count, narrow, true);
    return TN_OK;
}

/* All combinations of all kernels that store the inputs `narrow` as d->stored. */
static void check_narrow(tn_drawn *d, const tn_kernel_entry **entries, uint32_t entry_count) {
    const uint64_t narrow = d->narrow;
    const bool is_bytes = tn_stored_is_bytes(d->stored);
    for (d->draw = 0; d->draw < (is_bytes ? TN_DRAW_COUNT : TN_DRAW_ALL); d->draw++) {
        if (!is_bytes && d->draw == TN_DRAW_RANGE + 1) d->draw = TN_DRAW_TINY;
        memset(d->scales, 0, sizeof(d->scales));
        d->random = 20011 + d->draw;
        tn_status status = tn_drawn_make(d);
        const bool is_large =
            status == TN_OK && d->expected.count && tn_drawn_count(&d->expected.shapes[0]) > LARGE;
        if (status == TN_OK && (!tn_stored_is_special(d) || tn_stored_has_special(d)))
            status = check_both(d, entries, entry_count, narrow);
        if (status != TN_OK) {
            *d->failed += 1;
            printf("FAIL %s version %u: case \"%s\": %s\n", d->op->name, d->op->since_version,
                   d->text, tn_last_error()->message);
        }
        tn_drawn_free(d);
        if (is_large && d->draw == TN_DRAW_RANGE) break;
    }
}

/* Every set of inputs that some combination stores as `d->stored`, once. */
static void check_stored(tn_drawn *d, const tn_kernel_entry **entries, uint32_t entry_count) {
    uint64_t done[64];
    size_t done_count = 0;
    for (uint32_t e = 0; e < entry_count; e++) {
        for (uint32_t k = 0; k < entries[e]->combination_count; k++) {
            size_t known = 0;
            if (!tn_stored_narrow_inputs(d, &entries[e]->combinations[k], &d->narrow)) continue;
            while (known < done_count && done[known] != d->narrow)
                known++;
            if (known < done_count || done_count == 64) continue;
            done[done_count++] = d->narrow;
            check_narrow(d, entries, entry_count);
        }
    }
}

/* The kernels that multiply as tf32, or those that do not; with all inputs but the first constant,
 * or with all unknown. */
static void check_entries(tn_drawn *d, const tn_kernel_entry **entries, uint32_t entry_count,
                          bool rounds) {
    for (uint32_t e = 0; e < entry_count; e++) {
        const bool is_rounding = entries[e]->kernel->traits & TN_KERNEL_TF32;
        for (uint32_t k = 0; is_rounding == rounds && k < entries[e]->combination_count; k++) {
            if (tn_stored_narrow_inputs(d, &entries[e]->combinations[k], &d->narrow))
                check_combination(d, entries[e], k);
        }
    }
}

/* The combinations that take everything as it is. */
static void check_own(tn_drawn *d, const tn_kernel_entry **entries, uint32_t entry_count) {
    d->draw = TN_DRAW_RANGE;
    d->narrow = 0;
    tn_status status = tn_drawn_make(d);
    for (int constant = 0; status == TN_OK && constant < 2; constant++) {
        d->are_constant = constant;
        check_entries(d, entries, entry_count, false);
    }
    if (status == TN_OK && has_tf32(entries, entry_count)) {
        const tn_bound_case bound = tn_drawn_bound(d);
        status = tn_bound_tf32(&bound, &d->slack);
        for (int constant = 0; status == TN_OK && constant < 2; constant++) {
            d->are_constant = constant;
            check_entries(d, entries, entry_count, true);
        }
    }
    if (status != TN_OK) {
        *d->failed += 1;
        printf("FAIL %s version %u: case \"%s\": %s\n", d->op->name, d->op->since_version, d->text,
               tn_last_error()->message);
    }
    tn_drawn_free(d);
}

static void check_kinds(tn_drawn *d, const tn_kernel_entry **entries, uint32_t entry_count) {
    static const tn_type kinds[] = {TN_STORED_QI8, TN_STORED_QU8, TN_F16, TN_BF16};
    d->node = &d->graph->nodes[0];
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        d->stored = kinds[i];
        check_stored(d, entries, entry_count);
    }
    d->stored = TN_NONE;
    if (d->device) check_own(d, entries, entry_count);
}

/* Nothing of such a node is stored in another type. */
static bool has_strings(const tn_case *c) {
    bool has_any = false;
    for (uint32_t i = 0; i < c->input_count; i++)
        has_any = has_any || c->inputs[i].type == TN_STRING;
    return has_any;
}

void tn_stored_check(tn_runtime *runtime, const tn_operator *op, const char *text,
                     size_t *inout_passed, size_t *inout_failed) {
    tn_stored_check_on(runtime, op, text, NULL, NULL, inout_passed, inout_failed);
}

void tn_stored_check_on(tn_runtime *runtime, const tn_operator *op, const char *text,
                        const tn_device *device, void *stream, size_t *inout_passed,
                        size_t *inout_failed) {
    const tn_case_options options = {.threads = 1};
    tn_drawn *d = calloc(1, sizeof(*d));
    const tn_kernel_entry **entries = NULL;
    uint32_t count = 0;
    if (!d) return;
    *d = (tn_drawn){.runtime = runtime,
                    .op = op,
                    .text = text,
                    .device = device,
                    .stream = stream,
                    .passed = inout_passed,
                    .failed = inout_failed};
    tn_status status = tn_arena_create(tn_allocator_default(), &d->arena);
    if (status == TN_OK) status = tn_case_read(d->arena, op, text, &d->c);
    if (status == TN_OK) status = tn_case_graph(runtime, op, &d->c, &options, &d->graph);
    if (status == TN_OK)
        status = tn_registry_kernels(tn_runtime_registry(runtime), op,
                                     device ? device->kind : "cpu", &entries, &count);
    if (status == TN_OK && !has_strings(&d->c)) check_kinds(d, entries, count);
    tn_registry_free_kernels(tn_runtime_registry(runtime), entries, count);
    tn_graph_destroy(d->graph);
    tn_arena_destroy(d->arena);
    free(d);
}
