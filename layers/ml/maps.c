/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps from keys to values (tenon/plugin/sequence.h) as rows: DictVectorizer and CastMap. zip_map.c
 * makes maps of rows.
 */
#include "kit/operator/decimal.h"
#include "ml/map_entry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A map that is read: its values, and its keys in order. */
typedef struct sorted_map {
    const tn_tensor *keys, *values;
    int64_t count;
    tn_map_entry *entries; /* the host's, to be given back */
} sorted_map;

static tn_status read_map(tn_call *call, sorted_map *out_map) {
    const tn_tensor *keys = NULL, *values = NULL;
    TN_TRY(tn_ml_lists(call)->item(call, call->inputs[0], 0, &keys));
    TN_TRY(tn_ml_lists(call)->item(call, call->inputs[0], 1, &values));
    const int64_t count = keys->shape[0];
    tn_map_entry *entries =
        call->host->allocate(call->host, ((size_t)count + 1) * sizeof(*entries), 64);
    if (!entries)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for %" PRId64 " keys", count);
    for (int64_t i = 0; i < count; i++) {
        entries[i] = (tn_map_entry){.index = i};
        if (keys->type == TN_STRING)
            entries[i].text = tn_string_at(keys, (uint64_t)i, &entries[i].bytes);
        else
            entries[i].number = ((const int64_t *)keys->data)[i];
    }
    qsort(entries, (size_t)count, sizeof(*entries), tn_map_entry_compare);
    *out_map = (sorted_map){keys, values, count, entries};
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * DictVectorizer */

typedef struct vectorizer_params {
    uint64_t present;
    tn_strings string_vocabulary;
    tn_i64s int64_vocabulary;
} vectorizer_params;

static tn_status read_vocabulary(tn_call *call, tn_labels *out_labels) {
    const vectorizer_params *params = call->params;
    TN_TRY(tn_labels_read(call, &params->string_vocabulary, &params->int64_vocabulary,
                          "'string_vocabulary' and 'int64_vocabulary'", out_labels));
    const tn_type keys = tn_map_key_type(call->inputs[0]);
    if (keys == TN_NONE || (keys == TN_STRING) == (out_labels->texts != NULL)) return TN_OK;
    return call->host->fail(
        call, TN_ERROR_TYPE, "input 'X' has keys of %s, and the vocabulary is of %s",
        keys == TN_STRING ? "strings" : "integers", out_labels->texts ? "strings" : "integers");
}

static tn_status dict_infer(tn_call *call) {
    tn_labels vocabulary;
    TN_TRY(read_vocabulary(call, &vocabulary));
    const int64_t shape[2] = {1, (int64_t)vocabulary.count};
    return tn_infer_set_shape(call, 0, 2, shape);
}

static int64_t find_entry(const sorted_map *map, const tn_labels *vocabulary, uint64_t index) {
    tn_map_entry wanted = {0};
    if (vocabulary->texts) {
        wanted.text = vocabulary->texts[index];
        wanted.bytes = strlen(wanted.text);
    } else {
        wanted.number = vocabulary->numbers[index];
    }
    const tn_map_entry *found = map->count == 0
                                    ? NULL
                                    : bsearch(&wanted, map->entries, (size_t)map->count,
                                              sizeof(tn_map_entry), tn_map_entry_compare);
    return found ? found->index : -1;
}

/* The value of one word, 0 or an empty text where the map has none. */
static tn_status put_value(tn_call *call, const sorted_map *map, uint64_t word, int64_t at) {
    const tn_tensor *y = call->outputs[0];
    const size_t bytes = tn_element_bytes(y->type);
    char *to = (char *)y->data + word * bytes;
    if (y->type != TN_STRING) {
        if (at < 0)
            memset(to, 0, bytes);
        else
            memcpy(to, (const char *)map->values->data + (size_t)at * bytes, bytes);
        return TN_OK;
    }
    tn_string *text = (tn_string *)(void *)to;
    const tn_string_services *strings = call->host->extension(call->host, TN_STRINGS);
    const char *from = at < 0 ? "" : tn_string_at(map->values, (uint64_t)at, &text->bytes);
    if (at < 0) text->bytes = 0;
    return strings->append(call, 0, from, text->bytes, &text->offset);
}

static tn_status dict_reference(tn_call *call) {
    tn_labels vocabulary;
    sorted_map map;
    tn_status status = TN_OK;
    TN_TRY(read_vocabulary(call, &vocabulary));
    TN_TRY(read_map(call, &map));
    for (uint64_t i = 0; i < vocabulary.count && status == TN_OK; i++)
        status = put_value(call, &map, i, find_entry(&map, &vocabulary, i));
    call->host->deallocate(call->host, map.entries);
    return status;
}

static const tn_field dict_fields[] = {
    TN_FIELD(vectorizer_params, string_vocabulary, TN_FIELD_STRINGS, TN_OPTIONAL, NULL,
             "the keys of the columns, which are strings"),
    TN_FIELD(vectorizer_params, int64_vocabulary, TN_FIELD_I64S, TN_OPTIONAL, NULL,
             "the keys of the columns, which are integers"),
};
static const tn_port dict_inputs[] = {
    TN_PORT("X", "map(i64|string,T:i64|f32|f64|string)", 0, "what is in no column is left out")};
static const tn_port dict_outputs[] = {
    TN_PORT("Y", "T", 0, "[1, columns]; what the map has not is 0, or empty")};

/* ----------------------------------------------------------------------------------------------
 * CastMap */

enum { CAST_TO_FLOAT = 0, CAST_TO_STRING = 1, CAST_TO_INT64 = 2 };
enum { FORM_DENSE = 0, FORM_SPARSE = 1 };

typedef struct cast_params {
    uint64_t present;
    uint32_t cast_to, map_form;
    int64_t max_map;
} cast_params;

static tn_status cast_infer(tn_call *call) {
    const cast_params *params = call->params;
    int64_t shape[2] = {1, -1};
    tn_tensor *y = call->outputs[0];
    static const tn_type types[] = {TN_F32, TN_STRING, TN_I64};
    tn_infer_set_type(call, 0, types[params->cast_to]);
    if (params->map_form == FORM_SPARSE) {
        if (params->max_map < 0)
            return call->host->fail(call, TN_ERROR_RANGE, "field 'max_map' is %" PRId64,
                                    params->max_map);
        shape[1] = params->max_map;
    } else if (call->inputs[0]->data) {
        const tn_tensor *keys = NULL;
        TN_TRY(tn_ml_lists(call)->item(call, call->inputs[0], 0, &keys));
        shape[1] = keys->shape[0];
    }
    y->rank = 2;
    y->shape[0] = shape[0];
    y->shape[1] = shape[1];
    return TN_OK;
}

/* A value as a number; of a text all of it is one. */
static tn_status cast_number(tn_call *call, const tn_tensor *values, int64_t at, void *to) {
    const tn_type type = call->outputs[0]->type;
    char text[64], *end = text;
    uint64_t bytes = 0;
    if (values->type != TN_STRING) {
        const float value = ((const float *)values->data)[at];
        if (type == TN_F32)
            *(float *)to = value;
        else if (!(value >= -9223372036854775808.0f && value < 9223372036854775808.0f))
            return call->host->fail(call, TN_ERROR_RANGE,
                                    "value %" PRId64
                                    " of the map is %g: expected one that an int64 has",
                                    at, (double)value);
        else
            *(int64_t *)to = (int64_t)value;
        return TN_OK;
    }
    const char *from = tn_string_at(values, (uint64_t)at, &bytes);
    if (bytes < sizeof(text)) {
        memcpy(text, from, bytes);
        text[bytes] = '\0';
        errno = 0;
        if (type == TN_F32)
            *(float *)to = tn_decimal_read_f32(text, &end);
        else
            *(int64_t *)to = strtoll(text, &end, 10);
        if (bytes > 0 && *end == '\0' && end == text + bytes && (type == TN_F32 || errno == 0))
            return TN_OK;
    }
    return call->host->fail(call, TN_ERROR_TYPE, "value %" PRId64 " of the map, '%.*s', is no %s",
                            at, (int)(bytes < 40 ? bytes : 40), from,
                            type == TN_F32 ? "number" : "integer");
}

static tn_status cast_text(tn_call *call, const tn_tensor *values, int64_t at, tn_string *to) {
    const tn_string_services *strings = call->host->extension(call->host, TN_STRINGS);
    char text[64];
    const char *from = text;
    if (values->type == TN_STRING) {
        from = tn_string_at(values, (uint64_t)at, &to->bytes);
    } else {
        const int length =
            snprintf(text, sizeof(text), "%f", (double)((const float *)values->data)[at]);
        tn_decimal_set_point(text);
        to->bytes = (uint64_t)(length > 0 ? length : 0);
    }
    return strings->append(call, 0, from, to->bytes, &to->offset);
}

/* What a sparse row has where the map has nothing: 0, or the text "0.000000" of that. */
static tn_status cast_nothing(tn_call *call, void *to) {
    static const char zero[] = "0.000000";
    const tn_tensor *y = call->outputs[0];
    if (y->type != TN_STRING) {
        memset(to, 0, tn_element_bytes(y->type));
        return TN_OK;
    }
    const tn_string_services *strings = call->host->extension(call->host, TN_STRINGS);
    const bool is_empty = call->inputs[0]->type == TN_STRING;
    tn_string *text = to;
    text->bytes = is_empty ? 0 : sizeof(zero) - 1;
    return strings->append(call, 0, zero, text->bytes, &text->offset);
}

static tn_status cast_row(tn_call *call, const sorted_map *map) {
    const cast_params *params = call->params;
    const tn_tensor *y = call->outputs[0];
    const size_t bytes = tn_element_bytes(y->type);
    int64_t next = 0;
    if (params->map_form == FORM_SPARSE && map->count > 0 &&
        (map->entries[0].number < 0 || map->entries[map->count - 1].number >= params->max_map))
        return call->host->fail(call, TN_ERROR_RANGE,
                                "input 'X' has the key %" PRId64 ": expected one of 0 to %" PRId64
                                ", below 'max_map'",
                                map->entries[0].number < 0 ? map->entries[0].number
                                                           : map->entries[map->count - 1].number,
                                params->max_map - 1);
    for (int64_t i = 0; i < y->shape[1]; i++) {
        void *to = (char *)y->data + (size_t)i * bytes;
        if (params->map_form == FORM_SPARSE &&
            (next == map->count || map->entries[next].number != i)) {
            TN_TRY(cast_nothing(call, to));
            continue;
        }
        const int64_t at = map->entries[next++].index;
        TN_TRY(y->type == TN_STRING ? cast_text(call, map->values, at, to)
                                    : cast_number(call, map->values, at, to));
    }
    return TN_OK;
}

static tn_status cast_reference(tn_call *call) {
    sorted_map map;
    TN_TRY(read_map(call, &map));
    const tn_status status = cast_row(call, &map);
    call->host->deallocate(call->host, map.entries);
    return status;
}

static const tn_field cast_fields[] = {
    TN_FIELD_CHOICE(cast_params, cast_to, TN_FIELD_ENUM, TN_OPTIONAL, "TO_FLOAT",
                    "TO_FLOAT|TO_STRING|TO_INT64", "the type of the row"),
    TN_FIELD_CHOICE(cast_params, map_form, TN_FIELD_ENUM, TN_OPTIONAL, "DENSE", "DENSE|SPARSE",
                    "DENSE: values in the order of their keys; SPARSE: keys are positions"),
    TN_FIELD(cast_params, max_map, TN_FIELD_I64, TN_OPTIONAL, "1", "SPARSE: how long the row is"),
};
static const tn_port cast_inputs[] = {TN_PORT("X", "map(i64,f32|string)", 0, "the map")};
static const tn_port cast_outputs[] = {TN_PORT("Y", "f32|string|i64", 0, "[1, columns]")};

static const char *const dict_cases[] = {
    "string_vocabulary=[b,a,cd] | X=string[2]{a,cd} X=f32[2]{0.5,-2}",
    "int64_vocabulary=[7,-1,3] | X=i64[4]{3,8,-1,0} X=i64[4]",
    "string_vocabulary=[b] | X=string[1]{b} X=string[1]{word}",
    "int64_vocabulary=[1,2] | X=i64[0] X=f64[0]",
};
static const char *const cast_cases[] = {
    "| X=i64[3]{3,-1,2} X=f32[3]",
    "cast_to=TO_INT64 | X=i64[2]{3,1} X=string[2]{12,-7}",
    "cast_to=TO_STRING map_form=SPARSE max_map=5 | X=i64[2]{4,0} X=f32[2]{0.5,2}",
    "map_form=SPARSE max_map=3 | X=i64[1]{1} X=f32[1]",
};

TN_OPERATOR_VERSION(dict, TN_ML, "DictVectorizer", 1, "A map as a row, by a list of keys.",
                    TN_FIELDS(vectorizer_params, dict_fields), TN_INPUTS(dict_inputs),
                    TN_OUTPUTS(dict_outputs), TN_CASES(dict_cases));
TN_OPERATOR_VERSION(cast, TN_ML, "CastMap", 1, "The values of a map as a row.",
                    TN_FIELDS(cast_params, cast_fields), TN_INPUTS(cast_inputs),
                    TN_OUTPUTS(cast_outputs), TN_CASES(cast_cases));
TN_LAYER_WITHOUT_KERNELS(ml_maps, TN_OPERATORS(&dict_1, &cast_1));
