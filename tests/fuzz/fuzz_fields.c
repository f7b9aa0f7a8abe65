/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: fields. The first byte says what the rest is: attributes for an operator that has a
 * field of every type; a field table of a hostile library, its texts and numbers from the input; or
 * the text of a combination. What parses must survive the round trip: parameters to attributes to
 * parameters keep their hash. Needs the inside of the library; replay.c runs it on files.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plugin/fields/combination.h"
#include "plugin/fields/fields.h"

#define TEXT_BYTES      64
#define LIST_ITEMS      8
#define ATTRIBUTE_LIMIT 8
#define FIELD_LIMIT     4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* What is left of the input; past its end come zeros. */
typedef struct source {
    const uint8_t *data;
    size_t bytes;
} source;

static uint8_t take_byte(source *from) {
    if (from->bytes == 0) return 0;
    from->bytes--;
    return *from->data++;
}

static void take(source *from, void *to, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)to)[i] = take_byte(from);
}

/* A text of at most TEXT_BYTES, null when its length byte is 255. */
static const char *take_text(source *from, tn_arena *arena) {
    const uint8_t length = take_byte(from);
    char *text = tn_arena_allocate(arena, TEXT_BYTES + 1, 1);
    if (length == 255 || !text) return NULL;
    for (uint8_t i = 0; i < length % (TEXT_BYTES + 1); i++)
        text[i] = (char)take_byte(from);
    return text;
}

typedef struct all_params {
    uint64_t present;
    bool flag;
    int32_t narrow;
    int64_t wide;
    float single;
    double real;
    const char *text;
    tn_bytes raw;
    tn_type type;
    uint32_t mode;
    const tn_tensor *tensor;
    tn_i64s integers;
    tn_f32s singles;
    tn_f64s doubles;
    tn_strings texts;
    const tn_attribute *any;
} all_params;

static const tn_field all_fields[] = {
    TN_FIELD(all_params, flag, TN_FIELD_BOOL, TN_OPTIONAL, "true", "a"),
    TN_FIELD_RANGE(all_params, narrow, TN_FIELD_I32, TN_OPTIONAL, "3", -4, 400, "b"),
    TN_FIELD(all_params, wide, TN_FIELD_I64, TN_OPTIONAL, NULL, "c"),
    TN_FIELD(all_params, single, TN_FIELD_F32, TN_OPTIONAL, "0.5", "d"),
    TN_FIELD_RANGE(all_params, real, TN_FIELD_F64, TN_OPTIONAL, "1e3", 0, 1e6, "e"),
    TN_FIELD_CHOICE(all_params, text, TN_FIELD_STRING, TN_OPTIONAL, "one", "one|two", "f"),
    TN_FIELD(all_params, raw, TN_FIELD_BYTES, TN_OPTIONAL, NULL, "g"),
    TN_FIELD(all_params, type, TN_FIELD_TYPE, TN_OPTIONAL, "f32", "h"),
    TN_FIELD_CHOICE(all_params, mode, TN_FIELD_ENUM, TN_OPTIONAL, "a", "a=1|b=4", "i"),
    TN_FIELD(all_params, tensor, TN_FIELD_TENSOR, TN_OPTIONAL, NULL, "j"),
    TN_FIELD_LIST(all_params, integers, TN_FIELD_I64S, TN_OPTIONAL, "[1,2]", 1, 4, -9, 99, "k"),
    TN_FIELD(all_params, singles, TN_FIELD_F32S, TN_OPTIONAL, NULL, "l"),
    TN_FIELD(all_params, doubles, TN_FIELD_F64S, TN_OPTIONAL, "[0.5]", "m"),
    TN_FIELD(all_params, texts, TN_FIELD_STRINGS, TN_OPTIONAL, NULL, "n"),
    TN_FIELD(all_params, any, TN_FIELD_ANY, TN_OPTIONAL, NULL, "o")};
static const tn_operator all_operator = {.size = sizeof(tn_operator),
                                         .since_version = 1,
                                         .state_version = 1,
                                         .domain = "Fuzz",
                                         .name = "All",
                                         TN_FIELDS(all_params, all_fields),
                                         TN_NO_INPUTS,
                                         .output_count = 0};

static const void *take_items(source *from, tn_arena *arena, uint32_t type, uint64_t count) {
    static const size_t item_bytes[] = {[TN_FIELD_BYTES] = 1,
                                        [TN_FIELD_I64S] = sizeof(int64_t),
                                        [TN_FIELD_F32S] = sizeof(float),
                                        [TN_FIELD_F64S] = sizeof(double)};
    if (type == TN_FIELD_STRINGS) {
        const char **texts = tn_arena_allocate(arena, LIST_ITEMS, sizeof(*texts));
        for (uint64_t i = 0; texts && i < count; i++)
            texts[i] = take_text(from, arena);
        return texts;
    }
    const bool has_items = type < sizeof(item_bytes) / sizeof(*item_bytes) && item_bytes[type];
    void *items = tn_arena_allocate(arena, LIST_ITEMS, sizeof(double));
    if (items) take(from, items, (size_t)count * (has_items ? item_bytes[type] : 1));
    return items;
}

