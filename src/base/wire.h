/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol buffers from untrusted files: protobuf-c unpacks, but it has no bound on nesting, merges
 * repeated parts at quadratic cost and takes memory as it likes. So a check of the bytes comes
 * first, along the message's own description. For every reader of such files: ONNX, Caffe, UFF, the
 * plan.
 */
#ifndef TN_BASE_WIRE_H
#define TN_BASE_WIRE_H

#include "base/memory.h"

#include <protobuf-c/protobuf-c.h>

/* Messages within messages, the outermost one counted. */
#define TN_WIRE_DEPTH 64

/* Checks the bytes of a message: tags, lengths, nesting, no part given twice that can only be there
 * once, no text with a NUL inside, and the memory that unpacking takes in proportion to the bytes.
 * TN_ERROR_FORMAT names message, field and byte; TN_ERROR_MEMORY. Recursion- and allocation-free;
 * linear in the bytes. */
tn_status tn_wire_check(const ProtobufCMessageDescriptor *descriptor, const void *data,
                        size_t bytes);

/* Checks and unpacks. The message and all in it lie in memory of `allocator`, each piece a block of
 * its own, 64-byte aligned when it has 64 bytes or more: a reader may take a piece out (setting its
 * pointer null) and free it by tn_deallocate. */
tn_status tn_wire_unpack(const tn_allocator *allocator,
                         const ProtobufCMessageDescriptor *descriptor, const void *data,
                         size_t bytes, ProtobufCMessage **out_message);
void tn_wire_free(const tn_allocator *allocator, ProtobufCMessage *message); /* null is fine */

#endif
