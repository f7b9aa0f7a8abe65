/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of shape-rule about sizes that no case has: extents and needed values beyond 32 bits,
 * and another number of needed values, which end where memory ends. The shape rule alone is asked:
 * it refuses them, or gives extents that there can be. See rules.h.
 */
#include "base/status.h"
#include "plugin/outputs.h"
#include "rules/rules.h"
#include "tensor/type.h"
#include "worker/probe/frame.h"

#include <stdio.h>
#include <string.h>

/* In 32 bits the longer ones come out below 0, or below what the first one gives. */
static const int64_t MODERATE = INT64_C(1) << 20;
static const int64_t long_sizes[] = {(INT64_C(1) << 31) + 5, (INT64_C(1) << 32) + 5,
                                     (INT64_C(1) << 40) + 5};

typedef struct answer {
    bool is_given; /* the shape rule took it */
    tn_shape shapes[TN_PROBE_OUTPUTS];
} answer;

static bool may_be_unbounded(const tn_operator *op, uint32_t output, int64_t extent) {
    const tn_port *declared = tn_graph_output_port(op, output);
    return extent == TN_UNBOUNDED && declared && (declared->flags & TN_PORT_SIZED_BY_RUN);
}

/* `probe` has the inputs' shapes. False: the contract was broken. */
static bool ask(tn_probe *probe, const char *during, answer *out, tn_verdict *verdict) {
    tn_frame frame;
    *out = (answer){0};
    if (tn_frame_open(&frame, probe, NULL, NULL, TN_SEES_VALUES) != TN_OK) return true;
    const tn_status status = tn_frame_call(&frame, probe, probe->op->infer, "infer");
    if (status != TN_OK && probe->rule[0]) tn_verdict_error(verdict, probe, during);
    out->is_given = status == TN_OK;
    for (uint32_t i = 0; i < probe->output_count && out->is_given; i++) {
        const tn_tensor *said = frame.outputs[i];
        if (!said) continue;
        if (said->rank > TN_MAX_RANK) {
            tn_verdict_fail(verdict, "%s: output %u has %u axes, a tensor has %d at most", during,
                            i, said->rank, TN_MAX_RANK);
            break;
        }
        out->shapes[i].rank = said->rank;
        memcpy(out->shapes[i].extents, said->shape, said->rank * sizeof(*said->shape));
        for (uint32_t axis = 0; axis < said->rank && verdict->outcome == TN_PASSED; axis++)
            if (said->shape[axis] < 0 && !may_be_unbounded(probe->op, i, said->shape[axis]))
                tn_verdict_fail(verdict, "%s: axis %u of output %u has %lld elements", during, axis,
                                i, (long long)said->shape[axis]);
    }
    tn_frame_close(&frame);
    return verdict->outcome == TN_PASSED;
}

/* An axis as long as the moderate size gets no shorter where that grows. */
static void compare(const tn_probe *probe, const answer *moderate, const answer *larger,
                    const char *during, tn_verdict *verdict) {
    for (uint32_t i = 0; i < probe->output_count && verdict->outcome == TN_PASSED; i++) {
        const tn_shape *before = &moderate->shapes[i], *now = &larger->shapes[i];
        for (uint32_t axis = 0; axis < before->rank && axis < now->rank; axis++)
            if (before->extents[axis] >= MODERATE / 2 &&
                now->extents[axis] < before->extents[axis] && now->extents[axis] != TN_UNBOUNDED)
                tn_verdict_fail(verdict,
                                "%s: axis %u of output %u has %lld elements, with %lld %lld",
                                during, axis, i, (long long)now->extents[axis], (long long)MODERATE,
                                (long long)before->extents[axis]);
    }
}

/* How a size comes into the inputs of a probe that is the subject's. */
typedef void (*put_size)(tn_probe *probe, uint32_t which, int64_t size, int64_t *values);

static void try_sizes(const tn_subject *subject, put_size put, uint32_t which, const char *where,
                      tn_verdict *verdict) {
    int64_t values[TN_MAX_RANK];
    answer moderate, larger;
    tn_probe probe = subject->probe;
    put(&probe, which, MODERATE, values);
    if (!ask(&probe, where, &moderate, verdict)) return;
    for (size_t i = 0; i < TN_COUNT(long_sizes) && verdict->outcome == TN_PASSED; i++) {
        char during[160];
        snprintf(during, sizeof(during), "%s of %lld", where, (long long)long_sizes[i]);
        probe = subject->probe;
        put(&probe, which, long_sizes[i], values);
        if (ask(&probe, during, &larger, verdict) && moderate.is_given && larger.is_given)
            compare(&probe, &moderate, &larger, during, verdict);
    }
}

/* ----------------------------------------------------------------------------------------------
 * extents */

/* Along an axis of the first input and of all that are like it there; no data of these is known. */
static void put_extent(tn_probe *probe, uint32_t which, int64_t size, int64_t *values) {
    const tn_shape first = probe->inputs[0].shape;
    (void)values;
    for (uint32_t i = 0; i < probe->input_count; i++) {
        tn_probe_port *port = &probe->inputs[i];
        if (!port->is_given || port->is_value_needed || port->shape.rank != first.rank ||
            port->shape.extents[which] != first.extents[which])
            continue;
        port->is_constant = false;
        port->shape.extents[which] = size;
    }
}

static bool has_constant_there(const tn_probe *probe, uint32_t axis) {
    const tn_shape *first = &probe->inputs[0].shape;
    for (uint32_t i = 0; i < probe->input_count; i++) {
        const tn_probe_port *port = &probe->inputs[i];
        if (port->is_given && port->is_constant && port->shape.rank == first->rank &&
            port->shape.extents[axis] == first->extents[axis])
            return true;
    }
    return false;
}

