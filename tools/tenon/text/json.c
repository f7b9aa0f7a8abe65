/* SPDX-License-Identifier: Apache-2.0 */
/* A small JSON reader; see json.h. Numbers are read by hand: strtod follows the locale. */
#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_AT_MOST 32

typedef struct json_reader {
    const char *at;
    int depth;
} json_reader;

static json *read_value(json_reader *reader);

static void skip_blanks(json_reader *reader) {
    reader->at += strspn(reader->at, " \t\r\n");
}

static bool take(json_reader *reader, char expected) {
    skip_blanks(reader);
    if (*reader->at != expected) return false;
    reader->at++;
    return true;
}

static json *new_value(json_kind kind) {
    json *value = calloc(1, sizeof(*value));
    if (value) value->kind = kind;
    return value;
}

void json_free(json *value) {
    while (value) { /* depth is bounded by the reader */
        json *next = value->next;
        json_free(value->first);
        free(value->text);
        free(value->key);
        free(value);
        value = next;
    }
}

static size_t put_utf8(char *to, unsigned code) {
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3f));
    to[2] = (char)(0x80 | (code >> 6 & 0x3f));
    to[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* Four hexadecimal digits. */
static bool read_code(json_reader *reader, unsigned *out_code) {
    static const char digits[] = "0123456789abcdef";
    *out_code = 0;
    for (int i = 0; i < 4; i++) {
        const char *digit = *reader->at ? strchr(digits, *reader->at | 0x20) : NULL;
        if (!digit) return false;
        *out_code = *out_code << 4 | (unsigned)(digit - digits);
        reader->at++;
    }
    return true;
}

/* After the backslash; 0 bytes written: not an escape. What is beyond 16 bits comes as two. */
static size_t read_escape(json_reader *reader, char *to) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char c = *reader->at;
    if (c == 0) return 0; /* the text's end, which stays */
    reader->at++;
    const char *found = strchr(names, c);
    if (found) {
        *to = values[found - names];
        return 1;
    }
    unsigned code = 0, second = 0;
    if (c != 'u' || !read_code(reader, &code) || code == 0) return 0;
    if (code < 0xd800 || code > 0xdfff) return put_utf8(to, code);
    if (code > 0xdbff || reader->at[0] != '\\' || reader->at[1] != 'u') return 0;
    reader->at += 2;
    if (!read_code(reader, &second) || second < 0xdc00 || second > 0xdfff) return 0;
    return put_utf8(to, 0x10000 + ((code & 0x3ff) << 10 | (second & 0x3ff)));
}

static char *read_text(json_reader *reader) {
    if (!take(reader, '"')) return NULL;
    size_t capacity = 0, count = 0;
    while (reader->at[capacity] && reader->at[capacity] != '"')
        capacity += reader->at[capacity] == '\\' && reader->at[capacity + 1] ? 2 : 1;
    char *text = malloc(capacity + 4); /* resolved escapes are shorter */
    while (text && *reader->at != '"') {
        const char c = *reader->at;
        size_t more = 1;
        if (c == 0 || c == '\n') {
            free(text);
            return NULL;
        }
        reader->at++;
        if (c == '\\')
            more = read_escape(reader, text + count);
        else
            text[count] = c;
        if (more == 0) {
            free(text);
            return NULL;
        }
        count += more;
    }
    if (!text) return NULL;
    text[count] = 0;
    reader->at++;
    return text;
}

/* Digits as a number, how many there were, and the sign before them. */
static double read_digits(json_reader *reader, int *out_count) {
    double number = 0;
    *out_count = 0;
    for (; *reader->at >= '0' && *reader->at <= '9'; reader->at++, ++*out_count)
        number = number * 10 + (*reader->at - '0');
    return number;
}

