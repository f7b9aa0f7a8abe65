/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing and matching of combinations; see combination.h. */
#include "plugin/fields/combination.h"
#include "base/status.h"

#include <string.h>

typedef struct parser {
    tn_arena *arena;
    const char *text, *at;
    uint32_t minor;
} parser;

static tn_status fail_at(const parser *p, const char *expected) {
    return tn_fail(TN_ERROR_PLUGIN, "combination \"%s\": column %zu: expected %s", p->text,
                   (size_t)(p->at - p->text) + 1, expected);
}

static void skip_spaces(parser *p) {
    while (*p->at == ' ')
        p->at++;
}

static bool take_word(parser *p, const char *word) {
    const size_t length = strlen(word);
    skip_spaces(p);
    if (strncmp(p->at, word, length) != 0) return false;
    p->at += length;
    return true;
}

static size_t word_length(const char *at, const char *stops) {
    return strcspn(at, stops);
}

/* Element types joined by '|', quantised ones among them; 0 when it is not well-formed. */
static tn_type_set parse_types(const char *text, size_t length, uint32_t minor) {
    tn_type_set all = 0;
    for (size_t at = 0; at <= length;) {
        const char *word = text + at, *bar = memchr(word, '|', length - at);
        const size_t count = bar ? (size_t)(bar - word) : length - at;
        tn_type_set set = 0;
        if (count == 3 && memcmp(word, "qi8", 3) == 0)
            set = TN_TYPE_BIT(TN_STORED_QI8);
        else if (count == 3 && memcmp(word, "qu8", 3) == 0)
            set = TN_TYPE_BIT(TN_STORED_QU8);
        else
            set = tn_type_set_parse(word, count, minor);
        if (!set) return 0;
        all |= set;
        at += count + 1;
    }
    return all;
}

static bool has_packed(tn_type_set types) {
    for (tn_type type = TN_F64; type < TN_STORED_QI8; type++)
        if ((types & TN_TYPE_BIT(type)) && tn_type_is_packed(type)) return true;
    return false;
}

static bool is_word(const char *at, size_t length, const char *word) {
    return length == strlen(word) && memcmp(at, word, length) == 0;
}

/* Behind the types: ":FORMAT", ":strided", ":counted", some of them in this order. */
static tn_status parse_format(parser *p, tn_combination_port *port) {
    static const char *const expected[] = {
        "a format: linear, nhwc, or c2, c4, c8, c16, c32, c64; or strided, or counted",
        "strided, counted, or the end of the port", "counted, or the end of the port",
        "the end of the port"};
    for (int stage = 0; *p->at == ':';) {
        p->at++;
        const size_t length = word_length(p->at, " :,?.-");
        if (stage < 1 && tn_format_parse(p->at, length, &port->format))
            stage = 1;
        else if (stage < 2 && is_word(p->at, length, "strided"))
            port->is_strided = (stage = 2) == 2;
        else if (stage < 3 && is_word(p->at, length, "counted"))
            port->is_counted = (stage = 3) == 3;
        else
            return fail_at(p, expected[stage]);
        if (has_packed(port->types) && (port->format != TN_LINEAR || port->is_strided))
            return fail_at(p, "linear: elements of packed types lie in linear order alone");
        if (port->types & TN_TYPE_BIT(TN_STRING) &&
            (port->format != TN_LINEAR || port->is_strided || port->is_counted))
            return fail_at(p, "linear: strings are neither strided nor counted");
        p->at += length;
    }
    return TN_OK;
}

static tn_status parse_port(parser *p, tn_combination_port *port) {
    skip_spaces(p);
    *port = (tn_combination_port){.format = TN_LINEAR};
    if (take_word(p, "*")) {
        port->types = tn_type_set_parse("any", 3, p->minor);
        port->is_every = true;
        if (take_word(p, "|string")) port->types |= TN_TYPE_BIT(TN_STRING);
    } else {
        const size_t length = word_length(p->at, " :,?.-");
        port->types = parse_types(p->at, length, p->minor);
        if (!port->types) return fail_at(p, "element types like f32, f32|f16 or *");
        p->at += length;
    }
    if (*p->at == ':') TN_TRY(parse_format(p, port));
    port->is_optional = take_word(p, "?");
    return TN_OK;
}

