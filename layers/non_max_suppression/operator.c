/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NonMaxSuppression: for each image and class the boxes with the best scores, without those that
 * overlap too much with a better one. Output: rows of image, class, box; how many is known when it
 * has run.
 */
#include "kit/operator/layer.h"

#include <math.h>
#include <stdlib.h>

typedef struct suppression_params {
    uint64_t present;
    bool center_point_box;
} suppression_params;

enum {
    SUPPRESSION_BOXES = 0,
    SUPPRESSION_SCORES = 1,
    SUPPRESSION_MOST = 2,
    SUPPRESSION_IOU = 3,
    SUPPRESSION_SCORE = 4
};

static const tn_field suppression_fields[] = {
    TN_FIELD(suppression_params, center_point_box, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether a box is x, y of its centre, width, height instead of y, x of two opposite "
             "corners")};

/* The number in an optional input, or `otherwise`. */
static double read_number(const tn_call *call, uint32_t input, double otherwise) {
    const tn_tensor *tensor = tn_infer_input(call, input);
    return tensor ? tn_element_f64(tensor, 0) : otherwise;
}

/* How many boxes a class may have: none where it is not said. */
static int64_t read_most(const tn_call *call, int64_t boxes) {
    const double most = read_number(call, SUPPRESSION_MOST, 0);
    return !(most > 0) ? 0 : most < (double)boxes ? (int64_t)most : boxes;
}

static tn_status suppression_infer(tn_call *call) {
    TN_TRY(tn_infer_require_rank(call, SUPPRESSION_BOXES, 3, 3));
    TN_TRY(tn_infer_require_rank(call, SUPPRESSION_SCORES, 3, 3));
    const int64_t *boxes = call->inputs[SUPPRESSION_BOXES]->shape;
    const int64_t *scores = call->inputs[SUPPRESSION_SCORES]->shape;
    if (boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2])
        return call->host->fail(
            call, TN_ERROR_SHAPE,
            "boxes must be [images, boxes, 4], scores [images, classes, boxes]");
    for (uint32_t i = SUPPRESSION_MOST; i < call->input_count; i++)
        if (tn_infer_input(call, i) && tn_element_count(call->inputs[i]) != 1)
            return call->host->fail(call, TN_ERROR_SHAPE, "input '%s' must be one number",
                                    tn_infer_input_name(call, i));
    const tn_tensor *most = tn_infer_input(call, SUPPRESSION_MOST);
    if (most && !most->data)
        return call->host->fail(call, TN_ERROR_STATE, "the value of input '%s' is not known",
                                tn_infer_input_name(call, SUPPRESSION_MOST));
    int64_t shape[2] = {read_most(call, boxes[1]), 3};
    if (boxes[1] > UINT32_MAX || !tn_infer_multiply(shape[0], scores[1], &shape[0]) ||
        !tn_infer_multiply(shape[0], scores[0], &shape[0]))
        return call->host->fail(call, TN_ERROR_SHAPE, "there are too many boxes");
    return tn_infer_set_shape(call, 0, 2, shape);
}

/* The score of a candidate, as a number that is above those of worse ones, and its box, counted
 * from the end: of equal scores the first box is the larger candidate. */
typedef uint64_t candidate;

static candidate candidate_of(float score, int64_t box) {
    const float value = score + 0.0f; /* -0 is 0 */
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    bits ^= (bits >> 31 ? UINT32_MAX : UINT32_C(1) << 31);
    return (candidate)bits << 32 | (UINT32_MAX - (uint32_t)box);
}

static int64_t box_of(candidate of) {
    return (int64_t)(UINT32_MAX - (uint32_t)of);
}

static double lesser(double a, double b) {
    return a < b ? a : b;
}
static double greater(double a, double b) {
    return a > b ? a : b;
}

/* The lower and upper end of a box along one of its two axes. */
static void find_ends(const float *box, bool is_centre, int axis, double *out_low,
                      double *out_high) {
    const double a = (double)box[axis], b = (double)box[2 + axis];
    *out_low = is_centre ? a - b / 2 : lesser(a, b);
    *out_high = is_centre ? a + b / 2 : greater(a, b);
}

