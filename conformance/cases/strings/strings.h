/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings of cases: all lie in one heap of the process, each text once. What inputs hold are
 * elements of it; what a run makes is checked and turned into elements of it, so that equal strings
 * are equal bytes wherever results are compared.
 */
#ifndef TN_CONFORMANCE_CASES_STRINGS_STRINGS_H
#define TN_CONFORMANCE_CASES_STRINGS_STRINGS_H

#include <tenon/plugin/string.h>

/* Kinds of texts by a number's rest, one of which has bytes that are zero. */
enum { TN_CASE_STRING_KINDS = 11, TN_CASE_ZERO_STRING = 9 };
/* Added to a number below 3, it gives that text's second element. */
enum { TN_CASE_SECOND_STRING = 16 * TN_CASE_STRING_KINDS };

/* Never moves; nobody may write its bytes. */
const tn_heap *tn_case_heap(void);
/* The element of a text. TN_ERROR_MEMORY: there is no room for it. [thread: any] */
tn_status tn_case_intern(const char *text, size_t bytes, tn_string *out_string);
/* One of the texts that are drawn, by any number: an empty one, ASCII, several bytes a character,
 * bytes that are zero, long ones; numbers below 3 give short ones that differ in their end. Of each
 * text there are two elements, with bytes of their own: only inputs hold the second one. */
tn_string tn_case_draw_string(uint64_t number);
/* Texts of which each kind shows other mistakes. */
enum {
    TN_CASE_NO_TEXTS = 0,
    TN_CASE_ANY_TEXTS, /* as above */
    TN_CASE_PREFIXES, /* common beginnings and ends, of equal lengths, in small letters and capitals
                       */
    TN_CASE_BLANKS,   /* blanks alone, at either end, several in the middle, other separators */
    TN_CASE_NUMBERS,  /* decimal ones */
    TN_CASE_LENGTHS,  /* one less, and one more than powers of two, up to 1025 bytes */
    TN_CASE_BROKEN_TEXTS /* bytes that are no UTF-8, cut off at the end among others */
};
/* One of the texts of such a kind but the first two, by any number. */
tn_string tn_case_draw_text(uint32_t kind, uint64_t number);
/* Whether two elements of the heap are the same text. */
bool tn_case_same_string(const tn_string *a, const tn_string *b);
/* Turns the elements that a run has written into those of the one heap. TN_ERROR_PLUGIN: some lie
 * outside their heap. */
tn_status tn_case_take_strings(tn_string *elements, size_t count, const tn_heap *heap);
/* Elements with the heap behind them, for tn_graph_add_constant and tn_context_bind_input; freed by
 * `free`. Null: no memory. */
void *tn_case_block(const void *elements, size_t count, uint64_t *out_bytes);

#endif
