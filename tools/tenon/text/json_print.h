/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON on stdout: strings, and members whose values are strings. Reading is json.h's. */
#ifndef TENON_JSON_PRINT_H
#define TENON_JSON_PRINT_H

/* In quotes; null is the empty string. Bytes above 127 stand as they are. */
void json_print_string(const char *text);
/* BEFORE"NAME": "TEXT" */
void json_print_member(const char *before, const char *name, const char *text);

#endif
