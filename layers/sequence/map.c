/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SequenceMap: a graph for each item of a sequence. It reads items of other sequences, as many as
 * the first one has, at the same position, and dense tensors, the same for each item; what it
 * computes becomes sequences of as many items.
 */
#include "sequence.h"
#include <tenon/plugin/body.h>

#include <string.h>

typedef struct map_params {
    uint64_t present;
    const tn_body_graph *body;
} map_params;

/* The questions to the body. */
typedef struct map_shapes {
    tn_tensor items[TN_BODY_MAX_PORTS], made[TN_BODY_MAX_PORTS];
    int64_t extents[TN_BODY_MAX_PORTS][TN_MAX_RANK], made_extents[TN_BODY_MAX_PORTS][TN_MAX_RANK];
    const tn_tensor *inputs[TN_BODY_MAX_PORTS];
    tn_tensor *outputs[TN_BODY_MAX_PORTS];
} map_shapes;

static const tn_body_graph *body_of(const tn_call *call) {
    return ((const map_params *)call->params)->body;
}

static const tn_body_service *bodies_of(const tn_call *call) {
    return (const tn_body_service *)call->host->extension(call->host, TN_BODIES);
}

static tn_status check_ports(tn_call *call) {
    const tn_body_graph *body = body_of(call);
    const uint32_t own = call->input_count - body->capture_count;
    if (body->input_count != own || body->output_count < call->output_count || own == 0)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "body '%s' has %u inputs and %u outputs: the node has %u and %u",
                                body->name, body->input_count, body->output_count, own,
                                call->output_count);
    for (uint32_t i = 0; i < own; i++)
        if (!call->inputs[i])
            return call->host->fail(call, TN_ERROR_ARGUMENT, "input %u is absent", i);
    return TN_OK;
}

static void start(const tn_call *call, map_shapes *map) {
    const tn_body_graph *body = body_of(call);
    memset(map, 0, sizeof(*map));
    for (uint32_t i = 0; i < body->input_count; i++) {
        map->items[i] = (tn_tensor){.size = sizeof(tn_tensor),
                                    .type = call->inputs[i]->type,
                                    .shape = map->extents[i],
                                    .strides = map->extents[i]};
        map->inputs[i] = call->inputs[i]->kind ? &map->items[i] : call->inputs[i];
    }
    for (uint32_t i = 0; i < body->output_count; i++) {
        map->made[i] = (tn_tensor){.size = sizeof(tn_tensor),
                                   .shape = map->made_extents[i],
                                   .strides = map->made_extents[i]};
        map->outputs[i] = &map->made[i];
    }
}

/* What the body computes for an item with these extents, into the outputs. */
static tn_status ask(tn_call *call, map_shapes *map, bool is_first) {
    for (uint32_t i = 0; i < body_of(call)->output_count; i++)
        map->made[i].rank = TN_RANK_UNKNOWN;
    TN_TRY(bodies_of(call)->infer(call, body_of(call), map->inputs, map->outputs));
    for (uint32_t i = 0; i < call->output_count; i++) {
        tn_tensor *made = &map->made[i];
        if (!call->outputs[i]) continue;
        if (made->rank > TN_MAX_RANK) made->rank = TN_RANK_UNKNOWN;
        for (uint32_t axis = 0; made->rank <= TN_MAX_RANK && axis < made->rank; axis++)
            if (made->shape[axis] < 0) made->shape[axis] = -1;
        call->outputs[i]->type = made->type;
        tn_sequence_join(call->outputs[i], made, is_first);
    }
    return TN_OK;
}

/* Items of each sequence: of `rank` where that is not known, with `extent` where an extent is not.
 * Answers whether one was not. */
static bool describe_items(const tn_call *call, map_shapes *map, uint32_t rank, int64_t extent) {
    bool is_open = false;
    for (uint32_t i = 0; i < body_of(call)->input_count; i++) {
        const tn_tensor *list = call->inputs[i];
        const bool has_rank = list->rank != TN_RANK_UNKNOWN;
        if (!list->kind) continue;
        map->items[i].rank = has_rank ? list->rank : rank;
        for (uint32_t axis = 0; axis < map->items[i].rank; axis++) {
            const bool is_known = has_rank && list->shape[axis] >= 0;
            map->extents[i][axis] = is_known ? list->shape[axis] : extent;
            is_open = is_open || !is_known;
        }
    }
    return is_open;
}

/* Extents that are not known are tried as two numbers, so that they are open in the body. */
static tn_status ask_known_rank(tn_call *call, map_shapes *map) {
    for (int64_t extent = 6; extent <= 12; extent += 6) {
        const bool is_open = describe_items(call, map, 0, extent);
        TN_TRY(ask(call, map, extent == 6));
        if (!is_open) break;
    }
    return TN_OK;
}

/* Some ranks are tried: the body has to take one, and has none of them for its own. */
static tn_status ask_unknown_rank(tn_call *call, map_shapes *map) {
    tn_status status = TN_OK;
    uint32_t found = 0;
    for (uint32_t rank = 1; rank <= 4; rank++) {
        describe_items(call, map, rank, 6);
        const tn_status answer = ask(call, map, found == 0);
        if (answer == TN_OK) found++;
        if (answer == TN_ERROR_MEMORY) return answer;
        if (answer != TN_OK) status = answer;
    }
    for (uint32_t i = 0; i < call->output_count; i++)
        if (call->outputs[i]) call->outputs[i]->rank = TN_RANK_UNKNOWN;
    return found > 0 ? TN_OK : status;
}

