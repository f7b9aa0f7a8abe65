/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal numbers in texts of layers: with a point, whatever locale the program has set. */
#ifndef TN_KIT_OPERATOR_DECIMAL_H
#define TN_KIT_OPERATOR_DECIMAL_H

#include <locale.h>
#include <stdlib.h>

/* As strtod. The C library has the locale "C" itself: nothing is allocated. */
static inline double tn_decimal_read(const char *text, char **out_end) {
    return strtod_l(text, out_end, newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

/* As strtof. */
static inline float tn_decimal_read_f32(const char *text, char **out_end) {
    return strtof_l(text, out_end, newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

/* Of a number that printf wrote. */
static inline void tn_decimal_set_point(char *text) {
    for (; *text; text++)
        if (*text == ',') *text = '.';
}

#endif