static bool overlap_more(const float *a, const float *b, bool is_centre, double threshold) {
    double common = 1, area_a = 1, area_b = 1;
    for (int axis = 0; axis < 2; axis++) {
        double low_a, high_a, low_b, high_b;
        find_ends(a, is_centre, axis, &low_a, &high_a);
        find_ends(b, is_centre, axis, &low_b, &high_b);
        const double extent = lesser(high_a, high_b) - greater(low_a, low_b);
        if (!(extent > 0)) return false;
        common *= extent;
        area_a *= high_a - low_a;
        area_b *= high_b - low_b;
    }
    return common / (area_a + area_b - common) > threshold;
}

typedef struct search {
    bool is_centre, has_score;
    int64_t boxes, most;
    double iou, score;
    candidate *candidates;
} search;

/* In the order of the boxes. */
static int64_t list_candidates(const search *s, const float *scores) {
    const float least = s->has_score ? (float)s->score : -INFINITY;
    int64_t count = 0;
    for (int64_t i = 0; i < s->boxes; i++) {
        s->candidates[count] = candidate_of(scores[i], i);
        count += s->has_score ? scores[i] > least : !isnan(scores[i]);
    }
    return count;
}

/* The best first; candidates differ. */
static int compare_candidates(const void *left, const void *right) {
    return *(const candidate *)left > *(const candidate *)right ? -1 : 1;
}

/* Keeps the chosen ones at the front of the candidates; returns how many. */
static int64_t suppress(const search *s, const float *boxes, const float *scores) {
    const int64_t count = list_candidates(s, scores);
    int64_t kept = 0;
    qsort(s->candidates, (size_t)count, sizeof(*s->candidates), compare_candidates);
    for (int64_t i = 0; i < count && kept < s->most; i++) {
        const float *box = boxes + box_of(s->candidates[i]) * 4;
        bool is_kept = true;
        for (int64_t k = 0; is_kept && k < kept; k++)
            is_kept =
                !overlap_more(box, boxes + box_of(s->candidates[k]) * 4, s->is_centre, s->iou);
        if (is_kept) s->candidates[kept++] = s->candidates[i];
    }
    return kept;
}

static tn_status suppression_reference(tn_call *call) {
    const suppression_params *params = call->params;
    const tn_tensor *boxes = call->inputs[SUPPRESSION_BOXES];
    const tn_tensor *scores = call->inputs[SUPPRESSION_SCORES];
    const int64_t images = scores->shape[0], classes = scores->shape[1], count = scores->shape[2];
    int64_t *to = call->outputs[0]->data, bytes;
    search s = {.is_centre = params->center_point_box,
                .has_score = tn_infer_input(call, SUPPRESSION_SCORE) != NULL,
                .boxes = count,
                .most = read_most(call, count),
                .iou = read_number(call, SUPPRESSION_IOU, 0),
                .score = read_number(call, SUPPRESSION_SCORE, 0)};
    if (!tn_infer_multiply(count, (int64_t)sizeof(candidate), &bytes)) bytes = INT64_MAX / 2;
    s.candidates = call->host->allocate(call->host, (uint64_t)bytes + sizeof(candidate), 64);
    if (!s.candidates)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for %lld boxes",
                                (long long)count);
    for (int64_t row = 0; row < images * classes; row++) {
        const int64_t image = row / classes;
        const int64_t kept = suppress(&s, (const float *)boxes->data + image * count * 4,
                                      (const float *)scores->data + row * count);
        for (int64_t i = 0; i < kept; i++, to += 3) {
            to[0] = image;
            to[1] = row % classes;
            to[2] = box_of(s.candidates[i]);
        }
    }
    call->host->deallocate(call->host, s.candidates);
    call->outputs[0]->shape[0] = (to - (int64_t *)call->outputs[0]->data) / 3;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * kernel: classes of images on all threads, each with its candidates and its boxes' ends, and what
 * it keeps in a row of its own; rows are joined at the end */

