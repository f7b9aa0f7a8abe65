/* SPDX-License-Identifier: Apache-2.0 */
/* The rule about the state that plans keep of a node, which may come damaged from anybody; see
 * rules.h. */
#include "base/status.h"
#include "plan/state.h"
#include "plugin/fields/fields_private.h"
#include "rules/variants.h"
#include "worker/probe/frame.h"
#include "worker/watch/heap.h"
#include "worker/watch/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STATE = 1 << 24 }; /* of what is damaged at all offsets */

/* Saves the parameters directly: the length first, then into exactly so many bytes. */
static bool save_state(tn_subject *subject, tn_guarded *saved, tn_verdict *verdict) {
    tn_frame frame;
    uint64_t bytes = 0;
    if (tn_frame_open(&frame, &subject->probe, NULL, NULL, TN_SEES_CONSTANTS) != TN_OK)
        return false;
    tn_frame_watch watch;
    tn_frame_enter(&frame, &subject->probe, "save", &watch);
    tn_status status = subject->op->save(frame.call, NULL, &bytes);
    uint64_t written = bytes;
    if (status == TN_OK && bytes < MOST_STATE)
        status = tn_guarded_create(saved, TN_GUARDED_STATE, 0, (size_t)bytes, true, 0x7F);
    if (status == TN_OK && saved->data)
        status = subject->op->save(frame.call, saved->data, &written);
    tn_frame_finish(&frame, &subject->probe, &watch);
    if (status != TN_OK)
        tn_verdict_error(verdict, NULL, "save");
    else if (saved->data && written > bytes)
        tn_verdict_fail(verdict, "save asks for %llu bytes, and then says it wrote %llu",
                        (unsigned long long)bytes, (unsigned long long)written);
    else if (saved->data && !tn_guarded_is_whole(saved))
        tn_verdict_fail(verdict, "save writes more than the %llu bytes that it asked for",
                        (unsigned long long)bytes);
    return verdict->outcome == TN_PASSED && saved->data != NULL;
}

/* Loads bytes from memory that is gone afterwards into `params`. False: load refused them. */
static bool load_bytes(tn_subject *subject, const char *data, size_t bytes, void *params,
                       const char *during, tn_verdict *verdict) {
    tn_guarded copy;
    tn_frame frame;
    tn_status status = TN_ERROR_MEMORY;
    if (tn_guarded_create(&copy, TN_GUARDED_STATE, 0, bytes, true, 0x7F) != TN_OK) return false;
    if (bytes) memcpy(copy.data, data, bytes);
    tn_guarded_protect(&copy, TN_GUARDED_READ);
    if (tn_frame_open(&frame, &subject->probe, NULL, NULL, TN_SEES_CONSTANTS) == TN_OK) {
        frame.call->new_params = params;
        tn_frame_watch watch;
        tn_frame_enter(&frame, &subject->probe, "load", &watch);
        status = subject->op->load(frame.call, copy.data, bytes);
        if (status != TN_OK && status != TN_ERROR_MEMORY && frame.scope.failed == TN_OK)
            tn_verdict_fail(verdict, "%s: load fails without a reason", during);
        tn_frame_finish(&frame, &subject->probe, &watch);
    }
    tn_guarded_destroy(&copy);
    return status == TN_OK;
}

static void destroy_loaded(const tn_operator *op, void *params) {
    const char *before = tn_trace_enter("destroy_params");
    if (op->destroy_params) op->destroy_params(op->user, params);
    tn_trace_leave(before);
}

/* Lists that load makes have no more items than there can be. */
static void check_lists(const tn_operator *op, const char *params, size_t bytes, const char *during,
                        tn_verdict *verdict) {
    for (uint32_t i = 0; i < op->field_count && verdict->outcome == TN_PASSED; i++) {
        const tn_field *field = tn_fields_at(op, i);
        if (field->type < TN_FIELD_I64S || field->type > TN_FIELD_STRINGS) continue;
        const tn_i64s *list = (const void *)(params + field->offset); /* as the other lists are */
        if (list->count <= (uint64_t)1 << 40) continue;
        tn_verdict_fail(verdict,
                        "%s: load takes it, and makes a list '%s' of %llu items of %zu bytes",
                        during, field->name, (unsigned long long)list->count, bytes);
    }
}

