/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and checking the kinds of ports; see kinds.h. */
#include "plugin/sequences/kinds.h"
#include "base/status.h"

#include <string.h>

uint32_t tn_port_kind(const char *types, const char **out_text, size_t *out_length) {
    static const char *const names[] = {[TN_KIND_SEQUENCE] = "seq(", [TN_KIND_OPTIONAL] = "opt("};
    const size_t length = strlen(types), name_length = 4;
    *out_text = types;
    *out_length = length;
    for (uint32_t kind = TN_KIND_SEQUENCE; kind <= TN_KIND_OPTIONAL; kind++) {
        if (strncmp(types, names[kind], name_length) != 0 || types[length - 1] != ')') continue;
        *out_text = types + name_length;
        *out_length = length - name_length - 1;
        return kind;
    }
    return TN_KIND_DENSE;
}

static uint32_t kind_of(const tn_port *port) {
    const char *text;
    size_t length;
    return tn_port_kind(port->types, &text, &length);
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
    return tn_fail(TN_ERROR_PLUGIN,
                   "a port is a sequence or an optional, and the traits are %u: expected none but "
                   "TN_OPERATOR_NO_FOLD",
                   op->traits);
}
