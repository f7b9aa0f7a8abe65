/* SPDX-License-Identifier: Apache-2.0 */
/* Levenshtein's distance (V. I. Levenshtein, Binary codes capable of correcting deletions,
 * insertions, and reversals, 1966), one row at a time; see nearest.h. */
#include "nearest.h"

#include <string.h>

enum { WORD_LIMIT = 64 };

static size_t least(size_t a, size_t b, size_t c) {
    const size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

static size_t distance_of(const char *a, const char *b) {
    const size_t rows = strlen(a), columns = strlen(b);
    size_t row[WORD_LIMIT + 1];
    if (rows > WORD_LIMIT || columns > WORD_LIMIT) return WORD_LIMIT;
    for (size_t j = 0; j <= columns; j++)
        row[j] = j;
    for (size_t i = 1; i <= rows; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            const size_t above = row[j];
            row[j] = least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[columns];
}

void nearest_init(nearest_word *nearest, const char *wanted) {
    *nearest = (nearest_word){.wanted = wanted, .distance = strlen(wanted) / 3 + 2};
}

void nearest_offer(nearest_word *nearest, const char *word) {
    const size_t distance = distance_of(nearest->wanted, word);
    if (distance >= nearest->distance) return;
    nearest->distance = distance;
    nearest->best = word;
}
