/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layered drawing; see report_layout.h. Levels by longest path, then pulled towards their
 * readers; the order in each level by barycentres, x coordinates by least squares with that order
 * kept (pool adjacent violators).
 */
#include "report_layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER_PASSES = 8, POSITION_PASSES = 14 };

typedef struct link_list { /* neighbours of each item, in compressed rows */
    uint32_t *first, *items;
} link_list;

typedef struct layout_work {
    layout *l;
    link_list above, below;           /* by item, of the level before and after */
    link_list sources, targets;       /* the same, but of nodes the nodes at the other ends */
    uint32_t *level_first;            /* by level + 1: into `order` */
    uint32_t *order;                  /* items by level, left to right */
    double *rank, *wanted;            /* by item */
    double *block_sum, *block_weight; /* scratch of the least squares */
    uint32_t *block_size;
} layout_work;

/* ----------------------------------------------------------------------------------------------
 * levels */

/* Edges point from lower to higher numbers, so one pass settles the longest paths. */
static void find_levels(layout *l, uint32_t *in_count, uint32_t *out_count, uint32_t *least) {
    for (size_t e = 0; e < l->edge_count; e++) {
        in_count[l->edges[e].to]++;
        out_count[l->edges[e].from]++;
    }
    for (size_t e = 0; e < l->edge_count; e++) { /* sorted by `to` */
        const layout_edge *edge = &l->edges[e];
        if (l->nodes[edge->to].level <= l->nodes[edge->from].level)
            l->nodes[edge->to].level = l->nodes[edge->from].level + 1;
    }
    for (size_t n = 0; n < l->node_count; n++)
        least[n] = UINT32_MAX;
    for (size_t e = l->edge_count; e-- > 0;) { /* the readers of a node are settled before it */
        const layout_edge *edge = &l->edges[e];
        layout_node *to = &l->nodes[edge->to];
        if (least[edge->to] != UINT32_MAX && in_count[edge->to] <= out_count[edge->to])
            to->level = least[edge->to] - 1;
        if (to->level < least[edge->from]) least[edge->from] = to->level;
    }
    for (size_t n = 0; n < l->node_count; n++)
        if (in_count[n] == 0 && least[n] != UINT32_MAX) l->nodes[n].level = least[n] - 1;
}

