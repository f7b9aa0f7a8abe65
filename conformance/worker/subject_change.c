/* SPDX-License-Identifier: Apache-2.0 */
/* Cases made of others: other values, extents, inputs; see subject.h. */
#include "base/hash.h"
#include "base/status.h"
#include "planted.h"
#include "subject.h"
#include "tensor/type.h"
#include "values.h"

#include <stdio.h>
#include <string.h>

/* The type of the data: truths before it choose. */
static tn_type data_type(const tn_case *c) {
    for (uint32_t i = 0; i < c->input_count; i++)
        if (c->inputs[i].type != TN_BOOL) return c->inputs[i].type;
    return TN_BOOL;
}

/* Whether an input may have values of a kind: not where it is no data but indices, axes or sizes,
 * which are integers of another type than the first input's, and of more than 8 bits. */
static bool takes_values(const tn_case *c, uint32_t index, const tn_change *change) {
    const tn_type type = c->inputs[index].type;
    return (tn_type_is_float(type) || type == data_type(c) || tn_type_bits(type) <= 8) &&
           !(change->is_first_alone && index > 0) && tn_values_apply(type, change->values);
}

static void fill(tn_case_input *input, const tn_change *change, uint32_t values, uint32_t index) {
    uint64_t state = tn_hash_add_u64(tn_hash_add_u64(change->seed, values), index);
    size_t count = 0;
    if (tn_shape_count(&input->shape, &count) == TN_OK)
        tn_values_draw(input->data, input->type, count, values, &state);
}

/* Of an input that is made larger: what is tried in other shapes shall not take long. */
enum { MOST_BYTES = 1 << 22 };

/* Whether change->axis of an input is one with the first input's. */
static bool is_along(const tn_case *c, uint32_t index, const tn_change *change) {
    const tn_shape *first = &c->inputs[0].shape, *shape = &c->inputs[index].shape;
    const int32_t axis = change->axis;
    return axis >= 0 && (uint32_t)axis < shape->rank && (uint32_t)axis < first->rank &&
           shape->extents[axis] == first->extents[axis] &&
           (index == 0 || shape->rank == first->rank);
}

/* The shape that an input gets. */
static tn_shape shape_of(const tn_case *c, uint32_t index, const tn_change *change) {
    tn_shape shape = c->inputs[index].shape;
    if (change->shapes) return change->shapes[index];
    if (is_along(c, index, change)) shape.extents[change->axis] = change->extent;
    return shape;
}

/* The kind of values that an input gets. */
static uint32_t values_of(const tn_case *c, uint32_t index, const tn_change *change,
                          bool is_resized) {
    if (change->values > TN_VALUES_SMALL && takes_values(c, index, change)) return change->values;
    if (is_resized) return TN_VALUES_SMALL;
    return change->seed && change->values <= TN_VALUES_SMALL ? TN_VALUES_SMALL : TN_VALUES_CASE;
}

/* Numbers that are certainly none that choose other elements: floats and bytes, what elementwise
 * operators have, and where there is no other input. */
static bool is_data(const tn_subject *subject, uint32_t index) {
    return (subject->op->traits & TN_OPERATOR_ELEMENTWISE) || subject->c.input_count == 1 ||
           tn_type_is_float(subject->c.inputs[index].type) ||
           tn_type_bits(subject->c.inputs[index].type) <= 8;
}

bool tn_subject_is_fixed(const tn_subject *subject, uint32_t index) {
    const tn_case_input *input = &subject->c.inputs[index];
    const uint64_t flags = subject->op->inputs[input->port].flags;
    return input->has_values &&
           (input->bytes == 0 || (flags & (TN_PORT_VALUE_NEEDED | TN_PORT_SHAPE_ONLY)) ||
            (index > 0 && !is_data(subject, index)));
}

/* Data that the case gives is drawn where a kind of values is asked for. */
static bool keeps_values(const tn_subject *subject, uint32_t index, const tn_change *change,
                         bool is_resized) {
    const bool is_free =
        (change->frees_values || change->moves_values || change->values > TN_VALUES_SMALL) &&
        is_data(subject, index);
    return subject->c.inputs[index].has_values && index + 1 != change->reshaped_input &&
           (tn_subject_is_fixed(subject, index) || !(is_resized || is_free));
}

