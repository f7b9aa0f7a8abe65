/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node's fields point to (lists, texts, bytes, tensors), moved into guarded memory that ends
 * where they end: who reads an item more than there is meets a page that cannot be touched, who
 * writes one, too.
 */
#ifndef TN_CONFORMANCE_WORKER_FIELD_PAGES_H
#define TN_CONFORMANCE_WORKER_FIELD_PAGES_H

#include "base/memory.h"
#include "worker/watch/guarded.h"

/* Enough for all lists of most operators; what is beyond stays where it is. */
enum { TN_FIELD_PAGES = 12 };

typedef struct tn_field_pages {
    tn_guarded pages[TN_FIELD_PAGES];
    uint32_t count;
} tn_field_pages;

/* The members of `params` then point there; strings' pointers and tensors' descriptions are in
 * `arena`. Fields for which there is no memory stay as they are. */
void tn_field_pages_move(tn_field_pages *pages, tn_arena *arena, const tn_operator *op,
                         void *params);
/* The parameters must be gone: who still reads them is told so. */
void tn_field_pages_retire(tn_field_pages *pages);

#endif
