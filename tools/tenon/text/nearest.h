/* SPDX-License-Identifier: Apache-2.0 */
/* The word that somebody may have meant. */
#ifndef TENON_NEAREST_H
#define TENON_NEAREST_H

#include <stddef.h>

typedef struct nearest_word {
    const char *wanted, *best; /* null: none is near */
    size_t distance;
} nearest_word;

/* Words are lent. One counts as near when at most a third of its letters, and one more, differ. */
void nearest_init(nearest_word *nearest, const char *wanted);
void nearest_offer(nearest_word *nearest, const char *word);

#endif
