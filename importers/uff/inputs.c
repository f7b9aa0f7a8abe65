/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs of the network. A file declares an input's shape as the framework had it, or without the
 * batch axis and then as C, H, W; which of the two is seen from what the input's readers need. The
 * caller may give shapes, and with them the order of the data.
 */
#include "base/status.h"
#include "importers/uff/uff.h"

#include <inttypes.h>
#include <string.h>

static const tn_uff_input *find_given(const tn_uff_reader *reader, const char *name) {
    for (uint32_t i = 0; i < reader->options->input_count; i++)
        if (strcmp(reader->options->inputs[i].name, name) == 0) return &reader->options->inputs[i];
    return NULL;
}

static bool is_operation(const tn_uff_node *node, const char *name) {
    return strcmp(node->operation, name) == 0;
}

bool tn_uff_is_input(const tn_uff_reader *reader, const tn_uff_node *node) {
    return is_operation(node, "Input") ||
           (reader->options->input_count > 0 && find_given(reader, node->id) != NULL);
}

/* ----------------------------------------------------------------------------------------------
 * survey: what the readers of each node need of it */

/* The number of axes of a constant that the file declares; 0 when it is none. */
static size_t constant_rank(tn_uff_reader *reader, const char *name) {
    uint64_t index;
    size_t count = 0;
    const int64_t *items;
    if (!tn_map_get(reader->nodes, name, &index)) return 0;
    const tn_uff_call call = {.reader = reader, .node = reader->source->nodes[index]};
    if (!is_operation(call.node, "Const") ||
        tn_uff_field_i64s(&call, "shape", &count, &items) != TN_OK)
        return 0;
    return count;
}

static bool is_among(const tn_uff_node *node, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (is_operation(node, names[i])) return true;
    return false;
}

/* What a node needs of its first input. */
static tn_uff_need read_need(const tn_uff_call *call, tn_uff_need of_output) {
    static const char *const keeping[] = {"Identity",  "Binary",    "Unary",  "Activation",
                                          "LeakyRelu", "BatchNorm", "Softmax"};
    const tn_uff_node *node = call->node;
    const bool is_last = tn_uff_order_is_channels_last(call);
    const bool is_pool = is_operation(node, "Pool");
    size_t rank = 0; /* as a list says it */
    if (is_operation(node, "FullyConnected")) return (tn_uff_need){2, false, false};
    if (is_among(node, keeping, TN_COUNT(keeping))) return of_output;
    if (is_pool) {
        const int64_t *items;
        rank = tn_uff_field_i64s(call, "kernel", &rank, &items) == TN_OK ? rank : 0;
        rank = rank > 0 && rank <= TN_MAX_RANK ? rank + 2 : 0;
    } else if (is_operation(node, "Conv") || is_operation(node, "ConvTranspose")) {
        rank = node->n_inputs > 1 ? constant_rank(call->reader, node->inputs[1]) : 0;
    } else if (!is_operation(node, "LRN")) {
        return (tn_uff_need){0, is_last, false};
    }
    return (tn_uff_need){rank >= 3 && rank <= TN_MAX_RANK ? (uint8_t)rank : 4, is_last, false};
}

/* Whether a node reads floating-point values. TensorFlow allows its products and normalisations
 * nothing else that UFF has no number for, and its other operations that stand here have one type
 * on both sides. */
static bool reads_floats(const tn_uff_node *node, bool is_real_output) {
    static const char *const operations[] = {"Conv", "ConvTranspose", "FullyConnected", "BatchNorm",
                                             "LRN",  "Softmax",       "LeakyRelu"};
    static const char *const keeping[] = {
        "Identity", "Activation", "Unary",   "Binary",    "Pool",         "Pad",     "Concat",
        "Stack",    "Reshape",    "Flatten", "Transpose", "StridedSlice", "Squeeze", "ExpandDims"};
    return is_among(node, operations, TN_COUNT(operations)) ||
           (is_real_output && is_among(node, keeping, TN_COUNT(keeping)));
}

static void note_floats(const tn_uff_reader *reader, tn_uff_need *needs, const tn_uff_node *node) {
    static const char *const all[] = {"Binary", "Concat", "Stack"};
    const size_t count = is_among(node, all, TN_COUNT(all)) ? node->n_inputs : 1;
    uint32_t index, output;
    for (size_t j = 0; j < count && j < node->n_inputs; j++)
        if (tn_uff_node_find(reader, node->inputs[j], &index, &output) == TN_OK)
            needs[index].is_real = true;
}

