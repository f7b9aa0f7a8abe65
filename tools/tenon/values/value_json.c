/* SPDX-License-Identifier: Apache-2.0 */
/* Values of any kind from JSON; see value_file.h. */
#include "value_file.h"

#include "text/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/plugin/string.h>

/* One tensor that is read. */
typedef struct reading {
    const char *path, *what; /* the file, and "item 3" or "the keys of map 0" */
    file_tensor *tensor;
    size_t next; /* element */
    char *heap;  /* of strings */
    size_t heap_used;
} reading;

static bool fail(const reading *r, const char *why, const char *shown) {
    cli_fault("%s: %s: %s%s%s%s", r->path, r->what, why, shown ? " '" : "", shown ? shown : "",
              shown ? "'" : "");
    return false;
}

/* ----------------------------------------------------------------------------------------------
 * elements */

/* The range of an integer type; false: it is none that JSON has. */
static bool integer_range(tn_type type, int64_t *out_least, uint64_t *out_most) {
    const size_t bits = type_bytes(type) * 8;
    const bool is_signed = type == TN_I8 || type == TN_I16 || type == TN_I32 || type == TN_I64;
    if (!is_signed && type != TN_U8 && type != TN_U16 && type != TN_U32 && type != TN_U64)
        return false;
    *out_least = is_signed ? (int64_t)(UINT64_MAX << (bits - 1)) : 0;
    *out_most = UINT64_MAX >> (64 - bits + is_signed);
    return true;
}

static bool put_integer(reading *r, const char *text) {
    int64_t least = 0;
    uint64_t most = 0, bits = 0;
    char *end = NULL;
    integer_range(r->tensor->type, &least, &most);
    errno = 0;
    if (*text == '-') {
        const int64_t value = strtoll(text, &end, 10);
        if (value < least) errno = ERANGE;
        bits = (uint64_t)value;
    } else {
        bits = strtoull(text, &end, 10);
        if (bits > most) errno = ERANGE;
    }
    if (end == text || *end || errno)
        return fail(r, errno ? "there is an integer out of range" : "expected an integer", text);
    const size_t each = type_bytes(r->tensor->type);
    memcpy((char *)r->tensor->data + r->next++ * each, &bits, each); /* little endian */
    return true;
}

static bool put_float(reading *r, const json *value) {
    static const struct {
        const char *text;
        double value;
    } words[] = {
        {"NaN", (double)NAN}, {"Infinity", (double)INFINITY}, {"-Infinity", -(double)INFINITY}};
    double number = 0;
    bool is_number = value->kind == JSON_NUMBER;
    if (is_number) number = strtod(value->text, NULL);
    for (size_t i = 0; value->kind == JSON_TEXT && i < sizeof words / sizeof *words; i++) {
        if (strcmp(value->text, words[i].text) != 0) continue;
        number = words[i].value;
        is_number = true;
    }
    if (!is_number) return fail(r, "expected a number", value->text);
    if (r->tensor->type == TN_F64)
        ((double *)r->tensor->data)[r->next++] = number;
    else
        ((float *)r->tensor->data)[r->next++] =
            value->kind == JSON_NUMBER ? strtof(value->text, NULL) : (float)number;
    return true;
}

static bool put_text(reading *r, const char *text) {
    const size_t bytes = strlen(text);
    ((tn_string *)r->tensor->data)[r->next++] = (tn_string){r->heap_used, bytes};
    memcpy(r->heap + r->heap_used, text, bytes);
    r->heap_used += bytes;
    return true;
}

static bool put_element(reading *r, const json *value) {
    int64_t least;
    uint64_t most;
    switch (r->tensor->type) {
    case TN_F32:
    case TN_F64:
        return put_float(r, value);
    case TN_BOOL:
        if (value->kind != JSON_BOOL) return fail(r, "expected true or false", value->text);
        ((bool *)r->tensor->data)[r->next++] = value->number != 0;
        return true;
    case TN_STRING:
        return value->kind == JSON_TEXT ? put_text(r, value->text)
                                        : fail(r, "expected a text", value->text);
    default:
        if (!integer_range(r->tensor->type, &least, &most))
            return fail(r, "JSON has no elements of type", type_name(r->tensor->type));
        return value->kind == JSON_NUMBER ? put_integer(r, value->text)
                                          : fail(r, "expected an integer", value->text);
    }
}

/* ----------------------------------------------------------------------------------------------
 * tensors */

static size_t text_bytes(const json *value) {
    size_t bytes = value->kind == JSON_TEXT ? strlen(value->text) : 0;
    for (const json *item = value->kind == JSON_LIST ? value->first : NULL; item; item = item->next)
        bytes += text_bytes(item);
    return bytes;
}

