/* SPDX-License-Identifier: Apache-2.0 */
/* What is written comes back: graph, fields, constants, profiles, programs; byte for byte. */
#include "tensor/quantization.h"
#include "plan_test.h"

#include <stdio.h>
#include <unistd.h>

static tn_tensor_id find(const tn_graph *graph, const char *name) {
    tn_tensor_id id = TN_NO_TENSOR;
    assert_int_equal(tn_graph_find(graph, name, &id), TN_OK);
    return id;
}

static const tn_graph_node *find_node(const tn_graph *graph, const char *name) {
    for (size_t n = 0; n < graph->node_count; n++)
        if (strcmp(graph->nodes[n].name, name) == 0) return &graph->nodes[n];
    fail_msg("there is no node '%s'", name);
    return NULL;
}

static tn_plan_contents read_everything(plan_test *test) {
    plan_bytes bytes = plan_of_everything(test->runtime);
    tn_plan_contents contents = {0};
    if (plan_read(test->runtime, bytes.data, bytes.bytes, &contents) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
    free(bytes.data);
    return contents;
}

static void test_plan_read_and_written_again_has_the_same_bytes(void **state) {
    plan_test *test = *state;
    tn_plan_contents contents = {0};
    tn_plan *again = NULL;
    plan_bytes bytes = plan_of_everything(test->runtime);
    assert_int_equal(plan_read(test->runtime, bytes.data, bytes.bytes, &contents), TN_OK);
    assert_int_equal(tn_plan_write(contents.graph, contents.profiles, contents.program_count,
                                   contents.programs, &again),
                     TN_OK);
    assert_int_equal(again->bytes, bytes.bytes);
    assert_memory_equal(again->data, bytes.data, bytes.bytes);
    tn_plan_destroy(again);
    tn_plan_contents_deinit(&contents);
    free(bytes.data);
}

static void test_where_the_model_comes_from_comes_back(void **state) {
    plan_test *test = *state;
    tn_plan_contents contents = read_everything(test);
    tn_model_info info = {.size = sizeof(info)};
    assert_int_equal(tn_graph_get_model_info(contents.graph, &info), TN_OK);
    assert_string_equal(info.graph_name, "everything");
    assert_string_equal(info.producer_name, "trainer");
    assert_string_equal(info.producer_version, "2.9");
    assert_string_equal(info.domain, "com.example");
    assert_string_equal(info.doc, "a network with one of everything");
    assert_string_equal(info.source_format, "onnx");
    assert_int_equal(info.model_version, 12);
    assert_int_equal(info.opset_count, 1);
    assert_string_equal(info.opsets[0].domain, "plan");
    assert_int_equal(info.opsets[0].version, 1);
    assert_int_equal(info.metadata_count, 2);
    assert_string_equal(tn_model_info_find(&info, "task"), "classify");
    assert_string_equal(tn_model_info_find(&info, "empty"), "");
    tn_plan_contents_deinit(&contents);
}

static void drop_model(Tenon__Plan__Plan *plan) {
    plan->model = NULL;
}

static void test_a_plan_without_a_model_is_read(void **state) {
    plan_test *test = *state;
    plan_bytes bytes = plan_edit(plan_of_everything(test->runtime), drop_model);
    tn_plan_contents contents = {0};
    tn_model_info info = {.size = sizeof(info)};
    assert_int_equal(plan_read(test->runtime, bytes.data, bytes.bytes, &contents), TN_OK);
    assert_int_equal(tn_graph_get_model_info(contents.graph, &info), TN_OK);
    assert_string_equal(info.producer_name, "");
    assert_int_equal(info.metadata_count, 0);
    tn_plan_contents_deinit(&contents);
    free(bytes.data);
}

static void test_several_profiles_come_back(void **state) {
    plan_test *test = *state;
    tn_arena *arena = NULL;
    tn_plan *plan = NULL, *again = NULL;
    tn_plan_contents contents = {0};
    uint64_t bytes = 0;
    assert_int_equal(tn_arena_create(tn_allocator_default(), &arena), TN_OK);
    tn_graph *graph = plan_small_graph(test->runtime, 1);
    const size_t inputs = graph->input_count;
    tn_program *programs[] = {plan_program(graph, arena), plan_program(graph, arena)};
    tn_plan_profile *sets = tn_arena_allocate(arena, 2 * inputs, sizeof(*sets));
    memcpy(sets, plan_profiles(graph, arena), inputs * sizeof(*sets));
    memcpy(sets + inputs, sets, inputs * sizeof(*sets));
    sets[inputs].is_free = true;
    programs[1]->profile = 1;
    tn_plan_parts parts = {.graph = graph,
                           .profile_count = 2,
                           .profiles = sets,
                           .program_count = 2,
                           .programs = (const tn_program *const *)programs};
    assert_int_equal(tn_plan_write_parts(&parts, &plan), TN_OK);
    const void *data = tn_plan_bytes(plan, &bytes);
    assert_int_equal(plan_read(test->runtime, data, (size_t)bytes, &contents), TN_OK);
    assert_int_equal(contents.profile_count, 2);
    assert_false(contents.profiles[0].is_free);
    assert_true(contents.profiles[inputs].is_free);
    assert_int_equal(contents.program_count, 2);
    assert_int_equal(contents.programs[0]->profile, 0);
    assert_int_equal(contents.programs[1]->profile, 1);
    parts = (tn_plan_parts){.graph = contents.graph,
                            .profile_count = contents.profile_count,
                            .profiles = contents.profiles,
                            .outputs = contents.outputs,
                            .program_count = contents.program_count,
                            .programs = contents.programs};
    assert_int_equal(tn_plan_write_parts(&parts, &again), TN_OK);
    assert_int_equal(again->bytes, bytes);
    assert_memory_equal(again->data, data, bytes);
    tn_plan_contents_deinit(&contents);
    tn_plan_destroy(again);
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
    tn_arena_destroy(arena);
}

static void test_what_is_known_of_outputs_comes_back(void **state) {
    plan_test *test = *state;
    tn_arena *arena = NULL;
    tn_plan *plan = NULL, *again = NULL;
    tn_plan_contents contents = {0};
    uint64_t bytes = 0;
    assert_int_equal(tn_arena_create(tn_allocator_default(), &arena), TN_OK);
    tn_graph *graph = plan_small_graph(test->runtime, 1);
    const tn_program *programs[] = {plan_program(graph, arena)};
    const tn_plan_output outputs[] = {
        {.type = TN_F32, .has_shape = true, .shape = {.rank = 2, .extents = {-1, 7}}}, {0}, {0}};
    assert_in_range(graph->output_count, 1, 3);
    assert_int_equal(tn_graph_name_extents(graph, &graph->tensors[graph->outputs[0]], 2,
                                           (const char *const[]){"rows", NULL}),
                     TN_OK);
    assert_int_equal(
        tn_plan_write_described(graph, plan_profiles(graph, arena), outputs, 1, programs, &plan),
        TN_OK);
    const void *data = tn_plan_bytes(plan, &bytes);
    assert_int_equal(plan_read(test->runtime, data, (size_t)bytes, &contents), TN_OK);
    assert_int_equal(contents.outputs[0].type, TN_F32);
    assert_true(contents.outputs[0].has_shape);
    assert_int_equal(contents.outputs[0].shape.rank, 2);
    assert_int_equal(contents.outputs[0].shape.extents[0], -1);
    assert_int_equal(contents.outputs[0].shape.extents[1], 7);
    assert_string_equal(tn_graph_output(contents.graph, 0)->names[0], "rows");
    assert_null(tn_graph_output(contents.graph, 0)->names[1]);
    assert_int_equal(tn_plan_write_described(contents.graph, contents.profiles, contents.outputs,
                                             contents.program_count, contents.programs, &again),
                     TN_OK);
    assert_int_equal(again->bytes, bytes);
    assert_memory_equal(again->data, data, bytes);
    tn_plan_contents_deinit(&contents);
    tn_plan_destroy(again);
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
    tn_arena_destroy(arena);
}

static void test_graph_comes_back_without_what_nobody_needs(void **state) {
    tn_plan_contents contents = read_everything(*state);
    const tn_graph *graph = contents.graph;
    tn_tensor_id unused;
    assert_string_equal(graph->name, "everything");
    assert_int_not_equal(tn_graph_find(graph, "unused", &unused), TN_OK);
    assert_int_equal(graph->node_count, 6);
    assert_int_equal(graph->input_count, 3);
    assert_int_equal(graph->output_count, 5);
    const char *names[] = {"result", NULL, "joined", "joined again", NULL};
    for (size_t i = 0; i < 5; i++)
        if (names[i]) assert_string_equal(graph->output_names[i], names[i]);
    assert_int_equal(graph->outputs[2], graph->outputs[3]);
    const tn_graph_tensor *image = &graph->tensors[find(graph, "image")];
    assert_true(image->is_input && image->has_shape);
    assert_int_equal(image->shape.extents[0], -1);
    assert_string_equal(image->extent_names[0], "batch");
    assert_null(image->extent_names[1]);
    assert_false(graph->tensors[find(graph, "any")].has_shape);
    const tn_graph_node *fields = find_node(graph, "fields");
    assert_int_equal(fields->inputs[1], TN_NO_TENSOR);
    assert_int_equal(fields->inputs[2], find(graph, "mask"));
    assert_int_equal(find_node(graph, "join")->input_count, 3);
    tn_plan_contents_deinit(&contents);
}

static void test_constants_lie_aligned_in_the_file(void **state) {
    tn_plan_contents contents = read_everything(*state);
    const tn_graph *graph = contents.graph;
    const tn_graph_tensor *weight = &graph->tensors[find(graph, "weight")];
    const tn_graph_tensor *mask = &graph->tensors[find(graph, "mask")];
    assert_int_equal(graph->file_count, 1);
    const unsigned char *begin = graph->files[0].data, *end = begin + graph->files[0].bytes;
    for (int i = 0; i < 2; i++) {
        const unsigned char *data = i == 0 ? weight->data : mask->data;
        assert_true(data >= begin && data < end);
        assert_int_equal((uintptr_t)data % TN_PLAN_WEIGHT_ALIGNMENT, 0);
    }
    assert_memory_equal(weight->data, "\1\2\3", 3);
    assert_memory_equal(mask->data, "\0\1", 2);
    assert_int_equal(weight->quantization->count, 3);
    assert_int_equal(tn_quantization_zero(weight->quantization, weight->type, 1), -3);
    assert_true(tn_quantization_scale(weight->quantization, 2) == 2);
    const tn_graph_tensor *empty = &graph->tensors[find(graph, "empty")];
    assert_true(empty->is_constant && empty->bytes == 0 && !empty->data);
    assert_int_equal(empty->shape.extents[1], 4);
    tn_plan_contents_deinit(&contents);
}

static void test_fields_come_back(void **state) {
    tn_plan_contents contents = read_everything(*state);
    const tiny_fields *fields = find_node(contents.graph, "fields")->params;
    assert_int_equal(fields->present, (1u << TN_COUNT(tiny_field_table)) - 1);
    assert_int_equal(fields->number, -42);
    assert_true(fields->factor == 0.25f);
    assert_string_equal(fields->text, "some text");
    assert_int_equal(fields->to, TN_F16);
    assert_int_equal(fields->mode, 1);
    assert_int_equal(fields->list.count, 3);
    assert_int_equal(fields->list.items[2], INT64_MAX);
    assert_int_equal(fields->factors.count, 2);
    assert_true(fields->factors.items[0] == 1.5f && 1 / fields->factors.items[1] < 0);
    assert_int_equal(fields->names.count, 3);
    assert_string_equal(fields->names.items[1], "");
    assert_memory_equal(fields->blob.items, ((const uint8_t[]){0, 255, 0, 7}), 4);
    assert_int_equal(fields->table->rank, 2);
    assert_int_equal(((const int64_t *)fields->table->data)[3], INT64_MIN);
    assert_int_equal((uintptr_t)fields->table->data % TN_PLAN_WEIGHT_ALIGNMENT, 0);
    const plan_scale_1 *scale = find_node(contents.graph, "scale")->params;
    assert_true(scale->factor == 0.75f && scale->count == 3);
    assert_int_equal(scale->present, 3); /* the default stays one */
    tn_plan_contents_deinit(&contents);
}

static void test_state_that_only_the_operator_knows_comes_back(void **state) {
    tn_plan_contents contents = read_everything(*state);
    const plan_opaque *opaque = find_node(contents.graph, "opaque")->params;
    assert_string_equal(opaque->secret, "secret of 77");
    assert_int_equal(opaque->seed, 77);
    assert_int_equal(plan_opaque_alive, 1);
    tn_plan_contents_deinit(&contents);
    assert_int_equal(plan_opaque_alive, 0);
}

static void test_profiles_come_back_with_values(void **state) {
    tn_plan_contents contents = read_everything(*state);
    const tn_plan_profile *image = &contents.profiles[0], *sizes = &contents.profiles[1];
    assert_false(image->is_free);
    assert_int_equal(image->minimum.extents[0], 1);
    assert_int_equal(image->optimum.extents[0], 2);
    assert_int_equal(image->maximum.extents[0], 4);
    assert_null(image->optimum_value);
    assert_memory_equal(sizes->maximum_value, ((const int64_t[]){4, 3, 8}), 24);
    assert_true(contents.profiles[2].is_free);
    tn_plan_contents_deinit(&contents);
}

static void test_programs_come_back(void **state) {
    plan_test *test = *state;
    tn_plan_contents contents = read_everything(test);
    const tn_device *cpu = tn_runtime_cpu(test->runtime);
    assert_int_equal(contents.program_count, 1);
    const tn_program *program = contents.programs[0];
    assert_string_equal(program->fingerprint, cpu->fingerprint(cpu));
    assert_int_equal(program->threads, 3);
    assert_int_equal(program->step_count, 6);
    assert_null(program->steps[0].kernel);
    assert_true(program->steps[2].nanoseconds == 2000.0);
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        if (strcmp(contents.graph->nodes[step->node].name, "fields") != 0) continue;
        assert_int_equal(step->inputs[1], TN_NO_VALUE);
        assert_int_equal(program->values[step->inputs[2]].tensor, find(contents.graph, "mask"));
    }
    tn_plan_contents_deinit(&contents);
}

