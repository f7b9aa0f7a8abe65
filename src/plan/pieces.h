/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a plan's file before anybody asks for its bytes in one piece: header and
 * description in memory of its own, weights where the builder has them. A plan that is saved, or
 * whose engines are made in the program that built it, is never copied.
 */
#ifndef TN_PLAN_PIECES_H
#define TN_PLAN_PIECES_H

#include "base/file.h"
#include "plan/layout.h"

/* A weight at its offset in the file. */
typedef struct tn_plan_piece {
    size_t offset, bytes;
    const void *data;
} tn_plan_piece;

typedef struct tn_plan_pieces {
    const tn_allocator *allocator;
    tn_plan_layout layout;
    unsigned char *head; /* up to the first section of weights */
    tn_file_part *parts; /* all of the file in its order, the head first */
    size_t part_count;
    tn_plan_piece *weights; /* in the order of the file, each offset once */
    size_t weight_count;
    void *aligned;      /* copies of those that were not aligned as in the file; null: none yet */
    bool has_checksums; /* of sections, in the head */
} tn_plan_pieces;

/* Takes the weights, in any order; those with the same offset are the same. The caller writes the
 * description into `head`. The data is lent. TN_ERROR_MEMORY: nothing is to be freed. */
tn_status tn_plan_pieces_init(tn_plan_pieces *pieces, const tn_allocator *allocator,
                              const tn_plan_layout *layout, size_t count, tn_plan_piece *weights);
void tn_plan_pieces_deinit(tn_plan_pieces *pieces); /* a zeroed one is fine */
/* Each weight aligned as it is in the file, for tn_plan_pieces_find; the second time nothing is
 * done. TN_ERROR_MEMORY. */
tn_status tn_plan_pieces_align(tn_plan_pieces *pieces);
/* `bytes` at a weight's offset in the file; null: no weight begins there or has as many. */
const void *tn_plan_pieces_find(const tn_plan_pieces *pieces, size_t offset, size_t bytes);
/* Reads all of the weights, once, and completes the head. TN_ERROR_MEMORY. */
tn_status tn_plan_pieces_sum(tn_plan_pieces *pieces);
/* The file's bytes; `out_data` has layout.bytes. The head is complete. */
void tn_plan_pieces_join(const tn_plan_pieces *pieces, void *out_data);

#endif
