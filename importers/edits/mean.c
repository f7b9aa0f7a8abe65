/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mean image as part of a graph: an input's uses get (x - mean) * scale instead of
 * it. In the graph, not in the program that feeds it, so that a plan holds all that it needs and
 * calibration sees what the layers see.
 */
#include "base/status.h"
#include "base/text.h"
#include "importers/edits/edit.h"

#include <tenon/import.h>

#include <math.h>
#include <string.h>

/* Each extent as the input's, from the right; 1 along the batch, and along height and width for a
 * mean of each channel. */
static bool fits(const tn_shape *mean, const tn_graph_tensor *input) {
    uint32_t rank = input->shape.rank;
    for (uint32_t i = 0; i < mean->rank; i++) {
        int64_t extent = mean->extents[mean->rank - 1 - i];
        int64_t wanted = i < rank ? input->shape.extents[rank - 1 - i] : 1;
        bool may_be_one = i + 1 >= rank || i + 2 < rank;
        if (extent != wanted && wanted >= 0 && !(extent == 1 && may_be_one)) return false;
        if (i + 1 >= rank && extent != 1) return false;
    }
    return mean->rank + 1 >= rank;
}

/* Without the extents of 1 that are more than the input's. */
static void cut_rank(tn_shape *mean, uint32_t rank) {
    uint32_t more = mean->rank > rank ? mean->rank - rank : 0;
    memmove(mean->extents, mean->extents + more, (mean->rank - more) * sizeof(*mean->extents));
    mean->rank -= more;
}

static tn_status find_input(const tn_graph *graph, const char *name, tn_tensor_id *out_input) {
    tn_nearest nearest;
    if (!name && graph->input_count == 1) {
        *out_input = graph->inputs[0];
        return TN_OK;
    }
    if (!name)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "the network has %zu inputs: say which one the mean is for",
                       graph->input_count);
    tn_nearest_init(&nearest, name);
    for (size_t i = 0; i < graph->input_count; i++) {
        const char *own = graph->tensors[graph->inputs[i]].name;
        *out_input = graph->inputs[i];
        if (strcmp(own, name) == 0) return TN_OK;
        tn_nearest_offer(&nearest, own);
    }
    return tn_error_mend_nearest(tn_fail(TN_ERROR_NOT_FOUND, "there is no input '%s'", name), "; ",
                                 nearest.best);
}

static tn_status add_mean(tn_graph *graph, tn_tensor_id input, const tn_graph_tensor *from,
                          double scale) {
    tn_shape shape = from->shape;
    tn_tensor_id pair[2] = {input, TN_NO_TENSOR}, result;
    size_t node_count = graph->node_count, count;
    char has[TN_SHAPE_TEXT_BYTES], wanted[TN_SHAPE_TEXT_BYTES];
    const tn_graph_tensor *to = &graph->tensors[input];
    const char *name = tn_graph_make_name(graph, "mean"), *scale_name;
    float element = (float)scale;
    if (!name) return tn_fail_memory("a mean");
    if (to->type != TN_F32 || !to->has_shape)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "a mean is for an input of f32 with a known rank; '%s' is none", to->name);
    TN_TRY(tn_shape_count(&shape, &count));
    if (!fits(&shape, to) || count == 0)
        return tn_fail(TN_ERROR_SHAPE, "the mean has the shape %s; input '%s' takes %s",
                       tn_shape_print(shape.rank, shape.extents, has, sizeof(has)), to->name,
                       tn_shape_print(to->shape.rank, to->shape.extents, wanted, sizeof(wanted)));
    cut_rank(&shape, to->shape.rank);
    TN_TRY(tn_graph_add_constant(graph, name, TN_F32, shape.rank, shape.extents, from->data,
                                 from->bytes, &pair[1]));
    TN_TRY(tn_edit_add_node(graph, "Sub", "mean/subtracted", 2, pair, NULL, &result));
    if (scale != 1) {
        scale_name = tn_graph_make_name(graph, "mean/scale");
        if (!scale_name) return tn_fail_memory("a mean");
        TN_TRY(tn_graph_add_constant(graph, scale_name, TN_F32, 0, NULL, &element, sizeof(element),
                                     &pair[1]));
        pair[0] = result;
        TN_TRY(tn_edit_add_node(graph, "Mul", "mean/scaled", 2, pair, NULL, &result));
    }
    tn_edit_replace_uses(graph, node_count, input, result);
    return tn_graph_sort(graph);
}

/* A graph that is one constant of numbers. */
static const tn_graph_tensor *constant_of(const tn_graph *mean) {
    if (mean->input_count > 0 || mean->output_count != 1) return NULL;
    const tn_graph_tensor *tensor = &mean->tensors[mean->outputs[0]];
    return tensor->is_constant && tensor->type == TN_F32 ? tensor : NULL;
}

tn_status tn_graph_subtract_mean(tn_graph *graph, const char *input, const tn_graph *mean,
                                 double scale) {
    tn_tensor_id tensor = TN_NO_TENSOR;
    if (!graph || !mean || !isfinite(scale))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_graph_subtract_mean needs two graphs and a finite scale");
    const tn_graph_tensor *from = constant_of(mean);
    if (!from)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "a mean image is a model that is one constant of f32; this one is none");
    TN_TRY(find_input(graph, input, &tensor));
    return add_mean(graph, tensor, from, scale);
}

tn_status tn_graph_load_mean(tn_graph *graph, const char *input, const char *path, double scale) {
    tn_graph *mean = NULL;
    tn_tensor_id tensor;
    if (!graph || !path || !isfinite(scale))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_graph_load_mean needs a graph, a path and a finite scale");
    TN_TRY(tn_error_at(find_input(graph, input, &tensor), "%s", path));
    TN_TRY(tn_graph_load(graph->runtime, path, NULL, &mean));
    const tn_status status =
        tn_error_at(tn_graph_subtract_mean(graph, input, mean, scale), "%s", path);
    tn_graph_destroy(mean);
    return status;
}
