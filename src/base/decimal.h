/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal numbers in texts: with a point, whatever locale the program has set. Layers have the same
 * in kit/operator/decimal.h. */
#ifndef TN_BASE_DECIMAL_H
#define TN_BASE_DECIMAL_H

#include <locale.h>
#include <stdlib.h>

/* As strtod. The C library has the locale "C" itself: nothing is allocated. */
static inline double tn_decimal_read(const char *text, char **out_end) {
    return strtod_l(text, out_end, newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

#endif
