/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the checksums of a damaged plan anew, so that tests and fuzzing get to what the checksums
 * would hide. Written from docs/plans.md, not from the writer: it also checks the document.
 */
#ifndef TN_TESTS_PLAN_REPAIR_H
#define TN_TESTS_PLAN_REPAIR_H

#include "base/hash.h"

#include <string.h>

enum { PLAN_HEAD = 32, PLAN_ENTRY = 32, PLAN_MOST_SECTIONS = 16 };

static inline uint64_t plan_u64(const unsigned char *at) {
    uint64_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

/* Does nothing where header or table make no sense. */
static inline void plan_repair(unsigned char *data, size_t bytes) {
    uint32_t sections;
    if (bytes < PLAN_HEAD) return;
    memcpy(&sections, data + 12, sizeof(sections));
    if (sections > PLAN_MOST_SECTIONS || PLAN_HEAD + (size_t)sections * PLAN_ENTRY > bytes) return;
    for (uint32_t i = 0; i < sections; i++) {
        unsigned char *entry = data + PLAN_HEAD + (size_t)i * PLAN_ENTRY;
        uint64_t offset = plan_u64(entry + 8), length = plan_u64(entry + 16);
        if (offset > bytes || length > bytes - offset) continue;
        uint64_t checksum = tn_hash(data + offset, (size_t)length);
        memcpy(entry + 24, &checksum, sizeof(checksum));
    }
    memset(data + 24, 0, 8);
    uint64_t checksum = tn_hash(data, PLAN_HEAD + (size_t)sections * PLAN_ENTRY);
    memcpy(data + 24, &checksum, sizeof(checksum));
}

#endif