typedef struct box_ends {
    double low[2], high[2], area;
} box_ends;

typedef struct suppression_job {
    search s;
    const float *boxes, *scores;
    int64_t classes;
    int64_t *kept, *counts; /* of a row: `most` boxes, and how many of them there are */
    char *scratch;
    uint64_t scratch_bytes; /* of a thread: candidates, then the ends of kept boxes */
} suppression_job;

static box_ends find_box(const float *box, bool is_centre) {
    box_ends ends = {.area = 1};
    for (int axis = 0; axis < 2; axis++) {
        find_ends(box, is_centre, axis, &ends.low[axis], &ends.high[axis]);
        ends.area *= ends.high[axis] - ends.low[axis];
    }
    return ends;
}

static bool ends_overlap_more(const box_ends *a, const box_ends *b, double threshold) {
    const double height = lesser(a->high[0], b->high[0]) - greater(a->low[0], b->low[0]);
    const double width = lesser(a->high[1], b->high[1]) - greater(a->low[1], b->low[1]);
    if (!(height > 0) || !(width > 0)) return false;
    const double common = height * width;
    return common / (a->area + b->area - common) > threshold;
}

/* Puts a candidate into a heap whose first one is the best, at `at` or below it. Seldom all of them
 * are looked at, so that they are not sorted. */
static void sink(candidate *heap, int64_t count, int64_t at, candidate of) {
    for (int64_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && heap[child] < heap[child + 1];
        if (of >= heap[child]) break;
        heap[at] = heap[child];
    }
    heap[at] = of;
}

/* An item is a class of an image. */
static tn_status suppress_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const suppression_job *job = user;
    search s = job->s;
    char *scratch = job->scratch + thread * job->scratch_bytes;
    box_ends *ends = (box_ends *)(void *)(scratch + (uint64_t)(s.boxes + 1) * sizeof(candidate));
    s.candidates = (candidate *)(void *)scratch;
    for (int64_t row = begin; row < end; row++) {
        const float *boxes = job->boxes + row / job->classes * s.boxes * 4;
        int64_t count = list_candidates(&s, job->scores + row * s.boxes), kept = 0;
        for (int64_t at = count / 2; at-- > 0;)
            sink(s.candidates, count, at, s.candidates[at]);
        while (count > 0 && kept < s.most) {
            const int64_t box = box_of(s.candidates[0]);
            bool is_kept = true;
            count--;
            sink(s.candidates, count, 0, s.candidates[count]);
            ends[kept] = find_box(boxes + box * 4, s.is_centre);
            for (int64_t k = 0; is_kept && k < kept; k++)
                is_kept = !ends_overlap_more(&ends[kept], &ends[k], s.iou);
            if (is_kept) job->kept[row * s.most + kept++] = box;
        }
        job->counts[row] = kept;
    }
    return TN_OK;
}

static uint64_t scratch_bytes(int64_t boxes, int64_t most) {
    return ((uint64_t)(boxes + 1) * sizeof(candidate) + (uint64_t)(most + 1) * sizeof(box_ends) +
            63) /
           64 * 64;
}

static tn_status suppression_reshape(tn_call *call) {
    const int64_t *shape = call->inputs[SUPPRESSION_SCORES]->shape;
    const int64_t rows = shape[0] * shape[1], most = read_most(call, shape[2]);
    int64_t bytes = 0;
    if (!tn_infer_multiply(rows, most + 1, &bytes) || !tn_infer_multiply(bytes, 16, &bytes))
        return call->host->fail(call, TN_ERROR_MEMORY, "there are too many boxes");
    call->workspace_bytes =
        ((uint64_t)rows * (uint64_t)(most + 1) * sizeof(int64_t) + 63) / 64 * 64 +
        call->threads * scratch_bytes(shape[2], most);
    return TN_OK;
}

