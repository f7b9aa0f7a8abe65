/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of order.h over keys of one width, for order_body.h alone, which includes this once for
 * each: WIDTH(name), KEY, ENTRY and what an entry is made of are defined there. */

static void WIDTH(read)(tn_type type, const void *data, int64_t step, int64_t count,
                        tn_order_best best, void *keys) {
    const KEY flip = best == TN_ORDER_LARGEST ? (KEY) ~(KEY)0 : 0;
    const bool is_float = type >= TN_F64 && type <= TN_BF16;
    const uint8_t more = best == TN_ORDER_SMALLEST_OR_NAN && is_float; /* NaN's key wraps to 0 */
    KEY *to = keys;
    switch (type) {
    case TN_U8:
    case TN_BOOL:
        READ(KEY, uint8_t, KEY_U8)
    case TN_I8:
        READ(KEY, uint8_t, KEY_I8)
    case TN_U16:
        READ(KEY, uint16_t, KEY_U16)
    case TN_I16:
        READ(KEY, uint16_t, KEY_I16)
    case TN_F16:
        READ(KEY, uint16_t, KEY_F16)
    case TN_BF16:
        READ(KEY, uint16_t, KEY_BF16)
    case TN_U32:
        READ(KEY, uint32_t, KEY_U32)
    case TN_I32:
        READ(KEY, uint32_t, KEY_I32)
    case TN_F32:
        READ(KEY, uint32_t, KEY_F32)
#if HAS_WIDE_TYPES
    case TN_U64:
        READ(KEY, uint64_t, KEY_U64)
    case TN_I64:
        READ(KEY, uint64_t, KEY_I64)
    case TN_F64:
        READ(KEY, uint64_t, KEY_F64)
#endif
    default:
        return;
    }
}

/* Where a key is among the first or last that equal it: blocks without it are passed at once. */
static int64_t WIDTH(find)(const KEY *keys, int64_t count, KEY wanted, bool is_last) {
    enum { BLOCK = 64 };
    for (int64_t done = 0; done < count; done += BLOCK) {
        const int64_t some = count - done < BLOCK ? count - done : BLOCK;
        const int64_t begin = is_last ? count - done - some : done;
        KEY has = 0;
        for (int64_t i = 0; i < some; i++)
            has |= (KEY)(keys[begin + i] == wanted);
        for (int64_t i = 0; has && i < some; i++) {
            const int64_t at = begin + (is_last ? some - 1 - i : i);
            if (keys[at] == wanted) return at;
        }
    }
    return 0;
}

static int64_t WIDTH(least)(const void *keys, int64_t count, bool is_last, uint64_t *out_key) {
    const KEY *from = keys;
    KEY least = from[0];
    for (int64_t i = 1; i < count; i++)
        least = from[i] < least ? from[i] : least;
    *out_key = least;
    return WIDTH(find)(from, count, least, is_last);
}

static void WIDTH(rows)(const void *keys, int64_t rows, int64_t count, bool is_last,
                        int64_t *numbers) {
    const KEY *from = keys;
    uint64_t key = 0;
    const int64_t done = SHORT_ROWS(from, rows, count, is_last, numbers);
    for (int64_t row = done; row < rows; row++)
        numbers[row] = WIDTH(least)(from + row * count, count, is_last, &key);
}

static void WIDTH(improve)(const void *keys, int64_t count, uint64_t number, bool is_last,
                           void *best, void *numbers) {
    const KEY *from = keys, late = is_last, own = (KEY)number;
    KEY *least = best, *at = numbers;
    for (int64_t i = 0; i < count; i++) {
        const bool is_better = (from[i] < least[i]) | (late & (KEY)(from[i] == least[i]));
        at[i] = is_better ? own : at[i];
        least[i] = from[i] < least[i] ? from[i] : least[i];
    }
}

/* ----------------------------------------------------------------------------------------------
 * heaps: an entry is not below its two children, 2 i + 1 and 2 i + 2 */

static void WIDTH(sink)(ENTRY *heap, int64_t held, int64_t at, ENTRY entry) {
    for (int64_t child; (child = 2 * at + 1) < held; at = child) {
        if (child + 1 < held && IS_BELOW(heap[child], heap[child + 1])) child++;
        if (!IS_BELOW(entry, heap[child])) break;
        heap[at] = heap[child];
    }
    heap[at] = entry;
}

