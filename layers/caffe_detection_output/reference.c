/* SPDX-License-Identifier: Apache-2.0 */
/* The search of DetectionOutput, in double precision: decoding of boxes, suppression, choice. */
#include "caffe_detection_output/detection_output.h"
#include <tenon/kit/infer.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct box {
    double low[2], high[2]; /* x, y */
} box;

typedef struct found_object {
    double score;
    int64_t prior, label;
    int64_t rank; /* among those of the image: equal scores keep their order */
    box at;
} found_object;

typedef struct search {
    const tn_detection_params *params;
    tn_detection_sizes sizes;
    const float *loc, *conf, *priors;
    int64_t loc_classes;
    found_object *candidates; /* of one class: sizes.priors */
    found_object *kept;       /* of one image */
    int64_t kept_count;
} search;

static box decode(const search *s, const float *loc, int64_t prior) {
    const float *p = s->priors + prior * 4, *variance = p + s->sizes.priors * 4;
    box result;
    for (int axis = 0; axis < 2; axis++) {
        const double low = (double)p[axis], high = (double)p[2 + axis], extent = high - low;
        double t[2] = {(double)loc[axis], (double)loc[2 + axis]};
        if (!s->params->variance_encoded_in_target) {
            t[0] *= (double)variance[axis];
            t[1] *= (double)variance[2 + axis];
        }
        if (s->params->code_type == TN_DETECTION_CENTER_SIZE) {
            const double centre = t[0] * extent + (low + high) / 2;
            const double half = exp(t[1]) * extent / 2;
            result.low[axis] = centre - half;
            result.high[axis] = centre + half;
        } else {
            const double unit = s->params->code_type == TN_DETECTION_CORNER ? 1 : extent;
            result.low[axis] = low + t[0] * unit;
            result.high[axis] = high + t[1] * unit;
        }
    }
    return result;
}

static double area(const box *b) {
    const double width = b->high[0] - b->low[0], height = b->high[1] - b->low[1];
    return width < 0 || height < 0 ? 0 : width * height;
}

/* Intersection over union. */
static double overlap(const box *a, const box *b) {
    double common = 1;
    for (int axis = 0; axis < 2; axis++) {
        const double extent = fmin(a->high[axis], b->high[axis]) - fmax(a->low[axis], b->low[axis]);
        if (!(extent > 0)) return 0;
        common *= extent;
    }
    return common / (area(a) + area(b) - common);
}

/* The best first; of equals the one that was there first. */
static int compare_objects(const void *left, const void *right) {
    const found_object *a = left, *b = right;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static int compare_ranks(const void *left, const void *right) {
    const found_object *a = left, *b = right;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static int64_t list_candidates(search *s, int64_t image, int64_t label) {
    const int64_t classes = s->sizes.classes;
    const float *scores = s->conf + image * s->sizes.priors * classes + label;
    int64_t count = 0;
    for (int64_t prior = 0; prior < s->sizes.priors; prior++) {
        const float score = scores[prior * classes];
        if (!(score > s->params->confidence_threshold)) continue;
        s->candidates[count++] =
            (found_object){.score = (double)score, .prior = prior, .label = label, .rank = prior};
    }
    qsort(s->candidates, (size_t)count, sizeof(*s->candidates), compare_objects);
    return s->params->top_k >= 0 && s->params->top_k < count ? s->params->top_k : count;
}

static void suppress(search *s, int64_t image, int64_t label) {
    const int64_t count = list_candidates(s, image, label), first = s->kept_count;
    const int64_t loc_class = s->loc_classes == 1 ? 0 : label;
    const float *loc = s->loc + image * s->sizes.priors * s->loc_classes * 4;
    double threshold = (double)s->params->nms_threshold;
    for (int64_t i = 0; i < count; i++) {
        found_object candidate = s->candidates[i];
        candidate.at =
            decode(s, loc + (candidate.prior * s->loc_classes + loc_class) * 4, candidate.prior);
        bool is_kept = true;
        for (int64_t k = first; is_kept && k < s->kept_count; k++)
            is_kept = overlap(&candidate.at, &s->kept[k].at) <= threshold;
        if (!is_kept) continue;
        candidate.rank = s->kept_count;
        s->kept[s->kept_count++] = candidate;
        if (s->params->eta < 1 && threshold > 0.5) threshold *= (double)s->params->eta;
    }
}

static void search_image(search *s, int64_t image) {
    const int64_t most = s->params->keep_top_k;
    s->kept_count = 0;
    for (int64_t label = 0; label < s->sizes.classes; label++)
        if (label != s->params->background_label_id) suppress(s, image, label);
    if (most < 0 || s->kept_count <= most) return;
    qsort(s->kept, (size_t)s->kept_count, sizeof(*s->kept), compare_objects);
    s->kept_count = most;
    qsort(s->kept, (size_t)most, sizeof(*s->kept), compare_ranks);
}

static float *write_rows(const search *s, int64_t image, float *to) {
    for (int64_t i = 0; i < s->kept_count; i++, to += TN_DETECTION_ROW) {
        const found_object *object = &s->kept[i];
        to[0] = (float)image;
        to[1] = (float)object->label;
        to[2] = (float)object->score;
        for (int axis = 0; axis < 2; axis++) {
            to[3 + axis] = (float)object->at.low[axis];
            to[5 + axis] = (float)object->at.high[axis];
        }
    }
    return to;
}

static float *write_none(int64_t images, float *to) {
    for (int64_t image = 0; image < images; image++, to += TN_DETECTION_ROW) {
        to[0] = (float)image;
        for (int i = 1; i < TN_DETECTION_ROW; i++)
            to[i] = -1;
    }
    return to;
}

static tn_status take_memory(tn_call *call, search *s) {
    const int64_t classes = s->sizes.classes, priors = s->sizes.priors;
    int64_t count, bytes;
    /* The candidates, and of each class at most as many kept ones. */
    if (!tn_infer_multiply(priors, classes, &count) || !tn_infer_add(count, priors, &count) ||
        !tn_infer_multiply(count, (int64_t)sizeof(found_object), &bytes))
        return call->host->fail(call, TN_ERROR_MEMORY, "there are too many boxes");
    s->candidates = call->host->allocate(call->host, (uint64_t)bytes + 1, 64);
    if (!s->candidates)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for %lld boxes",
                                (long long)count);
    s->kept = s->candidates + priors;
    return TN_OK;
}

tn_status tn_detection_reference(tn_call *call) {
    search s = {.params = call->params,
                .loc = call->inputs[TN_DETECTION_LOC]->data,
                .conf = call->inputs[TN_DETECTION_CONF]->data,
                .priors = call->inputs[TN_DETECTION_PRIORS]->data};
    tn_tensor *output = call->outputs[0];
    float *to = output->data;
    TN_TRY(tn_detection_read(call, &s.sizes));
    s.loc_classes = s.params->share_location ? 1 : s.sizes.classes;
    TN_TRY(take_memory(call, &s));
    for (int64_t image = 0; image < s.sizes.images; image++) {
        search_image(&s, image);
        to = write_rows(&s, image, to);
    }
    if (to == output->data) to = write_none(s.sizes.images, to);
    output->shape[2] = (to - (float *)output->data) / TN_DETECTION_ROW;
    call->host->deallocate(call->host, s.candidates);
    return TN_OK;
}
