/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases of other extents, as text; see bench.h. An author's cases are small, so that checking them
 * is quick; what a kernel is worth shows on shapes whose tensors leave the nearest caches.
 */
#include "bench.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS_AT_MOST = 16, ROUNDS_AT_MOST = 40 };

typedef struct growth {
    tn_runtime *runtime;
    const tn_operator *op;
    tn_arena *arena;
    tn_case c;
    size_t bytes, output_bytes; /* of the shapes as they are */
} growth;

/* ----------------------------------------------------------------------------------------------
 * text */

/* One input's "NAME=TYPE[extents]", what follows the extents in `token` behind it. */
static const char *write_input(tn_arena *arena, const char *before, const char *token,
                               size_t length, const tn_shape *shape) {
    const char *open = memchr(token, '[', length);
    const char *close = open ? memchr(open, ']', length - (size_t)(open - token)) : NULL;
    char extents[TN_MAX_RANK * 22] = "";
    if (!open || !close) return NULL;
    for (uint32_t i = 0, at = 0; i < shape->rank; i++)
        at += (uint32_t)snprintf(extents + at, sizeof(extents) - at, i ? ",%lld" : "%lld",
                                 (long long)shape->extents[i]);
    return tn_arena_format(arena, "%s %.*s[%s]%.*s", before, (int)(open - token), token, extents,
                           (int)(length - (size_t)(close + 1 - token)), close + 1);
}

