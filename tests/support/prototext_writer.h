/* SPDX-License-Identifier: Apache-2.0 */
/* The text form of a protocol buffer's binary form, by the table that a .proto file becomes: for
 * tests of what reads either. Ends the program when there is no memory or the bytes are damaged. */
#ifndef TN_TESTS_PROTOTEXT_WRITER_H
#define TN_TESTS_PROTOTEXT_WRITER_H

#include <protobuf-c/protobuf-c.h>

/* For free(). */
char *prototext_write(const ProtobufCMessageDescriptor *descriptor, const void *data, size_t bytes,
                      size_t *out_bytes);

#endif