/* The case's own values, again and again. */
static void repeat_values(const tn_case_input *from, void *data, size_t bytes) {
    for (size_t at = 0; at < bytes && from->bytes > 0; at += from->bytes)
        memcpy((char *)data + at, from->data, bytes - at < from->bytes ? bytes - at : from->bytes);
}

/* What has the first input's type and keeps no values gets another one with it; its numbers are
 * drawn. */
static void change_types(tn_subject *subject, uint32_t count, const tn_change *change,
                         bool *out_are_changed) {
    const tn_type first = count > 0 ? subject->c.inputs[0].type : TN_NONE;
    for (uint32_t i = 0; i < count; i++)
        out_are_changed[i] = change->first_type != TN_NONE && subject->c.inputs[i].type == first &&
                             !tn_subject_is_fixed(subject, i);
    for (uint32_t i = 0; i < count; i++) {
        if (!out_are_changed[i]) continue;
        subject->c.inputs[i].type = change->first_type;
        subject->c.inputs[i].has_values = false;
    }
}

/* As near to each other, and in the same order, as they were. */
static void move_values(const tn_case_input *input, const tn_shape *shape, void *data) {
    size_t count = 0;
    if (!tn_type_is_float(input->type) || tn_shape_count(shape, &count) != TN_OK) return;
    for (size_t i = 0; i < count; i++)
        tn_element_set_f64(data, input->type, i, 0.75 * tn_element_get_f64(data, input->type, i));
}

/* In any case memory of its own: the case's may be shared. */
static tn_status change_input(tn_subject *subject, uint32_t index, const tn_change *change,
                              const tn_shape *shape, uint32_t values) {
    tn_case_input *input = &subject->c.inputs[index];
    size_t bytes = 0;
    TN_TRY(tn_format_bytes(TN_LINEAR, input->type, shape, &bytes));
    if (bytes > MOST_BYTES && bytes > input->bytes) return tn_fail_memory("a case made of another");
    char *data = tn_arena_allocate(subject->arena, 1, bytes + 128);
    if (!data) return tn_fail_memory("a case");
    data += (64 - (uintptr_t)data % 64) % 64;
    const bool is_drawn =
        values > TN_VALUES_SMALL || (values == TN_VALUES_SMALL && !input->has_values);
    if (!is_drawn) repeat_values(input, data, bytes);
    if (!is_drawn && change->moves_values && input->has_values) move_values(input, shape, data);
    input->data = data;
    input->bytes = bytes;
    input->shape = *shape;
    input->has_values = false;
    if (is_drawn) fill(input, change, values, index);
    if (change->plants_fields && takes_values(&subject->c, index, change))
        tn_planted_put(subject->op, &subject->c, index);
    return TN_OK;
}

bool tn_subject_is_value_needed(const tn_subject *subject, uint32_t index) {
    const tn_case_input *input = &subject->c.inputs[index];
    return input->has_values && input->bytes > 0 &&
           (input->type == TN_I64 || input->type == TN_I32) &&
           (subject->op->inputs[input->port].flags & TN_PORT_VALUE_NEEDED);
}

static tn_status set_values(tn_subject *subject, uint32_t index, const tn_change *change) {
    tn_case_input *input = &subject->c.inputs[index];
    const size_t count = tn_case_input_elements(input);
    void *data = tn_arena_allocate(subject->arena, 1, input->bytes);
    if (!data) return tn_fail_memory("a case");
    memcpy(data, input->data, input->bytes);
    input->data = data;
    for (size_t i = change->sets_last_alone ? count - 1 : 0; i < count; i++)
        tn_element_set_i64(data, input->type, i, change->set_value);
    return TN_OK;
}

static void leave_out(tn_case *c, uint32_t index) {
    c->input_count--;
    for (uint32_t i = index; i < c->input_count; i++)
        c->inputs[i] = c->inputs[i + 1];
}

