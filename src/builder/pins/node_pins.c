/* SPDX-License-Identifier: Apache-2.0 */
/* Pins of single nodes: reading them, and finding their nodes; see node_pins.h. */
#include "builder/pins/node_pins.h"
#include "base/status.h"
#include "base/text.h"

#include <string.h>

typedef struct type_row {
    const char *name;
    tn_type type;
    uint32_t precision;
} type_row;

static const type_row types[] = {{"fp32", TN_F32, TN_PRECISION_F32},
                                 {"bf16", TN_BF16, TN_PRECISION_BF16},
                                 {"fp16", TN_F16, TN_PRECISION_F16},
                                 {"int8", TN_I8, TN_PRECISION_I8}};

static const type_row *find_type(const char *text) {
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(types[i].name, text) == 0) return &types[i];
    return NULL;
}

/* Where NODE ends: names of nodes may hold '=', those of kernels and types do not. */
static tn_status find_equals(const char *text, size_t *out_length) {
    const char *equals = text ? strrchr(text, '=') : NULL;
    if (!equals || equals == text || equals[1] == 0 || equals[1] == ':')
        return tn_fail(TN_ERROR_ARGUMENT,
                       "the pin '%s' is not of the form NODE=KERNEL[:COMBINATION] or "
                       "NODE=fp32|bf16|fp16|int8",
                       text ? text : "");
    *out_length = (size_t)(equals - text);
    return TN_OK;
}

static bool is_named(const tn_graph_node *node, const char *text, size_t length) {
    return strlen(node->name) == length && memcmp(node->name, text, length) == 0;
}

static tn_status find_node(const tn_graph *graph, const char *text, size_t length,
                           size_t *out_node) {
    tn_nearest nearest;
    tn_text wanted;
    for (size_t n = 0; n < graph->node_count; n++) {
        if (!is_named(&graph->nodes[n], text, length)) continue;
        *out_node = n;
        return TN_OK;
    }
    tn_text_init(&wanted, graph->allocator);
    tn_text_add_format(&wanted, "%.*s", (int)length, text);
    if (wanted.is_failed) return tn_fail_memory("the pins of nodes");
    tn_nearest_init(&nearest, wanted.data);
    for (size_t n = 0; n < graph->node_count; n++)
        tn_nearest_offer(&nearest, graph->nodes[n].name);
    tn_status status = tn_error_mend_nearest(
        tn_fail(TN_ERROR_NOT_FOUND, "there is no node '%s' to be pinned", wanted.data), "; ",
        nearest.best);
    tn_text_deinit(&wanted);
    return status;
}

static tn_status check_type(const char *text, const type_row *row,
                            const tn_builder_options *options) {
    if (row->precision == TN_PRECISION_F32 || row->precision == options->precision ||
        (options->second_precision && row->precision == options->second_precision))
        return TN_OK;
    return tn_fail(TN_ERROR_ARGUMENT,
                   "the pin '%s' asks for a type that the build's precision does not allow: build "
                   "with precision %s",
                   text, row->name);
}

tn_status tn_node_pins_check(const tn_graph *given, const tn_builder_options *options) {
    if (options->pin_count > 0 && !options->pins)
        return tn_fail(TN_ERROR_ARGUMENT, "pins are counted but not given");
    if (options->pin_count > 0 && (options->flags & TN_BUILD_REFERENCE))
        return tn_fail(TN_ERROR_ARGUMENT, "nodes are pinned in a build of references alone");
    for (uint32_t i = 0; i < options->pin_count; i++) {
        const char *text = options->pins[i];
        size_t length = 0, node = 0;
        TN_TRY(find_equals(text, &length));
        TN_TRY(find_node(given, text, length, &node));
        const type_row *row = find_type(text + length + 1);
        if (row) TN_TRY(check_type(text, row, options));
    }
    return TN_OK;
}

/* The node that makes now what the pinned one made. */
static const char *stand_in_of(const tn_graph_node *node, const tn_graph *graph,
                               const tn_pass_context *passes) {
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] == TN_NO_TENSOR) continue;
        const uint32_t maker = graph->tensors[tn_pass_stand_in(passes, node->outputs[i])].producer;
        if (maker != TN_NO_NODE) return graph->nodes[maker].name;
    }
    return NULL;
}

static tn_status find_live(const tn_graph *given, const tn_graph *graph,
                           const tn_pass_context *passes, const char *text, size_t length,
                           size_t *out_node) {
    size_t before = 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        if (graph->nodes[n].is_dead || !is_named(&graph->nodes[n], text, length)) continue;
        *out_node = n;
        return TN_OK;
    }
    TN_TRY(find_node(given, text, length, &before));
    const char *now = stand_in_of(&given->nodes[before], graph, passes);
    return tn_fail(TN_ERROR_NOT_FOUND,
                   "node '%.*s' is pinned, but is no node of the network as it is built: it was "
                   "folded or made a part of another one%s%s%s (without fusion, "
                   "TN_BUILD_NO_FUSION or --no-fusion, more nodes stay)",
                   (int)length, text, now ? "; '" : "", now ? now : "",
                   now ? "' makes its output" : "");
}

/* Adds what one text says to what others said of the same node. */
static tn_status set_pin(tn_node_pin *pin, const char *text, char *value) {
    const type_row *row = find_type(value);
    if (row ? pin->type != TN_NONE : pin->kernel != NULL)
        return tn_fail(TN_ERROR_ARGUMENT, "the pin '%s': the node's %s is pinned twice", text,
                       row ? "type" : "kernel");
    if (row) {
        pin->type = row->type;
        return TN_OK;
    }
    char *colon = strchr(value, ':');
    if (colon) {
        *colon = 0;
        pin->combination = colon + 1;
    }
    pin->kernel = value;
    return TN_OK;
}

tn_status tn_node_pins_make(const tn_graph *given, const tn_graph *graph,
                            const tn_pass_context *passes, const tn_builder_options *options,
                            tn_arena *arena, tn_node_pin **out_pins) {
    tn_node_pin *pins = tn_arena_allocate(arena, graph->node_count + 1, sizeof *pins);
    if (!pins) return tn_fail_memory("the pins of nodes");
    for (uint32_t i = 0; i < options->pin_count; i++) {
        const char *text = options->pins[i];
        size_t length = 0, node = 0;
        TN_TRY(find_equals(text, &length));
        TN_TRY(find_live(given, graph, passes, text, length, &node));
        char *value = tn_arena_text(arena, text + length + 1);
        if (!value) return tn_fail_memory("the pins of nodes");
        TN_TRY(set_pin(&pins[node], text, value));
    }
    *out_pins = pins;
    return TN_OK;
}
