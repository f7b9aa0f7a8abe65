/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan says of a part of its file: a constant, packed weights. Its bytes are checked when
 * somebody is about to read them, and not before: what nobody reads is never touched. */
#ifndef TN_PLUGIN_WEIGHTS_CONSTANT_NOTE_H
#define TN_PLUGIN_WEIGHTS_CONSTANT_NOTE_H

#include "base/memory.h"
#include <tenon/plugin.h>

#include <stdatomic.h>

typedef struct tn_constant_note {
    const char *kind, *name; /* "constant", "packed weights of"; for messages */
    const void *data;
    size_t bytes;
    uint64_t file_offset;
    uint64_t checksum;       /* XXH3-64 of the bytes */
    atomic_bool is_verified; /* by any thread: it finds what others find */
} tn_constant_note;

/* Verifies what is as it should be; says nothing of the rest. [thread: one for one note] */
void tn_constant_note_try(tn_constant_note *note);
/* TN_ERROR_FORMAT names the part and its offset in the file. Null: nothing is known, which is fine.
 */
tn_status tn_constant_note_verify(tn_constant_note *note);

/* The hash by which constants are told apart: of type, shape and the elements' checksum. */
uint64_t tn_constant_content(const tn_tensor *tensor, uint64_t checksum);

#endif