/* Others like the last input, which is one of a port that takes any number of them. */
static tn_status repeat_last(tn_subject *subject, uint32_t wanted) {
    tn_case *c = &subject->c;
    if (wanted <= c->input_count || c->input_count == 0) return TN_OK;
    const tn_case_input last = c->inputs[c->input_count - 1];
    if (wanted > TN_PROBE_PORTS || last.has_values ||
        !(subject->op->inputs[last.port].flags & TN_PORT_VARIADIC))
        return tn_fail(TN_ERROR_UNSUPPORTED, "no input of which there may be more");
    tn_case_input *inputs = tn_arena_allocate(subject->arena, wanted, sizeof(*inputs));
    if (!inputs) return tn_fail_memory("a case");
    memcpy(inputs, c->inputs, c->input_count * sizeof(*inputs));
    for (uint32_t i = c->input_count; i < wanted; i++)
        inputs[i] = last;
    c->inputs = inputs;
    c->input_count = wanted;
    return TN_OK;
}

tn_status tn_subject_change(tn_subject *subject, const tn_change *change) {
    tn_case *c = &subject->c;
    TN_TRY(repeat_last(subject, change->input_count));
    tn_shape shapes[TN_PROBE_PORTS];
    bool is_any = change->values <= TN_VALUES_SMALL;
    const uint32_t count = c->input_count < TN_PROBE_PORTS ? c->input_count : TN_PROBE_PORTS;
    bool are_retyped[TN_PROBE_PORTS];
    for (uint32_t i = 0; i < count; i++)
        shapes[i] = shape_of(c, i, change);
    change_types(subject, count, change, are_retyped);
    for (uint32_t i = 0; i < count; i++) {
        if (i + 1 == change->set_input) TN_TRY(set_values(subject, i, change));
        const bool is_resized = are_retyped[i] || !tn_shape_equal(&shapes[i], &c->inputs[i].shape);
        if (keeps_values(subject, i, change, is_resized)) continue;
        const uint32_t values = values_of(c, i, change, is_resized);
        is_any = is_any || values == change->values;
        TN_TRY(change_input(subject, i, change, &shapes[i], values));
    }
    if (change->left_out > 0 && change->left_out <= count) leave_out(c, change->left_out - 1);
    return is_any ? TN_OK : tn_fail(TN_ERROR_UNSUPPORTED, "no input has such values");
}

enum { SHOWN = 16 }; /* of an input's values */

/* "[2,3]", and "{4,5}" where the values were set. */
static void print_input(const tn_case_input *input, bool has_values, char *text, size_t bytes) {
    size_t at = (size_t)snprintf(text, bytes, "[");
    for (uint32_t k = 0; k < input->shape.rank && at < bytes; k++)
        at += (size_t)snprintf(text + at, bytes - at, "%s%lld", k ? "," : "",
                               (long long)input->shape.extents[k]);
    if (at < bytes) at += (size_t)snprintf(text + at, bytes - at, "]%s", has_values ? "{" : "");
    const size_t count = tn_case_input_elements(input);
    for (size_t k = 0; has_values && k < count && k < SHOWN && at < bytes; k++)
        at += (size_t)snprintf(text + at, bytes - at, "%s%lld", k ? "," : "",
                               (long long)tn_element_get_i64(input->data, input->type, k));
    if (has_values && at < bytes) snprintf(text + at, bytes - at, "}");
}

const char *tn_subject_describe(const tn_subject *subject, const tn_change *change) {
    const char *token = strchr(subject->text, '|');
    char *text = tn_arena_format(subject->arena, "%.*s|", token ? (int)(token - subject->text) : 0,
                                 subject->text);
    if (token) token++;
    for (uint32_t i = 0; text && token && i < subject->c.input_count; i++) {
        if (i + 1 == change->left_out) token += strcspn(token + strspn(token, " "), " ") + 1;
        const tn_case_input *input = &subject->c.inputs[i];
        const bool is_set = i + 1 == change->set_input;
        char shape[500];
        token += strspn(token, " ");
        const size_t length = strcspn(token, " ");
        print_input(input, is_set, shape, sizeof(shape));
        text = input->has_values && !is_set
                   ? tn_arena_format(subject->arena, "%s %.*s", text, (int)length, token)
                   : tn_arena_format(subject->arena, "%s %s=%s%s", text,
                                     subject->op->inputs[input->port].name,
                                     tn_type_name(input->type), shape);
        token += length;
    }
    return text ? text : subject->text;
}
