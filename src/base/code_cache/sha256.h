/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4): for what is trusted by its content. XXH3 (hash.h) finds damage, and is no
 * protection from who makes a file to have a hash. */
#ifndef TN_BASE_CODE_CACHE_SHA256_H
#define TN_BASE_CODE_CACHE_SHA256_H

#include <stddef.h>

#define TN_SHA256_BYTES      32u
#define TN_SHA256_TEXT_BYTES 65u

void tn_sha256(const void *data, size_t bytes, unsigned char out_digest[TN_SHA256_BYTES]);
/* 64 hexadecimal digits; answers `text`. */
const char *tn_sha256_print(const unsigned char digest[TN_SHA256_BYTES],
                            char text[TN_SHA256_TEXT_BYTES]);

#endif
