/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library of tiny operators in the domain "tiny", for tests of the graph and of its readers: each
 * is there for one trait (views, values that decide shapes, outputs sized by run, fields of every
 * type, a shape rule that writes nonsense). Included by tests, which register tiny_entry.
 */
#ifndef TN_TESTS_TINY_LAYERS_H
#define TN_TESTS_TINY_LAYERS_H

#include <string.h>
#include <tenon/plugin.h>

static void tiny_set_shape(tn_tensor *tensor, uint32_t rank, const int64_t *extents) {
    tensor->rank = rank;
    for (uint32_t i = 0; i < rank; i++)
        tensor->shape[i] = extents[i];
}

static int64_t tiny_count(const tn_tensor *tensor) {
    int64_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        count *= tensor->shape[i];
    return count;
}

/* Copy: output = input. */
static tn_status tiny_copy_infer(tn_call *call) {
    tiny_set_shape(call->outputs[0], call->inputs[0]->rank, call->inputs[0]->shape);
    return TN_OK;
}
static tn_status tiny_copy_reference(tn_call *call) {
    memcpy(call->outputs[0]->data, call->inputs[0]->data, (size_t)call->inputs[0]->bytes);
    return TN_OK;
}
static const tn_port tiny_copy_inputs[] = {TN_PORT("x", "T:any", 0, "anything")};
static const tn_port tiny_copy_outputs[] = {TN_PORT("y", "T", 0, "the same")};
static const tn_operator tiny_copy = {.size = sizeof(tn_operator),
                                      .since_version = 1,
                                      .state_version = 1,
                                      .traits = TN_OPERATOR_ELEMENTWISE,
                                      .domain = "tiny",
                                      .name = "Copy",
                                      .doc = "its input",
                                      TN_NO_FIELDS,
                                      TN_INPUTS(tiny_copy_inputs),
                                      TN_OUTPUTS(tiny_copy_outputs),
                                      .infer = tiny_copy_infer,
                                      .reference = tiny_copy_reference};
/* The same as of version 3, under which the test of versions looks for it. */
static const tn_operator tiny_copy_3 = {.size = sizeof(tn_operator),
                                        .since_version = 3,
                                        .state_version = 1,
                                        .traits = TN_OPERATOR_ELEMENTWISE,
                                        .domain = "tiny",
                                        .name = "Copy",
                                        .doc = "its input",
                                        TN_NO_FIELDS,
                                        TN_INPUTS(tiny_copy_inputs),
                                        TN_OUTPUTS(tiny_copy_outputs),
                                        .infer = tiny_copy_infer,
                                        .reference = tiny_copy_reference};

/* The same without a reference. */
static const tn_operator tiny_no_reference = {.size = sizeof(tn_operator),
                                              .since_version = 1,
                                              .state_version = 1,
                                              .domain = "tiny",
                                              .name = "NoReference",
                                              .doc = "its input",
                                              TN_NO_FIELDS,
                                              TN_INPUTS(tiny_copy_inputs),
                                              TN_OUTPUTS(tiny_copy_outputs),
                                              .infer = tiny_copy_infer};

/* Add: two tensors of one shape. */
static tn_status tiny_add_infer(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    if (a->rank != b->rank || memcmp(a->shape, b->shape, a->rank * sizeof(int64_t)) != 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "shapes of a and b differ");
    tiny_set_shape(call->outputs[0], a->rank, a->shape);
    return TN_OK;
}
static tn_status tiny_add_reference(tn_call *call) {
    const tn_tensor *a = call->inputs[0];
    for (int64_t i = 0; i < tiny_count(a); i++) {
        if (a->type == TN_I64)
            ((int64_t *)call->outputs[0]->data)[i] =
                ((const int64_t *)a->data)[i] + ((const int64_t *)call->inputs[1]->data)[i];
        else
            ((float *)call->outputs[0]->data)[i] =
                ((const float *)a->data)[i] + ((const float *)call->inputs[1]->data)[i];
    }
    return TN_OK;
}
static const tn_port tiny_add_inputs[] = {TN_PORT("a", "T:f32|i64", 0, "a summand"),
                                          TN_PORT("b", "T", 0, "another")};
static const tn_port tiny_add_outputs[] = {TN_PORT("sum", "T", 0, "a + b")};
static const tn_operator tiny_add = {.size = sizeof(tn_operator),
                                     .since_version = 1,
                                     .state_version = 1,
                                     .domain = "tiny",
                                     .name = "Add",
                                     .doc = "a sum",
                                     TN_NO_FIELDS,
                                     TN_INPUTS(tiny_add_inputs),
                                     TN_OUTPUTS(tiny_add_outputs),
                                     .infer = tiny_add_infer,
                                     .reference = tiny_add_reference};

