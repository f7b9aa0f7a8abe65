/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on the engine's threads by host->parallel_for: how large a part is to be, and where parts of
 * a whole begin.
 */
#ifndef TENON_KIT_PARALLEL_H
#define TENON_KIT_PARALLEL_H

#include <stdint.h>

/* The `grain` of a parallel_for over items of `each` elements of work (at least 1), so that a
 * thread gets `elements` at least: as many as take longer than waking the thread does, about 8192
 * for a function like exp, 16384 for a sum. */
static inline int64_t tn_parallel_grain(int64_t elements, int64_t each) {
    return elements / each + 1;
}

/* `count` items cut into `parts` parts (at least 1) whose sizes differ by one at most: the first
 * item of part `index`, 0..parts. Part `index` ends where the next one begins. */
static inline int64_t tn_parallel_first(int64_t count, int64_t parts, int64_t index) {
    const int64_t low = count / parts, larger = count % parts;
    return index * low + (index < larger ? index : larger);
}

#endif
