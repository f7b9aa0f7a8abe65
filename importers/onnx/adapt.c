/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes of older opsets in terms of later ones: operators that were renamed, attributes that were
 * renamed or became inputs, defaults that changed; and seeds for random numbers. Before opset 6
 * nearly every operator had an attribute `consumed_inputs`, which means nothing.
 */
#include "base/status.h"
#include "importers/common/emit.h"
#include "importers/onnx/onnx.h"
#include "tensor/type.h"

enum {
    FIRST_OPSET_OF_TODAY = 6, /* without `consumed_inputs` */
    EMITTED_OPSET = 13,
    MORE_ATTRIBUTES = 4 /* that an edit may add */
};

/* A node while it is edited: its attributes are copies. */
typedef struct node_parts {
    uint32_t version; /* of the operator */
    uint64_t attribute_count;
    tn_attribute *attributes;
    uint32_t input_count;
    const tn_import_tensor *inputs;
} node_parts;

/* A row: nodes of this operator below opset `before` are those of `op` in version `version`. */
struct tn_onnx_adaptation {
    const char *name;
    uint32_t before;
    const char *op;
    uint32_t version;
    void (*edit)(tn_emitter *emitter, node_parts *parts); /* may be null */
};

/* ----------------------------------------------------------------------------------------------
 * edits */

static tn_attribute *find_attribute(const node_parts *parts, const char *name) {
    for (uint64_t i = 0; i < parts->attribute_count; i++)
        if (strcmp(parts->attributes[i].name, name) == 0) return &parts->attributes[i];
    return NULL;
}

static void remove_attribute(node_parts *parts, const char *name) {
    tn_attribute *found = find_attribute(parts, name);
    if (found) *found = parts->attributes[--parts->attribute_count];
}

/* Unless it is there. */
static void add_attribute(node_parts *parts, tn_attribute attribute) {
    if (!find_attribute(parts, attribute.name))
        parts->attributes[parts->attribute_count++] = attribute;
}

static void rename_attribute(node_parts *parts, const char *from, const char *to) {
    tn_attribute *found = find_attribute(parts, from);
    if (found) found->name = to;
}

static tn_import_tensor input_of(const node_parts *parts, uint32_t index) {
    return index < parts->input_count ? parts->inputs[index] : TN_IMPORT_NO_TENSOR;
}

static void set_inputs(tn_emitter *emitter, node_parts *parts, tn_emit_tensors inputs) {
    tn_import_tensor *list = tn_arena_allocate(emitter->arena, inputs.count, sizeof(*list));
    if (!list) {
        tn_emit_keep(emitter, tn_fail_memory("a node"));
        return;
    }
    memcpy(list, inputs.items, inputs.count * sizeof(*list));
    parts->inputs = list;
    parts->input_count = inputs.count;
}

/* The type by its name in ONNX ("FLOAT") instead of its number. */
static void edit_cast(tn_emitter *emitter, node_parts *parts) {
    tn_attribute *to = find_attribute(parts, "to");
    if (!to || to->type != TN_FIELD_STRING || !to->s) return;
    for (int64_t number = 1; strcmp(tn_onnx_type_name(number), "unknown") != 0; number++) {
        if (strcmp(to->s, tn_onnx_type_name(number)) != 0) continue;
        if (tn_onnx_type(number) == TN_NONE) {
            tn_emit_keep(emitter, tn_onnx_fail_type((int32_t)number));
            return;
        }
        to->s = tn_type_name(tn_onnx_type(number));
        return;
    }
    tn_emit_keep(emitter,
                 tn_fail(TN_ERROR_FORMAT, "attribute 'to' is '%.60s', no type of ONNX", to->s));
}

static void edit_concat(tn_emitter *emitter, node_parts *parts) {
    (void)emitter;
    add_attribute(parts, tn_emit_i64("axis", 1));
}

static void edit_pad(tn_emitter *emitter, node_parts *parts) {
    (void)emitter;
    rename_attribute(parts, "paddings", "pads");
}

static void edit_reshape(tn_emitter *emitter, node_parts *parts) {
    const tn_attribute *shape = find_attribute(parts, "shape");
    if (!shape || shape->type != TN_FIELD_I64S) return; /* the operator says what is missing */
    const tn_import_tensor list =
        tn_emit_list(emitter, "shape", (size_t)shape->count, shape->items);
    set_inputs(emitter, parts, TN_TENSORS(input_of(parts, 0), list));
    remove_attribute(parts, "shape");
}

static void edit_selu(tn_emitter *emitter, node_parts *parts) {
    (void)emitter;
    add_attribute(parts, tn_emit_f64("alpha", 1.6732));
    add_attribute(parts, tn_emit_f64("gamma", 1.0507));
}