static void list_inputs_backwards(Tenon__Plan__Plan *plan) {
    uint32_t first = plan->inputs[0];
    Tenon__Plan__Profile *profile = plan->profiles[0];
    plan->inputs[0] = plan->inputs[2];
    plan->inputs[2] = first;
    plan->profiles[0] = plan->profiles[2];
    plan->profiles[2] = profile;
    plan->n_programs = 0;
}

static void test_inputs_keep_their_order_whatever_the_tensors_is(void **state) {
    plan_test *test = *state;
    tn_plan_contents contents = {0};
    plan_bytes bytes = plan_edit(plan_of_everything(test->runtime), list_inputs_backwards);
    assert_int_equal(plan_read(test->runtime, bytes.data, bytes.bytes, &contents), TN_OK);
    assert_string_equal(tn_graph_input(contents.graph, 0)->name, "any");
    assert_string_equal(tn_graph_input(contents.graph, 2)->name, "image");
    assert_true(contents.profiles[0].is_free);
    tn_plan_contents_deinit(&contents);
    free(bytes.data);
}

static void test_the_same_graph_gives_the_same_bytes(void **state) {
    plan_test *test = *state;
    plan_bytes a = plan_of_everything(test->runtime), b = plan_of_everything(test->runtime);
    assert_int_equal(a.bytes, b.bytes);
    assert_memory_equal(a.data, b.data, a.bytes);
    free(a.data);
    free(b.data);
}

