/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops that a counter ends: `while i < n` with i = i + 1, as converters of TensorFlow's and of
 * scripted PyTorch networks write them. Their condition is data, so that nobody would know before a
 * run how often they run, nor the shapes of what they stack. How often follows from where the
 * counter begins and from n: that becomes the loop's limit, and the condition stays true.
 *
 * The condition of iteration k = 0, 1, ... is first + k + ahead < end (or <=), all integers. The
 * first iteration is the condition's before the loop, and a further one follows each k for which
 * this holds: 1 + max(0, end - first - ahead) iterations for `<`, one more for `<=`.
 */
#include "base/status.h"
#include "importers/common/emit.h"
#include "importers/onnx/loop/loop.h"

#include <string.h>

enum { MOST_PARTS = 4, MOST_AHEAD = 1 << 20, MOST_STEPS = 16 };

/* A counter in iteration k: first + k + ahead. */
typedef struct loop_counter {
    const char *first; /* around the loop; null: 0 */
    int64_t ahead;
} loop_counter;

/* One of the comparisons that must all hold. */
typedef struct loop_part {
    loop_counter counter;
    bool is_or_equal;
    const char *end; /* around the loop, or null: */
    int64_t end_value;
} loop_part;

typedef struct loop_reading {
    tn_onnx_reader *reader;
    tn_onnx_scope *scope;
    const tn_onnx_node *node;
    const tn_onnx_graph *body;
    size_t carried;
    size_t part_count;
    loop_part parts[MOST_PARTS];
} loop_reading;

/* ----------------------------------------------------------------------------------------------
 * integers of the message */

/* The one integer of a tensor; false where it has others, or other elements. */
static bool read_integer(const tn_onnx_tensor *tensor, int64_t *out_value) {
    for (size_t i = 0; i < tensor->n_dims; i++)
        if (tensor->dims[i] != 1) return false;
    const tn_type type = tn_onnx_type(tensor->data_type);
    const size_t bytes = type == TN_I64 ? sizeof(int64_t) : sizeof(int32_t);
    if ((type != TN_I64 && type != TN_I32) || tensor->data_location == 1) return false;
    if (tensor->raw_data.data && tensor->raw_data.len == bytes) {
        int32_t narrow = 0;
        memcpy(type == TN_I64 ? (void *)out_value : &narrow, tensor->raw_data.data, bytes);
        if (type == TN_I32) *out_value = narrow;
        return true;
    }
    if (type == TN_I64 && tensor->n_int64_data == 1)
        *out_value = tensor->int64_data[0];
    else if (type == TN_I32 && tensor->n_int32_data == 1)
        *out_value = tensor->int32_data[0];
    else
        return false;
    return true;
}

static bool read_constant_node(const tn_onnx_node *node, int64_t *out_value) {
    if (!tn_onnx_is_node(node, "Constant") || node->n_attribute != 1) return false;
    const tn_onnx_attribute *given = node->attribute[0];
    if (!given->name) return false;
    if (strcmp(given->name, "value") == 0 && given->t) return read_integer(given->t, out_value);
    *out_value = given->i;
    return strcmp(given->name, "value_int") == 0;
}

/* A constant of the graph around the loop. */
static bool read_outer_constant(const loop_reading *loop, const char *name, int64_t *out_value) {
    const tn_onnx_scope *scope = loop->scope;
    uint64_t id;
    while (scope && !tn_map_get(scope->tensors, name, &id))
        scope = scope->is_body ? scope->parent : NULL;
    if (!scope || id == TN_IMPORT_NO_TENSOR) return false;
    const tn_import_tensor_info info = tn_import_tensor_at(scope->graph, (tn_import_tensor)id);
    if (!(info.flags & TN_IMPORT_IS_CONSTANT) || !info.data) return false;
    if (info.type == TN_I64 && info.bytes == sizeof(int64_t)) {
        memcpy(out_value, info.data, sizeof(int64_t));
        return true;
    }
    int32_t narrow;
    if (info.type != TN_I32 || info.bytes != sizeof(narrow)) return false;
    memcpy(&narrow, info.data, sizeof(narrow));
    *out_value = narrow;
    return true;
}

static bool read_constant(const loop_reading *loop, const char *name, int64_t *out_value) {
    name = tn_onnx_body_origin(loop->body, name);
    for (size_t i = 0; i < loop->body->n_initializer; i++) {
        const tn_onnx_tensor *tensor = loop->body->initializer[i];
        if (tensor->name && strcmp(tensor->name, name) == 0) return read_integer(tensor, out_value);
    }
    const tn_onnx_node *node = tn_onnx_body_producer(loop->body, name);
    if (node) return read_constant_node(node, out_value);
    return !tn_onnx_body_defines(loop->body, name) && read_outer_constant(loop, name, out_value);
}

/* ----------------------------------------------------------------------------------------------
 * the condition */