/* Whether the shape rule takes the node as it was loaded, with the outputs that the case has. */
static bool has_same_shapes(tn_probe *probe) {
    tn_frame frame;
    if (!probe->op->infer) return true;
    if (tn_frame_open(&frame, probe, NULL, NULL, TN_SEES_VALUES) != TN_OK) return false;
    bool is_same = tn_frame_call(&frame, probe, probe->op->infer, "infer") == TN_OK;
    for (uint32_t i = 0; i < probe->output_count && is_same; i++) {
        const tn_tensor *said = frame.outputs[i];
        const tn_shape *shape = &probe->outputs[i].shape;
        is_same =
            !said || (said->type == probe->outputs[i].type && said->rank == shape->rank &&
                      memcmp(said->shape, shape->extents, shape->rank * sizeof(int64_t)) == 0);
    }
    tn_frame_close(&frame);
    return is_same;
}

/* A damaged state that load takes makes a node that the operator lives with. */
static void run_loaded(const tn_subject *subject, void *params, const char *during,
                       tn_verdict *verdict) {
    static const double MOST_SECONDS = 0.3;
    tn_graph_node node = *subject->probe.node;
    tn_probe loaded = subject->probe;
    tn_outcome found = {0};
    node.params = params;
    loaded.node = &node;
    tn_trace_limit(MOST_SECONDS, "a node of a damaged state");
    if (has_same_shapes(&loaded)) (void)tn_probe_once(&loaded, true, false, 0xFF, &found);
    tn_trace_limit(0, NULL);
    if (loaded.rule[0] && verdict->outcome == TN_PASSED) {
        tn_verdict_error(verdict, &loaded, during);
    }
    tn_outcome_free(&found);
}

/* Bytes that may be damaged: load must succeed, or fail with a reason. */
static void load_state(tn_subject *subject, const char *data, size_t bytes, const char *during,
                       tn_verdict *verdict) {
    void *params = calloc(1, (size_t)subject->op->params_bytes + 1);
    if (params && load_bytes(subject, data, bytes, params, during, verdict)) {
        check_lists(subject->op, params, bytes, during, verdict);
        if (verdict->outcome == TN_PASSED) run_loaded(subject, params, during, verdict);
        destroy_loaded(subject->op, params);
    }
    free(params);
}

/* With more bytes behind it, which are its own again. */
static void load_longer(tn_subject *subject, const tn_guarded *saved, tn_verdict *verdict) {
    const size_t bytes = saved->bytes, more[] = {1, 8, bytes, 4096};
    for (size_t i = 0; i < TN_COUNT(more) && verdict->outcome == TN_PASSED; i++) {
        char *longer = malloc(bytes + more[i]);
        for (size_t at = 0; longer && at < bytes + more[i]; at++)
            longer[at] = saved->data[at % bytes];
        if (longer) load_state(subject, longer, bytes + more[i], "with more bytes", verdict);
        free(longer);
    }
}

static void load_damaged(tn_subject *subject, const tn_guarded *saved, tn_verdict *verdict) {
    const size_t bytes = saved->bytes, step = bytes / 64 + 1;
    char *damaged = malloc(bytes + 1);
    for (size_t at = 0; damaged && at < bytes && verdict->outcome == TN_PASSED; at += step)
        load_state(subject, saved->data, at, "cut short", verdict);
    for (size_t at = 0; damaged && at < bytes && verdict->outcome == TN_PASSED; at += step) {
        memcpy(damaged, saved->data, bytes);
        damaged[at] = (char)(damaged[at] ^ (at % 2 ? 0x80 : 0x7F));
        load_state(subject, damaged, bytes, "a byte changed", verdict);
    }
    free(damaged);
    load_longer(subject, saved, verdict);
}

static size_t measure(void) {
    tn_probe_forget_frames();
    tn_guarded_forget_retired();
    return tn_heap_live_bytes();
}

void tn_rule_check_refusals(void (*refuse)(void *user, tn_verdict *verdict), void *user,
                            size_t bytes, tn_verdict *verdict) {
    enum { ROUNDS = 3 };
    size_t first = 0, last = 0;
    int growing = 0;
    for (int i = 0; i <= ROUNDS && verdict->outcome == TN_PASSED; i++) {
        refuse(user, verdict);
        const size_t now = measure();
        if (i == 0) first = now;
        growing += i > 0 && now > last;
        last = now;
    }
    if (verdict->outcome == TN_PASSED && growing == ROUNDS)
        tn_verdict_fail(verdict,
                        "load leaves memory behind where it refuses a damaged state: about %zu "
                        "bytes of heap in %zu attempts",
                        (last - first) / ROUNDS, 2 * ((bytes - 1) / (bytes / 64 + 1) + 1));
}

typedef struct saved_subject {
    tn_subject *subject;
    const tn_guarded *saved;
} saved_subject;

static void refuse_damaged(void *user, tn_verdict *verdict) {
    const saved_subject *given = user;
    load_damaged(given->subject, given->saved, verdict);
}

/* ----------------------------------------------------------------------------------------------
 * what load reads */