/* The ports up to `end` ("->" or the end of the text, which is then taken). */
static tn_status parse_side(parser *p, const char *end, uint32_t *out_count, bool *out_repeat,
                            const tn_combination_port **out_ports) {
    size_t commas = 1;
    for (const char *at = p->at; *at; at++)
        commas += *at == ',';
    tn_combination_port *ports = tn_arena_allocate(p->arena, commas, sizeof(*ports));
    if (!ports) return tn_fail_memory("a kernel's combination");
    *out_ports = ports;
    *out_count = 0;
    *out_repeat = false;
    skip_spaces(p);
    while (strncmp(p->at, end, strlen(end)) != 0 || !*end) {
        if (!*end && !*p->at) return TN_OK;
        TN_TRY(parse_port(p, &ports[(*out_count)++]));
        *out_repeat = take_word(p, "...");
        if (*out_repeat || !take_word(p, ",")) break;
    }
    skip_spaces(p);
    if (*end ? !take_word(p, end) : *p->at != 0)
        return fail_at(p, *end ? "',' or '->'" : "',' or the end");
    return TN_OK;
}

tn_status tn_combination_parse(tn_arena *arena, const char *text, uint32_t minor,
                               tn_combination *out_combination) {
    parser p = {arena, text, text, minor};
    tn_combination c = {.text = text};
    TN_TRY(parse_side(&p, "->", &c.input_count, &c.inputs_repeat, &c.inputs));
    TN_TRY(parse_side(&p, "", &c.output_count, &c.outputs_repeat, &c.outputs));
    *out_combination = c;
    return TN_OK;
}

static const tn_combination_port *port_at(const tn_combination_port *ports, uint32_t count,
                                          bool repeats, uint32_t index) {
    if (index < count) return &ports[index];
    return repeats && count ? &ports[count - 1] : NULL;
}

const tn_combination_port *tn_combination_input(const tn_combination *combination, uint32_t index) {
    return port_at(combination->inputs, combination->input_count, combination->inputs_repeat,
                   index);
}

const tn_combination_port *tn_combination_output(const tn_combination *combination,
                                                 uint32_t index) {
    return port_at(combination->outputs, combination->output_count, combination->outputs_repeat,
                   index);
}

/* The sets seen so far that name several types, and the type that stands for each. */
typedef struct bound_sets {
    tn_type_set sets[16];
    tn_type types[16];
    uint32_t count;
} bound_sets;

static bool bind_type(bound_sets *bound, const tn_combination_port *port, tn_type type) {
    const tn_type_set set = port->types;
    if (port->is_every || (set & (set - 1)) == 0) return true;
    for (uint32_t i = 0; i < bound->count; i++) {
        if (bound->sets[i] == set) return bound->types[i] == type;
    }
    if (bound->count < 16) {
        bound->sets[bound->count] = set;
        bound->types[bound->count++] = type;
    }
    return true;
}

static bool side_matches(const tn_combination_port *ports, uint32_t port_count, bool repeats,
                         uint32_t count, const tn_type *types, bound_sets *bound) {
    for (uint32_t i = 0; i < count; i++) {
        const tn_combination_port *port = port_at(ports, port_count, repeats, i);
        if (types[i] == TN_NONE) {
            if (port && !port->is_optional) return false;
            continue;
        }
        if (!port || !(port->types & TN_TYPE_BIT(types[i])) || !bind_type(bound, port, types[i]))
            return false;
    }
    for (uint32_t i = count; i < port_count; i++) {
        if (!ports[i].is_optional && !(repeats && i + 1 == port_count)) return false;
    }
    return true;
}

bool tn_combination_matches(const tn_combination *combination, uint32_t input_count,
                            const tn_type *input_types, uint32_t output_count,
                            const tn_type *output_types) {
    bound_sets bound = {.count = 0};
    return side_matches(combination->inputs, combination->input_count, combination->inputs_repeat,
                        input_count, input_types, &bound) &&
           side_matches(combination->outputs, combination->output_count,
                        combination->outputs_repeat, output_count, output_types, &bound);
}