static json *read_number(json_reader *reader) {
    const char *begin = reader->at;
    int count = 0, decimals = 0;
    const bool is_negative = *reader->at == '-';
    reader->at += is_negative;
    double number = read_digits(reader, &count), exponent = 0;
    if (count == 0) return NULL;
    if (*reader->at == '.') {
        reader->at++;
        number += read_digits(reader, &decimals) * pow(10, -decimals);
    }
    if (*reader->at == 'e' || *reader->at == 'E') {
        reader->at++;
        const bool is_small = *reader->at == '-';
        reader->at += *reader->at == '-' || *reader->at == '+';
        exponent = read_digits(reader, &count) * (is_small ? -1 : 1);
    }
    json *value = new_value(JSON_NUMBER);
    if (!value) return NULL;
    value->number = (is_negative ? -number : number) * pow(10, exponent);
    value->text = strndup(begin, (size_t)(reader->at - begin));
    if (value->text) return value;
    json_free(value);
    return NULL;
}

static json *read_word(json_reader *reader) {
    static const struct {
        const char *word;
        json_kind kind;
        double number;
    } words[] = {{"null", JSON_NULL, 0}, {"true", JSON_BOOL, 1}, {"false", JSON_BOOL, 0}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const size_t length = strlen(words[i].word);
        if (strncmp(reader->at, words[i].word, length) != 0) continue;
        reader->at += length;
        json *value = new_value(words[i].kind);
        if (value) value->number = words[i].number;
        return value;
    }
    return NULL;
}

/* A list or an object; the opening bracket is taken. */
static json *read_items(json_reader *reader, json_kind kind, char closing) {
    json *list = new_value(kind), **end = list ? &list->first : NULL;
    bool is_first = true;
    while (list && !take(reader, closing)) {
        char *key = NULL;
        json *item = NULL;
        const bool is_next = is_first || take(reader, ',');
        if (is_next && kind == JSON_OBJECT) key = read_text(reader);
        if (is_next && (kind == JSON_LIST || (key && take(reader, ':')))) item = read_value(reader);
        if (!item) {
            free(key);
            json_free(list);
            return NULL;
        }
        item->key = key;
        *end = item;
        end = &item->next;
        is_first = false;
    }
    return list;
}

static json *read_value(json_reader *reader) {
    json *value = NULL;
    if (reader->depth++ < DEPTH_AT_MOST) {
        skip_blanks(reader);
        if (*reader->at == '"') {
            char *text = read_text(reader);
            value = text ? new_value(JSON_TEXT) : NULL;
            if (value)
                value->text = text;
            else
                free(text);
        } else if (take(reader, '{')) {
            value = read_items(reader, JSON_OBJECT, '}');
        } else if (take(reader, '[')) {
            value = read_items(reader, JSON_LIST, ']');
        } else if (*reader->at == '-' || (*reader->at >= '0' && *reader->at <= '9')) {
            value = read_number(reader);
        } else {
            value = read_word(reader);
        }
    }
    reader->depth--;
    return value;
}

json *json_read(const char *text) {
    json_reader reader = {.at = text};
    json *value = read_value(&reader);
    skip_blanks(&reader);
    if (*reader.at == 0) return value;
    json_free(value);
    return NULL;
}

const json *json_member(const json *object, const char *key) {
    for (const json *member = object ? object->first : NULL; member; member = member->next)
        if (member->key && strcmp(member->key, key) == 0) return member;
    return NULL;
}

const json *json_item(const json *list, size_t index) {
    const json *item = list ? list->first : NULL;
    while (item && index-- > 0)
        item = item->next;
    return item;
}

size_t json_count(const json *list) {
    size_t count = 0;
    for (const json *item = list ? list->first : NULL; item; item = item->next)
        count++;
    return count;
}

const char *json_text(const json *value, const char *otherwise) {
    return value && value->kind == JSON_TEXT ? value->text : otherwise;
}

double json_number(const json *value, double otherwise) {
    return value && (value->kind == JSON_NUMBER || value->kind == JSON_BOOL) ? value->number
                                                                             : otherwise;
}