static void join_rows(tn_call *call, const suppression_job *job, int64_t rows) {
    int64_t *first = call->outputs[0]->data, *to = first;
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t i = 0; i < job->counts[row]; i++, to += 3) {
            to[0] = row / job->classes;
            to[1] = row % job->classes;
            to[2] = job->kept[row * job->s.most + i];
        }
    }
    call->outputs[0]->shape[0] = (to - first) / 3;
}

static tn_status suppression_run(tn_call *call) {
    const suppression_params *params = call->params;
    const tn_tensor *scores = call->inputs[SUPPRESSION_SCORES];
    const int64_t rows = scores->shape[0] * scores->shape[1], count = scores->shape[2];
    suppression_job job = {.s = {.is_centre = params->center_point_box,
                                 .has_score = tn_infer_input(call, SUPPRESSION_SCORE) != NULL,
                                 .boxes = count,
                                 .most = read_most(call, count),
                                 .iou = read_number(call, SUPPRESSION_IOU, 0),
                                 .score = read_number(call, SUPPRESSION_SCORE, 0)},
                           .boxes = call->inputs[SUPPRESSION_BOXES]->data,
                           .scores = scores->data,
                           .classes = scores->shape[1],
                           .counts = call->workspace};
    const uint64_t kept_bytes =
        ((uint64_t)rows * (uint64_t)(job.s.most + 1) * sizeof(int64_t) + 63) / 64 * 64;
    job.kept = job.counts + rows;
    job.scratch = (char *)call->workspace + kept_bytes;
    job.scratch_bytes = scratch_bytes(count, job.s.most);
    if (rows > 0) TN_TRY(call->host->parallel_for(call, rows, 1, suppress_rows, &job));
    join_rows(call, &job, rows);
    return TN_OK;
}

static const tn_port suppression_inputs[] = {
    TN_PORT("boxes", "f32", 0, "[images, boxes, 4]"),
    TN_PORT("scores", "f32", 0, "[images, classes, boxes]"),
    TN_PORT("max_output_boxes_per_class", "i64", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED,
            "how many of each class; absent: none"),
    TN_PORT("iou_threshold", "f32", TN_PORT_OPTIONAL,
            "boxes that overlap more (intersection over union) are dropped; absent: 0"),
    TN_PORT("score_threshold", "f32", TN_PORT_OPTIONAL,
            "what a score must exceed; absent: nothing"),
};
static const tn_port suppression_outputs[] = {
    TN_PORT("selected_indices", "i64", TN_PORT_SIZED_BY_RUN, "rows of image, class, box")};
#define BOXES(more)                                                                                \
    "| boxes=f32[1,6,4]{0,0,1,1,0,0.1,1,1.1,0,-0.1,1,0.9,0,10,1,11,0,10.1,1,11.1,0,100,1,101} "    \
    "scores=f32[1,1,6]{0.9,0.75,0.6,0.95,0.5,0.3} " more
static const char *const suppression_cases[] = {
    BOXES("max_output_boxes_per_class=i64[1]{3} iou_threshold=f32[1]{0.5} "
          "score_threshold=f32[1]{0}"),
    BOXES("max_output_boxes_per_class=i64[]{30} iou_threshold=f32[]{0.5} "
          "score_threshold=f32[]{0.4}"),
    BOXES(""),
    "center_point_box=1 " BOXES("max_output_boxes_per_class=i64[]{2}"),
    ("| boxes=f32[2,20,4] scores=f32[2,3,20] max_output_boxes_per_class=i64[]{5} "
     "iou_threshold=f32[]{0.3}"),
    "| boxes=f32[1,0,4] scores=f32[1,2,0] max_output_boxes_per_class=i64[]{5}",
};

TN_OPERATOR(suppression, "", "NonMaxSuppression", 10,
            "The best boxes, without those that overlap with a better one.",
            TN_FIELDS(suppression_params, suppression_fields));

TN_CPU_KERNEL(suppression_classes, "", "NonMaxSuppression", "classes",
              "Classes of images on all threads.", .reshape = suppression_reshape,
              .run = suppression_run);

TN_LAYER(non_max_suppression, TN_OPERATORS(&suppression_10), TN_KERNELS(&suppression_classes));