/* Random numbers without a seed: one of the node's name (FNV-1a), so that they are the same in each
 * run, and others than those of other nodes. */
static void edit_seed(tn_emitter *emitter, node_parts *parts) {
    uint32_t hash = UINT32_C(2166136261);
    for (const char *c = emitter->name; *c; c++)
        hash = (hash ^ (uint8_t)*c) * UINT32_C(16777619);
    add_attribute(parts, tn_emit_f64("seed", hash & 0xFFFFFF));
}

/* The lengths may be an input, in the type of the tensor that is split. */
static void edit_split(tn_emitter *emitter, node_parts *parts) {
    add_attribute(parts, tn_emit_i64("axis", 0));
    if (parts->input_count < 2) return;
    const tn_import_tensor lengths = tn_emit_cast(emitter, "lengths", "i64", input_of(parts, 1));
    set_inputs(emitter, parts, TN_TENSORS(input_of(parts, 0), lengths));
    parts->version = EMITTED_OPSET;
}

/* How often is said for one axis: repeats = axis == 0, 1, ... ? tiles : 1. */
static void edit_tile(tn_emitter *emitter, node_parts *parts) {
    static const int64_t zero = 0, one = 1;
    if (parts->input_count < 3) return;
    const tn_import_tensor none = tn_emit_constant(emitter, "zero", TN_I64, 0, NULL, &zero);
    const tn_import_tensor single = tn_emit_constant(emitter, "one", TN_I64, 0, NULL, &one);
    const tn_import_tensor tiles = tn_emit_cast(emitter, "tiles", "i64", input_of(parts, 1));
    const tn_import_tensor axis = tn_emit_cast(emitter, "axis", "i64", input_of(parts, 2));
    const tn_import_tensor shape = tn_emit_unary(emitter, "shape", "Shape", input_of(parts, 0));
    const tn_import_tensor rank = tn_emit_unary(emitter, "rank", "Size", shape);
    const tn_import_tensor axes =
        tn_emit(emitter, "axes", "Range", NULL, TN_TENSORS(none, rank, single));
    const tn_import_tensor is_axis = tn_emit_binary(emitter, "is_axis", "Equal", axes, axis);
    const tn_import_tensor repeats =
        tn_emit(emitter, "repeats", "Where", NULL, TN_TENSORS(is_axis, tiles, single));
    set_inputs(emitter, parts, TN_TENSORS(input_of(parts, 0), repeats));
}

/* The scales that attributes have; none where they are an input. */
static uint32_t read_scales(const node_parts *parts, float scales[TN_MAX_RANK]) {
    const tn_attribute *list = find_attribute(parts, "scales");
    const tn_attribute *height = find_attribute(parts, "height_scale");
    const tn_attribute *width = find_attribute(parts, "width_scale");
    if (list && list->type == TN_FIELD_F32S && list->count <= TN_MAX_RANK) {
        memcpy(scales, list->items, (size_t)list->count * sizeof(float));
        return (uint32_t)list->count;
    }
    if (!height || !width) return 0;
    scales[0] = scales[1] = 1;
    scales[2] = (float)height->f;
    scales[3] = (float)width->f;
    return 4;
}

/* Of positions asymmetric to the input's, the nearest one below. */
static void edit_upsample(tn_emitter *emitter, node_parts *parts) {
    tn_import_tensor scales = input_of(parts, 1);
    float values[TN_MAX_RANK];
    const int64_t count = read_scales(parts, values);
    if (count > 0) scales = tn_emit_constant(emitter, "scales", TN_F32, 1, &count, values);
    set_inputs(emitter, parts, TN_TENSORS(input_of(parts, 0), TN_IMPORT_NO_TENSOR, scales));
    tn_attribute *mode = find_attribute(parts, "mode");
    if (mode && mode->type == TN_FIELD_STRING && mode->s && strcmp(mode->s, "bilinear") == 0)
        mode->s = "linear";
    remove_attribute(parts, "scales");
    remove_attribute(parts, "height_scale");
    remove_attribute(parts, "width_scale");
    add_attribute(parts, tn_emit_text("coordinate_transformation_mode", "asymmetric"));
    add_attribute(parts, tn_emit_text("nearest_mode", "floor"));
}

/* ----------------------------------------------------------------------------------------------
 * the table */