static int64_t WIDTH(offer)(const void *keys, int64_t count, int64_t first_number, int64_t k,
                            int64_t held, void *heap) {
    enum { BLOCK = 32 };
    const KEY *from = keys;
    ENTRY *entries = heap;
    int64_t i = 0;
    for (; held < k && i < count; i++) {
        entries[held++] = ENTRY_OF(from[i], first_number + i);
        for (int64_t at = held / 2; held == k && at-- > 0;)
            WIDTH(sink)(entries, held, at, entries[at]);
    }
    while (i < count) {
        const int64_t end = i + (count - i < BLOCK ? count - i : BLOCK);
        const KEY worst = KEY_OF(entries[0]);
        KEY has_better = 0;
        for (int64_t at = i; at < end; at++)
            has_better |= (KEY)(from[at] < worst);
        for (; has_better && i < end; i++)
            if (from[i] < KEY_OF(entries[0]))
                WIDTH(sink)(entries, held, 0, ENTRY_OF(from[i], first_number + i));
        i = end;
    }
    return held;
}

static void WIDTH(finish)(void *heap, int64_t held) {
    ENTRY *entries = heap;
    for (int64_t left = held; left-- > 1;) {
        const ENTRY last = entries[left];
        entries[left] = entries[0];
        WIDTH(sink)(entries, left, 0, last);
    }
}

/* ----------------------------------------------------------------------------------------------
 * sorting, by digits of eight bits from the lowest on */

static void WIDTH(join)(const void *keys, const int64_t *numbers, int64_t count, void *entries) {
    const KEY *from = keys;
    ENTRY *to = entries;
    for (int64_t i = 0; i < count; i++) {
        const int64_t number = numbers ? numbers[i] : i;
        to[i] = ENTRY_OF(from[number], number);
    }
}

static void WIDTH(insert_all)(ENTRY *entries, int64_t count) {
    for (int64_t i = 1; i < count; i++) {
        const ENTRY entry = entries[i];
        int64_t at = i;
        for (; at > 0 && KEY_OF(entry) < KEY_OF(entries[at - 1]); at--)
            entries[at] = entries[at - 1];
        entries[at] = entry;
    }
}

/* By one digit; false: all have the same one, and nothing is moved. */
static bool WIDTH(spread)(const ENTRY *from, ENTRY *to, int64_t count, uint32_t shift) {
    int64_t first[257] = {0};
    for (int64_t i = 0; i < count; i++)
        first[(KEY_OF(from[i]) >> shift & 255) + 1]++;
    if (first[(KEY_OF(from[0]) >> shift & 255) + 1] == count) return false;
    for (int digit = 0; digit < 256; digit++)
        first[digit + 1] += first[digit];
    for (int64_t i = 0; i < count; i++)
        to[first[KEY_OF(from[i]) >> shift & 255]++] = from[i];
    return true;
}

static void WIDTH(sort)(void *entries, void *scratch, int64_t count) {
    enum { FEW = 48 };
    ENTRY *from = entries, *to = scratch;
    if (count <= FEW) {
        WIDTH(insert_all)(from, count);
        return;
    }
    for (uint32_t shift = 0; shift < sizeof(KEY) * 8; shift += 8) {
        if (!WIDTH(spread)(from, to, count, shift)) continue;
        ENTRY *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != entries) memcpy(entries, from, (size_t)count * sizeof(ENTRY));
}

static int64_t WIDTH(number)(const void *entries, int64_t at) {
    return NUMBER_OF(((const ENTRY *)entries)[at]);
}

static const tn_order_functions WIDTH(functions) = {
    .key_bytes = sizeof(KEY),
    .entry_bytes = sizeof(ENTRY),
    .read = WIDTH(read),
    .least = WIDTH(least),
    .rows = WIDTH(rows),
    .improve = WIDTH(improve),
    .offer = WIDTH(offer),
    .finish = WIDTH(finish),
    .join = WIDTH(join),
    .sort = WIDTH(sort),
    .number = WIDTH(number),
};
