/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the asking side share: isolated_ask.c (the helper and the wait for it),
 * isolated_request.c and isolated_answer.c. */
#ifndef TN_IMPORT_ISOLATED_ASKING_H
#define TN_IMPORT_ISOLATED_ASKING_H

#include "helper/helper_process.h"
#include "import/isolated.h"

/* One reading. */
typedef struct tn_isolated_asking {
    tn_runtime *runtime;
    const tn_import_options *options;
    const tn_reading_source *from;
    tn_arena *arena;
    tn_isolated_writer request;
    int page_file, file; /* -1: not yet */
    tn_isolated_page *page;
    tn_helper_process process;
    uint64_t memory; /* that it may take; UINT64_MAX: any */
    void *records;
} tn_isolated_asking;

/* --- isolated_request.c --- */
/* The page and the file, with what is to be read. */
tn_status tn_isolated_ask_for(tn_isolated_asking *a);

/* --- isolated_answer.c --- */
/* For messages: an end, and nothing that a terminal would take for a command. */
void tn_isolated_clean(char *text, size_t capacity);
/* The same of a copy: the page may change. */
void tn_isolated_copy_clean(char *to, const char *from, size_t capacity);
/* Of a helper that has ended with an answer. */
tn_status tn_isolated_take_answer(tn_isolated_asking *a, tn_graph **out_graph);

#endif
