/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of any type in their order: keys, which are unsigned integers of 32 or 64 bits that
 * compare as the elements do, and what is done with keys (the first, the best k, sorting), so that
 * operators on order need not know the type. -0 and 0 have one key; NaN is above all other numbers,
 * or before them where that is asked for. Where the largest elements are the best, keys are
 * inverted: the smallest key is always the best. The loops are compiled once a processor level
 * (order_body.h).
 */
#ifndef TN_KIT_ORDER_ORDER_H
#define TN_KIT_ORDER_ORDER_H

#include <tenon/kit/levels.h>
#include <tenon/plugin.h>

/* Which elements have the smallest keys. */
typedef enum tn_order_best {
    TN_ORDER_SMALLEST,
    TN_ORDER_LARGEST, /* NaN above all */
    TN_ORDER_SMALLEST_OR_NAN
} tn_order_best;

/* A key and the number of its element: ordered by the key, then by the number. */
typedef uint64_t tn_order_entry32; /* key << 32 | number */
typedef struct tn_order_entry64 {
    uint64_t key, number;
} tn_order_entry64;

/* What is done with keys of one width; `keys`, `entries` and the like are of that width. */
typedef struct tn_order_functions {
    uint32_t key_bytes, entry_bytes;
    /* keys[i] = the key of the element i * step, for all i < count. */
    void (*read)(tn_type type, const void *data, int64_t step, int64_t count, tn_order_best best,
                 void *keys);
    /* The smallest of at least one key, and where it is: first, or last where there are several. */
    int64_t (*least)(const void *keys, int64_t count, bool is_last, uint64_t *out_key);
    /* numbers[row] = where that of each of `rows` rows is, of `count` keys, one behind the other.
     */
    void (*rows)(const void *keys, int64_t rows, int64_t count, bool is_last, int64_t *numbers);
    /* Columns: where a key is below its column's best (or equals it, where the last one counts),
     * it becomes the best, and `numbers` of the column becomes `number`. */
    void (*improve)(const void *keys, int64_t count, uint64_t number, bool is_last, void *best,
                    void *numbers);
    /* The best `k` of elements that are offered in the order of their numbers: a heap whose first
     * entry is the worst. `held` is how many it has; answers how many it has then. */
    int64_t (*offer)(const void *keys, int64_t count, int64_t first_number, int64_t k, int64_t held,
                     void *heap);
    /* Entries of a heap, best first. */
    void (*finish)(void *heap, int64_t held);
    /* entries[i] = (keys[numbers ? numbers[i] : i], that number). */
    void (*join)(const void *keys, const int64_t *numbers, int64_t count, void *entries);
    /* Entries in the order of their keys, those of one key in the order that they had. `scratch` is
     * of as many; the result is in `entries`. */
    void (*sort)(void *entries, void *scratch, int64_t count);
    int64_t (*number)(const void *entries, int64_t at);
} tn_order_functions;

typedef struct tn_order_level {
    const tn_order_functions *narrow; /* keys of 32 bits, of types that have no more; numbers fit */
    const tn_order_functions *wide;
} tn_order_level;

extern const tn_order_level tn_order_baseline, tn_order_avx2, tn_order_avx512;

enum { TN_ORDER_BLOCK = 1024 /* keys that are best read at once */ };

/* The functions for `count` elements of a type. */
static inline const tn_order_functions *tn_order_of(const tn_order_level *level, tn_type type,
                                                    int64_t count) {
    const bool is_wide = type == TN_F64 || type == TN_I64 || type == TN_U64 || count > UINT32_MAX;
    return is_wide ? level->wide : level->narrow;
}

#endif
