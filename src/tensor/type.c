/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: the table of names and sizes, and sets of them; single numbers are in element.c,
 * half floats in half.c. */
#include "tensor/type.h"

#include <string.h>

typedef struct type_row {
    const char *name;
    uint8_t bytes;
    bool is_float, is_integer, is_signed;
} type_row;

static const type_row types[TN_TYPE_COUNT] = {
    [TN_NONE] = {"none", 0, false, false, false}, [TN_F64] = {"f64", 8, true, false, true},
    [TN_F32] = {"f32", 4, true, false, true},     [TN_F16] = {"f16", 2, true, false, true},
    [TN_BF16] = {"bf16", 2, true, false, true},   [TN_I64] = {"i64", 8, false, true, true},
    [TN_I32] = {"i32", 4, false, true, true},     [TN_I16] = {"i16", 2, false, true, true},
    [TN_I8] = {"i8", 1, false, true, true},       [TN_U64] = {"u64", 8, false, true, false},
    [TN_U32] = {"u32", 4, false, true, false},    [TN_U16] = {"u16", 2, false, true, false},
    [TN_U8] = {"u8", 1, false, true, false},      [TN_BOOL] = {"bool", 1, false, false, false},
};

bool tn_type_is_valid(tn_type type) {
    return type > TN_NONE && type < TN_TYPE_COUNT;
}
uint32_t tn_type_bits(tn_type type) {
    return (uint32_t)tn_type_bytes(type) * 8;
}
size_t tn_type_bytes(tn_type type) {
    return type < TN_TYPE_COUNT ? types[type].bytes : 0;
}
const char *tn_type_name(tn_type type) {
    return type < TN_TYPE_COUNT ? types[type].name : "unknown";
}
bool tn_type_is_float(tn_type type) {
    return type < TN_TYPE_COUNT && types[type].is_float;
}
bool tn_type_is_integer(tn_type type) {
    return type < TN_TYPE_COUNT && types[type].is_integer;
}
bool tn_type_is_signed(tn_type type) {
    return type < TN_TYPE_COUNT && types[type].is_signed;
}

tn_type tn_type_parse(const char *name, size_t length) {
    for (tn_type type = 1; type < TN_TYPE_COUNT; type++) {
        if (strlen(types[type].name) == length && memcmp(types[type].name, name, length) == 0)
            return type;
    }
    return TN_NONE;
}

static bool is_word(const char *text, size_t length, const char *word) {
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static tn_type_set parse_word(const char *word, size_t length) {
    const tn_type type = tn_type_parse(word, length);
    if (type != TN_NONE) return TN_TYPE_BIT(type);
    tn_type_set set = 0;
    const bool any = is_word(word, length, "any"), number = is_word(word, length, "number");
    const bool is_float = is_word(word, length, "float"),
               integer = is_word(word, length, "integer");
    const bool is_signed = is_word(word, length, "signed");
    for (tn_type t = 1; t < TN_TYPE_COUNT; t++) {
        if (any || (number && t != TN_BOOL) || (is_float && types[t].is_float) ||
            (integer && types[t].is_integer) || (is_signed && types[t].is_signed))
            set |= TN_TYPE_BIT(t);
    }
    return set;
}

tn_type_set tn_type_set_parse(const char *text, size_t length) {
    tn_type_set set = 0;
    for (size_t from = 0; from <= length;) {
        const char *bar = memchr(text + from, '|', length - from);
        const size_t to = bar ? (size_t)(bar - text) : length;
        const tn_type_set word = parse_word(text + from, to - from);
        if (!word) return 0;
        set |= word;
        from = to + 1;
    }
    return set;
}
