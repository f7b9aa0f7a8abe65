/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of text; see text_table.h. */
#include "text_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_WIDTH = 48 };

void text_table_row(text_table *table) {
    table->columns = 0;
    if (table->count == table->capacity) {
        const size_t capacity = table->capacity ? table->capacity * 2 : 32;
        char *(*rows)[TABLE_COLUMNS] = realloc(table->rows, capacity * sizeof(*rows));
        if (!rows) {
            table->has_failed = true;
            return;
        }
        table->rows = rows;
        table->capacity = capacity;
    }
    memset(table->rows[table->count++], 0, sizeof(*table->rows));
}

/* Takes the text over. */
static void add(text_table *table, char *text) {
    if (!text || table->count == 0 || table->columns == TABLE_COLUMNS) {
        table->has_failed = true;
        free(text);
        return;
    }
    table->rows[table->count - 1][table->columns++] = text;
}

void text_table_cell(text_table *table, const char *text) {
    add(table, strdup(text));
}

void text_table_format(text_table *table, const char *format, ...) {
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) text = NULL;
    va_end(arguments);
    add(table, text);
}

/* Characters, of UTF-8. */
static size_t width_of(const char *text) {
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* The end of a text that is too wide; *out_is_cut. */
static const char *end_of(const char *text, bool *out_is_cut) {
    size_t width = width_of(text);
    *out_is_cut = width > CELL_WIDTH;
    for (; width > CELL_WIDTH - 3 && *out_is_cut; width--)
        do
            text++;
        while (((unsigned char)*text & 0xc0) == 0x80);
    return text;
}

static size_t last_column(char *const *row) {
    size_t last = 0;
    for (size_t i = 0; i < TABLE_COLUMNS; i++)
        if (row[i] && row[i][0]) last = i;
    return last;
}

static void print_row(char *const *row, const size_t *widths, int indent) {
    const size_t last = last_column(row);
    printf("%*s", indent, "");
    for (size_t i = 0; i <= last; i++) {
        bool is_cut = false;
        const char *cell = row[i] ? row[i] : "";
        if (i < last) cell = end_of(cell, &is_cut);
        printf("%s%s", is_cut ? "..." : "", cell);
        const size_t width = width_of(cell) + (is_cut ? 3 : 0);
        if (i < last) printf("%*s", (int)(widths[i] - width + 2), "");
    }
    putchar('\n');
}

bool text_table_print(const text_table *table, int indent) {
    size_t widths[TABLE_COLUMNS] = {0};
    for (size_t r = 0; r < table->count; r++)
        for (size_t i = 0; i < last_column(table->rows[r]); i++) {
            const size_t width = table->rows[r][i] ? width_of(table->rows[r][i]) : 0;
            if (width > widths[i]) widths[i] = width > CELL_WIDTH ? CELL_WIDTH : width;
        }
    for (size_t r = 0; r < table->count; r++)
        print_row(table->rows[r], widths, indent);
    return !table->has_failed;
}

void text_table_free(text_table *table) {
    for (size_t r = 0; r < table->count; r++)
        for (size_t i = 0; i < TABLE_COLUMNS; i++)
            free(table->rows[r][i]);
    free(table->rows);
    *table = (text_table){0};
}