/* Memory for elements and heap. */
static bool allocate(reading *r, tn_type type, uint32_t rank, const int64_t *shape, size_t heap) {
    if (!file_tensor_allocate(r->tensor, type, rank, shape, r->path)) return false;
    if (type != TN_STRING) return true;
    const size_t elements = r->tensor->bytes;
    free(r->tensor->data);
    r->tensor->bytes = elements + heap;
    r->tensor->data = calloc(1, r->tensor->bytes + 1);
    if (!r->tensor->data) return fail(r, "there is no memory", NULL);
    r->heap = (char *)r->tensor->data + elements;
    return true;
}

static bool fill(reading *r, const json *value, uint32_t axis) {
    if (axis == r->tensor->rank)
        return value->kind == JSON_LIST || value->kind == JSON_OBJECT
                   ? fail(r, "the lists are of different depths", NULL)
                   : put_element(r, value);
    if (value->kind != JSON_LIST) return fail(r, "the lists are of different depths", NULL);
    if (json_count(value) != (size_t)r->tensor->shape[axis])
        return fail(r, "the lists are of different lengths", NULL);
    for (const json *item = value->first; item; item = item->next)
        if (!fill(r, item, axis + 1)) return false;
    return true;
}

/* A tensor as nested lists, whose shape is that of the first ones. */
static bool read_tensor(reading *r, const json *value, tn_type type) {
    int64_t shape[TN_MAX_RANK];
    uint32_t rank = 0;
    for (const json *at = value; at && at->kind == JSON_LIST; at = at->first) {
        if (rank == TN_MAX_RANK) return fail(r, "the lists are nested too deep", NULL);
        shape[rank++] = (int64_t)json_count(at);
    }
    return allocate(r, type, rank, shape, text_bytes(value)) && fill(r, value, 0);
}

/* ----------------------------------------------------------------------------------------------
 * maps */

static bool put_key(reading *r, const char *key) {
    return r->tensor->type == TN_STRING ? put_text(r, key) : put_integer(r, key);
}

static bool read_map(const char *path, size_t index, const json *map, const tn_port_info *port,
                     file_value *out) {
    char what[64];
    const int64_t count = (int64_t)json_count(map);
    size_t key_bytes = 0, value_bytes = 0;
    reading keys = {.path = path, .what = what}, values = keys;
    snprintf(what, sizeof what, "map %zu", index);
    if (map->kind != JSON_OBJECT) return fail(&keys, "expected an object", NULL);
    for (const json *member = map->first; member; member = member->next) {
        key_bytes += strlen(member->key);
        value_bytes += text_bytes(member);
    }
    keys.tensor = file_value_add(out, path);
    if (!keys.tensor || !allocate(&keys, port->key_type, 1, &count, key_bytes)) return false;
    for (const json *member = map->first; member; member = member->next)
        if (!put_key(&keys, member->key)) return false;
    values.tensor = file_value_add(out, path); /* `keys` may have moved */
    if (!values.tensor || !allocate(&values, port->type, 1, &count, value_bytes)) return false;
    for (const json *member = map->first; member; member = member->next)
        if (member->kind == JSON_LIST || member->kind == JSON_OBJECT
                ? !fail(&values, "expected one value of the key", member->key)
                : !put_element(&values, member))
            return false;
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * values */

static bool read_items(const char *path, const json *list, const tn_port_info *port,
                       file_value *out) {
    size_t index = 0;
    char what[64];
    if (list->kind != JSON_LIST)
        return cli_fault("%s: expected a list, for input '%s'", path, port->name), false;
    for (const json *item = list->first; item; item = item->next, index++) {
        if (port->kind == TN_KIND_MAPS) {
            if (!read_map(path, index, item, port, out)) return false;
            continue;
        }
        snprintf(what, sizeof what, "item %zu", index);
        reading r = {.path = path, .what = what, .tensor = file_value_add(out, path)};
        if (!r.tensor || !read_tensor(&r, item, port->type)) return false;
    }
    return true;
}

static bool read_value(const char *path, const json *value, const tn_port_info *port,
                       file_value *out) {
    if (port->kind == TN_KIND_MAP) return read_map(path, 0, value, port, out);
    out->has_element = port->kind == TN_KIND_OPTIONAL_SEQUENCE && value->kind != JSON_NULL;
    if (port->kind != TN_KIND_OPTIONAL &&
        (port->kind != TN_KIND_OPTIONAL_SEQUENCE || out->has_element))
        return read_items(path, value, port, out);
    if (value->kind == JSON_NULL) return true;
    reading r = {.path = path, .what = "the item", .tensor = file_value_add(out, path)};
    return r.tensor && read_tensor(&r, value, port->type);
}

bool value_json_read(const char *path, const char *text, const tn_port_info *port,
                     file_value *out_value) {
    json *value = json_read(text);
    if (!value) return cli_fault("%s: it is no JSON", path), false;
    const bool is_read = read_value(path, value, port, out_value);
    json_free(value);
    return is_read;
}