/* Shape: the extents of its input, of which only the shape is read. */
static tn_status tiny_shape_infer(tn_call *call) {
    int64_t rank = call->inputs[0]->rank;
    tiny_set_shape(call->outputs[0], 1, &rank);
    return TN_OK;
}
static tn_status tiny_shape_reference(tn_call *call) {
    if (call->inputs[0]->data)
        return call->host->fail(call, TN_ERROR_INTERNAL, "data is seen at a shape-only port");
    memcpy(call->outputs[0]->data, call->inputs[0]->shape, call->inputs[0]->rank * sizeof(int64_t));
    return TN_OK;
}
static const tn_port tiny_shape_inputs[] = {TN_PORT("x", "any", TN_PORT_SHAPE_ONLY, "anything")};
static const tn_port tiny_shape_outputs[] = {TN_PORT("extents", "i64", 0, "its extents")};
static const tn_operator tiny_shape = {.size = sizeof(tn_operator),
                                       .since_version = 1,
                                       .state_version = 1,
                                       .domain = "tiny",
                                       .name = "Shape",
                                       .doc = "extents",
                                       TN_NO_FIELDS,
                                       TN_INPUTS(tiny_shape_inputs),
                                       TN_OUTPUTS(tiny_shape_outputs),
                                       .infer = tiny_shape_infer,
                                       .reference = tiny_shape_reference};

/* Reshape: a view with the shape that is the value of its second input. */
static tn_status tiny_reshape_infer(tn_call *call) {
    const tn_tensor *shape = call->inputs[1];
    if (call->inputs[0]->data)
        return call->host->fail(call, TN_ERROR_INTERNAL, "data is seen where no value is needed");
    if (!shape->data || shape->rank != 1 || shape->shape[0] > TN_MAX_RANK)
        return call->host->fail(call, TN_ERROR_SHAPE, "the shape's value is not usable");
    tiny_set_shape(call->outputs[0], (uint32_t)shape->shape[0], shape->data);
    return TN_OK;
}
static const tn_port tiny_reshape_inputs[] = {
    TN_PORT("data", "T:any", 0, "anything"),
    TN_PORT("shape", "i64", TN_PORT_VALUE_NEEDED, "its new extents")};
static const tn_port tiny_reshape_outputs[] = {TN_PORT_VIEW_OF("y", "T", 0, "the same elements")};
static const tn_operator tiny_reshape = {.size = sizeof(tn_operator),
                                         .since_version = 1,
                                         .state_version = 1,
                                         .domain = "tiny",
                                         .name = "Reshape",
                                         .doc = "another shape",
                                         TN_NO_FIELDS,
                                         TN_INPUTS(tiny_reshape_inputs),
                                         TN_OUTPUTS(tiny_reshape_outputs),
                                         .infer = tiny_reshape_infer};

/* Join: tensors of rank 1, one after the other. */
static tn_status tiny_join_infer(tn_call *call) {
    int64_t extent = 0;
    for (uint32_t i = 0; i < call->input_count; i++)
        extent += tiny_count(call->inputs[i]);
    tiny_set_shape(call->outputs[0], 1, &extent);
    return TN_OK;
}
static tn_status tiny_join_reference(tn_call *call) {
    unsigned char *to = call->outputs[0]->data;
    for (uint32_t i = 0; i < call->input_count; i++) {
        memcpy(to, call->inputs[i]->data, (size_t)call->inputs[i]->bytes);
        to += call->inputs[i]->bytes;
    }
    return TN_OK;
}
static const tn_port tiny_join_inputs[] = {TN_PORT("parts", "T:any", TN_PORT_VARIADIC, "lists")};
static const tn_port tiny_join_outputs[] = {TN_PORT("list", "T", 0, "all of them")};
static const tn_operator tiny_join = {.size = sizeof(tn_operator),
                                      .since_version = 1,
                                      .state_version = 1,
                                      .domain = "tiny",
                                      .name = "Join",
                                      .doc = "one list of many",
                                      TN_NO_FIELDS,
                                      TN_INPUTS(tiny_join_inputs),
                                      TN_OUTPUTS(tiny_join_outputs),
                                      .infer = tiny_join_infer,
                                      .reference = tiny_join_reference};