static void note_need(const tn_uff_reader *reader, tn_uff_need *needs, const char *input,
                      tn_uff_need wanted) {
    uint32_t index, output;
    if (wanted.rank == 0 || tn_uff_node_find(reader, input, &index, &output) != TN_OK) return;
    if (needs[index].rank > 0) return;
    needs[index].rank = wanted.rank;
    needs[index].is_channels_last = wanted.is_channels_last;
}

/* Axes that the file declares for an input, the batch axis counted where it has one. */
static tn_status declared_shape(const tn_uff_call *call, size_t *out_rank,
                                const int64_t **out_extents) {
    TN_TRY(tn_uff_field_i64s(call, "shape", out_rank, out_extents));
    if (*out_rank <= TN_MAX_RANK) return TN_OK;
    return tn_fail(TN_ERROR_SHAPE, "rank %zu; at most %d is possible", *out_rank, TN_MAX_RANK);
}

static tn_status survey_input(tn_uff_reader *reader, uint32_t index) {
    const tn_uff_node *node = reader->source->nodes[index];
    const tn_uff_call call = {.reader = reader, .node = node};
    const tn_uff_input *given = find_given(reader, node->id);
    size_t rank = 0;
    const int64_t *extents;
    TN_TRY(tn_error_at(declared_shape(&call, &rank, &extents), "input '%s'", node->id));
    const uint32_t needed = reader->needs[index].rank;
    if (!is_operation(node, "Input")) return TN_OK;
    if (needed == rank + 1 || (needed == 0 && given && given->rank == rank + 1))
        reader->is_batch_left_out = true;
    return TN_OK;
}