static void test_plan_is_saved_and_mapped(void **state) {
    plan_test *test = *state;
    char path[] = "test-plan-XXXXXX"; /* where the test runs */
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    tn_graph *graph = plan_graph(test->runtime);
    tn_plan *plan = plan_write(graph);
    uint64_t bytes = 0;
    assert_non_null(tn_plan_bytes(plan, &bytes));
    assert_int_equal(bytes, plan->bytes);
    assert_string_equal(tn_plan_report(plan), "{}");
    assert_int_equal(tn_plan_save(plan, path), TN_OK);
    tn_file file = {0};
    tn_plan_contents contents = {0};
    assert_int_equal(tn_file_map(&test->allocator.functions, path, &file), TN_OK);
    assert_int_equal(file.bytes, bytes);
    assert_memory_equal(file.data, plan->data, bytes);
    assert_int_equal(tn_plan_read(test->runtime, &file, path, NULL, &contents), TN_OK);
    assert_true(contents.graph->files[0].is_mapped);
    tn_plan_contents_deinit(&contents);
    assert_int_not_equal(tn_plan_save(plan, "no-such-folder/at/all.plan"), TN_OK);
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
    unlink(path);
}

static void test_writer_refuses_threads_that_no_reader_takes(void **state) {
    plan_test *test = *state;
    tn_arena *arena = NULL;
    tn_plan *plan = NULL;
    assert_int_equal(tn_arena_create(tn_allocator_default(), &arena), TN_OK);
    tn_graph *graph = plan_small_graph(test->runtime, 1);
    tn_program *program = plan_program(graph, arena);
    const tn_program *programs[] = {program};
    program->threads = TN_THREAD_LIMIT + 1;
    assert_int_equal(tn_plan_write(graph, plan_profiles(graph, arena), 1, programs, &plan),
                     TN_ERROR_RANGE);
    assert_error("1025 threads", NULL);
    tn_graph_destroy(graph);
    tn_arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        PLAN_TEST(test_plan_read_and_written_again_has_the_same_bytes),
        PLAN_TEST(test_where_the_model_comes_from_comes_back),
        PLAN_TEST(test_a_plan_without_a_model_is_read),
        PLAN_TEST(test_several_profiles_come_back),
        PLAN_TEST(test_what_is_known_of_outputs_comes_back),
        PLAN_TEST(test_graph_comes_back_without_what_nobody_needs),
        PLAN_TEST(test_constants_lie_aligned_in_the_file),
        PLAN_TEST(test_fields_come_back),
        PLAN_TEST(test_state_that_only_the_operator_knows_comes_back),
        PLAN_TEST(test_profiles_come_back_with_values),
        PLAN_TEST(test_programs_come_back),
        PLAN_TEST(test_inputs_keep_their_order_whatever_the_tensors_is),
        PLAN_TEST(test_the_same_graph_gives_the_same_bytes),
        PLAN_TEST(test_plan_is_saved_and_mapped),
        PLAN_TEST(test_writer_refuses_threads_that_no_reader_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
