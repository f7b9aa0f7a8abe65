/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes by XXH3; see hash.h. */
#include "base/hash.h"

#include <string.h>
#include <xxhash.h>

uint64_t tn_hash(const void *data, size_t bytes) {
    return XXH3_64bits(data, bytes);
}

uint64_t tn_hash_add(uint64_t seed, const void *data, size_t bytes) {
    return XXH3_64bits_withSeed(data, bytes, seed);
}

uint64_t tn_hash_add_text(uint64_t seed, const char *text) {
    if (!text) return tn_hash_add_u64(seed, UINT64_MAX);
    const size_t length = strlen(text);
    return tn_hash_add(tn_hash_add_u64(seed, length), text, length);
}

uint64_t tn_hash_add_u64(uint64_t seed, uint64_t value) {
    return tn_hash_add(seed, &value, sizeof(value));
}