static int compare_edges(const void *a, const void *b) {
    const layout_edge *x = a, *y = b;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

static bool make_levels(layout *l) {
    uint32_t *counts = calloc(3 * l->node_count + 1, sizeof(*counts));
    if (!counts) return false;
    qsort(l->edges, l->edge_count, sizeof(*l->edges), compare_edges);
    for (size_t n = 0; n < l->node_count; n++)
        l->nodes[n].level = 0;
    find_levels(l, counts, counts + l->node_count, counts + 2 * l->node_count);
    for (size_t n = 0; n < l->node_count; n++)
        if (l->nodes[n].level >= l->level_count) l->level_count = l->nodes[n].level + 1;
    free(counts);
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * bends */

static uint32_t span_of(const layout *l, const layout_edge *edge) {
    return l->nodes[edge->to].level - l->nodes[edge->from].level;
}

static bool add_bends(layout *l) {
    size_t count = l->node_count;
    for (size_t e = 0; e < l->edge_count; e++) {
        layout_edge *edge = &l->edges[e];
        const uint32_t span = span_of(l, edge);
        edge->is_long = span > LAYOUT_SPAN_LIMIT;
        edge->first_bend = (uint32_t)count;
        edge->bend_count = edge->is_long ? 0 : span - 1;
        count += edge->bend_count;
    }
    if (count >= UINT32_MAX) return false;
    layout_node *nodes = realloc(l->nodes, (count + 1) * sizeof(*nodes));
    if (!nodes) return false;
    l->nodes = nodes;
    l->item_count = count;
    for (size_t e = 0; e < l->edge_count; e++)
        for (uint32_t i = 0; i < l->edges[e].bend_count; i++)
            nodes[l->edges[e].first_bend + i] =
                (layout_node){.width = 14, .level = nodes[l->edges[e].from].level + 1 + i};
    return true;
}

/* The item of an edge in the i-th level from its beginning. */
static uint32_t item_at(const layout_edge *edge, uint32_t i) {
    if (i == 0) return edge->from;
    return i <= edge->bend_count ? edge->first_bend + i - 1 : edge->to;
}

typedef enum link_kind { ABOVE, BELOW, SOURCES, TARGETS } link_kind;

/* The two items that the i-th piece of an edge links: who gets the link, and to whom. */
static void piece_of(const layout_edge *edge, uint32_t i, link_kind kind, uint32_t *out_item,
                     uint32_t *out_other) {
    const bool is_up = kind == ABOVE || kind == SOURCES;
    *out_item = item_at(edge, is_up ? i + 1 : i);
    *out_other = item_at(edge, is_up ? i : i + 1);
    if (kind == SOURCES && i == edge->bend_count) *out_other = edge->from;
    if (kind == TARGETS && i == 0) *out_other = edge->to;
}

static bool make_links(const layout *l, link_list *links, link_kind kind) {
    uint32_t item, other, *next = calloc(l->item_count + 2, sizeof(*next));
    links->first = calloc(l->item_count + 2, sizeof(uint32_t));
    links->items = calloc(l->item_count + l->edge_count + 1, sizeof(uint32_t));
    for (int pass = 0; links->first && links->items && next && pass < 2; pass++) {
        for (size_t e = 0; e < l->edge_count; e++)
            for (uint32_t i = 0; !l->edges[e].is_long && i <= l->edges[e].bend_count; i++) {
                piece_of(&l->edges[e], i, kind, &item, &other);
                if (pass == 0)
                    links->first[item + 1]++;
                else
                    links->items[next[item]++] = other;
            }
        for (size_t n = 0; pass == 0 && n < l->item_count; n++)
            links->first[n + 1] += links->first[n];
        memcpy(next, links->first, (l->item_count + 1) * sizeof(*next));
    }
    free(next);
    return links->first && links->items && next;
}

/* ----------------------------------------------------------------------------------------------
 * order */

static void sort_into_levels(layout_work *w) {
    const layout *l = w->l;
    for (size_t n = 0; n < l->item_count; n++)
        w->level_first[l->nodes[n].level + 1]++;
    for (uint32_t level = 0; level < l->level_count; level++)
        w->level_first[level + 1] += w->level_first[level];
    for (size_t n = 0; n < l->item_count; n++) /* `rank` counts for a moment */
        w->rank[n] = 0;
    uint32_t *at = w->block_size;
    memcpy(at, w->level_first, l->level_count * sizeof(*at));
    for (size_t n = 0; n < l->item_count; n++)
        w->order[at[l->nodes[n].level]++] = (uint32_t)n;
}

static void rank_level(layout_work *w, uint32_t level) {
    const uint32_t first = w->level_first[level], end = w->level_first[level + 1];
    for (uint32_t i = first; i < end; i++)
        w->rank[w->order[i]] = (double)(i - first) - (double)(end - first - 1) / 2;
}

static double mean_of(const link_list *links, uint32_t item, const double *values,
                      double otherwise) {
    double sum = 0;
    const uint32_t first = links->first[item], end = links->first[item + 1];
    for (uint32_t i = first; i < end; i++)
        sum += values[links->items[i]];
    return end > first ? sum / (end - first) : otherwise;
}

/* Merge sort by `wanted`: stable, so that equal ones keep their order. */
static void sort_level(uint32_t *items, uint32_t *scratch, size_t count, const double *wanted) {
    if (count < 2) return;
    const size_t half = count / 2;
    sort_level(items, scratch, half, wanted);
    sort_level(items + half, scratch, count - half, wanted);
    memcpy(scratch, items, half * sizeof(*items));
    size_t a = 0, b = half, at = 0;
    while (a < half && b < count)
        items[at++] = wanted[items[b]] < wanted[scratch[a]] ? items[b++] : scratch[a++];
    while (a < half)
        items[at++] = scratch[a++];
}

static void order_level(layout_work *w, uint32_t level, const link_list *links) {
    const uint32_t first = w->level_first[level], end = w->level_first[level + 1];
    for (uint32_t i = first; i < end; i++)
        w->wanted[w->order[i]] = mean_of(links, w->order[i], w->rank, w->rank[w->order[i]]);
    sort_level(w->order + first, w->block_size, end - first, w->wanted);
    rank_level(w, level);
}

static void order_levels(layout_work *w) {
    for (uint32_t level = 0; level < w->l->level_count; level++)
        rank_level(w, level);
    for (int pass = 0; pass < ORDER_PASSES; pass++) {
        for (uint32_t level = 1; level < w->l->level_count; level++)
            order_level(w, level, &w->above);
        for (uint32_t level = w->l->level_count - 1; pass + 1 < ORDER_PASSES && level-- > 0;)
            order_level(w, level, &w->below);
    }
}

/* ----------------------------------------------------------------------------------------------
 * coordinates */

static double distance(const layout *l, uint32_t left, uint32_t right) {
    return (l->nodes[left].width + l->nodes[right].width) / 2 + l->gap_x;
}

/* Least squares of weight * (x - wanted)^2 over a level with its order and distances kept: with
 * o_i the distances up to i, z_i = x_i - o_i must not fall, and neighbours that would are pooled at
 * their weighted mean. */
static void fit_level(layout_work *w, uint32_t level) {
    layout *l = w->l;
    const uint32_t first = w->level_first[level], end = w->level_first[level + 1];
    uint32_t blocks = 0;
    double offset = 0;
    for (uint32_t i = first; i < end; i++) {
        const uint32_t item = w->order[i];
        const double weight = item < l->node_count ? 1000 : 1; /* long edges give way to nodes */
        if (i > first) offset += distance(l, w->order[i - 1], item);
        w->block_sum[blocks] = weight * (w->wanted[item] - offset);
        w->block_weight[blocks] = weight;
        w->block_size[blocks++] = 1;
        while (blocks > 1 && w->block_sum[blocks - 1] * w->block_weight[blocks - 2] <
                                 w->block_sum[blocks - 2] * w->block_weight[blocks - 1]) {
            blocks--;
            w->block_sum[blocks - 1] += w->block_sum[blocks];
            w->block_weight[blocks - 1] += w->block_weight[blocks];
            w->block_size[blocks - 1] += w->block_size[blocks];
        }
    }
    offset = 0;
    for (uint32_t i = first, block = 0, left = 0; i < end; i++) {
        if (i > first) offset += distance(l, w->order[i - 1], w->order[i]);
        if (left == 0) left = w->block_size[block++];
        l->nodes[w->order[i]].x = w->block_sum[block - 1] / w->block_weight[block - 1] + offset;
        left--;
    }
}

static void want(layout_work *w, uint32_t level, const link_list *one, const link_list *other) {
    for (uint32_t i = w->level_first[level]; i < w->level_first[level + 1]; i++) {
        const uint32_t item = w->order[i];
        const double own = w->rank[item];
        w->wanted[item] = mean_of(one, item, w->rank, own);
        if (other) w->wanted[item] = (w->wanted[item] + mean_of(other, item, w->rank, own)) / 2;
    }
    fit_level(w, level);
    for (uint32_t i = w->level_first[level]; i < w->level_first[level + 1]; i++)
        w->rank[w->order[i]] = w->l->nodes[w->order[i]].x;
}

/* From here on `rank` is x. */
static void find_x(layout_work *w) {
    layout *l = w->l;
    for (size_t n = 0; n < l->item_count; n++)
        w->rank[n] = 0;
    for (int pass = 0; pass < POSITION_PASSES; pass++) {
        const bool is_last = pass + 1 == POSITION_PASSES;
        for (uint32_t level = 0; level < l->level_count; level++)
            want(w, level, &w->sources, is_last ? &w->targets : NULL);
        for (uint32_t level = l->level_count; !is_last && level-- > 0;)
            want(w, level, &w->targets, NULL);
    }
    double left = INFINITY, right = -INFINITY;
    for (size_t n = 0; n < l->item_count; n++) {
        left = fmin(left, l->nodes[n].x - l->nodes[n].width / 2);
        right = fmax(right, l->nodes[n].x + l->nodes[n].width / 2);
    }
    for (size_t n = 0; n < l->item_count; n++)
        l->nodes[n].x += l->margin_x - left;
    l->width = l->item_count > 0 ? right - left + 2 * l->margin_x : 2 * l->margin_x;
}

static void find_y(layout_work *w) {
    layout *l = w->l;
    double y = l->margin_y;
    for (uint32_t level = 0; level < l->level_count; level++) {
        double height = 0;
        for (uint32_t i = w->level_first[level]; i < w->level_first[level + 1]; i++)
            height = fmax(height, l->nodes[w->order[i]].height);
        for (uint32_t i = w->level_first[level]; i < w->level_first[level + 1]; i++) {
            l->nodes[w->order[i]].y = y + height / 2;
            if (w->order[i] >= l->node_count) l->nodes[w->order[i]].height = height;
        }
        y += height + (level + 1 < l->level_count ? l->gap_y : 0);
    }
    l->height = y + l->margin_y;
}

static void free_work(layout_work *w) {
    link_list *const lists[] = {&w->above, &w->below, &w->sources, &w->targets};
    for (size_t i = 0; i < 4; i++) {
        free(lists[i]->first);
        free(lists[i]->items);
    }
    free(w->level_first);
    free(w->order);
    free(w->rank);
    free(w->wanted);
    free(w->block_sum);
    free(w->block_weight);
    free(w->block_size);
}

static bool allocate(layout_work *w) {
    const size_t count = w->l->item_count + w->l->level_count + 2;
    w->level_first = calloc(count, sizeof(uint32_t));
    w->order = calloc(count, sizeof(uint32_t));
    w->rank = calloc(count, sizeof(double));
    w->wanted = calloc(count, sizeof(double));
    w->block_sum = calloc(count, sizeof(double));
    w->block_weight = calloc(count, sizeof(double));
    w->block_size = calloc(count, sizeof(uint32_t));
    return w->level_first && w->order && w->rank && w->wanted && w->block_sum && w->block_weight &&
           w->block_size;
}

bool layout_make(layout *l) {
    layout_work w = {.l = l};
    if (!make_levels(l) || !add_bends(l)) return false;
    const bool has_memory = allocate(&w) && make_links(l, &w.above, ABOVE) &&
                            make_links(l, &w.below, BELOW) && make_links(l, &w.sources, SOURCES) &&
                            make_links(l, &w.targets, TARGETS);
    if (has_memory) {
        sort_into_levels(&w);
        order_levels(&w);
        find_x(&w);
        find_y(&w);
    }
    free_work(&w);
    return has_memory;
}
