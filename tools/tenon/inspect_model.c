/* SPDX-License-Identifier: Apache-2.0 */
/* See inspect_model.h. */
#include "inspect_model.h"
#include "cli/cli.h"
#include "text/text_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_AT_MOST = 100, ROWS_AT_MOST = 100 }; /* --json has all */

/* One line of a text that may be anything: its beginning, without control characters. */
static void add_cell(text_table *table, const char *text) {
    char line[TEXT_AT_MOST + 4];
    size_t length = strlen(text);
    const bool is_cut = length > TEXT_AT_MOST;
    if (is_cut) length = TEXT_AT_MOST;
    while (is_cut && length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    for (size_t i = 0; i < length; i++)
        line[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i];
    strcpy(line + length, is_cut ? "..." : "");
    text_table_cell(table, line);
}

static void add_row(text_table *table, const char *key, const char *value) {
    if (!value[0]) return;
    text_table_row(table);
    add_cell(table, key);
    add_cell(table, value);
}

static void add_facts(text_table *table, const json *model) {
    static const char *const keys[] = {"source_format", "producer_name", "producer_version",
                                       "domain", "doc"};
    static const char *const titles[] = {"format", "producer", "producer's version", "domain",
                                         "description"};
    const double version = json_number_of(model, "version");
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        add_row(table, titles[i], json_text_of(model, keys[i]));
    if (version != 0) {
        text_table_row(table);
        text_table_cell(table, "version");
        text_table_format(table, "%.0f", version);
    }
}

static void add_opsets(text_table *table, const json *model) {
    const json *list = json_member(model, "opsets");
    for (const json *it = list ? list->first : NULL; it; it = it->next) {
        const char *domain = json_text_of(it, "domain");
        char text[TEXT_AT_MOST];
        snprintf(text, sizeof(text), "%.0f%s%s", json_number_of(it, "version"),
                 domain[0] ? " of " : "", domain);
        add_row(table, "opset", text);
    }
}

static void add_metadata(text_table *table, const json *model) {
    const json *list = json_member(model, "metadata");
    size_t shown = 0;
    for (const json *it = list ? list->first : NULL; it && shown < ROWS_AT_MOST; it = it->next) {
        text_table_row(table);
        add_cell(table, json_text_of(it, "key"));
        add_cell(table, json_text_of(it, "value"));
        shown++;
    }
    if (json_count(list) > ROWS_AT_MOST) {
        text_table_row(table);
        text_table_format(table, "and %zu more", json_count(list) - ROWS_AT_MOST);
    }
}

static int print_table(const char *title, const json *model,
                       void (*add)(text_table *table, const json *model)) {
    text_table table = {0};
    add(&table, model);
    if (table.count > 0) printf("\n%s\n", title);
    const bool is_whole = text_table_print(&table, 2);
    text_table_free(&table);
    return is_whole ? EXIT_DONE : cli_fault("no memory for the tables");
}

static void add_model(text_table *table, const json *model) {
    add_facts(table, model);
    add_opsets(table, model);
}

int inspect_model_print(const json *document) {
    const json *model = json_member(document, "model");
    if (!json_is_there(model)) return EXIT_DONE;
    const int code = print_table("model", model, add_model);
    return code == EXIT_DONE ? print_table("metadata", model, add_metadata) : code;
}
