/* SPDX-License-Identifier: Apache-2.0 */
/* Reading test cases; see case.h. */
#include "case.h"
#include "strings/strings.h"
#include "base/decimal.h"
#include "base/status.h"
#include "plugin/fields/fields_private.h"
#include "plugin/sequences/kinds.h"

#include <stdlib.h>
#include <string.h>

typedef struct reader {
    tn_arena *arena;
    const tn_operator *op;
    const char *text, *at;
    uint64_t random;
} reader;

static tn_status fail_at(const reader *r, const char *expected) {
    return tn_fail(TN_ERROR_ARGUMENT, "case \"%s\": column %zu: expected %s", r->text,
                   (size_t)(r->at - r->text) + 1, expected);
}

static void skip_spaces(reader *r) {
    r->at += strspn(r->at, " ");
}

/* A name up to '='; null at '|' or the end. */
static char *read_name(reader *r) {
    skip_spaces(r);
    const size_t length = strcspn(r->at, "=| ");
    if (length == 0 || r->at[length] != '=') return NULL;
    char *name = tn_arena_format(r->arena, "%.*s", (int)length, r->at);
    r->at += length + 1;
    return name;
}

/* ----------------------------------------------------------------------------------------------
 * elements */

size_t tn_case_elements(tn_type type, const tn_shape *shape, size_t bytes) {
    const size_t there = tn_type_elements(type, bytes);
    size_t count = there;
    return tn_type_is_packed(type) && tn_shape_count(shape, &count) == TN_OK && count < there
               ? count
               : there;
}

size_t tn_case_input_elements(const tn_case_input *input) {
    return tn_case_elements(input->type, &input->shape, input->bytes);
}

bool tn_case_has_element(const tn_case_input *input, const void *data, size_t index) {
    const size_t bytes = tn_type_bytes(input->type), count = tn_case_input_elements(input);
    const double value = tn_element_get_f64(data, input->type, index);
    bool is_there = false;
    for (size_t k = 0; input->type == TN_STRING && k < count && !is_there; k++)
        is_there = tn_case_same_string((const tn_string *)input->data + k,
                                       (const tn_string *)data + index);
    for (size_t k = 0; k < count && !is_there; k++)
        is_there = bytes ? memcmp((const char *)input->data + k * bytes,
                                  (const char *)data + index * bytes, bytes) == 0
                         : tn_element_get_f64(input->data, input->type, k) == value;
    return is_there;
}

/* ----------------------------------------------------------------------------------------------
 * fields */

static const tn_field *find_field(const tn_operator *op, const char *name) {
    for (uint32_t i = 0; i < op->field_count; i++) {
        if (strcmp(tn_fields_at(op, i)->name, name) == 0) return tn_fields_at(op, i);
    }
    return NULL;
}

/* A tensor field's value, TYPE[EXTENTS]{VALUES}, becomes an attribute of its own. */
static tn_status read_tensor(reader *r, tn_case_input *out);

static tn_status tensor_attribute(reader *r, const char *name, tn_attribute *out) {
    tn_case_input value = {0};
    TN_TRY(read_tensor(r, &value));
    tn_tensor_storage *storage = tn_arena_allocate(r->arena, 1, sizeof(*storage));
    if (!storage) return tn_fail_memory("a case");
    TN_TRY(tn_tensor_init(storage, value.type, TN_LINEAR, &value.shape));
    storage->tensor.data = value.data;
    *out = (tn_attribute){
        .size = sizeof(*out), .type = TN_FIELD_TENSOR, .name = name, .tensor = &storage->tensor};
    return TN_OK;
}

static tn_status read_field(reader *r, const char *name, tn_attribute *out) {
    const tn_field *field = find_field(r->op, name);
    if (!field)
        return tn_fail(TN_ERROR_ARGUMENT, "case \"%s\": operator %s has no field '%s'", r->text,
                       r->op->name, name);
    if (field->type == TN_FIELD_TENSOR) return tensor_attribute(r, field->name, out);
    size_t length = 0, depth = 0;
    for (; r->at[length] && (depth || (r->at[length] != ' ' && r->at[length] != '|')); length++)
        depth = depth + (r->at[length] == '[') - (r->at[length] == ']' && depth);
    const char *value = tn_arena_format(r->arena, "%.*s", (int)length, r->at);
    if (!value) return tn_fail_memory("a case");
    r->at += length;
    return tn_field_read_text(r->arena, field, value, out);
}