/* x where the tensor is x + constant. */
static const char *read_sum(const loop_reading *loop, const char *name, int64_t *out_constant) {
    const tn_onnx_node *node = tn_onnx_body_producer(loop->body, name);
    if (!node || !tn_onnx_is_node(node, "Add") || node->n_input != 2) return NULL;
    for (int i = 0; i < 2; i++)
        if (read_constant(loop, node->input[i], out_constant))
            return tn_onnx_body_origin(loop->body, node->input[1 - i]);
    return NULL;
}

static bool is_input(const loop_reading *loop, size_t index, const char *name) {
    const char *own = loop->body->input[index]->name;
    return tn_onnx_is_named(own) && strcmp(own, name) == 0;
}

/* Whether a carried tensor is one more in each iteration than in the one before. */
static bool counts(const loop_reading *loop, size_t index) {
    const char *made = loop->body->output[TN_ONNX_BODY_CARRIED_OUT + index]->name;
    int64_t step;
    if (!tn_onnx_is_named(made)) return false;
    const char *from = read_sum(loop, tn_onnx_body_origin(loop->body, made), &step);
    return from && step == 1 && is_input(loop, TN_ONNX_BODY_CARRIED + index, from);
}

static bool read_counter(const loop_reading *loop, const char *name, loop_counter *out_counter) {
    int64_t constant;
    *out_counter = (loop_counter){0};
    name = tn_onnx_body_origin(loop->body, name);
    for (int steps = 0; steps < MOST_STEPS; steps++) {
        if (is_input(loop, TN_ONNX_BODY_NUMBER, name)) return true;
        for (size_t i = 0; i < loop->carried; i++) {
            if (!is_input(loop, TN_ONNX_BODY_CARRIED + i, name)) continue;
            out_counter->first = loop->node->input[TN_ONNX_LOOP_CARRIED + i];
            return tn_onnx_is_named(out_counter->first) && counts(loop, i);
        }
        name = read_sum(loop, name, &constant);
        if (!name || constant > MOST_AHEAD || constant < -MOST_AHEAD) return false;
        out_counter->ahead += constant;
    }
    return false;
}

/* What a counter is compared with: a constant, or a tensor around the loop. */
static bool read_end(const loop_reading *loop, const char *name, loop_part *part) {
    if (read_constant(loop, name, &part->end_value)) return true;
    part->end = tn_onnx_body_origin(loop->body, name);
    return tn_onnx_is_named(part->end) && !tn_onnx_body_defines(loop->body, part->end);
}

static bool read_comparison(loop_reading *loop, const tn_onnx_node *node) {
    static const struct {
        const char *op;
        int counter; /* which input is the smaller one */
        bool is_or_equal;
    } known[] = {{"Less", 0, false},
                 {"LessOrEqual", 0, true},
                 {"Greater", 1, false},
                 {"GreaterOrEqual", 1, true}};
    if (loop->part_count == MOST_PARTS || node->n_input != 2) return false;
    loop_part *part = &loop->parts[loop->part_count];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!tn_onnx_is_node(node, known[i].op)) continue;
        *part = (loop_part){.is_or_equal = known[i].is_or_equal};
        loop->part_count++;
        return read_counter(loop, node->input[known[i].counter], &part->counter) &&
               read_end(loop, node->input[1 - known[i].counter], part);
    }
    return false;
}

/* Whether all that the condition depends on are counters. */
static bool read_condition(loop_reading *loop, const char *name, int depth) {
    name = tn_onnx_body_origin(loop->body, name);
    if (is_input(loop, TN_ONNX_BODY_CONDITION, name)) return true; /* an iteration runs: it is */
    const tn_onnx_node *node = tn_onnx_body_producer(loop->body, name);
    if (!node || depth == MOST_PARTS) return false;
    if (tn_onnx_is_node(node, "And") && node->n_input == 2)
        return read_condition(loop, node->input[0], depth + 1) &&
               read_condition(loop, node->input[1], depth + 1);
    if (tn_onnx_is_node(node, "Cast") && node->n_input == 1) /* to the type that it has */
        return read_condition(loop, node->input[0], depth + 1);
    return read_comparison(loop, node);
}

/* ----------------------------------------------------------------------------------------------
 * the limit */

/* A number around the loop, within what sums of a few do not leave. */
static tn_import_tensor emit_number(loop_reading *loop, tn_emitter *emit, const char *part,
                                    const char *name) {
    static const int64_t low = -(INT64_C(1) << 61), high = INT64_C(1) << 61;
    tn_import_tensor x = TN_IMPORT_NO_TENSOR;
    if (emit->status == TN_OK)
        tn_emit_keep(emit, tn_onnx_scope_tensor(loop->reader, loop->scope, name, &x));
    x = tn_emit_cast(emit, part, "i64", x);
    const tn_import_tensor least = tn_emit_lent(emit, "low", TN_I64, 0, NULL, &low);
    const tn_import_tensor most = tn_emit_lent(emit, "high", TN_I64, 0, NULL, &high);
    return tn_emit(emit, part, "Clip", NULL, TN_TENSORS(x, least, most));
}

