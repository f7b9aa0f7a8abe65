/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule about operators whose tensors are windows of one another (tenon/plugin/view.h): the
 * elements are those of the larger tensor, and windows of one output do not overlap. See rules.h.
 */
#include "base/status.h"
#include "rules/variants.h"
#include "tensor/type.h"
#include "worker/probe/frame.h"

#include <tenon/plugin/view.h>

#include <stdlib.h>
#include <string.h>

/* A window and what it is one of, as linear elements. */
typedef struct window_test {
    const tn_shape *window, *larger;
    const char *from, *to; /* the window's elements, the larger tensor's */
    size_t element_bytes;
    const tn_view *view;
} window_test;

static bool is_within(const window_test *w) {
    if (w->window->rank != w->larger->rank) return false;
    for (uint32_t i = 0; i < w->larger->rank; i++)
        if (w->view->offsets[i] < 0 ||
            w->view->offsets[i] > w->larger->extents[i] - w->window->extents[i])
            return false;
    return true;
}

/* Where element `index` of the window is in the larger tensor. */
static size_t element_in_larger(const window_test *w, size_t index) {
    size_t at = 0, stride = 1;
    for (uint32_t i = w->larger->rank; i-- > 0;) {
        const size_t extent = (size_t)w->window->extents[i];
        at += ((size_t)w->view->offsets[i] + index % extent) * stride;
        index /= extent;
        stride *= (size_t)w->larger->extents[i];
    }
    return at;
}

/* Marks the elements of the larger tensor in `covered` (or null). */
static void compare(const window_test *w, uint32_t input, uint32_t output, char *covered,
                    tn_verdict *verdict) {
    size_t count = 0;
    if (tn_shape_count(w->window, &count) != TN_OK) return;
    for (size_t i = 0; i < count && verdict->outcome != TN_FAILED; i++) {
        const size_t at = element_in_larger(w, i);
        if (memcmp(w->from + i * w->element_bytes, w->to + at * w->element_bytes,
                   w->element_bytes) != 0)
            tn_verdict_fail(verdict,
                            "input %u and output %u are described as windows, but element %zu of "
                            "the window is not element %zu of the larger tensor",
                            input, output, i, at);
        else if (covered && covered[at]++)
            tn_verdict_fail(verdict,
                            "the window of input %u overlaps another input's at element %zu of the "
                            "output",
                            input, at);
    }
}

static tn_status ask(tn_subject *subject, uint32_t input, tn_facet *out_facet) {
    tn_frame frame;
    tn_frame_watch watch;
    TN_TRY(tn_frame_open(&frame, &subject->probe, NULL, NULL, TN_SEES_VALUES));
    tn_frame_enter(&frame, &subject->probe, "facet", &watch);
    const tn_status status = subject->op->facet(frame.call, input, TN_FACET_VIEW, out_facet);
    tn_frame_finish(&frame, &subject->probe, &watch);
    return status;
}

static void check_pair(tn_subject *subject, uint32_t input, uint32_t output, char *covered,
                       tn_verdict *verdict) {
    const tn_probe_port *x = &subject->probe.inputs[input];
    const tn_outcome *y = &subject->expected;
    uint64_t buffer[16] = {0};
    tn_view *view = (tn_view *)(void *)buffer;
    tn_facet facet = {.size = sizeof(facet), .what = buffer, .what_bytes = sizeof(buffer)};
    const size_t element_bytes = tn_type_bytes(x->own_type);
    if (!x->is_given || x->is_shape_only || x->is_value_needed || !y->data[output] ||
        x->own_type != y->types[output] || x->shape.rank != y->shapes[output].rank ||
        element_bytes == 0)
        return;
    view->size = sizeof(*view);
    view->output = output;
    if (ask(subject, input, &facet) != TN_OK) return;
    if (verdict->outcome == TN_SKIPPED) verdict->outcome = TN_PASSED;
    const bool is_of_input = view->kind == TN_VIEW_OF_INPUT;
    const window_test w = {.window = is_of_input ? &y->shapes[output] : &x->shape,
                           .larger = is_of_input ? &x->shape : &y->shapes[output],
                           .from = is_of_input ? y->data[output] : x->own,
                           .to = is_of_input ? x->own : y->data[output],
                           .element_bytes = element_bytes,
                           .view = view};
    if (!is_of_input && view->kind != TN_VIEW_OF_OUTPUT)
        tn_verdict_fail(verdict,
                        "\"%s\" is answered with kind %u: expected TN_VIEW_OF_INPUT or "
                        "TN_VIEW_OF_OUTPUT",
                        TN_FACET_VIEW, view->kind);
    else if (!is_within(&w))
        tn_verdict_fail(verdict,
                        "input %u and output %u are described as windows, but one is not within "
                        "the other",
                        input, output);
    else
        compare(&w, input, output, is_of_input ? NULL : covered, verdict);
}

static void check_windows(const tn_test *test, const tn_change *change, tn_verdict *verdict) {
    tn_subject subject;
    if (!tn_test_subject(test, change, &subject, verdict)) return;
    tn_verdict_skip(verdict, subject.expected.is_random ? "the elements are random"
                                                        : "no tensor is a window of another");
    for (uint32_t o = 0; o < subject.expected.count && !subject.expected.is_random; o++) {
        char *covered = calloc(subject.expected.bytes[o] + 1, 1);
        for (uint32_t i = 0; i < subject.probe.input_count && covered; i++)
            if (verdict->outcome != TN_FAILED) check_pair(&subject, i, o, covered, verdict);
        free(covered);
    }
    tn_subject_destroy(&subject);
}

void tn_rule_windows(const tn_test *test, tn_verdict *verdict) {
    if (!test->op->facet) {
        tn_verdict_skip(verdict, "the operator describes itself by no facet");
        return;
    }
    tn_claim_check(test, check_windows, verdict);
}