static tn_status ask_before_run(tn_call *call, map_shapes *map) {
    bool has_ranks = true;
    for (uint32_t i = 0; i < body_of(call)->input_count; i++)
        has_ranks = has_ranks && call->inputs[i]->rank != TN_RANK_UNKNOWN;
    return has_ranks ? ask_known_rank(call, map) : ask_unknown_rank(call, map);
}

/* What the body is given for item `index`. */
static tn_status find_items(tn_call *call, uint64_t index, const tn_tensor **inputs) {
    for (uint32_t i = 0; i < body_of(call)->input_count; i++) {
        inputs[i] = call->inputs[i];
        if (inputs[i]->kind)
            TN_TRY(tn_sequence_lists(call)->item(call, call->inputs[i], index, &inputs[i]));
    }
    return TN_OK;
}

/* The length of all sequences. */
static tn_status find_length(tn_call *call, uint64_t *out_length) {
    TN_TRY(tn_sequence_lists(call)->length(call, call->inputs[0], out_length));
    for (uint32_t i = 1; i < body_of(call)->input_count; i++) {
        uint64_t length = *out_length;
        if (call->inputs[i]->kind)
            TN_TRY(tn_sequence_lists(call)->length(call, call->inputs[i], &length));
        if (length != *out_length)
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "sequence '%s' has %llu items: expected %llu, as many as '%s'",
                                    call->inputs[i]->name, (unsigned long long)length,
                                    (unsigned long long)*out_length, call->inputs[0]->name);
    }
    return TN_OK;
}

/* In a run: the items that are there. */
static tn_status ask_items(tn_call *call, map_shapes *map, uint64_t length) {
    for (uint64_t i = 0; i < length; i++) {
        TN_TRY(find_items(call, i, map->inputs));
        TN_TRY(ask(call, map, i == 0));
    }
    return TN_OK;
}

static bool are_items_known(const tn_call *call) {
    for (uint32_t i = 0; i < body_of(call)->input_count; i++)
        if (call->inputs[i]->kind && !call->inputs[i]->data) return false;
    return true;
}

static tn_status map_infer(tn_call *call) {
    uint64_t length = 0;
    TN_TRY(check_ports(call));
    map_shapes *map = call->host->allocate(call->host, sizeof(*map), 64);
    if (!map) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for shapes");
    start(call, map);
    tn_status status = are_items_known(call) ? find_length(call, &length) : TN_OK;
    if (status == TN_OK)
        status = length > 0 ? ask_items(call, map, length) : ask_before_run(call, map);
    call->host->deallocate(call->host, map);
    return status;
}

static tn_status map_item(tn_call *call, uint64_t index) {
    const tn_body_graph *body = body_of(call);
    const tn_tensor *inputs[TN_BODY_MAX_PORTS];
    tn_tensor made[TN_BODY_MAX_PORTS], *outputs[TN_BODY_MAX_PORTS] = {NULL};
    TN_TRY(find_items(call, index, inputs));
    for (uint32_t i = 0; i < call->output_count; i++) {
        made[i] = (tn_tensor){.size = sizeof(tn_tensor)};
        if (call->outputs[i]) outputs[i] = &made[i];
    }
    TN_TRY(bodies_of(call)->run(call, body, inputs, outputs));
    for (uint32_t i = 0; i < call->output_count; i++)
        if (call->outputs[i]) TN_TRY(tn_sequence_add(call, call->outputs[i], &made[i]));
    return TN_OK;
}

static tn_status map_reference(tn_call *call) {
    uint64_t length = 0;
    TN_TRY(check_ports(call));
    TN_TRY(find_length(call, &length));
    for (uint64_t i = 0; i < length; i++)
        TN_TRY(map_item(call, i));
    return TN_OK;
}

static const tn_field map_fields[] = {
    TN_FIELD(map_params, body, TN_FIELD_GRAPH, TN_REQUIRED, NULL, "what is done to an item")};
static const tn_port map_inputs[] = {
    TN_PORT("input_sequence", "seq(any|string)", 0, "the items"),
    TN_PORT("additional_inputs", "each(any|string)",
            TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS | TN_PORT_OPTIONAL,
            "dense tensors, the same for each item, and sequences, then what the body captured"),
};
static const tn_port map_outputs[] = {TN_PORT("out_sequence", "seq(any|string)", TN_PORT_VARIADIC,
                                              "what the body computes, by item")};
const tn_operator tn_sequence_map = {
    TN_OPERATOR_BEGIN("", "SequenceMap", 17, "A graph for each item of a sequence."),
    .infer = map_infer,
    .reference = map_reference,
    TN_FIELDS(map_params, map_fields),
    TN_INPUTS(map_inputs),
    TN_OUTPUTS(map_outputs)};
static const char *const map_combinations[] = {"*|string, *|string?... -> *|string?..."};
const tn_kernel tn_sequence_map_kernel = {
    TN_KERNEL_BEGIN("cpu", "", "SequenceMap", "items", 1, "runs the body's own program"),
    TN_COMBINATIONS(map_combinations), .run = map_reference};
