/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: the table of names and sizes, and sets of them; single numbers are in element.c,
 * half floats in half.c. */
#include "tensor/type.h"
#include "base/memory.h"

#include <string.h>

/* Groups hold a type from the minor version of the ABI on that its row names. */
enum { IN_NO_GROUP = UINT8_MAX };

typedef struct type_row {
    const char *name;
    uint8_t bits;
    uint8_t grouped_since;
    bool is_float, is_integer, is_signed;
} type_row;

static const type_row types[] = {
    [TN_NONE] = {"none", 0, IN_NO_GROUP, false, false, false},
    [TN_F64] = {"f64", 64, 0, true, false, true},
    [TN_F32] = {"f32", 32, 0, true, false, true},
    [TN_F16] = {"f16", 16, 0, true, false, true},
    [TN_BF16] = {"bf16", 16, 0, true, false, true},
    [TN_I64] = {"i64", 64, 0, false, true, true},
    [TN_I32] = {"i32", 32, 0, false, true, true},
    [TN_I16] = {"i16", 16, 0, false, true, true},
    [TN_I8] = {"i8", 8, 0, false, true, true},
    [TN_U64] = {"u64", 64, 0, false, true, false},
    [TN_U32] = {"u32", 32, 0, false, true, false},
    [TN_U16] = {"u16", 16, 0, false, true, false},
    [TN_U8] = {"u8", 8, 0, false, true, false},
    [TN_BOOL] = {"bool", 8, 0, false, false, false},
    [TN_F8E4M3] = {"f8e4m3", 8, IN_NO_GROUP, true, false, true},
    [TN_F8E4M3FNUZ] = {"f8e4m3fnuz", 8, IN_NO_GROUP, true, false, true},
    [TN_F8E5M2] = {"f8e5m2", 8, IN_NO_GROUP, true, false, true},
    [TN_F8E5M2FNUZ] = {"f8e5m2fnuz", 8, IN_NO_GROUP, true, false, true},
    [TN_F8E8M0] = {"f8e8m0", 8, IN_NO_GROUP, true, false, false},
    [TN_F4E2M1] = {"f4e2m1", 4, IN_NO_GROUP, true, false, true},
    [TN_I4] = {"i4", 4, IN_NO_GROUP, false, true, true},
    [TN_U4] = {"u4", 4, IN_NO_GROUP, false, true, false},
    [TN_I2] = {"i2", 2, IN_NO_GROUP, false, true, true},
    [TN_U2] = {"u2", 2, IN_NO_GROUP, false, true, false},
    [TN_STRING] = {"string", 128, IN_NO_GROUP, false, false, false},
#ifdef TN_TEST_LATER_TYPE /* a type that the next minor version would add: for tests */
    [TN_TEST_LATER_TYPE] = {"later", 16, TN_ABI_MINOR + 1, true, false, true},
#endif
};
#define TYPE_COUNT (sizeof types / sizeof types[0])

bool tn_type_is_valid(tn_type type) {
    return tn_type_bits(type) > 0;
}
uint32_t tn_type_bits(tn_type type) {
    return type < TYPE_COUNT ? types[type].bits : 0;
}
size_t tn_type_bytes(tn_type type) {
    return tn_type_bits(type) / 8;
}
bool tn_type_is_packed(tn_type type) {
    return tn_type_bits(type) % 8 != 0;
}

size_t tn_type_storage(tn_type type, size_t count) {
    const size_t bits = tn_type_bits(type);
    size_t bytes;
    if (bits % 8 != 0) return count / (8 / bits) + (count % (8 / bits) != 0);
    return tn_mul_size(count, bits / 8, &bytes) ? bytes : SIZE_MAX;
}

size_t tn_type_elements(tn_type type, size_t bytes) {
    const size_t bits = tn_type_bits(type);
    if (bits == 0) return 0;
    return bits % 8 != 0 ? bytes * (8 / bits) : bytes / (bits / 8);
}

const char *tn_type_name(tn_type type) {
    return type < TYPE_COUNT ? types[type].name : "unknown";
}
bool tn_type_is_float(tn_type type) {
    return type < TYPE_COUNT && types[type].is_float;
}
bool tn_type_is_integer(tn_type type) {
    return type < TYPE_COUNT && types[type].is_integer;
}
bool tn_type_is_signed(tn_type type) {
    return type < TYPE_COUNT && types[type].is_signed;
}

tn_type tn_type_parse(const char *name, size_t length) {
    for (tn_type type = 1; type < TYPE_COUNT; type++) {
        if (types[type].bits && strlen(types[type].name) == length &&
            memcmp(types[type].name, name, length) == 0)
            return type;
    }
    return TN_NONE;
}

static bool is_word(const char *text, size_t length, const char *word) {
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static tn_type_set parse_group(const char *word, size_t length, uint32_t minor) {
    tn_type_set set = 0;
    const bool any = is_word(word, length, "any"), number = is_word(word, length, "number");
    const bool is_float = is_word(word, length, "float"),
               integer = is_word(word, length, "integer");
    const bool is_signed = is_word(word, length, "signed");
    for (tn_type t = 1; t < TYPE_COUNT; t++) {
        if (types[t].grouped_since == IN_NO_GROUP || types[t].grouped_since > minor) continue;
        if (any || (number && t != TN_BOOL) || (is_float && types[t].is_float) ||
            (integer && types[t].is_integer) || (is_signed && types[t].is_signed))
            set |= TN_TYPE_BIT(t);
    }
    return set;
}

tn_type_set tn_type_set_parse(const char *text, size_t length, uint32_t minor) {
    tn_type_set set = 0;
    for (size_t from = 0; from <= length;) {
        const char *bar = memchr(text + from, '|', length - from);
        const size_t to = bar ? (size_t)(bar - text) : length;
        const tn_type type = tn_type_parse(text + from, to - from);
        const tn_type_set word =
            type != TN_NONE ? TN_TYPE_BIT(type) : parse_group(text + from, to - from, minor);
        if (!word) return 0;
        set |= word;
        from = to + 1;
    }
    return set;
}
