/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A spelling (tn_operator.spellings) as a tree: operators with arguments, numbers, and the input.
 * What matches graphs against it is src/builder/passes/recognize.c.
 */
#ifndef TN_PLUGIN_SPELLING_H
#define TN_PLUGIN_SPELLING_H

#include "base/memory.h"
#include <tenon/plugin.h>

enum { TN_SPELLING_INPUT = 0, TN_SPELLING_NUMBER = 1, TN_SPELLING_OPERATOR = 2 };
enum { TN_SPELLING_ARGUMENTS = 4, TN_SPELLING_DEPTH = 16 };

typedef struct tn_spelling tn_spelling;
struct tn_spelling {
    uint32_t kind;
    const char *name; /* of an operator */
    double number;
    uint32_t argument_count;
    const tn_spelling *arguments[TN_SPELLING_ARGUMENTS];
};

/* Reads the text of a spelling whose input is called `input`. The tree lies in the arena.
 * TN_ERROR_PLUGIN names the text and the column. */
tn_status tn_spelling_parse(tn_arena *arena, const char *text, const char *input,
                            const tn_spelling **out_spelling);

#endif
