/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of plans share: a graph with one of everything that a plan can hold, a program
 * that does each of its nodes by its reference, plans written and read in one line, and plans whose
 * description was changed by hand.
 */
#ifndef TN_TESTS_PLAN_TEST_H
#define TN_TESTS_PLAN_TEST_H

#include "plan_layers.h" /* before cmocka's macro `fail` */

#include "graph_test.h"
#include "plan_repair.h"

#include "base/status.h"
#include "base/wire.h"
#include "plan/layout.h"
#include "plan/plan.h"
#include "plan/plan.pb-c.h"

/* Lines of the log, for tests that expect a warning. */
static char plan_log[4096];
static inline void plan_log_line(void *user, uint32_t level, const char *text) {
    (void)user, (void)level;
    strncat(plan_log, text, sizeof(plan_log) - strlen(plan_log) - 2);
    strcat(plan_log, "\n");
}

/* A runtime with the tiny layers and `entry`'s. */
static inline tn_runtime *plan_runtime(const tn_allocator *allocator, tn_library_entry entry) {
    tn_runtime *runtime = NULL;
    tn_runtime_options options = {.size = sizeof(options),
                                  .allocator = allocator,
                                  .log = plan_log_line,
                                  .flags = TN_RUNTIME_NO_ENVIRONMENT};
    plan_log[0] = '\0';
    assert_int_equal(tn_runtime_create(&options, &runtime), TN_OK);
    assert_int_equal(tn_runtime_register_library(runtime, tiny_entry), TN_OK);
    if (entry) assert_int_equal(tn_runtime_register_library(runtime, entry), TN_OK);
    return runtime;
}

typedef struct plan_test {
    failing_allocator allocator;
    tn_runtime *runtime;
} plan_test;

static inline int plan_test_setup(void **state) {
    plan_test *test = calloc(1, sizeof(*test));
    if (!test) return -1;
    failing_allocator_init(&test->allocator);
    test->runtime = plan_runtime(&test->allocator.functions, plan_entry_1);
    plan_opaque_mode = PLAN_SOUND;
    plan_opaque_alive = 0;
    *state = test;
    return 0;
}

/* Fails when anything was left behind. */
static inline int plan_test_teardown(void **state) {
    plan_test *test = *state;
    tn_runtime_release(test->runtime);
    bool is_clean = test->allocator.live == 0 && plan_opaque_alive == 0;
    free(test);
    return is_clean ? 0 : -1;
}

#define PLAN_TEST(function)                                                                        \
    cmocka_unit_test_setup_teardown(function, plan_test_setup, plan_test_teardown)

/* --- graphs --- */

