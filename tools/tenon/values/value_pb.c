/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences and optionals, of tensors and of sequences, in ONNX's own messages, as test data sets
 * have them; see value_file.h. */
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

/* What an optional of the port's kind has, where it has anything. */
static bool take_element(const char *path, const Tenon__Onnx__OptionalProto *optional,
                         bool is_sequence, file_value *out) {
    if (is_sequence ? optional->tensor_value != NULL : optional->sequence_value != NULL)
        return fail(path, is_sequence
                              ? "it has an optional of a tensor: expected one of a sequence"
                              : "it has an optional of a sequence: expected one of a tensor");
    if (optional->has_other_value)
        return fail(path, "it has an optional of what is neither a tensor nor a sequence");
    if (is_sequence) {
        out->has_element = optional->sequence_value != NULL;
        return !out->has_element || take_sequence(path, optional->sequence_value, out);
    }
    if (!optional->tensor_value) return true;
    file_tensor *item = file_value_add(out, path);
    return item && tensor_pb_take(path, optional->tensor_value, item);
}

static bool read_optional(const char *path, const unsigned char *data, size_t bytes,
                          bool is_sequence, file_value *out) {
    Tenon__Onnx__OptionalProto *optional = tenon__onnx__optional_proto__unpack(NULL, bytes, data);
    if (!optional) return fail(path, "it is not an OptionalProto");
    const bool is_read = take_element(path, optional, is_sequence, out);
    tenon__onnx__optional_proto__free_unpacked(optional, NULL);
    return is_read;
}

bool value_pb_read(const char *path, const unsigned char *data, size_t bytes,
                   const tn_port_info *port, file_value *out_value) {
    if (port->kind == TN_KIND_SEQUENCE) return read_sequence(path, data, bytes, out_value);
    if (port->kind == TN_KIND_OPTIONAL || port->kind == TN_KIND_OPTIONAL_SEQUENCE)
        return read_optional(path, data, bytes, port->kind == TN_KIND_OPTIONAL_SEQUENCE, out_value);
    return fail(path, "maps are read from JSON alone");
}
