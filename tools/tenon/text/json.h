/* SPDX-License-Identifier: Apache-2.0 */
/* Reading JSON, as the library's reports are, into a tree: for the page that shows them. */
#ifndef TENON_JSON_H
#define TENON_JSON_H

#include <stdbool.h>
#include <stddef.h>

typedef enum json_kind {
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_TEXT,
    JSON_LIST,
    JSON_OBJECT
} json_kind;

typedef struct json {
    json_kind kind;
    double number;             /* of bools 0 or 1 */
    char *text;                /* of texts, with its escapes resolved; of numbers as written */
    char *key;                 /* of members */
    struct json *first, *next; /* items or members; the next one beside it */
} json;

/* Null when the text is no JSON, nests more than 32 deep, or there is no memory. */
json *json_read(const char *text);
void json_free(json *value); /* null is fine */

/* All take null for a value that is not there. */
const json *json_member(const json *object, const char *key);
const json *json_item(const json *list, size_t index);
size_t json_count(const json *list);
const char *json_text(const json *value, const char *otherwise);
double json_number(const json *value, double otherwise);
/* A member's text, "" where it has none, and its number, 0 where it has none. */
static inline const char *json_text_of(const json *object, const char *key) {
    return json_text(json_member(object, key), "");
}
static inline double json_number_of(const json *object, const char *key) {
    return json_number(json_member(object, key), 0);
}
static inline bool json_is_there(const json *value) {
    return value && value->kind != JSON_NULL;
}

#endif
