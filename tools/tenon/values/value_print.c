/* SPDX-License-Identifier: Apache-2.0 */
/* Values of any kind as JSON; see value_file.h. */
#include "value_file.h"

#include "files/element.h"
#include "text/json_print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/plugin/string.h>

static bool print_special(FILE *to, double value) {
    if (isfinite(value)) return false;
    fputs(isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"", to);
    return true;
}

static void print_element(FILE *to, const tn_tensor *tensor, size_t index) {
    char text[ELEMENT_TEXT_BYTES];
    uint64_t bytes = 0;
    if (tensor->type == TN_STRING) {
        const char *at = tn_string_at(tensor, index, &bytes);
        json_write_string(to, at, bytes);
    } else if (tensor->type == TN_BOOL) {
        fputs(((const bool *)tensor->data)[index] ? "true" : "false", to);
    } else if (!print_special(to, element_number(tensor->data, tensor->type, index))) {
        fputs(
            element_print(tensor->data, tensor->type, index, tensor->type == TN_F64 ? 17 : 9, text),
            to);
    }
}

static size_t print_axis(FILE *to, const tn_tensor *tensor, uint32_t axis, size_t next) {
    if (axis == tensor->rank) {
        print_element(to, tensor, next);
        return next + 1;
    }
    fputc('[', to);
    for (int64_t i = 0; i < tensor->shape[axis]; i++) {
        if (i > 0) fputs(", ", to);
        next = print_axis(to, tensor, axis + 1, next);
    }
    fputc(']', to);
    return next;
}

/* Keys that are integers are texts, as JSON has it. */
static void print_map(FILE *to, const tn_tensor *keys, const tn_tensor *values) {
    fputc('{', to);
    for (int64_t i = 0; i < keys->shape[0]; i++) {
        if (i > 0) fputs(", ", to);
        if (keys->type == TN_I64)
            fprintf(to, "\"%lld\"", (long long)((const int64_t *)keys->data)[i]);
        else
            print_element(to, keys, (size_t)i);
        fputs(": ", to);
        print_element(to, values, (size_t)i);
    }
    fputc('}', to);
}

bool value_print(FILE *to, tn_context *context, uint32_t output, const tn_port_info *port) {
    const bool is_map = port->kind == TN_KIND_MAP || port->kind == TN_KIND_MAPS;
    const bool is_optional =
        port->kind == TN_KIND_OPTIONAL || port->kind == TN_KIND_OPTIONAL_SEQUENCE;
    const tn_tensor *item = NULL, *values = NULL;
    bool has_element = true;
    uint64_t count = 0;
    if (tn_context_output_length(context, output, &count) != TN_OK) return false;
    if (is_optional && tn_context_output_has_element(context, output, &has_element) != TN_OK)
        return false;
    const bool is_list = has_element && port->kind != TN_KIND_OPTIONAL && port->kind != TN_KIND_MAP;
    if (is_list) fputc('[', to);
    if (!has_element) fputs("null", to);
    for (uint64_t i = 0; i < count; i += is_map ? 2 : 1) {
        if (i > 0) fputs(", ", to);
        if (tn_context_output_item(context, output, i, &item) != TN_OK) return false;
        if (!is_map) {
            print_axis(to, item, 0, 0);
            continue;
        }
        if (tn_context_output_item(context, output, i + 1, &values) != TN_OK) return false;
        print_map(to, item, values);
    }
    if (is_list) fputc(']', to);
    return true;
}

bool value_file_write(const char *path, tn_context *context, uint32_t output,
                      const tn_port_info *port) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    bool is_good = to && value_print(to, context, output, port);
    if (to && !is_good) cli_fail(path);
    if (to) fputc('\n', to);
    if (to && fclose(to) != 0) is_good = false;
    is_good = is_good && whole_file_write(path, text, bytes, NULL, 0);
    free(text);
    return is_good;
}