/* NonZero: the indices of elements that are not zero; how many, only a run knows. */
static tn_status tiny_non_zero_infer(tn_call *call) {
    int64_t bound = tiny_count(call->inputs[0]);
    tiny_set_shape(call->outputs[0], 1, &bound);
    return TN_OK;
}
static tn_status tiny_non_zero_reference(tn_call *call) {
    const int64_t *from = call->inputs[0]->data;
    int64_t *to = call->outputs[0]->data;
    int64_t found = 0;
    for (int64_t i = 0; i < tiny_count(call->inputs[0]); i++)
        if (from[i] != 0) to[found++] = i;
    call->outputs[0]->shape[0] = found;
    return TN_OK;
}
static const tn_port tiny_non_zero_inputs[] = {TN_PORT("x", "i64", 0, "numbers")};
static const tn_port tiny_non_zero_outputs[] = {
    TN_PORT("indices", "i64", TN_PORT_SIZED_BY_RUN, "where x is not zero")};
static const tn_operator tiny_non_zero = {.size = sizeof(tn_operator),
                                          .since_version = 1,
                                          .state_version = 1,
                                          .domain = "tiny",
                                          .name = "NonZero",
                                          .doc = "indices",
                                          TN_NO_FIELDS,
                                          TN_INPUTS(tiny_non_zero_inputs),
                                          TN_OUTPUTS(tiny_non_zero_outputs),
                                          .infer = tiny_non_zero_infer,
                                          .reference = tiny_non_zero_reference};

/* Fields: one of each kind; inputs and outputs that may be absent. `tiny_last_fields` remembers the
 * last set whose shape was inferred. */
typedef struct tiny_fields {
    uint64_t present;
    int64_t number;
    float factor;
    const char *text;
    tn_type to;
    uint32_t mode;
    tn_i64s list;
    tn_f32s factors;
    tn_strings names;
    tn_bytes blob;
    const tn_tensor *table;
} tiny_fields;
static tiny_fields tiny_last_fields;
static uint32_t tiny_last_counts[2]; /* inputs and outputs of that call */
static const tn_field tiny_field_table[] = {
    TN_FIELD_RANGE(tiny_fields, number, TN_FIELD_I64, TN_OPTIONAL, "7", -100, 100, "a number"),
    TN_FIELD(tiny_fields, factor, TN_FIELD_F32, TN_OPTIONAL, "0.5", "a factor"),
    TN_FIELD(tiny_fields, text, TN_FIELD_STRING, TN_OPTIONAL, NULL, "a text"),
    TN_FIELD(tiny_fields, to, TN_FIELD_TYPE, TN_OPTIONAL, NULL, "an element type"),
    TN_FIELD_CHOICE(tiny_fields, mode, TN_FIELD_ENUM, TN_OPTIONAL, "slow", "slow|fast", "a mode"),
    TN_FIELD(tiny_fields, list, TN_FIELD_I64S, TN_OPTIONAL, NULL, "numbers"),
    TN_FIELD(tiny_fields, factors, TN_FIELD_F32S, TN_OPTIONAL, NULL, "factors"),
    TN_FIELD(tiny_fields, names, TN_FIELD_STRINGS, TN_OPTIONAL, NULL, "texts"),
    TN_FIELD(tiny_fields, blob, TN_FIELD_BYTES, TN_OPTIONAL, NULL, "bytes"),
    TN_FIELD(tiny_fields, table, TN_FIELD_TENSOR, TN_OPTIONAL, NULL, "a tensor"),
};
static tn_status tiny_fields_infer(tn_call *call) {
    tiny_last_fields = *(const tiny_fields *)call->params;
    tiny_last_counts[0] = call->input_count;
    tiny_last_counts[1] = call->output_count;
    for (uint32_t i = 0; i < call->output_count; i++)
        if (call->outputs[i])
            tiny_set_shape(call->outputs[i], call->inputs[0]->rank, call->inputs[0]->shape);
    return TN_OK;
}
static const tn_port tiny_fields_inputs[] = {TN_PORT("a", "any", 0, "anything"),
                                             TN_PORT("b", "any", TN_PORT_OPTIONAL, "more"),
                                             TN_PORT("c", "any", TN_PORT_OPTIONAL, "yet more")};
static const tn_port tiny_fields_outputs[] = {TN_PORT("x", "f32", 0, "something"),
                                              TN_PORT("y", "f32", TN_PORT_OPTIONAL, "more")};
static const tn_operator tiny_fields_operator = {.size = sizeof(tn_operator),
                                                 .since_version = 1,
                                                 .state_version = 1,
                                                 .domain = "tiny",
                                                 .name = "Fields",
                                                 .doc = "has fields",
                                                 TN_FIELDS(tiny_fields, tiny_field_table),
                                                 TN_INPUTS(tiny_fields_inputs),
                                                 TN_OUTPUTS(tiny_fields_outputs),
                                                 .infer = tiny_fields_infer};

/* Constant: a field's tensor. */
typedef struct tiny_constant {
    uint64_t present;
    const tn_tensor *value;
} tiny_constant;
static const tn_field tiny_constant_table[] = {
    TN_FIELD(tiny_constant, value, TN_FIELD_TENSOR, TN_REQUIRED, NULL, "the tensor")};