static tn_import_tensor emit_integer(tn_emitter *emit, const char *part, int64_t value) {
    return tn_emit_constant(emit, part, TN_I64, 0, NULL, &value);
}

/* 1 + max(0, end - first + shift) */
static tn_import_tensor emit_count(loop_reading *loop, tn_emitter *emit, const loop_part *part) {
    int64_t shift = (part->is_or_equal ? 1 : 0) - part->counter.ahead;
    tn_import_tensor count = part->end ? emit_number(loop, emit, "end", part->end)
                                       : emit_integer(emit, "end", part->end_value);
    if (part->counter.first) {
        const tn_import_tensor first = emit_number(loop, emit, "first", part->counter.first);
        count = tn_emit_binary(emit, "behind", "Sub", count, first);
    }
    count = tn_emit_binary(emit, "shifted", "Add", count, emit_integer(emit, "shift", shift));
    count = tn_emit_binary(emit, "more", "Max", count, emit_integer(emit, "none", 0));
    return tn_emit_binary(emit, "count", "Add", count, emit_integer(emit, "one", 1));
}

/* The name by which the node then asks for the tensor. */
static tn_status name_limit(loop_reading *loop, tn_emitter *emit, tn_import_tensor limit,
                            char **out_name) {
    char *name = (char *)(uintptr_t)tn_emit_name(emit, "limit");
    while (name && tn_map_get(loop->scope->tensors, name, &(uint64_t){0}))
        name = (char *)(uintptr_t)tn_arena_format(loop->reader->arena, "%s_", name);
    if (!name) return tn_fail_memory("a loop's limit");
    *out_name = name;
    return tn_map_set(loop->scope->tensors, name, limit);
}

static tn_status emit_limit(loop_reading *loop, const char *node_name, char **out_name) {
    tn_emitter emit = {.graph = loop->reader->graph,
                       .arena = loop->reader->arena,
                       .name = node_name,
                       .version = 13};
    const char *given = loop->node->input[TN_ONNX_LOOP_LIMIT];
    tn_import_tensor limit = TN_IMPORT_NO_TENSOR;
    if (tn_onnx_is_named(given)) limit = emit_number(loop, &emit, "most", given);
    for (size_t i = 0; i < loop->part_count; i++) {
        const tn_import_tensor count = emit_count(loop, &emit, &loop->parts[i]);
        limit = limit == TN_IMPORT_NO_TENSOR ? count
                                             : tn_emit_binary(&emit, "least", "Min", limit, count);
    }
    TN_TRY(emit.status);
    return name_limit(loop, &emit, limit, out_name);
}

/* A condition that stays true: what the body was given. */
static tn_status go_on(loop_reading *loop, tn_onnx_graph *body) {
    const tn_onnx_value_info *from = body->output[TN_ONNX_BODY_GOES_ON];
    tn_onnx_value_info *made = tn_arena_copy(loop->reader->arena, from, sizeof(*from));
    char *name = (char *)(uintptr_t)tn_arena_format(loop->reader->arena, "%s:goes_on", from->name);
    while (name && tn_onnx_body_defines(body, name))
        name = (char *)(uintptr_t)tn_arena_format(loop->reader->arena, "%s_", name);
    tn_onnx_node *identity =
        name ? tn_onnx_make_identity(loop->reader, body->input[TN_ONNX_BODY_CONDITION]->name, name)
             : NULL;
    if (!made || !identity) return tn_fail_memory("a loop");
    made->name = name;
    body->output[TN_ONNX_BODY_GOES_ON] = made;
    body->node[body->n_node++] = identity;
    return TN_OK;
}

tn_status tn_onnx_loop_count(tn_onnx_reader *reader, tn_onnx_scope *scope, const char *name,
                             const tn_onnx_node *node, const tn_onnx_node **out_node) {
    loop_reading loop = {
        .reader = reader, .scope = scope, .node = node, .body = tn_onnx_loop_body(node)};
    tn_onnx_loop_copies made;
    *out_node = node;
    if (!tn_onnx_loop_ports(node, loop.body, &loop.carried) ||
        !tn_onnx_is_named(loop.body->output[TN_ONNX_BODY_GOES_ON]->name) ||
        !tn_onnx_is_named(loop.body->input[TN_ONNX_BODY_CONDITION]->name) ||
        !read_condition(&loop, loop.body->output[TN_ONNX_BODY_GOES_ON]->name, 0) ||
        loop.part_count == 0)
        return TN_OK;
    TN_TRY(tn_onnx_loop_copy(reader, node, &made));
    TN_TRY(emit_limit(&loop, name, &made.node->input[TN_ONNX_LOOP_LIMIT]));
    TN_TRY(go_on(&loop, made.body));
    *out_node = made.node;
    return TN_OK;
}
