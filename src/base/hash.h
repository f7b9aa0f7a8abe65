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

/* The tn_hash of bytes that come in several parts. */
typedef struct tn_hash_stream tn_hash_stream;
tn_hash_stream *tn_hash_stream_create(void); /* null: no memory */
void tn_hash_stream_reset(tn_hash_stream *stream);
void tn_hash_stream_add(tn_hash_stream *stream, const void *data, size_t bytes);
uint64_t tn_hash_stream_end(const tn_hash_stream *stream); /* of what came since it was reset */
void tn_hash_stream_destroy(tn_hash_stream *stream);

#endif
