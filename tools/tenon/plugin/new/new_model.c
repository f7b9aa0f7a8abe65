/* SPDX-License-Identifier: Apache-2.0 */
/* A network of one node, as an ONNX file, for a layer that `tenon plugin new` makes; see
 * new_layer.h. */
#include "importers/onnx/onnx.pb-c.h"
#include "new_layer.h"
#include "new_ports.h"

#include <stdlib.h>
#include <string.h>

enum { DIMENSIONS = 4, LIST_LIMIT = 16 };

/* A port of the network with all that hangs on it; `extents` null: shape unknown. */
typedef struct model_port {
    Tenon__Onnx__ValueInfoProto info;
    Tenon__Onnx__TypeProto type;
    Tenon__Onnx__TypeProto__Tensor tensor;
    Tenon__Onnx__TensorShapeProto shape;
    Tenon__Onnx__TensorShapeProto__Dimension dimensions[DIMENSIONS], *pointers[DIMENSIONS];
} model_port;

static void set_port(model_port *port, char *name, const char *type, const int64_t *extents) {
    *port = (model_port){.info = TENON__ONNX__VALUE_INFO_PROTO__INIT,
                         .type = TENON__ONNX__TYPE_PROTO__INIT,
                         .tensor = TENON__ONNX__TYPE_PROTO__TENSOR__INIT,
                         .shape = TENON__ONNX__TENSOR_SHAPE_PROTO__INIT};
    port->info.name = name;
    port->info.type = &port->type;
    port->type.tensor_type = &port->tensor;
    port->tensor.has_elem_type = 1;
    port->tensor.elem_type = new_port_type_of(type, strlen(type))->onnx;
    if (!extents) return;
    for (int i = 0; i < DIMENSIONS; i++) {
        tenon__onnx__tensor_shape_proto__dimension__init(&port->dimensions[i]);
        port->dimensions[i].has_dim_value = 1;
        port->dimensions[i].dim_value = extents[i];
        port->pointers[i] = &port->dimensions[i];
    }
    port->shape.n_dim = DIMENSIONS;
    port->shape.dim = port->pointers;
    port->tensor.shape = &port->shape;
}

typedef struct model_attribute {
    Tenon__Onnx__AttributeProto proto;
    char text[128];
    int64_t ints[LIST_LIMIT];
    float floats[LIST_LIMIT];
    ProtobufCBinaryData strings[LIST_LIMIT];
} model_attribute;

/* The sample value of a required field. */
static void set_attribute(model_attribute *attribute, const new_field *field) {
    Tenon__Onnx__AttributeProto *proto = &attribute->proto;
    const char *type = field->type;
    const uint32_t count = new_source_length(field);
    tenon__onnx__attribute_proto__init(proto);
    proto->name = (char *)(uintptr_t)field->name;
    proto->has_type = 1;
    for (uint32_t i = 0; i < count; i++) {
        attribute->ints[i] = 1;
        attribute->floats[i] = 1;
        attribute->strings[i] = (ProtobufCBinaryData){4, (uint8_t *)(uintptr_t) "text"};
    }
    if (strcmp(type, "f32") == 0 || strcmp(type, "f64") == 0) {
        proto->type = TENON__ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
        proto->has_f = 1;
        proto->f = 1;
    } else if (strcmp(type, "i64s") == 0) {
        proto->type = TENON__ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
        proto->n_ints = count;
        proto->ints = attribute->ints;
    } else if (strcmp(type, "f32s") == 0) {
        proto->type = TENON__ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS;
        proto->n_floats = count;
        proto->floats = attribute->floats;
    } else if (strcmp(type, "strings") == 0) {
        proto->type = TENON__ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS;
        proto->n_strings = count;
        proto->strings = attribute->strings;
    } else if (strcmp(type, "string") == 0 || strcmp(type, "enum") == 0) {
        new_source_sample(field, attribute->text, sizeof(attribute->text));
        proto->type = TENON__ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
        proto->has_s = 1;
        proto->s = (ProtobufCBinaryData){strlen(attribute->text), (uint8_t *)attribute->text};
    } else { /* numbers, truth, and an element type in ONNX's numbering */
        proto->type = TENON__ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
        proto->has_i = 1;
        proto->i = 1;
    }
}

