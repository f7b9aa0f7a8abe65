/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes by XXH3; see hash.h. */
#include "base/hash.h"

#include <string.h>
#include <xxhash.h>

/* The same functions for the processor that they run on, where the library was built with them:
 * with vectors of 256 or 512 bits, twice as fast as those for any processor of this architecture.
 */
__attribute__((weak)) XXH64_hash_t XXH3_64bits_dispatch(const void *data, size_t bytes);
__attribute__((weak)) XXH_errorcode XXH3_64bits_update_dispatch(XXH3_state_t *state,
                                                                const void *data, size_t bytes);

/* Bytes from which on looking for them is worth it. */
#define MANY_BYTES 4096

uint64_t tn_hash(const void *data, size_t bytes) {
    if (bytes >= MANY_BYTES && XXH3_64bits_dispatch) return XXH3_64bits_dispatch(data, bytes);
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

tn_hash_stream *tn_hash_stream_create(void) {
    XXH3_state_t *state = XXH3_createState();
    if (state) (void)XXH3_64bits_reset(state);
    return (tn_hash_stream *)state;
}

void tn_hash_stream_reset(tn_hash_stream *stream) {
    (void)XXH3_64bits_reset((XXH3_state_t *)stream);
}

void tn_hash_stream_add(tn_hash_stream *stream, const void *data, size_t bytes) {
    if (bytes >= MANY_BYTES && XXH3_64bits_update_dispatch)
        (void)XXH3_64bits_update_dispatch((XXH3_state_t *)stream, data, bytes);
    else
        (void)XXH3_64bits_update((XXH3_state_t *)stream, data, bytes);
}

uint64_t tn_hash_stream_end(const tn_hash_stream *stream) {
    return XXH3_64bits_digest((const XXH3_state_t *)stream);
}

void tn_hash_stream_destroy(tn_hash_stream *stream) {
    (void)XXH3_freeState((XXH3_state_t *)stream);
}
