/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations of a model against inference: see declared.h. */
#include "builder/declared.h"

#include <stdio.h>

#define OUTPUTS_AT_MOST 8 /* lines */
#define TEXT_BYTES      (TN_SHAPE_TEXT_BYTES + 32)

static bool differs_in_type(const tn_graph_declaration *declared, const tn_tensor *made) {
    return declared->type != TN_NONE && made->type != TN_NONE && declared->type != made->type;
}

/* An extent that differs between the profile's points depends on an input's that is open, and a
 * model may well declare the one that it was exported with. */
static bool differs_in_shape(const tn_graph_declaration *declared,
                             const tn_inference *const *points) {
    const tn_shape *shapes[TN_POINTS];
    for (int point = 0; point < TN_POINTS; point++)
        shapes[point] = &points[point]->tensors[declared->tensor].storage.shape;
    if (!declared->has_shape) return false;
    if (declared->shape.rank != shapes[1]->rank) return true;
    for (uint32_t axis = 0; axis < declared->shape.rank; axis++) {
        const int64_t wanted = declared->shape.extents[axis], found = shapes[1]->extents[axis];
        bool is_fixed = true;
        for (int point = 0; point < TN_POINTS; point++)
            is_fixed = is_fixed && shapes[point]->extents[axis] == found;
        if (wanted >= 0 && wanted != found && is_fixed) return true;
    }
    return false;
}

static bool is_known(const tn_inference *const *points, tn_tensor_id tensor) {
    const uint32_t rank = points[TN_POINT_OPTIMUM]->tensors[tensor].storage.shape.rank;
    for (int point = 0; point < TN_POINTS; point++)
        if (!points[point]->tensors[tensor].is_known ||
            points[point]->tensors[tensor].storage.shape.rank != rank)
            return false;
    return true;
}

static const char *print(tn_type type, bool has_shape, const tn_shape *shape, char *buffer) {
    char text[TN_SHAPE_TEXT_BYTES];
    snprintf(buffer, TEXT_BYTES, "%s%s", type == TN_NONE ? "" : tn_type_name(type),
             has_shape ? tn_shape_print(shape->rank, shape->extents, text, sizeof(text)) : "");
    return buffer;
}

/* "declared as f32[1, 10], but its node computes f32[1, 12]" */
static const char *print_both(const tn_graph_declaration *declared, const tn_inferred_tensor *made,
                              char *buffer, size_t bytes) {
    char wanted[TEXT_BYTES], found[TEXT_BYTES];
    snprintf(buffer, bytes, "declared as %s, but its node computes %s",
             print(declared->type, declared->has_shape, &declared->shape, wanted),
             print(made->storage.tensor.type, true, &made->storage.shape, found));
    return buffer;
}

typedef struct differences {
    size_t outputs, others;
    const tn_graph_declaration *first; /* of the others */
} differences;

static void note_difference(const tn_graph *graph, const tn_graph_declaration *declared,
                            const tn_inferred_tensor *made, differences *found) {
    char text[2 * TEXT_BYTES + 64];
    if (!declared->is_output) {
        if (found->others++ == 0) found->first = declared;
        return;
    }
    if (found->outputs++ >= OUTPUTS_AT_MOST) return;
    tn_runtime_log(graph->runtime, TN_LOG_WARNING, "output '%s' is %s, which is what it will hold",
                   declared->name, print_both(declared, made, text, sizeof(text)));
}

static void note_rest(const tn_graph *graph, const tn_inference *optimum,
                      const differences *found) {
    char text[2 * TEXT_BYTES + 64];
    if (found->outputs > OUTPUTS_AT_MOST)
        tn_runtime_log(graph->runtime, TN_LOG_WARNING,
                       "%zu more outputs are not as the model declares them",
                       found->outputs - OUTPUTS_AT_MOST);
    if (found->others == 0) return;
    tn_runtime_log(
        graph->runtime, TN_LOG_WARNING,
        "%zu tensor%s between the nodes %s not as the model declares: '%s' is %s", found->others,
        found->others == 1 ? "" : "s", found->others == 1 ? "is" : "are", found->first->name,
        print_both(found->first, &optimum->tensors[found->first->tensor], text, sizeof(text)));
}

void tn_declared_compare(tn_graph *given, const tn_profile_shapes *shapes, const bool *is_unsure) {
    const tn_inference *const *points = (const tn_inference *const *)shapes->points;
    differences found = {0};
    size_t count = 0;
    const tn_graph_declaration *declared = tn_graph_declarations(given, &count);
    for (size_t i = 0; i < count; i++) {
        const tn_tensor_id tensor = declared[i].tensor;
        if (!is_known(points, tensor)) continue;
        const tn_inferred_tensor *made = &points[1]->tensors[tensor];
        if (differs_in_type(&declared[i], &made->storage.tensor) ||
            (!is_unsure[tensor] && differs_in_shape(&declared[i], points)))
            note_difference(given, &declared[i], made, &found);
    }
    note_rest(given, points[1], &found);
    tn_graph_forget_declarations(given);
}