/* The case's text with the shapes that `c` has now. */
static tn_status write_case(tn_arena *arena, const char *text, const tn_case *c,
                            const char **out_text) {
    const char *bar = strchr(text, '|');
    const char *at = bar ? bar + 1 : text, *written = NULL;
    if (bar) written = tn_arena_format(arena, "%.*s", (int)(bar + 1 - text), text);
    for (uint32_t i = 0; i < c->input_count && written; i++) {
        at += strspn(at, " ");
        const size_t length = strcspn(at, " ");
        written = write_input(arena, written, at, length, &c->inputs[i].shape);
        at += length;
    }
    if (!written) return tn_fail_memory("a case");
    *out_text = written;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * growing */

static bool is_fixed(const growth *g, uint32_t input) {
    const tn_case_input *it = &g->c.inputs[input];
    return it->has_values || (g->op->inputs[it->port].flags & TN_PORT_VALUE_NEEDED);
}

/* The bytes of all tensors with the shapes as they are; fails where the shape rule does. */
static tn_status count_bytes(growth *g, size_t *out_bytes, size_t *out_output_bytes) {
    const tn_case_options options = {.threads = 1};
    tn_graph *graph = NULL;
    tn_arena *arena = NULL;
    tn_inference_plan plan;
    tn_inference inference = {0};
    size_t bytes = 0, output_bytes = 0;
    TN_TRY(tn_arena_create(tn_allocator_default(), &arena));
    tn_status status = tn_case_graph(g->runtime, g->op, &g->c, &options, &graph);
    if (status == TN_OK) status = tn_case_infer(graph, &g->c, arena, &plan, &inference);
    for (uint32_t i = 0; i < g->c.input_count && status == TN_OK; i++) {
        size_t own = 0;
        status = tn_format_bytes(TN_LINEAR, g->c.inputs[i].type, &g->c.inputs[i].shape, &own);
        bytes += own;
    }
    for (uint32_t i = 0; status == TN_OK && i < graph->nodes[0].output_count; i++) {
        const tn_tensor_id id = graph->nodes[0].outputs[i];
        if (id != TN_NO_TENSOR) output_bytes += (size_t)inference.tensors[id].storage.tensor.bytes;
    }
    tn_inference_deinit(&inference);
    tn_graph_destroy(graph);
    tn_arena_destroy(arena);
    *out_bytes = bytes + output_bytes;
    *out_output_bytes = output_bytes;
    return status;
}

/* Doubles an axis and what goes with it. */
static void double_axis(growth *g, uint32_t input, uint32_t axis, bool is_everywhere) {
    const tn_shape seed = g->c.inputs[input].shape;
    for (uint32_t i = 0; i < g->c.input_count; i++) {
        tn_shape *shape = &g->c.inputs[i].shape;
        for (uint32_t a = 0; a < shape->rank && !is_fixed(g, i); a++) {
            const bool is_same_axis = a == axis && shape->rank == seed.rank;
            const bool goes_along = i == input ? a == axis || (is_everywhere && a != axis)
                                               : is_same_axis || is_everywhere;
            if (goes_along && shape->extents[a] == seed.extents[axis]) shape->extents[a] *= 2;
        }
    }
}

/* Tries to double; the outputs of the first input's axes may stay, those of others' must grow:
 * else a window would grow instead of what it slides over. */
static bool try_axis(growth *g, uint32_t input, uint32_t axis, bool is_everywhere, size_t most) {
    tn_shape before[INPUTS_AT_MOST];
    size_t bytes = 0, output_bytes = 0;
    for (uint32_t i = 0; i < g->c.input_count; i++)
        before[i] = g->c.inputs[i].shape;
    double_axis(g, input, axis, is_everywhere);
    const bool is_good =
        count_bytes(g, &bytes, &output_bytes) == TN_OK && bytes <= most && bytes > g->bytes &&
        (input == 0 ? output_bytes >= g->output_bytes : output_bytes > g->output_bytes);
    for (uint32_t i = 0; i < g->c.input_count && !is_good; i++)
        g->c.inputs[i].shape = before[i];
    if (is_good) {
        g->bytes = bytes;
        g->output_bytes = output_bytes;
    }
    return is_good;
}

/* Each axis once; false when none could grow. */
static bool grow_round(growth *g, size_t bytes) {
    bool is_any = false;
    for (uint32_t i = 0; i < g->c.input_count; i++) {
        for (uint32_t axis = 0; axis < g->c.inputs[i].shape.rank; axis++) {
            const int64_t extent = g->c.inputs[i].shape.extents[axis];
            if (is_fixed(g, i) || extent < 1 || extent > INT32_MAX || g->bytes >= bytes) continue;
            if (try_axis(g, i, axis, false, 2 * bytes) ||
                (extent > 1 && try_axis(g, i, axis, true, 2 * bytes)))
                is_any = true;
        }
    }
    return is_any;
}

tn_status tn_grow_case(tn_runtime *runtime, const tn_operator *op, const char *text, size_t bytes,
                       tn_arena *arena, const char **out_text) {
    growth g = {.runtime = runtime, .op = op, .arena = arena};
    TN_TRY(tn_case_read(arena, op, text, &g.c));
    *out_text = text;
    if (g.c.input_count > INPUTS_AT_MOST) return TN_OK;
    TN_TRY(count_bytes(&g, &g.bytes, &g.output_bytes));
    bool is_any = false;
    for (int i = 0; i < ROUNDS_AT_MOST && g.bytes < bytes && grow_round(&g, bytes); i++)
        is_any = true;
    tn_error_clear();
    return is_any ? write_case(arena, text, &g.c, out_text) : TN_OK;
}

tn_status tn_grow_set_shape(const tn_operator *op, const char *text, const char *shape,
                            tn_arena *arena, const char **out_text) {
    const char *equals = strchr(shape, '=');
    const size_t length = equals ? (size_t)(equals - shape) : 0;
    tn_case c;
    TN_TRY(tn_case_read(arena, op, text, &c));
    for (uint32_t i = 0; i < c.input_count; i++) {
        const char *name = op->inputs[c.inputs[i].port].name;
        if (strlen(name) != length || strncmp(name, shape, length) != 0) continue;
        tn_shape given = {0};
        const char *at = equals + 1;
        while (*at && given.rank < TN_MAX_RANK) {
            char *end;
            given.extents[given.rank++] = strtoll(at, &end, 10);
            if (end == at || given.extents[given.rank - 1] < 0 || (*end && *end != 'x'))
                return tn_fail(TN_ERROR_ARGUMENT, "'%s' is not a shape like %s=1x3x8x8", shape,
                               name);
            at = end + (*end == 'x');
        }
        c.inputs[i].shape = given;
        return write_case(arena, text, &c, out_text);
    }
    return tn_fail(TN_ERROR_NOT_FOUND, "operator %s has no input of that name in case \"%s\": '%s'",
                   op->name, text, shape);
}
