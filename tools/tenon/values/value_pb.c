/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences and optionals in ONNX's own messages, as test data sets have them; see value_file.h. */
#include "value_file.h"

#include "files/tensor_pb.h"

static bool fail(const char *path, const char *why) {
    cli_fault("%s: %s", path, why);
    return false;
}

static bool take_sequence(const char *path, const Tenon__Onnx__SequenceProto *sequence,
                          file_value *out) {
    if (!sequence || sequence->n_other_values > 0)
        return fail(path, "it has a sequence of something that is no tensor");
    for (size_t i = 0; i < sequence->n_tensor_values; i++) {
        file_tensor *item = file_value_add(out, path);
        if (!item || !tensor_pb_take(path, sequence->tensor_values[i], item)) return false;
    }
    return true;
}

static bool read_sequence(const char *path, const unsigned char *data, size_t bytes,
                          file_value *out) {
    Tenon__Onnx__SequenceProto *sequence = tenon__onnx__sequence_proto__unpack(NULL, bytes, data);
    if (!sequence) return fail(path, "it is not a SequenceProto");
    const bool is_read = take_sequence(path, sequence, out);
    tenon__onnx__sequence_proto__free_unpacked(sequence, NULL);
    return is_read;
}

static bool read_optional(const char *path, const unsigned char *data, size_t bytes,
                          file_value *out) {
    Tenon__Onnx__OptionalProto *optional = tenon__onnx__optional_proto__unpack(NULL, bytes, data);
    bool is_read = false;
    if (!optional) return fail(path, "it is not an OptionalProto");
    if (optional->sequence_value || optional->has_other_value) {
        fail(path, "it has an optional of something that is no tensor");
    } else {
        file_tensor *item = optional->tensor_value ? file_value_add(out, path) : NULL;
        is_read =
            !optional->tensor_value || (item && tensor_pb_take(path, optional->tensor_value, item));
    }
    tenon__onnx__optional_proto__free_unpacked(optional, NULL);
    return is_read;
}

bool value_pb_read(const char *path, const unsigned char *data, size_t bytes,
                   const tn_port_info *port, file_value *out_value) {
    if (port->kind == TN_KIND_SEQUENCE) return read_sequence(path, data, bytes, out_value);
    if (port->kind == TN_KIND_OPTIONAL) return read_optional(path, data, bytes, out_value);
    return fail(path, "maps are read from JSON alone");
}
