/* SPDX-License-Identifier: Apache-2.0 */
/* Heaps of inputs of strings; see texts.h. */
#include "worker/probe/texts.h"
#include "base/status.h"
#include "cases/strings/strings.h"

#include <stdlib.h>
#include <string.h>

enum {
    FILLER = '7',            /* of what belongs to no text: a letter, a digit and no blank */
    MOST_SPREAD = 1 << 20,   /* bytes of a heap whose elements lie at one distance */
    MOST_SEARCHED = 1 << 12, /* of a heap, for a text that lies in it */
    GAP = 3,                 /* behind the longest text */
};

bool tn_texts_are_own(const tn_probe_port *port) {
    return port->is_given && port->type == TN_STRING && !port->is_constant && !port->has_gaps;
}

size_t tn_texts_longest(const tn_probe *values) {
    size_t longest = 1;
    for (uint32_t i = 0; i < values->input_count; i++) {
        const tn_probe_port *port = &values->inputs[i];
        size_t count = 0;
        if (!tn_texts_are_own(port) || tn_shape_count(&port->shape, &count) != TN_OK) continue;
        for (size_t k = 0; k < count; k++) {
            const uint64_t bytes = ((const tn_string *)port->own)[k].bytes;
            longest = bytes > longest ? (size_t)bytes : longest;
        }
    }
    return longest;
}

/* The bytes of all texts, one after the other. */
static size_t whole_bytes(const tn_string *elements, size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += (size_t)elements[i].bytes;
    return bytes;
}

static const char *text_of(const tn_string *element) {
    return element->bytes > 0 ? tn_case_heap()->data + element->offset : "";
}

/* Where the text lies already, or behind the others. */
static size_t find_or_append(char *heap, size_t *inout_bytes, const tn_string *element) {
    const size_t bytes = (size_t)element->bytes;
    const size_t searched = *inout_bytes < MOST_SEARCHED ? *inout_bytes : MOST_SEARCHED;
    const char *at =
        searched >= bytes && bytes > 0 ? memmem(heap, searched, text_of(element), bytes) : NULL;
    if (at || bytes == 0) return at ? (size_t)(at - heap) : 0;
    memcpy(heap + *inout_bytes, text_of(element), bytes);
    *inout_bytes += bytes;
    return *inout_bytes - bytes;
}

/* Each at its distance. What follows a text goes on as it ends, with blanks behind blanks and
 * digits behind digits, but for the last one. */
static size_t lay_apart(char *heap, tn_string *elements, size_t count, size_t distance) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t own = (size_t)elements[i].bytes;
        char *at = heap + i * distance;
        memcpy(at, text_of(&elements[i]), own);
        if (own > 0) memset(at + own, at[own - 1], distance - own);
        elements[i].offset = i * distance;
        bytes = i * distance + own;
    }
    return bytes;
}

/* The longest first, so that others lie within them. */
static size_t lay_within(char *heap, tn_string *elements, size_t count) {
    size_t bytes = 0;
    uint64_t length = 0, next = 0;
    for (size_t i = 0; i < count; i++)
        next = elements[i].bytes > next ? elements[i].bytes : next;
    for (bool is_any = true; is_any;) {
        is_any = false;
        length = next;
        next = 0;
        for (size_t i = 0; i < count; i++) {
            if (elements[i].bytes < length && (!is_any || elements[i].bytes > next)) {
                next = elements[i].bytes;
                is_any = true;
            }
            if (elements[i].bytes == length)
                elements[i].offset = find_or_append(heap, &bytes, &elements[i]);
        }
    }
    return bytes;
}

tn_status tn_texts_put(tn_guarded *heap, uint32_t input, tn_string *elements, size_t count,
                       size_t longest) {
    const size_t distance = longest > 0 && count < MOST_SPREAD / longest ? longest + GAP : 0;
    const size_t most = distance > 0 ? count * distance : whole_bytes(elements, count);
    char *made = malloc(most + 1);
    if (!made) return tn_fail_memory("an input's strings");
    memset(made, FILLER, most + 1);
    const size_t bytes = distance > 0 ? lay_apart(made, elements, count, distance)
                                      : lay_within(made, elements, count);
    tn_status status = TN_OK;
    if (!heap->data || heap->bytes < bytes) {
        tn_guarded_retire(heap);
        status = tn_guarded_create_flush(heap, TN_GUARDED_INPUT, input, bytes, FILLER);
    }
    if (status == TN_OK) {
        tn_guarded_protect(heap, TN_GUARDED_WRITE);
        memset(heap->data, FILLER, heap->bytes);
        if (bytes > 0) memcpy(heap->data, made, bytes);
        tn_guarded_protect(heap, TN_GUARDED_READ);
    }
    free(made);
    return status;
}
