/* SPDX-License-Identifier: Apache-2.0 */
/* See constant_note.h. */
#include "plugin/weights/constant_note.h"

#include "base/hash.h"
#include "base/status.h"

#include <inttypes.h>

void tn_constant_note_try(tn_constant_note *note) {
    if (!note->is_verified) note->is_verified = tn_hash(note->data, note->bytes) == note->checksum;
}

tn_status tn_constant_note_verify(tn_constant_note *note) {
    if (!note) return TN_OK;
    tn_constant_note_try(note);
    if (!note->is_verified)
        return tn_fail(TN_ERROR_FORMAT,
                       "the plan is damaged: %s '%s' (%zu bytes at %" PRIu64
                       ") does not have its checksum",
                       note->kind, note->name, note->bytes, note->file_offset);
    return TN_OK;
}

uint64_t tn_constant_content(const tn_tensor *tensor, uint64_t checksum) {
    uint64_t content = tn_hash_add_u64(0, checksum);
    content = tn_hash_add_u64(content, tensor->type);
    content = tn_hash_add_u64(content, tensor->bytes);
    for (uint32_t i = 0; i < tensor->rank; i++)
        content = tn_hash_add_u64(content, (uint64_t)tensor->shape[i]);
    return content;
}
