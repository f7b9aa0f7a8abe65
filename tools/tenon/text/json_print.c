/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON; see json_print.h. */
#include "json_print.h"

#include <stdio.h>

void json_print_string(const char *text) {
    putchar('"');
    for (; text && *text; text++) {
        if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            printf("\\u%04x", (unsigned)*text);
        else
            putchar(*text);
    }
    putchar('"');
}

void json_print_member(const char *before, const char *name, const char *text) {
    printf("%s\"%s\": ", before, name);
    json_print_string(text);
}