/* The same node with parameters that load made computes the same bits. */
static void compare_loaded(tn_subject *subject, void *params, tn_verdict *verdict) {
    tn_graph_node node = *subject->probe.node;
    tn_probe loaded = subject->probe;
    tn_outcome before = {0}, after = {0};
    char why[300];
    node.params = params;
    loaded.node = &node;
    if (tn_probe_once(&subject->probe, true, false, 0xFF, &before) == TN_OK) {
        if (tn_probe_once(&loaded, true, false, 0xFF, &after) != TN_OK)
            tn_verdict_error(verdict, NULL, "after save and load");
        else if (!tn_results_equal(&before, &after, true, why, sizeof(why)))
            tn_verdict_fail(verdict, "after save and load: %s", why);
    }
    tn_outcome_free(&before);
    tn_outcome_free(&after);
}

/* Plans of one network are the same, byte by byte: whenever this node or its equal is saved. */
static void save_again(const tn_test *test, const tn_change *change, const tn_guarded *saved,
                       tn_verdict *verdict) {
    tn_guarded again = {0};
    tn_subject equal;
    tn_fresh_memory(test->counter, TN_FRESH_OTHER); /* what is saved was written */
    const bool is_made = tn_test_subject(test, change, &equal, verdict);
    if (is_made) tn_fresh_memory(test->counter, TN_FRESH_OTHER);
    const bool is_saved = is_made && save_state(&equal, &again, verdict);
    tn_fresh_memory(test->counter, TN_FRESH_FILLER);
    if (!is_made) return;
    if (is_saved &&
        (again.bytes != saved->bytes || memcmp(again.data, saved->data, saved->bytes) != 0))
        tn_verdict_fail(verdict,
                        "save writes other bytes for an equal node, where new memory holds "
                        "other ones");
    tn_guarded_destroy(&again);
    tn_subject_destroy(&equal);
}

/* What was loaded lives without the bytes that it came from, and saves the same again. */
static void save_loaded(tn_subject *subject, void *params, const tn_guarded *saved,
                        tn_verdict *verdict) {
    tn_graph_node node = *subject->probe.node;
    tn_guarded again = {0};
    tn_subject loaded = *subject;
    node.params = params;
    loaded.probe.node = &node;
    if (verdict->outcome != TN_PASSED) return;
    if (save_state(&loaded, &again, verdict) &&
        (again.bytes != saved->bytes || memcmp(again.data, saved->data, saved->bytes) != 0))
        tn_verdict_fail(verdict, "save writes other bytes of what was loaded");
    tn_guarded_destroy(&again);
}

static void check_loaded(const tn_test *test, const tn_change *change, tn_verdict *verdict) {
    tn_subject subject;
    tn_guarded saved = {0};
    if (!tn_test_subject(test, change, &subject, verdict)) return;
    void *params = calloc(1, (size_t)test->op->params_bytes + 1);
    if (params && save_state(&subject, &saved, verdict)) {
        save_again(test, change, &saved, verdict);
        if (load_bytes(&subject, saved.data, saved.bytes, params, "what save wrote", verdict)) {
            compare_loaded(&subject, params, verdict);
            save_loaded(&subject, params, &saved, verdict);
            destroy_loaded(test->op, params);
        } else if (verdict->outcome == TN_PASSED) {
            tn_verdict_error(verdict, NULL, "load refuses what save wrote");
        }
    }
    free(params);
    tn_guarded_destroy(&saved);
    tn_subject_destroy(&subject);
}

/* The plan's own path, which the case's expected results came by, against a direct call. */
static void check_plan(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    tn_outcome found = {0};
    tn_guarded saved = {0};
    char why[300];
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    if (tn_probe_once(&subject.probe, true, false, 0xFF, &found) != TN_OK)
        tn_verdict_error(verdict, &subject.probe, "");
    else if (!tn_results_equal(&found, &subject.expected, false, why, sizeof(why)))
        tn_verdict_fail(verdict, "after save and load: %s", why);
    if (verdict->outcome == TN_PASSED && save_state(&subject, &saved, verdict) && saved.bytes > 0)
        tn_rule_check_refusals(refuse_damaged, &(saved_subject){&subject, &saved}, saved.bytes,
                               verdict);
    tn_guarded_destroy(&saved);
    tn_outcome_free(&found);
    tn_subject_destroy(&subject);
}

void tn_rule_state(const tn_test *test, tn_verdict *verdict) {
    if (test->op->save && !test->kernel) check_plan(test, verdict);
    if (test->op->save && verdict->outcome == TN_PASSED)
        tn_claim_check(test, check_loaded, verdict);
    if (test->kernel && test->kernel->save && verdict->outcome == TN_PASSED)
        tn_rule_kernel_state(test, verdict);
}
