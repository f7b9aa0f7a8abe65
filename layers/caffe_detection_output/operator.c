/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DetectionOutput of Caffe's SSD branch: default boxes moved by the network's offsets, the best of
 * each class kept by non-maximum suppression (Liu et al., "SSD: Single Shot MultiBox Detector",
 * 2016). How many there are is known when it has run. The search is in reference.c.
 */
#include "caffe_detection_output/detection_output.h"
#include "kit/operator/layer.h"

#define MOST 2147483647
static const tn_field detection_fields[] = {
    TN_FIELD_RANGE(tn_detection_params, num_classes, TN_FIELD_I64, TN_REQUIRED, NULL, 1, MOST,
                   "how many classes, the background among them"),
    TN_FIELD(tn_detection_params, share_location, TN_FIELD_BOOL, TN_OPTIONAL, "1",
             "whether all classes have the same boxes"),
    TN_FIELD_RANGE(tn_detection_params, background_label_id, TN_FIELD_I64, TN_OPTIONAL, "0", -1,
                   MOST, "the class that is no object; -1: there is none"),
    TN_FIELD(tn_detection_params, nms_threshold, TN_FIELD_F32, TN_OPTIONAL, "0.3",
             "boxes of a class that overlap more with a better one are dropped"),
    TN_FIELD_RANGE(tn_detection_params, top_k, TN_FIELD_I64, TN_OPTIONAL, "-1", -1, MOST,
                   "the best of each class that are looked at; -1: all"),
    TN_FIELD_RANGE(tn_detection_params, eta, TN_FIELD_F32, TN_OPTIONAL, "1", 0, 1,
                   "factor of nms_threshold, while above 0.5, after each box that is kept"),
    TN_FIELD_CHOICE(tn_detection_params, code_type, TN_FIELD_ENUM, TN_OPTIONAL, "CORNER",
                    "CORNER=1|CENTER_SIZE=2|CORNER_SIZE=3", "how loc moves a box"),
    TN_FIELD_RANGE(tn_detection_params, keep_top_k, TN_FIELD_I64, TN_OPTIONAL, "-1", -1, MOST,
                   "the best of each image that are kept; -1: all"),
    TN_FIELD(tn_detection_params, variance_encoded_in_target, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether the variances are in loc already"),
    TN_FIELD(tn_detection_params, confidence_threshold, TN_FIELD_F32, TN_OPTIONAL, "-3.4e38",
             "what a score must exceed"),
};

/* Elements of each image of a tensor: all axes but the first. */
static tn_status require_elements(tn_call *call, uint32_t input, int64_t a, int64_t b, int64_t c) {
    const tn_tensor *tensor = call->inputs[input];
    int64_t wanted;
    if (tn_infer_multiply(a, b, &wanted) && tn_infer_multiply(wanted, c, &wanted) &&
        tn_infer_product(tensor->shape, 1, tensor->rank) == wanted)
        return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE,
                            "input '%s' has %lld elements an image; for %lld priors there must be "
                            "%lld for each",
                            tn_infer_input_name(call, input),
                            (long long)tn_infer_product(tensor->shape, 1, tensor->rank),
                            (long long)a, (long long)(b * c));
}

tn_status tn_detection_read(tn_call *call, tn_detection_sizes *out_sizes) {
    const tn_detection_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, TN_DETECTION_LOC, 2, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, TN_DETECTION_CONF, 2, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, TN_DETECTION_PRIORS, 3, TN_MAX_RANK));
    const tn_tensor *loc = call->inputs[TN_DETECTION_LOC], *conf = call->inputs[TN_DETECTION_CONF];
    const tn_tensor *priors = call->inputs[TN_DETECTION_PRIORS];
    const int64_t extent = tn_infer_product(priors->shape, 2, priors->rank);
    if (priors->shape[0] != 1 || priors->shape[1] != 2 || extent % 4 != 0)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input 'priors' must be [1, 2, 4 times the number of boxes]");
    if (loc->shape[0] != conf->shape[0])
        return call->host->fail(call, TN_ERROR_SHAPE, "'loc' has %lld images and 'conf' %lld",
                                (long long)loc->shape[0], (long long)conf->shape[0]);
    out_sizes->images = loc->shape[0];
    out_sizes->priors = extent / 4;
    out_sizes->classes = params->num_classes;
    TN_TRY(require_elements(call, TN_DETECTION_LOC, out_sizes->priors, 4,
                            params->share_location ? 1 : params->num_classes));
    TN_TRY(require_elements(call, TN_DETECTION_CONF, out_sizes->priors, 1, params->num_classes));
    const bool has_top = params->top_k >= 0 && params->top_k < out_sizes->priors;
    const int64_t found = (has_top ? params->top_k : out_sizes->priors) * out_sizes->classes;
    const bool has_kept = params->keep_top_k >= 0 && params->keep_top_k < found;
    out_sizes->most = has_kept ? params->keep_top_k : found;
    return TN_OK;
}