static tn_status tiny_constant_infer(tn_call *call) {
    const tn_tensor *value = ((const tiny_constant *)call->params)->value;
    call->outputs[0]->type = value->type;
    tiny_set_shape(call->outputs[0], value->rank, value->shape);
    return TN_OK;
}
static tn_status tiny_constant_reference(tn_call *call) {
    const tn_tensor *value = ((const tiny_constant *)call->params)->value;
    memcpy(call->outputs[0]->data, value->data, (size_t)value->bytes);
    return TN_OK;
}
static const tn_port tiny_constant_outputs[] = {TN_PORT("value", "any", 0, "the tensor")};
static const tn_operator tiny_constant_operator = {.size = sizeof(tn_operator),
                                                   .since_version = 1,
                                                   .state_version = 1,
                                                   .traits = TN_OPERATOR_CONSTANT,
                                                   .domain = "tiny",
                                                   .name = "Constant",
                                                   .doc = "a tensor",
                                                   TN_FIELDS(tiny_constant, tiny_constant_table),
                                                   .port_size = sizeof(tn_port),
                                                   TN_OUTPUTS(tiny_constant_outputs),
                                                   .infer = tiny_constant_infer,
                                                   .reference = tiny_constant_reference};

/* Broken: its shape rule does what `how` says. */
enum {
    TINY_RANK = 1,
    TINY_EXTENT = 2,
    TINY_TYPE = 3,
    TINY_NO_TYPE = 4,
    TINY_POINTER = 5,
    TINY_HUGE = 6,
    TINY_STATUS = 7,
    TINY_FAIL = 8,
    TINY_NOTHING = 9
};
typedef struct tiny_broken {
    uint64_t present;
    int64_t how;
} tiny_broken;
static const tn_field tiny_broken_table[] = {
    TN_FIELD(tiny_broken, how, TN_FIELD_I64, TN_REQUIRED, NULL, "what goes wrong")};
static int64_t tiny_elsewhere[TN_MAX_RANK];
static tn_status tiny_broken_infer(tn_call *call) {
    tn_tensor *output = call->outputs[0];
    int64_t how = ((const tiny_broken *)call->params)->how;
    output->type = how == TINY_TYPE ? TN_BOOL : how == TINY_NO_TYPE ? TN_NONE : TN_F32;
    if (how == TINY_NOTHING) { /* says that there are two extents, and writes none */
        output->rank = 2;
        return TN_OK;
    }
    output->rank = how == TINY_RANK ? TN_MAX_RANK + 1 : 2;
    output->shape[0] = how == TINY_EXTENT ? -3 : how == TINY_HUGE ? INT64_MAX / 2 : 1;
    output->shape[1] = how == TINY_HUGE ? 16 : 1;
    if (how == TINY_POINTER) output->shape = tiny_elsewhere;
    if (how == TINY_FAIL) return call->host->fail(call, TN_ERROR_RANGE, "it was told to fail");
    return how == TINY_STATUS ? 4711 : TN_OK;
}
static const tn_port tiny_broken_inputs[] = {TN_PORT("x", "any", 0, "anything")};
static const tn_port tiny_broken_outputs[] = {TN_PORT("y", "f32|f64", 0, "nonsense")};
static const tn_operator tiny_broken_operator = {.size = sizeof(tn_operator),
                                                 .since_version = 1,
                                                 .state_version = 1,
                                                 .domain = "tiny",
                                                 .name = "Broken",
                                                 .doc = "goes wrong",
                                                 TN_FIELDS(tiny_broken, tiny_broken_table),
                                                 TN_INPUTS(tiny_broken_inputs),
                                                 TN_OUTPUTS(tiny_broken_outputs),
                                                 .infer = tiny_broken_infer};

static const tn_operator *const tiny_operators[] = {&tiny_copy,
                                                    &tiny_copy_3,
                                                    &tiny_add,
                                                    &tiny_shape,
                                                    &tiny_reshape,
                                                    &tiny_join,
                                                    &tiny_non_zero,
                                                    &tiny_fields_operator,
                                                    &tiny_constant_operator,
                                                    &tiny_broken_operator,
                                                    &tiny_no_reference};
static tn_library tiny_library = {.size = sizeof(tn_library),
                                  .abi_major = TN_ABI_MAJOR,
                                  .abi_minor = TN_ABI_MINOR,
                                  .name = "tiny",
                                  .version = "1",
                                  .operator_count = TN_COUNT(tiny_operators),
                                  .operators = tiny_operators};
static tn_library *tiny_entry(const tn_host *host) {
    (void)host;
    return &tiny_library;
}

#endif
