/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mmcv::NonMaxSuppression: the numbers of the boxes that stay when, from the best score down, every
 * box goes that overlaps a better one that stays by more than iou_threshold (intersection over
 * union). How many stay is known when it has run. The kernel sorts the boxes once and compares each
 * that stays with those after it on all threads; reference and kernel decide in double precision,
 * so that they decide alike.
 */
#include <math.h>
#include <stdlib.h>
#include <tenon/layer.h>

TN_LAYER_PARAMS(nms, float iou_threshold; int64_t offset;);
enum { BOXES, SCORES };

static const tn_field fields[] = {
    TN_LAYER_F32(nms, iou_threshold, "0.5", 0, 1, "boxes that overlap more than this go"),
    TN_LAYER_I64(nms, offset, "0", 0, 1, "1: a box reaches to the end of its last element")};
static const tn_port inputs[] = {TN_PORT("boxes", "f32", 0, "N, 4: left, top, right, bottom"),
                                 TN_PORT("scores", "f32", 0, "N; not a number is the lowest")};
static const tn_port outputs[] = {
    TN_PORT("indices", "i64", TN_PORT_SIZED_BY_RUN, "of those that stay, the best first")};

/* The shape rule gives the most that can stay; run writes how many there are. */
static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, BOXES, -1, 4) ||
        !TN_LAYER_FITS(call, SCORES, call->inputs[BOXES]->shape[0]))
        return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[BOXES]->shape[0]);
}

typedef struct box {
    double score, left, top, right, bottom, area;
    int64_t index, is_gone;
} box;

static box read_box(const tn_call *call, int64_t i) {
    const float *at = (const float *)call->inputs[BOXES]->data + 4 * i;
    const double score = tn_layer_load(call->inputs[SCORES], i);
    const double offset = (double)((const nms *)call->params)->offset;
    box b = {.score = isnan(score) ? -INFINITY : score, .index = i};
    b.left = (double)at[0], b.right = (double)at[2] + offset;
    b.top = (double)at[1], b.bottom = (double)at[3] + offset;
    b.area = (b.right - b.left) * (b.bottom - b.top);
    return b;
}

static double lesser(double a, double b) {
    return a < b ? a : b;
}
static bool overlaps(const box *a, const box *b, double threshold) {
    const double width = lesser(a->right, b->right) + lesser(-a->left, -b->left);
    const double height = lesser(a->bottom, b->bottom) + lesser(-a->top, -b->top);
    const double common = width * height;
    return width > 0 && height > 0 && common / (a->area + b->area - common) > threshold;
}

/* For qsort: the best first; of equals the one that came first. */
static int compare(const void *left, const void *right) {
    const box *a = left, *b = right;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Without memory of its own: looks for the next best box among all each time. */
static tn_status reference(tn_call *call) {
    const int64_t count = call->inputs[BOXES]->shape[0];
    int64_t *indices = call->outputs[0]->data, kept = 0;
    box last = {.score = INFINITY, .index = -1};
    for (int64_t i = 0; i < count; i++) {
        box next = {.score = -INFINITY, .index = count};
        for (int64_t k = 0; k < count; k++) {
            const box other = read_box(call, k);
            if (compare(&last, &other) < 0 && compare(&other, &next) < 0) next = other;
        }
        for (int64_t k = 0; k < kept && !next.is_gone; k++) {
            const box better = read_box(call, indices[k]);
            next.is_gone =
                overlaps(&better, &next, (double)((const nms *)call->params)->iou_threshold);
        }
        if (!next.is_gone) indices[kept++] = next.index;
        last = next;
    }
    call->outputs[0]->shape[0] = kept;
    return TN_OK;
}

/* Items are the boxes after one that stays. */
typedef struct pass {
    const box *best;
    box *rest;
    double threshold;
} pass;
static tn_status compare_rest(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const pass *p = user;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        if (!p->rest[i].is_gone) p->rest[i].is_gone = overlaps(p->best, &p->rest[i], p->threshold);
    return TN_OK;
}

static tn_status reshape(tn_call *call) {
    call->workspace_bytes = (uint64_t)call->inputs[BOXES]->shape[0] * sizeof(box);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const int64_t count = call->inputs[BOXES]->shape[0];
    const double threshold = (double)((const nms *)call->params)->iou_threshold;
    int64_t *indices = call->outputs[0]->data, kept = 0;
    box *boxes = call->workspace;
    for (int64_t i = 0; i < count; i++)
        boxes[i] = read_box(call, i);
    if (count > 0) qsort(boxes, (size_t)count, sizeof(*boxes), compare);
    for (int64_t i = 0; i < count; i++) {
        pass p = {&boxes[i], &boxes[i + 1], threshold};
        if (boxes[i].is_gone) continue;
        indices[kept++] = boxes[i].index;
        const tn_status status =
            call->host->parallel_for(call, count - i - 1, 2048, compare_rest, &p);
        if (status != TN_OK) return status;
    }
    call->outputs[0]->shape[0] = kept;
    return TN_OK;
}

static const char *const cases[] = {
    "| boxes=f32[6,4]{0,0,1,1,0,0.1,1,1.1,0,-0.1,1,0.9,0,10,1,11,0,10.1,1,11.1,0,100,1,101} "
    "scores=f32[6]{0.9,0.75,0.6,0.95,0.5,0.3}",
    "iou_threshold=0.3 offset=1 | boxes=f32[4,4]{0,0,9,9,1,1,9,9,20,0,29,9,3,3,3,3} "
    "scores=f32[4]{0.5,0.5,nan,0.7}",
    "iou_threshold=0 | boxes=f32[3,4]{0,0,0,0,0,0,0,0,nan,0,inf,1} scores=f32[3]",
    "iou_threshold=0.1 | boxes=f32[300,4] scores=f32[300]", "| boxes=f32[0,4] scores=f32[0]"};
TN_LAYER_LIBRARY("nms", "mmcv", "NonMaxSuppression", "The best boxes that do not overlap.", nms,
                 "f32, f32 -> i64", .reshape = reshape, .run = run)
