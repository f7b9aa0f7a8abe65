/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of text for people: rows of cells, printed in aligned columns. */
#ifndef TENON_TEXT_TABLE_H
#define TENON_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum { TABLE_COLUMNS = 8 };

/* Zeroed: an empty one. */
typedef struct text_table {
    char *(*rows)[TABLE_COLUMNS]; /* null cells are empty */
    size_t count, capacity;
    size_t columns;
    bool has_failed; /* no memory: a cell or row is missing */
} text_table;

/* Begins a row; cells are then added from left to right. */
void text_table_row(text_table *table);
void text_table_cell(text_table *table, const char *text);
void text_table_format(text_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints the rows, each behind `indent` spaces; all but a row's last cell are padded. A cell of
 * more than 48 characters loses its beginning, for names differ at their ends; those of the last
 * column stay whole. False: something is missing. */
bool text_table_print(const text_table *table, int indent);
void text_table_free(text_table *table);

#endif