static tn_status detection_infer(tn_call *call) {
    tn_detection_sizes sizes = {0};
    TN_TRY(tn_detection_read(call, &sizes));
    int64_t shape[4] = {1, 1, 0, TN_DETECTION_ROW};
    /* Where nothing is found each image has a row all the same. */
    if (!tn_infer_multiply(sizes.images, sizes.most > 0 ? sizes.most : 1, &shape[2]))
        return call->host->fail(call, TN_ERROR_SHAPE, "there are too many boxes");
    return tn_infer_set_shape(call, 0, 4, shape);
}

static const tn_port detection_inputs[] = {
    TN_PORT("loc", "f32", 0, "[images, priors * 4], or [images, priors * classes * 4]: offsets"),
    TN_PORT("conf", "f32", 0, "[images, priors * classes]: scores"),
    TN_PORT("priors", "f32", 0, "[1, 2, priors * 4]: default boxes, then their variances"),
};
static const tn_port detection_outputs[] = {
    TN_PORT("detections", "f32", TN_PORT_SIZED_BY_RUN,
            "[1, 1, found, 7]: image, label, score, xmin, ymin, xmax, ymax")};
static const char *const detection_cases[] = {
    "num_classes=2 confidence_threshold=0.1 | loc=f32[1,8]{0,0,0,0,0,0,0,0} "
    "conf=f32[1,4]{0.2,0.8,0.3,0.7} priors=f32[1,2,8]{0,0,1,1,0,0.1,1,1,1,1,1,1,1,1,1,1}",
    "num_classes=2 nms_threshold=0.95 code_type=CENTER_SIZE | loc=f32[2,8] conf=f32[2,4] "
    "priors=f32[1,2,8]{0,0,1,1,0,0.1,0.5,1,0.1,0.1,0.2,0.2,0.1,0.1,0.2,0.2}",
    "num_classes=3 share_location=0 code_type=CORNER_SIZE keep_top_k=2 top_k=3 | loc=f32[2,48] "
    "conf=f32[2,12] priors=f32[1,2,16]",
    "num_classes=3 confidence_threshold=2 | loc=f32[3,8] conf=f32[3,6] priors=f32[1,2,8]",
    "num_classes=4 background_label_id=-1 variance_encoded_in_target=1 eta=0.9 nms_threshold=0.9 "
    "keep_top_k=20 | loc=f32[1,200] conf=f32[1,200] priors=f32[1,2,200]",
    "num_classes=2 keep_top_k=0 | loc=f32[1,4] conf=f32[1,2] priors=f32[1,2,4]",
    "num_classes=2 | loc=f32[0,4] conf=f32[0,2] priors=f32[1,2,4]",
};

static const tn_operator detection_1 = {
    TN_OPERATOR_BEGIN(
        "Caffe", "DetectionOutput", 1,
        "The objects that an SSD network found. For each class but the background the scores "
        "above confidence_threshold, best first and at most top_k, are kept as far as they "
        "overlap with none that is kept already by more than nms_threshold (intersection over "
        "union); of all classes the best keep_top_k stay. Rows are sorted by image, label and "
        "score; where nothing is found in any image, each has a row of -1 behind its number. "
        "Box p with variance v is moved by t: CORNER p + v t; CENTER_SIZE the centre by v t "
        "times the extent, the extent by exp(v t); CORNER_SIZE p + v t times the extent."),
    TN_FIELDS(tn_detection_params, detection_fields),
    TN_INPUTS(detection_inputs),
    TN_OUTPUTS(detection_outputs),
    .infer = detection_infer,
    .reference = tn_detection_reference,
    TN_CASES(detection_cases),
};

TN_LAYER_WITHOUT_KERNELS(caffe_detection_output, TN_OPERATORS(&detection_1));