static inline tn_tensor_id plan_add_node(tn_graph *graph, const char *domain, const char *op,
                                         const char *name, uint32_t input_count,
                                         const tn_tensor_id *inputs, uint64_t attribute_count,
                                         const tn_attribute *const *attributes) {
    tn_node_description node = {.size = sizeof(node),
                                .domain = domain,
                                .op = op,
                                .name = name,
                                .input_count = input_count,
                                .inputs = inputs,
                                .output_count = 1,
                                .attribute_count = attribute_count,
                                .attributes = attributes};
    tn_tensor_id id = TN_NO_TENSOR;
    if (tn_graph_add_node(graph, &node, &id) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
    return id;
}

#define ATTRIBUTE(field, kind, ...)                                                                \
    (&(const tn_attribute){                                                                        \
        .size = sizeof(tn_attribute), .name = (field), .type = (kind), __VA_ARGS__})
#define ATTRIBUTES(...) ((const tn_attribute *const[]){__VA_ARGS__})

/* tiny::Fields with all of its fields. */
static inline tn_tensor_id plan_add_fields(tn_graph *graph, tn_tensor_id a, tn_tensor_id c) {
    static const char *const names[] = {"one", "", "three"};
    static const float factors[] = {1.5f, -0.0f};
    static const uint8_t blob[] = {0, 255, 0, 7};
    static int64_t table_data[] = {1, -2, 3, INT64_MIN}, table_shape[] = {2, 2};
    tn_tensor table = {.size = sizeof(table),
                       .type = TN_I64,
                       .rank = 2,
                       .data = table_data,
                       .bytes = sizeof(table_data),
                       .shape = table_shape};
    const tn_attribute *const attributes[] = {
        ATTRIBUTE("number", TN_FIELD_I64, .i = -42),
        ATTRIBUTE("factor", TN_FIELD_F32, .f = 0.25),
        ATTRIBUTE("text", TN_FIELD_STRING, .s = "some text"),
        ATTRIBUTE("to", TN_FIELD_STRING, .s = "f16"),
        ATTRIBUTE("mode", TN_FIELD_STRING, .s = "fast"),
        ATTRIBUTE("list", TN_FIELD_I64S, .count = 3,
                  .items = ((const int64_t[]){-1, 0, INT64_MAX})),
        ATTRIBUTE("factors", TN_FIELD_F32S, .count = 2, .items = factors),
        ATTRIBUTE("names", TN_FIELD_STRINGS, .count = 3, .items = names),
        ATTRIBUTE("blob", TN_FIELD_BYTES, .count = sizeof(blob), .items = blob),
        ATTRIBUTE("table", TN_FIELD_TENSOR, .tensor = &table)};
    return plan_add_node(graph, "tiny", "Fields", "fields", 3, TENSORS(a, TN_NO_TENSOR, c),
                         TN_COUNT(attributes), attributes);
}

/* One of everything. */
static inline tn_graph *plan_graph(tn_runtime *runtime) {
    static const float scale[] = {0.5f, 0.25f, 2.0f};
    static const int8_t zero_points[] = {0, -3, 12};
    static const tn_quantization quantization = {.size = sizeof(quantization),
                                                 .scale_type = TN_F32,
                                                 .axis_count = 1,
                                                 .axes = {0},
                                                 .blocks = {1},
                                                 .count = 3,
                                                 .scales = scale,
                                                 .zero_points = zero_points};
    tn_graph *graph = NULL;
    tn_tensor_id image, sizes, any, weight, mask, empty, unused;
    assert_int_equal(tn_graph_create(runtime, "everything", &graph), TN_OK);
    static const tn_metadata metadata[] = {{"task", "classify"}, {"empty", ""}};
    static const tn_model_info info = {.size = sizeof(info),
                                       .producer_name = "trainer",
                                       .producer_version = "2.9",
                                       .domain = "com.example",
                                       .doc = "a network with one of everything",
                                       .source_format = "onnx",
                                       .model_version = 12,
                                       .metadata_count = 2,
                                       .metadata = metadata};
    assert_int_equal(tn_graph_set_model_info(graph, &info), TN_OK);
    assert_int_equal(tn_graph_set_opset(graph, "plan", 1), TN_OK);
    assert_int_equal(tn_graph_add_input(graph, "image", TN_F32, 3, EXTENTS(-1, 3, 8),
                                        (const char *const[]){"batch", NULL, NULL}, &image),
                     TN_OK);
    assert_int_equal(
        tn_graph_add_constant(graph, "unused", TN_U8, 1, EXTENTS(5), "dead!", 5, &unused), TN_OK);
    sizes = add_input(graph, "sizes", TN_I64, 1, EXTENTS(3));
    assert_int_equal(tn_graph_add_input(graph, "any", TN_F16, UINT32_MAX, NULL, NULL, &any), TN_OK);
    assert_int_equal(
        tn_graph_add_constant(graph, "weight", TN_I8, 1, EXTENTS(3), "\1\2\3", 3, &weight), TN_OK);
    graph->tensors[weight].quantization = &quantization;
    assert_int_equal(
        tn_graph_add_constant(graph, "mask", TN_BOOL, 2, EXTENTS(1, 2), "\0\1", 2, &mask), TN_OK);
    assert_int_equal(
        tn_graph_add_constant(graph, "empty", TN_F64, 2, EXTENTS(0, 4), NULL, 0, &empty), TN_OK);
    tn_tensor_id fields = plan_add_fields(graph, any, mask);
    tn_tensor_id scaled =
        plan_add_node(graph, "plan", "Scale", "scale", 1, &image, 2,
                      ATTRIBUTES(ATTRIBUTE("factor", TN_FIELD_F32, .f = 0.75),
                                 ATTRIBUTE("label", TN_FIELD_STRING, .s = "a label")));
    tn_tensor_id opaque = plan_add_node(graph, "plan", "Opaque", "opaque", 1, &scaled, 1,
                                        ATTRIBUTES(ATTRIBUTE("seed", TN_FIELD_I64, .i = 77)));
    tn_tensor_id shaped = add_node(graph, "Reshape", "reshape", 2, TENSORS(opaque, sizes));
    tn_tensor_id joined = add_node(graph, "Join", "join", 3, TENSORS(weight, weight, weight));
    tn_tensor_id nothing = add_unary(graph, "Copy", "copy", empty);
    assert_int_equal(tn_graph_add_output(graph, shaped, "result"), TN_OK);
    assert_int_equal(tn_graph_add_output(graph, fields, NULL), TN_OK);
    assert_int_equal(tn_graph_add_output(graph, joined, "joined"), TN_OK);
    assert_int_equal(tn_graph_add_output(graph, joined, "joined again"), TN_OK);
    assert_int_equal(tn_graph_add_output(graph, nothing, NULL), TN_OK);
    assert_int_equal(tn_graph_sort(graph), TN_OK);
    return graph;
}

/* A chain of two nodes of plan::Scale. */
static inline tn_graph *plan_small_graph(tn_runtime *runtime, float factor) {
    tn_graph *graph = NULL;
    assert_int_equal(tn_graph_create(runtime, "small", &graph), TN_OK);
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(4));
    tn_tensor_id y =
        plan_add_node(graph, "plan", "Scale", "first", 1, &x, 2,
                      ATTRIBUTES(ATTRIBUTE("factor", TN_FIELD_F32, .f = (double)factor),
                                 ATTRIBUTE("label", TN_FIELD_STRING, .s = "kept")));
    tn_tensor_id z = plan_add_node(graph, "plan", "Scale", "second", 1, &y, 2,
                                   ATTRIBUTES(ATTRIBUTE("factor", TN_FIELD_F32, .f = 2),
                                              ATTRIBUTE("count", TN_FIELD_I64, .i = 9)));
    assert_int_equal(tn_graph_add_output(graph, z, "z"), TN_OK);
    return graph;
}

