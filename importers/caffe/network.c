/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network: its inputs, its layers in order, and its outputs, which are the blobs that no layer
 * takes. A blob's name means its latest value.
 */
#include "base/status.h"
#include "importers/caffe/caffe.h"

#include <string.h>

tn_status tn_caffe_set_value(tn_caffe_reader *reader, const char *blob,
                             const tn_caffe_value *value) {
    size_t index = reader->value_count;
    TN_TRY(tn_grow(reader->allocator, (void **)&reader->values, &reader->value_capacity, index + 1,
                   sizeof(*reader->values)));
    TN_TRY(tn_map_set(reader->blobs, blob, index));
    reader->values[index] = (tn_caffe_named){.name = blob, .value = *value};
    reader->value_count++;
    return TN_OK;
}

/* A tensor that can be an output called as the blob: its own, or a copy of an alias. */
static tn_status output_tensor(tn_caffe_reader *reader, const char *blob, tn_import_tensor tensor,
                               tn_import_tensor *out_tensor) {
    const tn_import_tensor_info from = tn_import_tensor_at(reader->graph, tensor);
    uint64_t index;
    if (strcmp(from.name, blob) == 0 || tn_map_get(reader->last_writers, blob, &index)) {
        *out_tensor = tensor;
        return TN_OK;
    }
    const char *name = tn_emit_free_name(&reader->emit, blob);
    return tn_emit_node(&reader->emit, name, "Identity", NULL, TN_TENSORS(tensor), 1, &name,
                        out_tensor);
}

static tn_status read_outputs(tn_caffe_reader *reader) {
    for (size_t i = 0; i < reader->value_count; i++) {
        const char *blob = reader->values[i].name;
        tn_import_tensor tensor = reader->values[i].value.tensor;
        const tn_import_tensor_info from = tn_import_tensor_at(reader->graph, tensor);
        bool is_own_input = (from.flags & TN_IMPORT_IS_INPUT) && strcmp(from.name, blob) == 0;
        if (reader->values[i].is_consumed || is_own_input) continue;
        TN_TRY(output_tensor(reader, blob, tensor, &tensor));
        TN_TRY(tn_import_add_output(reader->graph, tensor, blob));
    }
    if (reader->import->services->output_count(reader->graph) == 0)
        return tn_fail(TN_ERROR_FORMAT, "the network has no output: no layer of it computes "
                                        "anything in the phase TEST");
    return TN_OK;
}

tn_status tn_caffe_network_read(tn_caffe_reader *reader) {
    TN_TRY(tn_caffe_layers_collect(reader));
    TN_TRY(tn_caffe_customs_check(reader));
    TN_TRY(tn_caffe_inputs_read(reader));
    for (size_t i = 0; i < reader->layer_count; i++)
        TN_TRY(tn_caffe_layer_build(&reader->layers[i]));
    return read_outputs(reader);
}
