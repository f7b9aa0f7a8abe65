/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs and outputs of networks that are sequences, optionals or maps, in files: JSON, or ONNX's
 * SequenceProto and OptionalProto as test data sets have them. In JSON a sequence is a list of
 * tensors in nested brackets, an optional one of them or null, an optional of a sequence such a
 * list or null, a map an object (keys that are integers stand in quotes, too), and a sequence of
 * maps a list of objects. NaN and infinities are the texts "NaN", "Infinity" and "-Infinity".
 *
 *   value_json.c   reading JSON
 *   value_pb.c     reading ONNX's messages
 *   value_print.c  writing JSON
 *   value_bind.c   to and from a context, and comparing
 */
#ifndef TENON_VALUE_FILE_H
#define TENON_VALUE_FILE_H

#include "files/compare.h"

/* Items as tenon/border.h has them; of maps keys and values in turn. */
typedef struct file_value {
    size_t count, capacity;
    file_tensor *items;
    bool has_element; /* of an optional of a sequence */
} file_value;

void file_value_free(file_value *value); /* a zeroed one is fine */
/* Room for one more, zeroed; null (having said so): no memory. */
file_tensor *file_value_add(file_value *value, const char *path);

/* "a sequence of maps from i64 to f32" for messages and lists; answers `text`, which has
 * VALUE_TYPE_TEXT_BYTES. Of dense tensors the type's name alone. */
enum { VALUE_TYPE_TEXT_BYTES = 96 };
const char *value_type_print(const tn_port_info *port, char *text);

/* Reads a file as a port's value: by its ending .pb, else JSON; "-" is stdin. False after having
 * said why. */
bool value_file_read(const char *path, const tn_port_info *port, file_value *out_value);
bool value_json_read(const char *path, const char *text, const tn_port_info *port,
                     file_value *out_value);
bool value_pb_read(const char *path, const unsigned char *data, size_t bytes,
                   const tn_port_info *port, file_value *out_value);

/* Gives a context the items of an input. False: tn_last_error says why. */
bool value_bind(tn_context *context, uint32_t input, const file_value *value);
/* Writes an output as JSON. */
bool value_print(FILE *to, tn_context *context, uint32_t output, const tn_port_info *port);
/* The same to a file, or stdout as "-". False after having said why. */
bool value_file_write(const char *path, tn_context *context, uint32_t output,
                      const tn_port_info *port);
/* Whether an output has the items that are expected. False with the reason. */
bool value_compare(tn_context *context, uint32_t output, const tn_port_info *port,
                   const file_value *expected, const tolerance *allowed, char *why,
                   size_t why_bytes);

#endif
