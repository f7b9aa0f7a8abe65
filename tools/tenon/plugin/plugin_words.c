/* SPDX-License-Identifier: Apache-2.0 */
/* The words of an operator's and a kernel's tables; see plugin_show.h. */
#include "plugin_show.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void add(char *buffer, size_t bytes, const char *format, ...) TN_PRINTF(3, 4);
static void add(char *buffer, size_t bytes, const char *format, ...) {
    const size_t length = strlen(buffer);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(buffer + length, bytes - length, format, arguments);
    va_end(arguments);
}

/* The names of the bits from bit `first` on. */
static const char *join(uint32_t set, uint32_t first, const char *const *names, size_t count,
                        char *buffer) {
    buffer[0] = 0;
    for (size_t i = 0; i < count; i++)
        if (set >> (first + i) & 1)
            add(buffer, SHOW_WORDS, "%s%s", buffer[0] ? ", " : "", names[i]);
    return buffer;
}
#define JOIN(set, first, names) join(set, first, names, sizeof(names) / sizeof((names)[0]), buffer)

const char *show_operator_traits(uint32_t traits, char *buffer) {
    static const char *const names[] = {"elementwise", "not folded", "may be an identity",
                                        "constant",    "quantizes",  "dequantizes",
                                        "selects",     "commutative"};
    return JOIN(traits, 0, names);
}

const char *show_kernel_traits(uint32_t traits, char *buffer) {
    static const char *const names[] = {"deterministic", "capturable", "in place", "fallback"};
    return JOIN(traits, 0, names);
}

const char *show_port_flags(const tn_port *port, char *buffer) {
    static const char *const names[] = {"optional",     "variadic", "shape only", "value needed",
                                        "sized by run", "view",     "alias",      "heterogeneous"};
    return JOIN(port->flags, 0, names);
}

const char *show_field_type(uint32_t type) {
    static const char *const names[] = {"?",      "bool",  "i32",     "i64",   "f32",    "f64",
                                        "string", "bytes", "type",    "enum",  "tensor", "i64s",
                                        "f32s",   "f64s",  "strings", "graph", "any"};
    return type < sizeof(names) / sizeof(names[0]) ? names[type] : "?";
}

const char *show_kernel_fields(const tn_kernel *kernel, char *buffer) {
    buffer[0] = 0;
    for (uint32_t i = 0; i < kernel->field_count; i++)
        add(buffer, SHOW_WORDS, "%s%s (%s%s)", i ? ", " : "", kernel->fields[i].name,
            show_field_type(kernel->fields[i].type),
            kernel->fields[i].flags & TN_REQUIRED ? ", needed" : "");
    return buffer;
}

const char *show_field_range(const tn_field *field, char *buffer) {
    const uint32_t least = field->minimum_count, most = field->maximum_count;
    const bool has_range = field->minimum != 0 || field->maximum != 0;
    buffer[0] = 0;
    if (least != 0 || most != 0) {
        if (least == most)
            add(buffer, SHOW_WORDS, "%u item%s", least, least == 1 ? "" : "s");
        else if (most == 0)
            add(buffer, SHOW_WORDS, "%u items or more", least);
        else
            add(buffer, SHOW_WORDS, "%u to %u items", least, most);
    }
    if (has_range)
        add(buffer, SHOW_WORDS, "%s%g..%g", buffer[0] ? " of " : "", field->minimum,
            field->maximum);
    return buffer;
}

static void add_ports(const tn_port *ports, uint32_t count, char *buffer, size_t bytes) {
    for (uint32_t i = 0; i < count; i++)
        add(buffer, bytes, "%s%s%s%s", i > 0 ? ", " : "", ports[i].name,
            ports[i].flags & TN_PORT_OPTIONAL ? "?" : "",
            ports[i].flags & TN_PORT_VARIADIC ? "..." : "");
}

const char *show_signature(const tn_operator *op, char *buffer, size_t bytes) {
    buffer[0] = 0;
    add_ports(op->outputs, op->output_count, buffer, bytes);
    add(buffer, bytes, " = %s%s%s(", op->domain, op->domain[0] ? "::" : "", op->name);
    add_ports(op->inputs, op->input_count, buffer, bytes);
    for (uint32_t i = 0; i < op->field_count; i++) {
        const tn_field *field = &op->fields[i];
        add(buffer, bytes, "%s%s%s%s",
            i > 0                 ? ", "
            : op->input_count > 0 ? "; "
                                  : "",
            field->name, field->fallback ? "=" : "", field->fallback ? field->fallback : "");
    }
    add(buffer, bytes, ")");
    return buffer;
}

bool show_kernel_serves(const tn_kernel *kernel, const tn_operator *op) {
    const bool is_in_range =
        (kernel->minimum_version == 0 || kernel->minimum_version <= op->since_version) &&
        (kernel->maximum_version == 0 || kernel->maximum_version >= op->since_version);
    const bool is_any = strcmp(kernel->op, "*") == 0 && strcmp(kernel->domain, "*") == 0;
    if (is_any) return is_in_range && (op->traits & TN_OPERATOR_ELEMENTWISE) && op->expression;
    return is_in_range && strcmp(kernel->op, op->name) == 0 &&
           strcmp(kernel->domain, op->domain) == 0;
}