/* --- profiles and programs --- */

/* As declared; unknown extents from 1 over 2 to 4; inputs of integers have values. */
static inline tn_plan_profile *plan_profiles(const tn_graph *graph, tn_arena *arena) {
    static const int64_t values[3][3] = {{1, 3, 8}, {2, 3, 8}, {4, 3, 8}};
    tn_plan_profile *profiles = tn_arena_allocate(arena, graph->input_count + 1, sizeof(*profiles));
    for (size_t i = 0; i < graph->input_count; i++) {
        const tn_graph_tensor *tensor = &graph->tensors[graph->inputs[i]];
        tn_shape *points[] = {&profiles[i].minimum, &profiles[i].optimum, &profiles[i].maximum};
        profiles[i].is_free = !tensor->has_shape;
        for (int point = 0; point < 3 && tensor->has_shape; point++) {
            *points[point] = tensor->shape;
            for (uint32_t axis = 0; axis < tensor->shape.rank; axis++)
                if (tensor->shape.extents[axis] < 0)
                    points[point]->extents[axis] = (int64_t)1 << point;
        }
        if (tensor->type != TN_I64) continue;
        profiles[i].minimum_value = values[0];
        profiles[i].optimum_value = values[1];
        profiles[i].maximum_value = values[2];
    }
    return profiles;
}

