/* SPDX-License-Identifier: Apache-2.0 */
/* See strings.h. */
#include "cast/strings.h"
#include "kit/operator/decimal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { TEXT_BYTES = 512 }; /* of the longest number */

/* ----------------------------------------------------------------------------------------------
 * to strings */

/* The fewest digits that are read as the same element. */
static int write_real(const tn_tensor *x, int64_t element, char *text) {
    const double value = tn_element_f64(x, element);
    double same = 0;
    int length = 0;
    if (isnan(value)) return snprintf(text, TEXT_BYTES, "NaN");
    if (isinf(value)) return snprintf(text, TEXT_BYTES, value < 0 ? "-INF" : "INF");
    for (int digits = 1; digits <= 17; digits++) {
        length = snprintf(text, TEXT_BYTES, "%.*g", digits, value);
        tn_decimal_set_point(text);
        tn_element_store_f64(&same, x->type, 0, tn_decimal_read(text, NULL));
        if (tn_element_load_f64(&same, x->type, 0) == value) break;
    }
    return length;
}

static int write_number(const tn_tensor *x, int64_t element, char *text) {
    if (tn_element_is_real(x->type)) return write_real(x, element, text);
    const int64_t value = tn_element_i64(x, element);
    if (x->type == TN_U64) return snprintf(text, TEXT_BYTES, "%" PRIu64, (uint64_t)value);
    return snprintf(text, TEXT_BYTES, "%" PRId64, value);
}

static tn_status write_strings(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    tn_string *y = call->outputs[0]->data;
    for (int64_t i = 0, end = tn_element_count(x); i < end; i++) {
        char text[TEXT_BYTES];
        y[i].bytes = (uint64_t)write_number(x, i, text);
        TN_TRY(tn_strings_of(call)->append(call, 0, text, y[i].bytes, &y[i].offset));
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * from strings */

/* A whole number that fits 64 bits is not read as a double, which has fewer digits. */
static bool read_integer(const tn_tensor *y, int64_t element, const char *text) {
    char *end;
    errno = 0;
    const int64_t value = text[0] == '-' || y->type != TN_U64 ? strtoll(text, &end, 10)
                                                              : (int64_t)strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0') return false;
    tn_element_set_i64(y, element, value);
    return true;
}

static bool read_number(const tn_tensor *y, int64_t element, const char *text) {
    const bool is_real = tn_element_is_real(y->type);
    char *end;
    if (!is_real && read_integer(y, element, text)) return true;
    const double value = tn_decimal_read(text, &end);
    if (end == text || *end != '\0') return false;
    if (is_real || y->type == TN_BOOL)
        tn_element_set_f64(y, element, value);
    else if (value >= -0x1p63 && value < 0x1p63)
        tn_element_set_i64(y, element, (int64_t)value);
    else
        return false;
    return true;
}

/* Decimal numbers, and INF and NaN in any case with a sign: nothing else that strtod reads. */
static bool is_number(const char *text) {
    const char *at = text + (text[0] == '+' || text[0] == '-');
    if (strcasecmp(at, "INF") == 0 || strcasecmp(at, "NaN") == 0) return true;
    return *at && at[strspn(at, "0123456789.eE+-")] == '\0';
}

static tn_status read_strings(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    for (int64_t i = 0, end = tn_element_count(x); i < end; i++) {
        char text[TEXT_BYTES];
        uint64_t bytes;
        const char *from = tn_string_at(x, (uint64_t)i, &bytes);
        const uint64_t kept = bytes < sizeof(text) ? bytes : sizeof(text) - 1;
        memcpy(text, from, kept);
        text[kept] = '\0';
        if (kept < bytes || strlen(text) != bytes || !is_number(text) || !read_number(y, i, text))
            return call->host->fail(call, TN_ERROR_RANGE,
                                    "element %lld of input 'input', \"%.60s\", is no number of the "
                                    "output's type",
                                    (long long)i, text);
    }
    return TN_OK;
}

tn_status tn_cast_strings(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    if (x->type != y->type) return x->type == TN_STRING ? read_strings(call) : write_strings(call);
    tn_element_copy(x, y);
    return tn_strings_share(call, 0);
}