static tn_status read_fields(reader *r, tn_case *out_case) {
    tn_attribute *attributes =
        tn_arena_allocate(r->arena, r->op->field_count + 1u, sizeof(*attributes));
    const tn_attribute **pointers =
        tn_arena_allocate(r->arena, r->op->field_count + 1u, sizeof(*pointers));
    if (!attributes || !pointers) return tn_fail_memory("a case");
    uint64_t count = 0;
    for (const char *name; (name = read_name(r)) != NULL; count++) {
        if (count == r->op->field_count) return fail_at(r, "no more fields than the operator has");
        TN_TRY(read_field(r, name, &attributes[count]));
        pointers[count] = &attributes[count];
    }
    out_case->attributes = pointers;
    out_case->attribute_count = count;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * inputs */

static double draw(reader *r) {
    r->random = r->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(r->random >> 40) / (double)(1 << 24);
}

static void fill_random(reader *r, tn_case_input *input, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const double value = draw(r);
        if (input->type == TN_STRING)
            ((tn_string *)input->data)[i] = tn_case_draw_string((uint64_t)(value * (1 << 24)));
        else if (input->type == TN_BOOL)
            tn_element_set_i64(input->data, input->type, i, value < 0.5);
        else if (tn_type_is_float(input->type))
            tn_element_set_f64(input->data, input->type, i, value * 2.0 - 1.0);
        else
            tn_element_set_i64(input->data, input->type, i,
                               (int64_t)(value * 9.0) - (tn_type_is_signed(input->type) ? 4 : 0));
    }
}

/* Texts up to a comma or the brace. */
static tn_status read_texts(reader *r, tn_case_input *input, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const size_t length = strcspn(r->at, ",}");
        TN_TRY(tn_case_intern(r->at, length, (tn_string *)input->data + i));
        r->at += length;
        if (i + 1 < count && *r->at++ != ',')
            return fail_at(r, "as many texts as the shape has elements");
    }
    if (*r->at++ != '}') return fail_at(r, "as many texts as the shape has elements, and '}'");
    input->has_values = true;
    return TN_OK;
}

static tn_status read_values(reader *r, tn_case_input *input, size_t count) {
    if (*r->at != '{') return TN_OK;
    r->at++;
    if (input->type == TN_STRING) return read_texts(r, input, count);
    size_t read = 0;
    for (; *r->at && *r->at != '}'; read++) {
        char *end;
        const double value = tn_decimal_read(r->at, &end);
        if (end == r->at || read == count)
            return fail_at(r, "as many numbers as the shape has elements");
        if (tn_type_is_float(input->type))
            tn_element_set_f64(input->data, input->type, read, value);
        else
            tn_element_set_i64(input->data, input->type, read, strtoll(r->at, &end, 10));
        r->at = end + (*end == ',');
    }
    if (*r->at++ != '}' || read != count)
        return fail_at(r, "as many numbers as the shape has elements, and '}'");
    input->has_values = true;
    return TN_OK;
}

static tn_status read_shape(reader *r, tn_shape *out_shape) {
    *out_shape = (tn_shape){.rank = 0};
    if (*r->at++ != '[') return fail_at(r, "'[' and extents");
    while (*r->at && *r->at != ']') {
        char *end;
        const long long extent = strtoll(r->at, &end, 10);
        if (end == r->at || extent < 0 || out_shape->rank == TN_MAX_RANK)
            return fail_at(r, "an extent");
        out_shape->extents[out_shape->rank++] = extent;
        r->at = end + (*end == ',');
    }
    return *r->at++ == ']' ? TN_OK : fail_at(r, "']'");
}

static tn_status read_tensor(reader *r, tn_case_input *out) {
    const size_t length = strcspn(r->at, "[");
    size_t count;
    out->type = tn_type_parse(r->at, length);
    if (out->type == TN_NONE) return fail_at(r, "an element type");
    r->at += length;
    TN_TRY(read_shape(r, &out->shape));
    TN_TRY(tn_shape_count(&out->shape, &count));
    out->bytes = tn_type_storage(out->type, count);
    char *buffer = tn_arena_allocate(r->arena, out->bytes + 128, 1);
    if (!buffer) return tn_fail_memory("a case");
    out->data = buffer + (64 - ((uintptr_t)buffer & 63));
    fill_random(r, out, count);
    return read_values(r, out, count);
}

static tn_status find_port(const reader *r, bool is_output, const char *name, uint32_t *out_port) {
    const tn_port *ports = is_output ? r->op->outputs : r->op->inputs;
    for (uint32_t i = 0; i < (is_output ? r->op->output_count : r->op->input_count); i++) {
        if (strcmp(ports[i].name, name) == 0) {
            *out_port = i;
            return TN_OK;
        }
    }
    return tn_fail(TN_ERROR_ARGUMENT, "case \"%s\": operator %s has no %s '%s'", r->text,
                   r->op->name, is_output ? "output" : "input", name);
}

