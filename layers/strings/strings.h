/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of this folder, one a file; operator.c lists them. */
#ifndef TN_LAYERS_STRINGS_STRINGS_H
#define TN_LAYERS_STRINGS_STRINGS_H

#include "kit/operator/strings.h"

extern const tn_operator tn_string_normalizer_10, tn_string_split_20, tn_tf_idf_vectorizer_9;
extern const tn_kernel tn_tf_idf_rows;

/* Characters of UTF-8 in the other case; see letters.c. Writes at most 4 bytes more than it reads
 * for each character; bytes that are no character stay. Returns the number of bytes. */
enum { TN_LETTERS_GROWTH = 4 };
uint64_t tn_letters_lower(const char *text, uint64_t bytes, char *to);
uint64_t tn_letters_upper(const char *text, uint64_t bytes, char *to);

#endif