static const tn_attribute *take_attribute(source *from, tn_arena *arena) {
    static int64_t extents[] = {2};
    static float values[] = {1, 2};
    static const tn_tensor tensor = {.size = sizeof(tensor),
                                     .type = TN_F32,
                                     .rank = 1,
                                     .data = values,
                                     .bytes = sizeof(values),
                                     .shape = extents};
    static const uint32_t types[] = {0,
                                     TN_FIELD_I64,
                                     TN_FIELD_F32,
                                     TN_FIELD_F64,
                                     TN_FIELD_STRING,
                                     TN_FIELD_BYTES,
                                     TN_FIELD_TENSOR,
                                     TN_FIELD_I64S,
                                     TN_FIELD_F32S,
                                     TN_FIELD_F64S,
                                     TN_FIELD_STRINGS};
    tn_attribute *attribute = tn_arena_allocate(arena, 1, sizeof(*attribute));
    if (!attribute) return NULL;
    const uint8_t name = take_byte(from);
    attribute->size = sizeof(*attribute);
    attribute->type = types[take_byte(from) % (sizeof(types) / sizeof(*types))];
    attribute->name = name < TN_COUNT(all_fields) ? all_fields[name].name : take_text(from, arena);
    if (!attribute->name) attribute->name = "";
    take(from, &attribute->i, sizeof(attribute->i));
    take(from, &attribute->f, sizeof(attribute->f));
    attribute->s = take_text(from, arena);
    attribute->count = take_byte(from) % (LIST_ITEMS + 1);
    attribute->items = take_items(from, arena, attribute->type, attribute->count);
    attribute->tensor = take_byte(from) % 2 ? &tensor : NULL;
    return attribute;
}

static void try_attributes(source *from, tn_arena *arena) {
    const tn_attribute *attributes[ATTRIBUTE_LIMIT], *const *back = NULL;
    const uint64_t count = take_byte(from) % (ATTRIBUTE_LIMIT + 1);
    uint64_t back_count = 0;
    void *params = NULL, *again = NULL;
    tn_text text;
    for (uint64_t i = 0; i < count; i++)
        if (!(attributes[i] = take_attribute(from, arena))) return;
    if (tn_fields_parse(arena, &all_operator, count, attributes, &params) != TN_OK) return;
    tn_text_init(&text, tn_allocator_default());
    tn_fields_print(&all_operator, params, &text);
    tn_text_deinit(&text);
    if (tn_fields_to_attributes(arena, &all_operator, params, &back_count, &back) != TN_OK ||
        tn_fields_parse(arena, &all_operator, back_count, back, &again) != TN_OK ||
        tn_fields_hash(&all_operator, params) != tn_fields_hash(&all_operator, again))
        abort(); /* what was taken did not survive */
}

/* A table whose every number and text may be anything that memory allows. */
static void try_table(source *from, tn_arena *arena) {
    tn_field fields[FIELD_LIMIT];
    const uint32_t count = take_byte(from) % (FIELD_LIMIT + 1);
    for (uint32_t i = 0; i < count; i++) {
        fields[i] = (tn_field){.name = take_text(from, arena),
                               .doc = "",
                               .fallback = take_text(from, arena),
                               .choices = take_text(from, arena),
                               .type = take_byte(from)};
        take(from, &fields[i].offset, sizeof(fields[i].offset));
        take(from, &fields[i].bytes, sizeof(fields[i].bytes));
        fields[i].offset %= 64;
        fields[i].minimum_count = take_byte(from);
        fields[i].maximum_count = take_byte(from);
        take(from, &fields[i].minimum, sizeof(double));
        take(from, &fields[i].maximum, sizeof(double));
    }
    const tn_operator op = {.size = sizeof(op),
                            .since_version = 1,
                            .state_version = 1,
                            .domain = "Fuzz",
                            .name = "Table",
                            .params_bytes = take_byte(from),
                            .field_size = sizeof(tn_field),
                            .field_count = count,
                            .fields = fields};
    void *params = NULL;
    if (tn_fields_check_table(&op) != TN_OK) return;
    if (tn_fields_parse(arena, &op, 0, NULL, &params) == TN_OK) (void)tn_fields_hash(&op, params);
}

static void try_combination(source *from, tn_arena *arena) {
    char *text = tn_arena_allocate(arena, from->bytes + 1, 1);
    tn_combination combination;
    const tn_type types[] = {TN_F32, TN_F16, TN_NONE, TN_I8};
    if (!text) return;
    memcpy(text, from->data, from->bytes);
    if (tn_combination_parse(arena, text, TN_ABI_MINOR, &combination) != TN_OK) return;
    for (uint32_t inputs = 0; inputs <= 4; inputs++)
        (void)tn_combination_matches(&combination, inputs, types, 1, types);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    source from = {data, bytes};
    tn_arena *arena = NULL;
    if (bytes < 2 || bytes > 4096 || tn_arena_create(tn_allocator_default(), &arena) != TN_OK)
        return 0;
    switch (take_byte(&from) % 3) {
    case 0:
        try_attributes(&from, arena);
        break;
    case 1:
        try_table(&from, arena);
        break;
    default:
        try_combination(&from, arena);
        break;
    }
    tn_arena_destroy(arena);
    return 0;
}