/* A type alone: a sequence or an optional without items. */
static bool read_none(reader *r, tn_case_input *out) {
    const char *text;
    size_t bytes;
    const size_t length = strcspn(r->at, "[ |");
    const tn_type type = tn_type_parse(r->at, length);
    if (r->at[length] == '[' || type == TN_NONE ||
        !tn_port_kind(r->op->inputs[out->port].types, &text, &bytes))
        return false;
    out->type = type;
    out->is_none = true;
    r->at += length;
    return true;
}

static tn_status read_tensors(reader *r, bool is_output, tn_case_input **out_tensors,
                              uint32_t *out_count) {
    size_t most = 1;
    uint32_t count = 0;
    for (const char *at = r->at; *at; at++)
        most += *at == '=';
    tn_case_input *tensors = tn_arena_allocate(r->arena, most, sizeof(*tensors));
    if (!tensors) return tn_fail_memory("a case");
    for (const char *name; (name = read_name(r)) != NULL; count++) {
        TN_TRY(find_port(r, is_output, name, &tensors[count].port));
        if (is_output || !read_none(r, &tensors[count])) TN_TRY(read_tensor(r, &tensors[count]));
    }
    skip_spaces(r);
    *out_tensors = tensors;
    *out_count = count;
    return TN_OK;
}

tn_status tn_case_read(tn_arena *arena, const tn_operator *op, const char *text,
                       tn_case *out_case) {
    reader r = {arena, op, text, text, 88172645463325252u};
    *out_case = (tn_case){0};
    TN_TRY(read_fields(&r, out_case));
    skip_spaces(&r);
    if (*r.at++ != '|')
        return tn_fail(TN_ERROR_ARGUMENT, "case \"%s\": there is no '|' between fields and inputs",
                       text);
    TN_TRY(read_tensors(&r, false, &out_case->inputs, &out_case->input_count));
    if (*r.at == '|') {
        r.at++;
        TN_TRY(read_tensors(&r, true, &out_case->expected, &out_case->expected_count));
        return *r.at ? fail_at(&r, "an output or the end") : TN_OK;
    }
    return *r.at ? fail_at(&r, "an input, '|' or the end") : TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * values by name */

static bool is_tensor_next(const reader *r) {
    const size_t length = strcspn(r->at, "[ ");
    return length > 0 && r->at[length] == '[' && tn_type_parse(r->at, length) != TN_NONE;
}

static tn_status read_value(reader *r, tn_case_value *out) {
    size_t length = 0, depth = 0;
    if (is_tensor_next(r)) return read_tensor(r, &out->tensor);
    for (; r->at[length] && (depth || r->at[length] != ' '); length++)
        depth = depth + (r->at[length] == '[') - (r->at[length] == ']' && depth);
    out->text = tn_arena_format(r->arena, "%.*s", (int)length, r->at);
    r->at += length;
    return out->text ? TN_OK : tn_fail_memory("a case");
}

tn_status tn_case_read_values(tn_arena *arena, const char *text, uint32_t *out_count,
                              tn_case_value **out_values) {
    reader r = {arena, NULL, text, text, 88172645463325252u};
    size_t most = 1;
    *out_count = 0;
    for (const char *at = text; *at; at++)
        most += *at == '=';
    *out_values = tn_arena_allocate(arena, most, sizeof **out_values);
    if (!*out_values) return tn_fail_memory("a case");
    for (const char *name; (name = read_name(&r)) != NULL; ++*out_count) {
        (*out_values)[*out_count].name = name;
        TN_TRY(read_value(&r, &(*out_values)[*out_count]));
    }
    skip_spaces(&r);
    return *r.at ? fail_at(&r, "NAME=VALUE or the end") : TN_OK;
}

tn_status tn_case_redraw(tn_arena *arena, tn_case_input *tensor, const tn_shape *shape) {
    reader r = {.arena = arena, .random = 6364136223846793005u};
    size_t count = 0;
    TN_TRY(tn_shape_count(shape, &count));
    tensor->shape = *shape;
    tensor->bytes = tn_type_storage(tensor->type, count);
    char *buffer = tn_arena_allocate(arena, tensor->bytes + 128, 1);
    if (!buffer) return tn_fail_memory("a case");
    tensor->data = buffer + (64 - ((uintptr_t)buffer & 63));
    fill_random(&r, tensor, count);
    return TN_OK;
}