/* A value for each tensor that is in use, a step for each node. */
static inline tn_program *plan_program(const tn_graph *graph, tn_arena *arena) {
    const tn_device *cpu = tn_runtime_cpu(graph->runtime);
    tn_program *program = tn_arena_allocate(arena, 1, sizeof(*program));
    uint32_t *values = tn_arena_allocate(arena, graph->tensor_count, sizeof(*values));
    program->threads = 3;
    program->fingerprint = cpu->fingerprint(cpu);
    program->values = tn_arena_allocate(arena, graph->tensor_count, sizeof(*program->values));
    tn_value_note *note = tn_arena_allocate(arena, 1, sizeof(*note));
    *note = (tn_value_note){.has_shape = true,
                            .shape = {2, {3, 4}},
                            .is_planned = true,
                            .offset = 64,
                            .bytes = 48,
                            .first_step = 1,
                            .last_step = 2};
    for (tn_tensor_id t = 0; t < graph->tensor_count; t++) {
        const tn_graph_tensor *tensor = &graph->tensors[t];
        if (tensor->use_count == 0 && !tensor->is_input && tensor->producer == TN_NO_NODE) continue;
        values[t] = program->value_count;
        program->values[program->value_count++] = (tn_program_value){
            .tensor = t, .format = TN_LINEAR, .type = tensor->type, .note = note};
    }
    program->steps = tn_arena_allocate(arena, graph->node_count, sizeof(*program->steps));
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const tn_graph_node *node = &graph->nodes[n];
        tn_program_step *step = &program->steps[program->step_count++];
        *step = (tn_program_step){.kind = TN_STEP_KERNEL,
                                  .node = n,
                                  .input_count = node->input_count,
                                  .output_count = node->output_count,
                                  .nanoseconds = 1000.0 * n};
        step->inputs = tn_arena_allocate(arena, node->input_count, sizeof(uint32_t));
        step->outputs = tn_arena_allocate(arena, node->output_count, sizeof(uint32_t));
        for (uint32_t i = 0; i < node->input_count; i++)
            step->inputs[i] =
                node->inputs[i] == TN_NO_TENSOR ? TN_NO_VALUE : values[node->inputs[i]];
        for (uint32_t i = 0; i < node->output_count; i++)
            step->outputs[i] =
                node->outputs[i] == TN_NO_TENSOR ? TN_NO_VALUE : values[node->outputs[i]];
        if (strcmp(node->entry->op->name, "Reshape") == 0) step->kind = TN_STEP_VIEW;
    }
    program->input_values = tn_arena_allocate(arena, graph->input_count, sizeof(uint32_t));
    program->output_values = tn_arena_allocate(arena, graph->output_count, sizeof(uint32_t));
    for (size_t i = 0; i < graph->input_count; i++)
        program->input_values[i] = values[graph->inputs[i]];
    for (size_t i = 0; i < graph->output_count; i++)
        program->output_values[i] = values[graph->outputs[i]];
    return program;
}

/* --- writing and reading --- */

static inline tn_status plan_try_write(const tn_graph *graph, tn_arena *arena, tn_plan **out_plan) {
    const tn_program *program = plan_program(graph, arena);
    return tn_plan_write(graph, plan_profiles(graph, arena), 1, &program, out_plan);
}

