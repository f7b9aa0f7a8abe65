/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON; see json_print.h. */
#include "json_print.h"

#include <string.h>

void json_write_string(FILE *to, const char *text, size_t bytes) {
    fputc('"', to);
    for (size_t i = 0; i < bytes; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            fprintf(to, "\\%c", c);
        else if (c < 0x20)
            fprintf(to, "\\u%04x", c);
        else
            fputc(c, to);
    }
    fputc('"', to);
}

void json_print_string(const char *text) {
    json_write_string(stdout, text, text ? strlen(text) : 0);
}

void json_print_member(const char *before, const char *name, const char *text) {
    printf("%s\"%s\": ", before, name);
    json_print_string(text);
}
