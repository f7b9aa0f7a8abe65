/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that run on the processor, by operator; see test_processor.h. */
#include "test_processor.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

static void add_operator(test_processor *own, const char *name, double nodes) {
    size_t i = 0;
    while (i < own->count && strcmp(own->operators[i].name, name) != 0)
        i++;
    if (i == TEST_PROCESSOR_OPERATORS) return;
    if (i == own->count) {
        snprintf(own->operators[i].name, sizeof(own->operators[i].name), "%s", name);
        own->count++;
    }
    own->operators[i].nodes += nodes;
    own->operators[i].cases++;
}

void test_processor_add(test_processor *own, const char *report) {
    json *document = report ? json_read(report) : NULL;
    const json *operators = json_member(json_member(document, "processor"), "operators");
    for (const json *item = operators ? operators->first : NULL; item; item = item->next)
        add_operator(own, json_text_of(item, "op"), json_number_of(item, "nodes"));
    json_free(document);
}

void test_processor_print(const test_processor *own) {
    for (size_t i = 0; i < own->count; i++)
        printf("%s%s %.0f in %zu case%s", i ? ", " : "on the processor: ", own->operators[i].name,
               own->operators[i].nodes, own->operators[i].cases,
               own->operators[i].cases == 1 ? "" : "s");
    if (own->count) printf("\n");
}