/* The scratch is the C library's, so that failing allocations hit the writer alone. */
static inline tn_plan *plan_write(const tn_graph *graph) {
    tn_arena *arena = NULL;
    tn_plan *plan = NULL;
    assert_int_equal(tn_arena_create(tn_allocator_default(), &arena), TN_OK);
    if (plan_try_write(graph, arena, &plan) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
    tn_arena_destroy(arena);
    return plan;
}

static inline tn_status plan_read_with(tn_runtime *runtime, const void *data, size_t bytes,
                                       const tn_plan_read_options *options,
                                       tn_plan_contents *out_contents) {
    tn_file file = {0};
    TN_TRY(tn_file_copy(tn_runtime_allocator(runtime), data, bytes, &file));
    return tn_plan_read(runtime, &file, "test.plan", options, out_contents);
}

static inline tn_status plan_read(tn_runtime *runtime, const void *data, size_t bytes,
                                  tn_plan_contents *out_contents) {
    return plan_read_with(runtime, data, bytes, NULL, out_contents);
}

/* A plan of everything, as bytes of the C library. */
typedef struct plan_bytes {
    unsigned char *data;
    size_t bytes;
} plan_bytes;

static inline plan_bytes plan_take(tn_plan *plan) {
    plan_bytes taken = {malloc(plan->bytes), plan->bytes};
    assert_non_null(taken.data);
    assert_non_null(tn_plan_bytes(plan, NULL));
    memcpy(taken.data, plan->data, plan->bytes);
    tn_plan_destroy(plan);
    return taken;
}

static inline plan_bytes plan_of_everything(tn_runtime *runtime) {
    tn_graph *graph = plan_graph(runtime);
    plan_bytes bytes = plan_take(plan_write(graph));
    tn_graph_destroy(graph);
    return bytes;
}

static inline plan_bytes plan_of_small_graph(tn_runtime *runtime, float factor) {
    tn_graph *graph = plan_small_graph(runtime, factor);
    plan_bytes bytes = plan_take(plan_write(graph));
    tn_graph_destroy(graph);
    return bytes;
}

/* Memory that is given back whole, so that a change may put anything anywhere. */
typedef struct plan_pool {
    unsigned char *memory;
    size_t used;
} plan_pool;
enum { PLAN_POOL_BYTES = 1 << 20 };

static inline void *plan_pool_allocate(void *user, size_t bytes) {
    plan_pool *pool = user;
    size_t start = (pool->used + 15) / 16 * 16;
    if (start + bytes > PLAN_POOL_BYTES) return NULL;
    pool->used = start + bytes;
    return pool->memory + start;
}

static inline void plan_pool_free(void *user, void *memory) {
    (void)user, (void)memory;
}

/* The same plan with a description that `change` changed. The old bytes are freed. */
static inline plan_bytes plan_edit(plan_bytes old, void (*change)(Tenon__Plan__Plan *plan)) {
    tn_plan_layout before, after;
    plan_pool pool = {.memory = malloc(PLAN_POOL_BYTES)};
    ProtobufCAllocator allocator = {plan_pool_allocate, plan_pool_free, &pool};
    assert_non_null(pool.memory);
    assert_int_equal(tn_plan_layout_read(old.data, old.bytes, &before), TN_OK);
    const tn_plan_section *weights = &before.sections[1];
    const tn_plan_section *packed = tn_plan_layout_find(&before, TN_SECTION_PACKED);
    Tenon__Plan__Plan *plan = tenon__plan__plan__unpack(&allocator, before.sections[0].bytes,
                                                        old.data + before.sections[0].offset);
    assert_non_null(plan);
    change(plan);
    size_t bytes = tenon__plan__plan__get_packed_size(plan);
    assert_int_equal(
        tn_plan_layout_make(bytes, weights->bytes, packed ? packed->bytes : 0, 0, &after), TN_OK);
    plan_bytes edited = {calloc(1, after.bytes), after.bytes};
    assert_non_null(edited.data);
    tenon__plan__plan__pack(plan, edited.data + after.sections[0].offset);
    memcpy(edited.data + after.sections[1].offset, old.data + weights->offset, weights->bytes);
    if (packed)
        memcpy(edited.data + after.sections[2].offset, old.data + packed->offset, packed->bytes);
    tn_plan_layout_write(&after, edited.data);
    free(pool.memory);
    free(old.data);
    return edited;
}

#endif