static bool write_bytes(const Tenon__Onnx__ModelProto *model, const char *path) {
    const size_t bytes = tenon__onnx__model_proto__get_packed_size(model);
    uint8_t *packed = malloc(bytes);
    FILE *file = packed ? fopen(path, "wb") : NULL;
    bool is_written = file && tenon__onnx__model_proto__pack(model, packed) == bytes &&
                      fwrite(packed, 1, bytes, file) == bytes;
    if (file) is_written = fclose(file) == 0 && is_written;
    free(packed);
    return is_written;
}

bool new_model_write(const new_layer *layer, const char *path) {
    static const int64_t image[DIMENSIONS] = {1, 3, 16, 16}, size[DIMENSIONS] = {1, 1, 24, 20};
    static char ir_name[] = "tenon plugin new", no_domain[] = "";
    model_port ports[2 * NEW_PORT_LIMIT];
    model_attribute attributes[NEW_FIELD_LIMIT];
    Tenon__Onnx__AttributeProto *attribute_pointers[NEW_FIELD_LIMIT];
    Tenon__Onnx__ValueInfoProto *inputs[NEW_PORT_LIMIT], *outputs[NEW_PORT_LIMIT];
    char *input_names[NEW_PORT_LIMIT], *output_names[NEW_PORT_LIMIT];
    Tenon__Onnx__NodeProto node = TENON__ONNX__NODE_PROTO__INIT, *nodes[] = {&node};
    Tenon__Onnx__GraphProto graph = TENON__ONNX__GRAPH_PROTO__INIT;
    Tenon__Onnx__ModelProto model = TENON__ONNX__MODEL_PROTO__INIT;
    Tenon__Onnx__OperatorSetIdProto opsets[2], *opset_pointers[] = {&opsets[0], &opsets[1]};
    const bool is_resize = strcmp(layer->kind->name, "resize") == 0;
    for (uint32_t i = 0; i < layer->input_count; i++) {
        input_names[i] = (char *)(uintptr_t)layer->inputs[i];
        set_port(&ports[i], input_names[i], layer->input_types[i],
                 is_resize && i == 1 ? size : image);
        inputs[i] = &ports[i].info;
    }
    for (uint32_t i = 0; i < layer->output_count; i++) {
        model_port *port = &ports[NEW_PORT_LIMIT + i];
        output_names[i] = (char *)(uintptr_t)layer->outputs[i];
        set_port(port, output_names[i], layer->output_types[i], NULL);
        outputs[i] = &port->info;
    }
    for (uint32_t i = 0; i < layer->field_count; i++) {
        if (!layer->fields[i].is_required) continue;
        set_attribute(&attributes[node.n_attribute], &layer->fields[i]);
        attribute_pointers[node.n_attribute] = &attributes[node.n_attribute].proto;
        node.n_attribute++;
    }
    node.attribute = attribute_pointers;
    node.op_type = (char *)(uintptr_t)layer->operator_name;
    node.domain = (char *)(uintptr_t)layer->domain;
    node.name = (char *)(uintptr_t)layer->name;
    node.n_input = layer->input_count;
    node.input = input_names;
    node.n_output = layer->output_count;
    node.output = output_names;
    graph.name = (char *)(uintptr_t)layer->name;
    graph.n_node = 1;
    graph.node = nodes;
    graph.n_input = layer->input_count;
    graph.input = inputs;
    graph.n_output = layer->output_count;
    graph.output = outputs;
    for (int i = 0; i < 2; i++) {
        tenon__onnx__operator_set_id_proto__init(&opsets[i]);
        opsets[i].domain = i == 0 ? no_domain : (char *)(uintptr_t)layer->domain;
        opsets[i].has_version = 1;
        opsets[i].version = i == 0 ? 13 : 1;
    }
    model.has_ir_version = 1;
    model.ir_version = 7;
    model.producer_name = ir_name;
    model.n_opset_import = 2;
    model.opset_import = opset_pointers;
    model.graph = &graph;
    return write_bytes(&model, path);
}
