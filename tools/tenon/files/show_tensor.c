/* SPDX-License-Identifier: Apache-2.0 */
/* Results on the screen; see show_tensor.h. */
#include "show_tensor.h"
#include "element.h"

#include <tenon/plugin/string.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EDGE = 3, WHOLE_AT_MOST = 1000, ROWS_AT_MOST = 100, DIGITS = 6, MOST_STRING_BYTES = 60 };

/* ----------------------------------------------------------------------------------------------
 * values */

typedef struct value_table {
    const tn_tensor *tensor;
    bool is_cut; /* the middle of long axes is left out */
    int width;
    bool is_measured; /* the first traversal measures, the second prints */
} value_table;

/* In quotes; what is no printable ASCII is escaped, but for UTF-8, and the end of a long one is
 * left out. */
static const char *print_string(const tn_tensor *tensor, size_t index, char *text) {
    uint64_t bytes;
    const char *from = tn_string_at(tensor, index, &bytes);
    size_t length = 0;
    text[length++] = '"';
    for (uint64_t i = 0; i < bytes && i < MOST_STRING_BYTES; i++) {
        const unsigned char byte = (unsigned char)from[i];
        if (byte < 0x20 || byte == 0x7f)
            length += (size_t)sprintf(text + length, "\\x%02x", byte);
        else if (byte == '"' || byte == '\\')
            length += (size_t)sprintf(text + length, "\\%c", byte);
        else
            text[length++] = (char)byte;
    }
    sprintf(text + length, bytes > MOST_STRING_BYTES ? "\"..." : "\"");
    return text;
}

static void show_element(value_table *table, size_t index) {
    char text[ELEMENT_TEXT_BYTES + 4 * MOST_STRING_BYTES];
    if (table->tensor->type == TN_STRING)
        print_string(table->tensor, index, text);
    else
        element_print(table->tensor->data, table->tensor->type, index, DIGITS, text);
    const int length = (int)strlen(text);
    if (table->is_measured)
        printf("%*s", table->width, text);
    else if (length > table->width)
        table->width = length;
}

static void show_break(const value_table *table, uint32_t axis) {
    if (!table->is_measured) return;
    if (axis + 1 == table->tensor->rank) {
        putchar(' ');
        return;
    }
    for (uint32_t i = axis + 1; i < table->tensor->rank; i++)
        putchar('\n');
    printf("%*s", (int)axis + 3, "");
}

/* The elements from `offset` on, whose first `axis` indices are chosen; the last one's stride is
 * 1. */
static void show_axis(value_table *table, uint32_t axis, size_t offset) {
    const tn_tensor *tensor = table->tensor;
    if (axis == tensor->rank) {
        show_element(table, offset);
        return;
    }
    size_t stride = 1;
    for (uint32_t i = axis + 1; i < tensor->rank; i++)
        stride *= (size_t)tensor->shape[i];
    const size_t extent = (size_t)tensor->shape[axis];
    const bool is_cut = table->is_cut && extent > 2 * EDGE;
    if (table->is_measured) putchar('[');
    for (size_t i = 0; i < extent; i++) {
        if (i > 0) show_break(table, axis);
        if (is_cut && i == EDGE) {
            if (table->is_measured) printf("...");
            show_break(table, axis);
            i = extent - EDGE;
        }
        show_axis(table, axis + 1, offset + i * stride);
    }
    if (table->is_measured) putchar(']');
}

static size_t count_of(const tn_tensor *tensor) {
    size_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        count *= (size_t)tensor->shape[i];
    return count;
}

void show_tensor_values(const tn_tensor *tensor) {
    const size_t count = count_of(tensor);
    value_table table = {.tensor = tensor, .is_cut = count > WHOLE_AT_MOST};
    if (count == 0) {
        printf("  []\n");
        return;
    }
    show_axis(&table, 0, 0);
    table.is_measured = true;
    printf("  ");
    show_axis(&table, 0, 0);
    putchar('\n');
}

/* ----------------------------------------------------------------------------------------------
 * the largest of each row */

typedef struct ranked {
    double value;
    size_t index;
} ranked;

static int compare_ranked(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (isnan(x->value) != isnan(y->value)) return isnan(x->value) ? 1 : -1;
    if (x->value != y->value && !isnan(x->value)) return x->value > y->value ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* The indices of a row, all but the last axis's; nothing for a tensor of one row. */
static void print_row_index(const tn_tensor *tensor, size_t row, bool is_json) {
    size_t index[TN_MAX_RANK] = {0};
    const uint32_t rank = tensor->rank > 0 ? tensor->rank - 1 : 0;
    for (uint32_t i = rank; i-- > 0; row /= (size_t)tensor->shape[i])
        index[i] = row % (size_t)tensor->shape[i];
    putchar('[');
    for (uint32_t i = 0; i < rank; i++)
        printf(i ? ", %zu" : "%zu", index[i]);
    printf(is_json || rank == 0 ? "]" : ", :]");
}

static void print_text(const tn_tensor *tensor, size_t base, const ranked *all, size_t count) {
    char text[ELEMENT_TEXT_BYTES];
    for (size_t i = 0; i < count; i++)
        printf("  %zu: %s", all[i].index,
               element_print(tensor->data, tensor->type, base + all[i].index, DIGITS, text));
    putchar('\n');
}

static void print_json(const tn_tensor *tensor, size_t base, const ranked *all, size_t count) {
    char text[ELEMENT_TEXT_BYTES];
    printf(", \"indices\": [");
    for (size_t i = 0; i < count; i++)
        printf(i ? ", %zu" : "%zu", all[i].index);
    printf("], \"values\": [");
    for (size_t i = 0; i < count; i++) {
        element_print(tensor->data, tensor->type, base + all[i].index,
                      tensor->type == TN_F64 ? 17 : 9, text);
        printf(i ? ", %s" : "%s", isfinite(all[i].value) ? text : "null");
    }
    printf("]}");
}

static void print_row(const tn_tensor *tensor, size_t row, size_t extent, uint32_t count,
                      bool is_json, ranked *all) {
    const size_t base = row * extent;
    for (size_t i = 0; i < extent; i++)
        all[i] = (ranked){element_number(tensor->data, tensor->type, base + i), i};
    qsort(all, extent, sizeof(*all), compare_ranked);
    printf(is_json ? "%s{\"row\": " : "%s  ", is_json && row ? ", " : "");
    print_row_index(tensor, row, is_json);
    (is_json ? print_json : print_text)(tensor, base, all, count < extent ? count : extent);
}

bool show_tensor_top(const tn_tensor *tensor, uint32_t count, bool is_json) {
    if (tensor->type == TN_STRING) { /* they have no order */
        if (is_json) printf("null");
        return true;
    }
    const size_t extent = tensor->rank ? (size_t)tensor->shape[tensor->rank - 1] : 1;
    const size_t rows = extent ? count_of(tensor) / extent : 0;
    const size_t shown = is_json || rows <= ROWS_AT_MOST ? rows : ROWS_AT_MOST;
    ranked *all = malloc((extent + 1) * sizeof(*all));
    if (!all) return false;
    if (is_json) putchar('[');
    for (size_t row = 0; row < shown; row++)
        print_row(tensor, row, extent, count, is_json, all);
    if (is_json) putchar(']');
    if (shown < rows) printf("  ... %zu more rows (--json has all)\n", rows - shown);
    free(all);
    return true;
}
