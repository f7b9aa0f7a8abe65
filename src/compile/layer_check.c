/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a layer's parts make a source; see layer_check.h. */
#include "compile/layer_check.h"
#include "base/status.h"
#include "compile/sized_copy.h"

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
    tn_sized_copy(&field, sizeof(field), given);
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
    const uint32_t shared = TN_PORT_VIEW | TN_PORT_ALIAS;
    const uint32_t known = TN_PORT_OPTIONAL | TN_PORT_VARIADIC | TN_PORT_SHAPE_ONLY |
                           TN_PORT_VALUE_NEEDED | TN_PORT_VALUE_WANTED | TN_PORT_SIZED_BY_RUN |
                           TN_PORT_HETEROGENEOUS | shared;
    const bool is_input = strcmp(what, "input") == 0;
    tn_compile_port port;
    if (!given) return tn_fail(TN_ERROR_ARGUMENT, "%s %u is null", what, index);
    tn_sized_copy(&port, sizeof(port), given);
    TN_TRY(check_name(what, index, port.name));
    if (strcmp(port.name, "call") == 0 || strcmp(port.name, "fields") == 0)
        return tn_fail(TN_ERROR_ARGUMENT, "%s %u may not be named '%s', which the code has already",
                       what, index, port.name);
    if (port.flags & ~known)
        return tn_fail(TN_ERROR_ARGUMENT, "%s '%s' has flags %#x that are not known", what,
                       port.name, port.flags & ~known);
    if (is_input && ((port.flags & shared) || port.alias))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "input '%s' shares the memory of input %u: expected that of outputs alone",
                       port.name, port.alias);
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
        !layer->outputs)
        return tn_fail(TN_ERROR_ARGUMENT, "the layer counts fields or ports that are not there");
    if (!layer->infer && layer->input_count == 0)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "the layer has no code for 'infer', and no input to take a shape from");
    return TN_OK;
}

static tn_status check_texts(const char *what, uint64_t count, const char *const *texts) {
    if (count > 10000 || (count && !texts))
        return tn_fail(TN_ERROR_ARGUMENT, "the layer counts %s that are not there", what);
    for (uint64_t i = 0; i < count; i++)
        if (!texts[i])
            return tn_fail(TN_ERROR_ARGUMENT, "number %llu of the %s is null",
                           (unsigned long long)i, what);
    return TN_OK;
}

/* What belongs to a kernel is of no use where there is none. */
static const char *find_kernel_part(const tn_compile_layer *layer) {
    return layer->combination_count   ? "combinations"
           : layer->kernel_traits     ? "kernel_traits"
           : layer->absorbs           ? "absorbs"
           : layer->device            ? "device"
           : layer->requires_features ? "requires_features"
           : layer->accepts           ? "accepts"
           : layer->tactics           ? "tactics"
           : layer->prepare           ? "prepare"
           : layer->open              ? "open"
           : layer->reshape           ? "reshape"
                                      : NULL;
}

static tn_status check_kernel(const tn_compile_layer *layer) {
    const char *part = find_kernel_part(layer);
    if (!layer->run && part)
        return tn_fail(TN_ERROR_ARGUMENT, "the layer has '%s' of a kernel, and no code for 'run'",
                       part);
    if (!layer->run && !layer->expression)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "the layer has no code for 'run': expected it, or an expression");
    if ((layer->release && !layer->prepare) || (layer->close && !layer->open))
        return tn_fail(TN_ERROR_ARGUMENT, "the layer has '%s' without '%s'",
                       layer->release && !layer->prepare ? "release" : "close",
                       layer->release && !layer->prepare ? "prepare" : "open");
    const bool is_on_device = layer->device && strcmp(layer->device, "cpu") != 0;
    const bool has_own_form = is_on_device || layer->combination_count || layer->prepare ||
                              layer->open || layer->reshape || layer->absorbs;
    if (!layer->reference && has_own_form)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "the layer has no code for 'reference': its 'run' cannot serve, since it is "
                       "%s",
                       is_on_device ? "for a device"
                                    : "for combinations or facets, or has callbacks before it");
    return TN_OK;
}

static tn_status check_expression(const tn_compile_layer *layer) {
    if (!layer->expression || (layer->traits & TN_OPERATOR_ELEMENTWISE)) return TN_OK;
    return tn_fail(TN_ERROR_ARGUMENT,
                   "the layer has an expression, which is of elementwise operators: expected "
                   "TN_OPERATOR_ELEMENTWISE among its traits");
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
    TN_TRY(check_kernel(layer));
    TN_TRY(check_expression(layer));
    TN_TRY(check_texts("cases", layer->case_count, layer->cases));
    return check_texts("combinations", layer->combination_count, layer->combinations);
}
