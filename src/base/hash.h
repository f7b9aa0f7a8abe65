/* SPDX-License-Identifier: Apache-2.0 */
/* XXH3-64 of bytes, of text and of sequences of both (a running hash, for keys). */
#ifndef TN_BASE_HASH_H
#define TN_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t tn_hash(const void *data, size_t bytes);
/* Mixes into a running hash; `seed` is 0 or an earlier answer. */
uint64_t tn_hash_add(uint64_t seed, const void *data, size_t bytes);
uint64_t tn_hash_add_text(uint64_t seed,
                          const char *text); /* length included; null is told from "" */
uint64_t tn_hash_add_u64(uint64_t seed, uint64_t value);

#endif
