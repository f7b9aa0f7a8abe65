/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: Tenon's numbers and names, formats of the buffer protocol, DLPack's codes, NumPy's
 * dtypes. */
#include "binding.h"

#include <string.h>

enum { KIND_NONE, KIND_FLOAT, KIND_SIGNED, KIND_UNSIGNED, KIND_BOOL };

typedef struct type_row {
    const char *name;
    uint8_t bytes; /* 0: less than a byte, or a string */
    uint8_t kind;  /* what the buffer protocol has it as */
    uint8_t dlpack_code, dlpack_bits;
} type_row;

static const type_row rows[TN_TYPE_COUNT] = {
    [TN_F64] = {"f64", 8, KIND_FLOAT, 2, 64},
    [TN_F32] = {"f32", 4, KIND_FLOAT, 2, 32},
    [TN_F16] = {"f16", 2, KIND_FLOAT, 2, 16},
    [TN_BF16] = {"bf16", 2, KIND_NONE, 4, 16},
    [TN_I64] = {"i64", 8, KIND_SIGNED, 0, 64},
    [TN_I32] = {"i32", 4, KIND_SIGNED, 0, 32},
    [TN_I16] = {"i16", 2, KIND_SIGNED, 0, 16},
    [TN_I8] = {"i8", 1, KIND_SIGNED, 0, 8},
    [TN_U64] = {"u64", 8, KIND_UNSIGNED, 1, 64},
    [TN_U32] = {"u32", 4, KIND_UNSIGNED, 1, 32},
    [TN_U16] = {"u16", 2, KIND_UNSIGNED, 1, 16},
    [TN_U8] = {"u8", 1, KIND_UNSIGNED, 1, 8},
    [TN_BOOL] = {"bool", 1, KIND_BOOL, 6, 8},
    [TN_F8E4M3] = {"f8e4m3", 1, KIND_NONE, 10, 8},
    [TN_F8E4M3FNUZ] = {"f8e4m3fnuz", 1, KIND_NONE, 11, 8},
    [TN_F8E5M2] = {"f8e5m2", 1, KIND_NONE, 12, 8},
    [TN_F8E5M2FNUZ] = {"f8e5m2fnuz", 1, KIND_NONE, 13, 8},
    [TN_F8E8M0] = {"f8e8m0", 1, KIND_NONE, 14, 8},
    [TN_F4E2M1] = {"f4e2m1", 0, KIND_NONE, 0, 0},
    [TN_I4] = {"i4", 0, KIND_NONE, 0, 0},
    [TN_U4] = {"u4", 0, KIND_NONE, 0, 0},
    [TN_I2] = {"i2", 0, KIND_NONE, 0, 0},
    [TN_U2] = {"u2", 0, KIND_NONE, 0, 0},
    [TN_STRING] = {"string", 0, KIND_NONE, 0, 0},
};
static PyObject *dtypes[TN_TYPE_COUNT];

const char *binding_type_name(tn_type type) {
    return type < TN_TYPE_COUNT ? rows[type].name : NULL;
}

tn_type binding_type_named(const char *name) {
    for (tn_type type = 1; type < TN_TYPE_COUNT; type++)
        if (strcmp(rows[type].name, name) == 0) return type;
    return TN_NONE;
}

uint64_t binding_type_bytes(tn_type type) {
    return type < TN_TYPE_COUNT ? rows[type].bytes : 0;
}

static uint8_t kind_of(char letter) {
    if (letter == '?') return KIND_BOOL;
    if (letter && strchr("efd", letter)) return KIND_FLOAT;
    if (letter && strchr("bhilqn", letter)) return KIND_SIGNED;
    if (letter && strchr("BHILQN", letter)) return KIND_UNSIGNED;
    return KIND_NONE;
}

tn_type binding_type_of_format(const char *format, Py_ssize_t item_bytes) {
    if (!format) return item_bytes == 1 ? TN_U8 : TN_NONE;
    if (*format == '@' || *format == '=' || *format == '<') format++;
    const uint8_t kind = kind_of(format[0]);
    if (kind == KIND_NONE || format[1]) return TN_NONE;
    for (tn_type type = 1; type < TN_TYPE_COUNT; type++)
        if (rows[type].kind == kind && rows[type].bytes == item_bytes) return type;
    return TN_NONE;
}

tn_type binding_type_of_dlpack(uint8_t code, uint8_t bits, uint16_t lanes) {
    for (tn_type type = 1; type < TN_TYPE_COUNT; type++)
        if (lanes == 1 && rows[type].dlpack_bits == bits && bits > 0 &&
            rows[type].dlpack_code == code)
            return type;
    return TN_NONE;
}

PyObject *binding_dtype(tn_type type) {
    if (type >= TN_TYPE_COUNT || !rows[type].name) {
        PyErr_Format(PyExc_SystemError, "no element type has the number %u", (unsigned)type);
        return NULL;
    }
    if (!dtypes[type]) dtypes[type] = binding_call("_arrays", "dtype", "s", rows[type].name);
    return dtypes[type];
}