bool tn_sizes_infer(tn_probe *probe, uint32_t axis, int64_t extent, const char *during,
                    tn_verdict *verdict) {
    answer said;
    if (has_constant_there(probe, axis)) return false;
    put_extent(probe, axis, extent, NULL);
    if (!ask(probe, during, &said, verdict) || !said.is_given) return false;
    for (uint32_t i = 0; i < probe->output_count; i++)
        if (probe->outputs[i].is_given) probe->outputs[i].shape = said.shapes[i];
    return true;
}

/* As many axes as a tensor may have: of one input, or of all (`which` beyond them). */
static void try_rank(const tn_subject *subject, uint32_t which, tn_verdict *verdict) {
    tn_probe probe = subject->probe;
    char during[80];
    answer unused;
    for (uint32_t i = 0; i < probe.input_count; i++) {
        tn_probe_port *port = &probe.inputs[i];
        const tn_shape own = port->shape;
        if (!port->is_given || port->is_value_needed || own.rank == 0 ||
            (which < probe.input_count && which != i))
            continue;
        port->is_constant = false;
        port->shape = (tn_shape){.rank = TN_MAX_RANK};
        for (uint32_t axis = 0; axis < TN_MAX_RANK; axis++)
            port->shape.extents[axis] =
                axis < TN_MAX_RANK - own.rank ? 1 : own.extents[axis + own.rank - TN_MAX_RANK];
    }
    snprintf(during, sizeof(during), "with %d axes of %s", TN_MAX_RANK,
             which < probe.input_count ? "one input" : "all inputs");
    if (verdict->outcome == TN_PASSED) ask(&probe, during, &unused, verdict);
}

/* ----------------------------------------------------------------------------------------------
 * needed values */

/* In all of the values of input `which`. */
static void put_value(tn_probe *probe, uint32_t which, int64_t size, int64_t *values) {
    for (uint32_t i = 0; i < TN_MAX_RANK; i++)
        values[i] = size;
    probe->inputs[which].own = values;
}

/* One value, or a list of them. */
static bool is_short(const tn_probe_port *port) {
    return port->is_given && port->is_value_needed &&
           (port->shape.rank == 0 ||
            (port->shape.rank == 1 && port->shape.extents[0] < TN_MAX_RANK));
}

/* So many values, the last one where nothing may be read any more. */
static void try_count(const tn_subject *subject, uint32_t which, int64_t count,
                      tn_verdict *verdict) {
    const tn_probe_port *port = &subject->probe.inputs[which];
    const size_t bytes = tn_type_bytes(port->own_type), given = (size_t)port->shape.extents[0];
    enum { BYTES = 64 * TN_MAX_RANK };
    char during[160];
    tn_probe probe = subject->probe;
    tn_guarded values;
    answer unused;
    if (tn_guarded_create(&values, TN_GUARDED_INPUT, which, BYTES, true, 0x01) != TN_OK) return;
    char *at = values.data + BYTES - (size_t)count * bytes;
    for (size_t i = 0; i < (size_t)count && given > 0; i++)
        memcpy(at + i * bytes, (const char *)port->own + (i < given ? i : given - 1) * bytes,
               bytes);
    values.data = at; /* what is said of a fault counts from here */
    values.bytes = (size_t)count * bytes;
    tn_guarded_protect(&values, TN_GUARDED_READ);
    probe.inputs[which].shape.extents[0] = count;
    probe.inputs[which].own = at;
    probe.inputs[which].is_constant = probe.keeps_constants = true;
    snprintf(during, sizeof(during), "%s (with %lld values of '%s')", subject->text,
             (long long)count, tn_graph_input_port(subject->op, which)->name);
    probe.text = during;
    ask(&probe, during, &unused, verdict);
    tn_guarded_destroy(&values);
}

static void try_needed(const tn_subject *subject, uint32_t which, tn_verdict *verdict) {
    const tn_probe_port *port = &subject->probe.inputs[which];
    const int64_t given = port->shape.extents[0], counts[] = {given - 1, given + 1, 0, 1};
    const bool is_list = port->shape.rank == 1;
    char where[120];
    for (size_t i = 0; i < TN_COUNT(counts) && is_list && verdict->outcome == TN_PASSED; i++)
        if (counts[i] >= 0 && counts[i] != given) try_count(subject, which, counts[i], verdict);
    snprintf(where, sizeof(where), "with values of '%s'",
             tn_graph_input_port(subject->op, which)->name);
    if (port->own_type == TN_I64 && verdict->outcome == TN_PASSED)
        try_sizes(subject, put_value, which, where, verdict);
}

void tn_rule_infer_sizes(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    const tn_probe *probe = &subject.probe;
    const uint32_t rank =
        probe->input_count > 0 && probe->inputs[0].is_given && !probe->inputs[0].is_value_needed
            ? probe->inputs[0].shape.rank
            : 0;
    for (uint32_t axis = 0; axis < rank && verdict->outcome == TN_PASSED; axis++) {
        char where[40];
        snprintf(where, sizeof(where), "with an axis %u", axis);
        try_sizes(&subject, put_extent, axis, where, verdict);
    }
    for (uint32_t i = 0; i <= probe->input_count; i++)
        try_rank(&subject, i, verdict);
    for (uint32_t i = 0; i < probe->input_count && verdict->outcome == TN_PASSED; i++)
        if (is_short(&probe->inputs[i])) try_needed(&subject, i, verdict);
    tn_subject_destroy(&subject);
}
