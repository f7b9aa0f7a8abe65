/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps through trees, of 8 rows or 8 trees side by side; see forest.h. REAL is float or double,
 * NODE the node that has it as threshold, NAME(x) a function's name with that type.
 */

static inline bool NAME(is_member)(const double *members, REAL x) {
    for (; !isnan(*members); members++)
        if (*members == (double)x) return true;
    return false;
}

static inline bool NAME(compare)(const NODE *node, uint32_t at, const double *members, REAL x) {
    if (node->first == at) return false; /* a leaf: its word says no comparison */
    switch (node->word & TN_FOREST_COMPARISON) {
    case TN_FOREST_EQ:
        return x == node->threshold;
    case TN_FOREST_MEMBER:
        return NAME(is_member)(members + (node->word >> TN_FOREST_MEMBERS), x);
    default:
        return x <= node->threshold;
    }
}

/* `variant` is known when this is compiled into its caller. */
static inline uint32_t NAME(step)(const NODE *nodes, uint32_t at, const REAL *row, uint32_t variant,
                                  const double *members) {
    const NODE *node = &nodes[at];
    const REAL x = row[node->feature];
    if (variant == TN_FOREST_PLAIN) return node->first + (x <= node->threshold);
    bool is_true =
        variant == TN_FOREST_ANY ? NAME(compare)(node, at, members, x) : x <= node->threshold;
    is_true |= isnan(x) & (node->first != at) & ((node->word & TN_FOREST_NAN_IS_TRUE) != 0);
    return node->first + is_true;
}

/* LANES traversals of the same number of steps, which end early when no lane moves any more. */
static inline void NAME(traverse)(const NODE *nodes, uint32_t depth, const REAL *const *rows,
                                  uint32_t variant, const double *members, uint32_t *inout_at) {
    uint32_t at[LANES];
    memcpy(at, inout_at, sizeof(at));
    for (uint32_t done = 0; done < depth; done += STEPS) {
        uint32_t moved = 0;
        for (uint32_t i = 1; i < STEPS; i++)
            for (uint32_t k = 0; k < LANES; k++)
                at[k] = NAME(step)(nodes, at[k], rows[k], variant, members);
        for (uint32_t k = 0; k < LANES; k++) {
            const uint32_t next = NAME(step)(nodes, at[k], rows[k], variant, members);
            moved |= next ^ at[k];
            at[k] = next;
        }
        if (!moved) break;
    }
    memcpy(inout_at, at, sizeof(at));
}

static void NAME(traverse_plain)(const NODE *nodes, uint32_t depth, const REAL *const *rows,
                                 const double *members, uint32_t *inout_at) {
    NAME(traverse)(nodes, depth, rows, TN_FOREST_PLAIN, members, inout_at);
}

static void NAME(traverse_nan)(const NODE *nodes, uint32_t depth, const REAL *const *rows,
                               const double *members, uint32_t *inout_at) {
    NAME(traverse)(nodes, depth, rows, TN_FOREST_NAN, members, inout_at);
}

static void NAME(traverse_any)(const NODE *nodes, uint32_t depth, const REAL *const *rows,
                               const double *members, uint32_t *inout_at) {
    NAME(traverse)(nodes, depth, rows, TN_FOREST_ANY, members, inout_at);
}

typedef void (*NAME(traversal_function))(const NODE *, uint32_t, const REAL *const *,
                                         const double *, uint32_t *);
static const NAME(traversal_function)
    NAME(traversals)[] = {NAME(traverse_plain), NAME(traverse_nan), NAME(traverse_any)};

static void NAME(traverse_rows)(const tn_forest *forest, const NODE *nodes,
                                const tn_forest_tree *tree, const tn_forest_rows *rows,
                                uint32_t *out_leaves) {
    for (int64_t first = 0; first < rows->count; first += LANES) {
        const int64_t count = rows->count - first < LANES ? rows->count - first : LANES;
        const REAL *lanes[LANES];
        uint32_t at[LANES];
        for (int64_t k = 0; k < LANES; k++) { /* lanes past the end repeat the last row */
            const int64_t row = first + (k < count ? k : count - 1);
            lanes[k] = (const REAL *)rows->x + row * rows->stride;
            at[k] = tree->root;
        }
        NAME(traversals)[forest->variant](nodes, tree->depth, lanes, forest->members, at);
        memcpy(out_leaves + first, at, (size_t)count * sizeof(*at));
    }
}

static void NAME(traverse_trees)(const tn_forest *forest, const NODE *nodes, uint64_t begin,
                                 uint64_t end, const REAL *row, uint32_t *out_leaves) {
    for (uint64_t first = begin; first < end; first += LANES) {
        const uint64_t count = end - first < LANES ? end - first : LANES;
        const REAL *lanes[LANES];
        uint32_t at[LANES], depth = 0;
        for (uint64_t k = 0; k < LANES; k++) {
            const tn_forest_tree *tree = &forest->trees[first + (k < count ? k : count - 1)];
            lanes[k] = row;
            at[k] = tree->root;
            depth = tree->depth > depth ? tree->depth : depth;
        }
        NAME(traversals)[forest->variant](nodes, depth, lanes, forest->members, at);
        memcpy(out_leaves + (first - begin), at, count * sizeof(*at));
    }
}