static const tn_onnx_adaptation adaptations[] = {
    {"Bernoulli", UINT32_MAX, "Bernoulli", 15, edit_seed},
    {"Cast", 6, "Cast", 6, edit_cast},
    {"Concat", 4, "Concat", 4, edit_concat},
    {"Multinomial", UINT32_MAX, "Multinomial", 7, edit_seed},
    {"Pad", 2, "Pad", 2, edit_pad},
    {"RandomNormal", UINT32_MAX, "RandomNormal", 1, edit_seed},
    {"RandomNormalLike", UINT32_MAX, "RandomNormalLike", 1, edit_seed},
    {"RandomUniform", UINT32_MAX, "RandomUniform", 1, edit_seed},
    {"RandomUniformLike", UINT32_MAX, "RandomUniformLike", 1, edit_seed},
    {"LayerNormalization", 17, "LayerNormalization", 17,
     NULL}, /* as onnxruntime's optimizer writes it */
    {"Reshape", 5, "Reshape", 5, edit_reshape},
    {"Scatter", UINT32_MAX, "ScatterElements", 11, NULL},
    {"Selu", 6, "Selu", 6, edit_selu},
    {"Split", 2, "Split", 2, edit_split},
    {"Tile", 6, "Tile", 6, edit_tile},
    {"Upsample", UINT32_MAX, "Resize", 11, edit_upsample},
};

static const tn_onnx_adaptation *find_adaptation(const char *op, uint32_t version) {
    for (size_t i = 0; i < TN_COUNT(adaptations); i++)
        if (version < adaptations[i].before && strcmp(adaptations[i].name, op) == 0)
            return &adaptations[i];
    return NULL;
}

/* An operator of that name, which a plugin library provides, goes before what stands for it. */
tn_status tn_onnx_operator_find(tn_onnx_reader *reader, const char *domain, const char *op,
                                uint32_t version, tn_onnx_found_operator *out_found) {
    const tn_import_services *services = reader->import->services;
    const tn_onnx_adaptation *adaptation = *domain ? NULL : find_adaptation(op, version);
    *out_found = (tn_onnx_found_operator){.version = version};
    if (adaptation && strcmp(adaptation->name, adaptation->op) == 0) {
        out_found->adaptation = adaptation;
        return services->find_operator(reader->import, "", op, adaptation->version, &out_found->op);
    }
    tn_status status = services->find_operator(reader->import, domain, op, version, &out_found->op);
    if (status != TN_ERROR_UNSUPPORTED || *domain) return status;
    if (adaptation) {
        out_found->adaptation = adaptation;
        return services->find_operator(reader->import, "", adaptation->op, adaptation->version,
                                       &out_found->op);
    }
    if (version >= FIRST_OPSET_OF_TODAY) return status;
    return services->find_operator(reader->import, "", op, FIRST_OPSET_OF_TODAY, &out_found->op);
}

static tn_status copy_attributes(tn_onnx_reader *reader, const tn_onnx_node_parts *from,
                                 node_parts *to) {
    to->attribute_count = from->attribute_count;
    to->attributes = tn_arena_allocate(
        reader->arena, (size_t)from->attribute_count + MORE_ATTRIBUTES, sizeof(*to->attributes));
    if (!to->attributes) return tn_fail_memory("a node's attributes");
    for (uint64_t i = 0; i < from->attribute_count; i++)
        to->attributes[i] = *from->attributes[i];
    return TN_OK;
}

static tn_status list_attributes(tn_onnx_reader *reader, const node_parts *from,
                                 tn_onnx_node_parts *to) {
    const tn_attribute **list =
        tn_arena_allocate(reader->arena, (size_t)from->attribute_count + 1, sizeof(*list));
    if (!list) return tn_fail_memory("a node's attributes");
    for (uint64_t i = 0; i < from->attribute_count; i++)
        list[i] = &from->attributes[i];
    to->attribute_count = from->attribute_count;
    to->attributes = list;
    return TN_OK;
}

tn_status tn_onnx_adapt(tn_onnx_reader *reader, tn_onnx_found_operator *found, const char *name,
                        tn_onnx_node_parts *inout_parts) {
    const tn_onnx_adaptation *adaptation = found->adaptation;
    tn_emitter emitter = {
        .graph = reader->graph, .arena = reader->arena, .version = EMITTED_OPSET, .name = name};
    node_parts parts = {.version = adaptation ? adaptation->version : found->version,
                        .input_count = inout_parts->input_count,
                        .inputs = inout_parts->inputs};
    if (!adaptation && found->version >= FIRST_OPSET_OF_TODAY) return TN_OK;
    TN_TRY(copy_attributes(reader, inout_parts, &parts));
    if (found->version < FIRST_OPSET_OF_TODAY) remove_attribute(&parts, "consumed_inputs");
    if (adaptation && adaptation->edit) adaptation->edit(&emitter, &parts);
    TN_TRY(emitter.status);
    if (adaptation && parts.version != adaptation->version)
        TN_TRY(reader->import->services->find_operator(reader->import, "", adaptation->op,
                                                       parts.version, &found->op));
    inout_parts->input_count = parts.input_count;
    inout_parts->inputs = parts.inputs;
    return list_attributes(reader, &parts, inout_parts);
}