tn_status tn_uff_inputs_survey(tn_uff_reader *reader) {
    tn_uff_need *needs = tn_arena_allocate(reader->arena, reader->source->n_nodes, sizeof(*needs));
    if (!needs) return tn_fail_memory("the list of nodes");
    reader->needs = needs;
    bool is_any_last = false;
    for (size_t i = reader->sorted_count; i-- > 0;) {
        const uint32_t index = reader->sorted[i];
        const tn_uff_node *node = reader->source->nodes[index];
        if (tn_uff_is_input(reader, node)) continue;
        const tn_uff_call call = {.reader = reader, .node = node};
        const tn_uff_need wanted = read_need(&call, needs[index]);
        is_any_last = is_any_last || wanted.is_channels_last;
        if (reads_floats(node, needs[index].is_real)) note_floats(reader, needs, node);
        const size_t count = is_operation(node, "Binary") ? node->n_inputs : 1;
        for (size_t j = 0; j < count && j < node->n_inputs; j++)
            note_need(reader, needs, node->inputs[j], wanted);
    }
    for (size_t i = 0; i < reader->sorted_count; i++) {
        const uint32_t index = reader->sorted[i];
        if (!tn_uff_is_input(reader, reader->source->nodes[index])) continue;
        if (needs[index].rank == 0) needs[index].is_channels_last = is_any_last;
        TN_TRY(survey_input(reader, index));
    }
    reader->batch = tn_uff_open(reader);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * reading */

static tn_uff_order channels_first(uint32_t rank) {
    tn_uff_order order = tn_uff_order_plain();
    order.axes[1] = (uint8_t)(rank - 1);
    for (uint32_t i = 2; i < rank; i++)
        order.axes[i] = (uint8_t)(i - 1);
    return order;
}

/* Whether given extents can be the declared ones, looked at in an order. */
static bool fits(const tn_uff_input *given, const tn_uff_value *value, const tn_uff_order *order) {
    for (uint32_t i = 0; i < value->rank; i++) {
        const int64_t declared = value->extents[order->axes[i]];
        if (!tn_uff_is_open(declared) && given->extents[i] >= 0 && given->extents[i] != declared)
            return false;
    }
    return true;
}

static void declare(tn_uff_reader *reader, tn_uff_value *value, bool is_left_out, size_t rank,
                    const int64_t *extents) {
    value->rank = (uint32_t)rank + is_left_out;
    if (is_left_out) value->extents[0] = reader->batch;
    for (size_t i = 0; i < rank; i++)
        value->extents[i + is_left_out] = extents[i] < 0 ? tn_uff_open(reader) : extents[i];
}

/* From C, H, W order after the batch axis to the file's. */
static void move_channels_last(tn_uff_value *value) {
    const int64_t channels = value->extents[1];
    memmove(&value->extents[1], &value->extents[2], (value->rank - 2) * sizeof(int64_t));
    value->extents[value->rank - 1] = channels;
}

/* The shape as declared, and whether the data comes as N, C, H, W. */
static tn_status read_declared(const tn_uff_call *call, const tn_uff_input *given, bool is_last) {
    tn_uff_reader *reader = call->reader;
    tn_uff_value *value = call->output;
    const uint32_t needed = reader->needs[call->index].rank;
    size_t rank = 0;
    const int64_t *extents = NULL;
    TN_TRY(declared_shape(call, &rank, &extents));
    TN_TRY(tn_uff_field_require(call, "shape"));
    bool is_left_out = needed > 0 ? needed == rank + 1
                       : given    ? given->rank == rank + 1
                                  : reader->is_batch_left_out;
    if (rank == TN_MAX_RANK) is_left_out = false;
    declare(reader, value, is_left_out, rank, extents);
    if (!is_last || value->rank < 3) return TN_OK;
    const tn_uff_order first = channels_first(value->rank), plain = tn_uff_order_plain();
    const bool is_given_first = given && given->rank == value->rank &&
                                !fits(given, value, &plain) && fits(given, value, &first);
    if (is_left_out) move_channels_last(value);
    if (is_left_out || is_given_first || reader->options->order == TN_UFF_ORDER_NCHW)
        value->storage = first;
    return TN_OK;
}

/* A shape that the caller gave replaces the file's. */
static tn_status take_given(tn_uff_reader *reader, tn_uff_value *value, const tn_uff_input *given) {
    if (given->rank != value->rank) {
        char text[TN_SHAPE_TEXT_BYTES];
        int64_t extents[TN_MAX_RANK];
        for (uint32_t i = 0; i < value->rank; i++) {
            extents[i] = value->extents[value->storage.axes[i]];
            if (tn_uff_is_open(extents[i])) extents[i] = -1;
        }
        return tn_fail(TN_ERROR_SHAPE, "a shape of rank %" PRIu32 " was given; it takes %s",
                       given->rank, tn_shape_print(value->rank, extents, text, sizeof(text)));
    }
    for (uint32_t i = 0; i < given->rank; i++) {
        int64_t *extent = &value->extents[value->storage.axes[i]];
        if (given->extents[i] >= 0)
            *extent = given->extents[i];
        else if (!tn_uff_is_open(*extent))
            *extent = tn_uff_open(reader);
    }
    return TN_OK;
}

static tn_status add_to_graph(tn_uff_reader *reader, tn_uff_value *value) {
    int64_t extents[TN_MAX_RANK];
    const char *names[TN_MAX_RANK] = {NULL};
    for (uint32_t i = 0; i < value->rank; i++) {
        extents[i] = value->extents[value->storage.axes[i]];
        if (extents[i] == reader->batch) names[i] = "batch";
        if (tn_uff_is_open(extents[i])) extents[i] = -1;
    }
    return tn_import_add_input(reader->graph, value->name, value->type, value->rank, extents, names,
                               &value->tensor);
}

/* The type as declared. The one without a name says nothing of an input, of which there are no
 * bytes to tell by: doubles where its readers compute with floating-point values, which are given
 * as 32-bit floats, as constants of it are. */
static tn_status read_type(const tn_uff_call *call, tn_type *out_type) {
    const tn_uff_data *type;
    TN_TRY(tn_uff_field_find(call, "dtype", &type));
    if (!type || !type->has_dtype || type->dtype != TENON__UFF__DATA_TYPE__DT_OTHER)
        return tn_uff_field_type(call, "dtype", TN_F32, out_type);
    if (!call->reader->needs[call->index].is_real)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "the input has UFF's element type 7, which stands for all that the format "
                       "has no number for, and nothing that reads it says that it holds "
                       "floating-point values");
    *out_type = TN_F32;
    return TN_OK;
}

tn_status tn_uff_input_read(tn_uff_call *call) {
    tn_uff_reader *reader = call->reader;
    tn_uff_value *value = call->output;
    const tn_uff_input *given = find_given(reader, value->name);
    const bool is_last = reader->needs[call->index].is_channels_last;
    value->type = TN_F32;
    if (given && !given->has_shape) given = NULL; /* a name alone */
    if (is_operation(call->node, "Input")) {
        TN_TRY(read_type(call, &value->type));
        TN_TRY(read_declared(call, given, is_last));
    } else {
        if (!given)
            return tn_fail(TN_ERROR_ARGUMENT, "a node becomes an input where its shape is given "
                                              "(--shape NAME=1x3x224x224)");
        value->rank = given->rank;
        for (uint32_t i = 0; i < given->rank; i++)
            value->extents[i] = tn_uff_open(reader);
        if (is_last && given->rank >= 3) value->storage = channels_first(given->rank);
    }
    if (given) TN_TRY(take_given(reader, value, given));
    if (value->rank > 2 && value->storage.axes[1] != 1) reader->is_channels_first = true;
    return add_to_graph(reader, value);
}
