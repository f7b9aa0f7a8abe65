/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and checking the kinds of ports; see kinds.h. */
#include "plugin/sequences/kinds.h"
#include "base/status.h"

#include <string.h>

/* How the text begins and ends. What begins alike comes from the longest on. */
typedef struct kind_text {
    uint32_t kind;
    const char *begin, *end;
} kind_text;
static const kind_text texts[] = {
    {TN_KIND_MAPS, "seq(map(", "))"}, {TN_KIND_MAP, "map(", ")"},
    {TN_KIND_SEQUENCE, "seq(", ")"},  {TN_KIND_OPTIONAL_SEQUENCE, "opt(seq(", "))"},
    {TN_KIND_OPTIONAL, "opt(", ")"},  {TN_KIND_ANY, "value(", ")"},
    {TN_KIND_EACH, "each(", ")"}};

/* What is in the parentheses. */
static uint32_t kind_around(const char *types, const char **out_text, size_t *out_length) {
    const size_t length = strlen(types);
    *out_text = types;
    *out_length = length;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const size_t begin = strlen(texts[i].begin), end = strlen(texts[i].end);
        if (length < begin + end || strncmp(types, texts[i].begin, begin) != 0 ||
            strcmp(types + length - end, texts[i].end) != 0)
            continue;
        *out_text = types + begin;
        *out_length = length - begin - end;
        return texts[i].kind;
    }
    return TN_KIND_DENSE;
}

uint32_t tn_port_kind(const char *types, const char **out_text, size_t *out_length) {
    const uint32_t kind = kind_around(types, out_text, out_length);
    const char *comma = tn_kind_is_map(kind) ? memchr(*out_text, ',', *out_length) : NULL;
    if (!comma) return kind;
    *out_length -= (size_t)(comma + 1 - *out_text);
    *out_text = comma + 1;
    return kind;
}

bool tn_port_keys(const char *types, const char **out_text, size_t *out_length) {
    const uint32_t kind = kind_around(types, out_text, out_length);
    const char *comma = tn_kind_is_map(kind) ? memchr(*out_text, ',', *out_length) : NULL;
    if (comma) *out_length = (size_t)(comma - *out_text);
    return comma != NULL;
}

const char *tn_kind_name(uint32_t kind) {
    static const char *const names[] = {[TN_KIND_DENSE] = "a dense tensor",
                                        [TN_KIND_SEQUENCE] = "a sequence",
                                        [TN_KIND_OPTIONAL] = "an optional",
                                        [TN_KIND_MAP] = "a map",
                                        [TN_KIND_MAPS] = "a sequence of maps",
                                        [TN_KIND_ANY] = "a value of any kind",
                                        [TN_KIND_OPTIONAL_SEQUENCE] = "an optional of a sequence",
                                        [TN_KIND_EACH] = "a dense tensor or a sequence"};
    return kind < sizeof names / sizeof *names ? names[kind] : "a value of an unknown kind";
}

/* Of a port of any kind, or of two, nothing is to be said here. */
static uint32_t kind_of(const tn_port *port) {
    const char *text;
    size_t length;
    const uint32_t kind = tn_port_kind(port->types, &text, &length);
    return kind == TN_KIND_ANY || kind == TN_KIND_EACH ? TN_KIND_DENSE : kind;
}

static bool is_any(const tn_port *ports, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (kind_of(&ports[i])) return true;
    return false;
}

bool tn_operator_has_kinds(const tn_operator *op) {
    return is_any(op->inputs, op->input_count) || is_any(op->outputs, op->output_count);
}

static tn_status check_flags(const tn_port *ports, uint32_t count) {
    const uint32_t allowed = TN_PORT_OPTIONAL | TN_PORT_VARIADIC;
    for (uint32_t i = 0; i < count; i++)
        if (kind_of(&ports[i]) && (ports[i].flags & ~allowed))
            return tn_fail(TN_ERROR_PLUGIN,
                           "port '%s' is \"%s\" and has flags %u: expected none but "
                           "TN_PORT_OPTIONAL and TN_PORT_VARIADIC",
                           ports[i].name, ports[i].types, ports[i].flags);
    return TN_OK;
}

static tn_status check_shared(const tn_operator *op) {
    for (uint32_t i = 0; i < op->output_count; i++) {
        const tn_port *port = &op->outputs[i];
        if (!(port->flags & (TN_PORT_VIEW | TN_PORT_ALIAS))) continue;
        if (kind_of(&op->inputs[port->alias - 1]))
            return tn_fail(
                TN_ERROR_PLUGIN, "output '%s' shares the memory of input '%s', which is \"%s\"",
                port->name, op->inputs[port->alias - 1].name, op->inputs[port->alias - 1].types);
    }
    return TN_OK;
}

tn_status tn_operator_check_kinds(const tn_operator *op) {
    if (!tn_operator_has_kinds(op)) return TN_OK;
    TN_TRY(check_flags(op->inputs, op->input_count));
    TN_TRY(check_flags(op->outputs, op->output_count));
    TN_TRY(check_shared(op));
    if (!(op->traits & ~(uint32_t)TN_OPERATOR_NO_FOLD)) return TN_OK;
    return tn_fail(
        TN_ERROR_PLUGIN,
        "a port is a sequence, an optional or a map, and the traits are %u: expected none but "
        "TN_OPERATOR_NO_FOLD",
        op->traits);
}
