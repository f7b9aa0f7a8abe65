/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in JSON; see number_text.h. */
#include "calibrate/number_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What printf puts between the digits is one point, however long the locale's is. */
void tn_number_text_add(tn_text *text, double number) {
    char printed[64], plain[64];
    size_t count = 0;
    if (!isfinite(number)) {
        tn_text_add(text, "null");
        return;
    }
    snprintf(printed, sizeof(printed), "%.9g", number);
    for (const char *c = printed; *c; c++) {
        if (strchr("0123456789+-e", *c))
            plain[count++] = *c;
        else if (count > 0 && plain[count - 1] != '.')
            plain[count++] = '.';
    }
    plain[count] = 0;
    tn_text_add(text, plain);
}

void tn_number_text_add_member(tn_text *text, const char *key, double number) {
    tn_text_add_format(text, ", \"%s\": ", key);
    tn_number_text_add(text, number);
}
