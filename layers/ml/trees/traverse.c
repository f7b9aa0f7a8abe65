/* SPDX-License-Identifier: Apache-2.0 */
/* The traversal of trees, for 32 and 64 bits; see forest.h. */
#include "ml/trees/forest.h"

#include <math.h>

enum { LANES = 8, STEPS = 4 };

#define REAL    float
#define NODE    tn_forest_node32
#define NAME(x) x##_32
#include "ml/trees/traverse_body.h"
#undef REAL
#undef NODE
#undef NAME
#define REAL    double
#define NODE    tn_forest_node64
#define NAME(x) x##_64
#include "ml/trees/traverse_body.h"

void tn_forest_traverse_rows(const tn_forest *forest, const tn_forest_tree *tree,
                             const tn_forest_rows *rows, uint32_t *out_leaves) {
    if (forest->nodes32)
        traverse_rows_32(forest, forest->nodes32, tree, rows, out_leaves);
    else
        traverse_rows_64(forest, forest->nodes64, tree, rows, out_leaves);
}

void tn_forest_traverse_trees(const tn_forest *forest, uint64_t begin, uint64_t end,
                              const void *row, uint32_t *out_leaves) {
    if (forest->nodes32)
        traverse_trees_32(forest, forest->nodes32, begin, end, row, out_leaves);
    else
        traverse_trees_64(forest, forest->nodes64, begin, end, row, out_leaves);
}
