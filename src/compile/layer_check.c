/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a layer's parts make a source; see layer_check.h. */
#include "compile/layer_check.h"
#include "base/status.h"
#include "compile/layer_source.h"

#include <math.h>
#include <string.h>

enum { MOST_FIELDS = 64, MOST_PORTS = 64 };

static bool is_identifier(const char *name) {
    if (!name || !name[0] || (name[0] >= '0' && name[0] <= '9') || strlen(name) > 100) return false;
    for (const char *at = name; *at; at++) {
        const bool is_letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
        if (!is_letter && !(*at >= '0' && *at <= '9') && *at != '_') return false;
    }
    return true;
}

static tn_status check_name(const char *what, uint32_t index, const char *name) {
    if (is_identifier(name)) return TN_OK;
    return tn_fail(TN_ERROR_ARGUMENT,
                   "the name of %s %u is %s%s%s: expected an identifier of C, at most 100 letters, "
                   "digits and '_'",
                   what, index, name ? "'" : "", name ? name : "missing", name ? "'" : "");
}

static tn_status check_field(uint32_t index, const tn_compile_field *given) {
    tn_compile_field field;
    if (!given) return tn_fail(TN_ERROR_ARGUMENT, "field %u is null", index);
    tn_layer_source_copy_sized(&field, sizeof(field), given);
    TN_TRY(check_name("field", index, field.name));
    if (field.type < TN_FIELD_BOOL || field.type > TN_FIELD_STRINGS)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "field '%s' has type %u: expected TN_FIELD_BOOL (%u) to TN_FIELD_STRINGS "
                       "(%u)",
                       field.name, field.type, TN_FIELD_BOOL, TN_FIELD_STRINGS);
    if (!isfinite(field.minimum) || !isfinite(field.maximum))
        return tn_fail(TN_ERROR_ARGUMENT, "the bounds of field '%s' are not finite", field.name);
    return TN_OK;
}

static tn_status check_port(const char *what, uint32_t index, uint32_t count,
                            const tn_compile_port *given) {
    const uint32_t known = TN_PORT_OPTIONAL | TN_PORT_VARIADIC | TN_PORT_SHAPE_ONLY |
                           TN_PORT_VALUE_NEEDED | TN_PORT_SIZED_BY_RUN | TN_PORT_HETEROGENEOUS;
    tn_compile_port port;
    if (!given) return tn_fail(TN_ERROR_ARGUMENT, "%s %u is null", what, index);
    tn_layer_source_copy_sized(&port, sizeof(port), given);
    TN_TRY(check_name(what, index, port.name));
    if (strcmp(port.name, "call") == 0 || strcmp(port.name, "fields") == 0)
        return tn_fail(TN_ERROR_ARGUMENT, "%s %u may not be named '%s', which the code has already",
                       what, index, port.name);
    if (port.flags & ~known)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "%s '%s' has flags %#x that need a whole source (tn_port's alias)", what,
                       port.name, port.flags & ~known);
    if ((port.flags & TN_PORT_VARIADIC) && index + 1 < count)
        return tn_fail(TN_ERROR_ARGUMENT, "%s '%s' is variadic, and not the last", what, port.name);
    return TN_OK;
}

static tn_status check_counts(const tn_compile_layer *layer) {
    if (layer->field_count > MOST_FIELDS || layer->input_count > MOST_PORTS ||
        layer->output_count > MOST_PORTS || layer->output_count == 0)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "a layer of %u fields, %u inputs and %u outputs: expected at most %d fields "
                       "and %d inputs, and 1 to %d outputs",
                       layer->field_count, layer->input_count, layer->output_count, MOST_FIELDS,
                       MOST_PORTS, MOST_PORTS);
    if ((layer->field_count && !layer->fields) || (layer->input_count && !layer->inputs) ||
        !layer->outputs || layer->case_count > 10000 || (layer->case_count && !layer->cases))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "the layer counts fields, ports or cases that are not there");
    if (!layer->run || (!layer->infer && layer->input_count == 0))
        return tn_fail(TN_ERROR_ARGUMENT, "the layer has no code for `%s`",
                       layer->run ? "infer', and no input to take a shape from" : "run'");
    return TN_OK;
}

tn_status tn_layer_check(const tn_compile_layer *layer) {
    if (!is_identifier(layer->name))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "the layer's name is '%s': expected an identifier of C, like SoftClip",
                       layer->name ? layer->name : "");
    TN_TRY(check_counts(layer));
    for (uint32_t i = 0; i < layer->field_count; i++)
        TN_TRY(check_field(i, layer->fields[i]));
    for (uint32_t i = 0; i < layer->input_count; i++)
        TN_TRY(check_port("input", i, layer->input_count, layer->inputs[i]));
    for (uint32_t i = 0; i < layer->output_count; i++)
        TN_TRY(check_port("output", i, layer->output_count, layer->outputs[i]));
    for (uint64_t i = 0; i < layer->case_count; i++)
        if (!layer->cases[i])
            return tn_fail(TN_ERROR_ARGUMENT, "case %llu is null", (unsigned long long)i);
    return TN_OK;
}
