/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON: strings, and members whose values are strings. Reading is json.h's. */
#ifndef TENON_JSON_PRINT_H
#define TENON_JSON_PRINT_H

#include <stdio.h>

/* In quotes. Bytes above 127 stand as they are. */
void json_write_string(FILE *to, const char *text, size_t bytes);
/* The same on stdout; null is the empty string. */
void json_print_string(const char *text);
/* BEFORE"NAME": "TEXT" */
void json_print_member(const char *before, const char *name, const char *text);

#endif
