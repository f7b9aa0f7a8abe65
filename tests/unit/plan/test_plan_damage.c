/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans that were cut, flipped or made by somebody who means harm: each gives an error, or a graph
 * that is as sound as any other, and nothing stays behind.
 */
#include "plan_test.h"

/* Refused, with this in the message. */
static void assert_refused(tn_runtime *runtime, const void *data, size_t bytes, const char *part) {
    tn_plan_contents contents = {0};
    tn_status status = plan_read(runtime, data, bytes, &contents);
    if (status == TN_OK) fail_msg("the plan was read; expected '%s'", part);
    assert_error(part, "test.plan");
    if (status != TN_ERROR_FORMAT) fail_msg("'%s' is %s", part, tn_status_name(status));
    assert_null(contents.graph);
}

/* Read or refused: what is read can be written again. */
static void read_anything(tn_runtime *runtime, const void *data, size_t bytes) {
    tn_plan_contents contents = {0};
    tn_plan *again = NULL;
    if (plan_read(runtime, data, bytes, &contents) != TN_OK) {
        assert_true(tn_last_error()->status != TN_ERROR_INTERNAL);
        assert_true(tn_last_error()->message[0] != '\0');
        return;
    }
    if (tn_plan_write(contents.graph, contents.profiles, contents.program_count, contents.programs,
                      &again) == TN_OK)
        tn_plan_destroy(again);
    tn_plan_contents_deinit(&contents);
}

static void test_reader_refuses_a_plan_cut_at_any_byte(void **state) {
    plan_test *test = *state;
    plan_bytes plan = plan_of_everything(test->runtime);
    for (size_t bytes = 0; bytes < plan.bytes; bytes++)
        assert_refused(test->runtime, plan.data, bytes,
                       bytes < 8 ? "this is not a plan" : "the plan is cut off");
    free(plan.data);
}

static void test_reader_refuses_a_plan_with_bytes_behind_it(void **state) {
    plan_test *test = *state;
    plan_bytes plan = plan_of_everything(test->runtime);
    unsigned char *longer = calloc(1, plan.bytes + 1);
    memcpy(longer, plan.data, plan.bytes);
    assert_refused(test->runtime, longer, plan.bytes + 1, "the plan is too long");
    free(longer);
    free(plan.data);
}

static void test_reader_refuses_a_flip_of_any_bit(void **state) {
    plan_test *test = *state;
    plan_bytes plan = plan_of_everything(test->runtime);
    const tn_plan_read_options all = {.verifies_all = true};
    for (size_t bit = 0; bit < plan.bytes * 8; bit++) {
        plan.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        tn_plan_contents contents = {0};
        if (plan_read_with(test->runtime, plan.data, plan.bytes, &all, &contents) !=
            TN_ERROR_FORMAT)
            fail_msg("bit %zu of byte %zu is not missed", bit % 8, bit / 8);
        plan.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    free(plan.data);
}

static void test_reader_survives_a_flip_of_any_bit_with_sound_checksums(void **state) {
    plan_test *test = *state;
    plan_bytes plan = plan_of_everything(test->runtime);
    unsigned char *damaged = malloc(plan.bytes);
    for (size_t bit = 0; bit < plan.bytes * 8; bit++) {
        memcpy(damaged, plan.data, plan.bytes);
        damaged[bit / 8] ^= (unsigned char)(1u << bit % 8);
        plan_repair(damaged, plan.bytes);
        read_anything(test->runtime, damaged, plan.bytes);
    }
    free(damaged);
    free(plan.data);
}

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void test_reader_survives_bytes_set_at_random(void **state) {
    plan_test *test = *state;
    static const unsigned char likely[] = {0, 1, 2, 0x7f, 0x80, 0xff};
    plan_bytes plan = plan_of_everything(test->runtime);
    unsigned char *damaged = malloc(plan.bytes);
    size_t offset = (size_t)plan_u64(plan.data + 40), bytes = (size_t)plan_u64(plan.data + 48);
    uint32_t random = 1;
    for (int round = 0; round < 20000; round++) {
        memcpy(damaged, plan.data, plan.bytes);
        for (uint32_t i = 0, n = 1 + next_random(&random) % 4; i < n; i++) {
            size_t at = offset + next_random(&random) % bytes;
            damaged[at] = likely[next_random(&random) % sizeof(likely)];
        }
        plan_repair(damaged, plan.bytes);
        read_anything(test->runtime, damaged, plan.bytes);
    }
    free(damaged);
    free(plan.data);
}

/* --- the header --- */

typedef struct head_case {
    size_t at;
    uint64_t value;
    size_t bytes;
    const char *part;
} head_case;

static void test_reader_refuses_headers_that_lie(void **state) {
    plan_test *test = *state;
    static const head_case cases[] = {
        {8, 2, 4, "has version 2 of the format"},
        {12, 0, 4, "counts 0 sections"},
        {12, 17, 4, "counts 17 sections"},
        {12, 1, 4, "does not follow on the one before"},
        {16, 1 << 20, 8, "cut off"},
        {36, 1, 4, "is not inside the file"},
        {40, UINT64_MAX - 3, 8, "is not inside the file"},
        {48, UINT64_MAX - 3, 8, "is not inside the file"},
        {40, 95, 8, "does not follow on the one before"},
        {40, 97, 8, "does not follow on the one before"},
        {48, 8, 8, "does not follow on the one before"},
        {32, 2, 4, "are not aligned to a page"},
        {32, 77, 4, "it has no description"},
        {64, 77, 4, "it has no weights"},
        {64, 1, 4, "are of one kind"},
        {72, 4160, 8, "is not inside the file"},
        {80, 0, 8, "belong to none"},
    };
    plan_bytes plan = plan_of_everything(test->runtime);
    unsigned char *damaged = malloc(plan.bytes);
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        memcpy(damaged, plan.data, plan.bytes);
        memcpy(damaged + cases[i].at, &cases[i].value, cases[i].bytes);
        plan_repair(damaged, plan.bytes);
        assert_refused(test->runtime, damaged, plan.bytes, cases[i].part);
    }
    free(damaged);
    free(plan.data);
}

/* --- the description --- */

/* Tensors of plan_graph, in their order: image, sizes, any, weight, mask, empty, then what nodes
 * make. Nodes: fields, scale, opaque, reshape, join, copy. */
static uint32_t first_axis[1];
static uint32_t values[4] = {1, 1, 1, 1};
static int64_t extents[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};

#define CHANGE(name, ...)                                                                          \
    static void name(Tenon__Plan__Plan *plan) {                                                    \
        __VA_ARGS__;                                                                               \
    }
CHANGE(no_tensor_name, plan->tensors[0]->name = "")
CHANGE(same_tensor_name, plan->tensors[1]->name = "image")
CHANGE(odd_kind, plan->tensors[6]->kind = 3)
CHANGE(odd_type, plan->tensors[6]->type = 40)
CHANGE(odd_input_type, plan->tensors[0]->type = 0)
CHANGE(odd_constant_type, plan->tensors[3]->type = 99)
CHANGE(odd_extent, plan->tensors[0]->shape[1] = -2)
CHANGE(too_many_extents, plan->tensors[0]->n_shape = 9; plan->tensors[0]->shape = extents;
       plan->tensors[0]->n_extent_names = 0)
CHANGE(too_few_names, plan->tensors[0]->n_extent_names = 1)
CHANGE(constant_without_shape, plan->tensors[3]->has_shape = false)
CHANGE(constant_of_another_size, plan->tensors[3]->bytes = 2)
CHANGE(constant_of_another_shape, plan->tensors[3]->shape[0] = 4)
CHANGE(huge_constant, plan->tensors[3]->shape[0] = INT64_MAX)
CHANGE(negative_constant, plan->tensors[3]->shape[0] = -1)
CHANGE(constant_elsewhere, plan->tensors[3]->offset = 1 << 20)
CHANGE(constant_far_elsewhere, plan->tensors[3]->offset = UINT64_MAX - 63)
CHANGE(constant_not_aligned, plan->tensors[3]->offset = 1)
CHANGE(odd_bool, plan->tensors[4]->offset = 0)
CHANGE(no_scales, plan->tensors[3]->quantization->n_scale = 0)
CHANGE(few_scales, plan->tensors[3]->quantization->n_scale = 2)
CHANGE(few_scales_and_zeros, plan->tensors[3]->quantization->n_scale = 2;
       plan->tensors[3]->quantization->n_zero_point = 2)
CHANGE(scales_elsewhere, plan->tensors[3]->quantization->axis = 1)
CHANGE(zero_point_beyond, plan->tensors[3]->quantization->zero_point[1] = 300)
CHANGE(scales_of_integers, plan->tensors[3]->quantization->scale_type = TN_I32)
CHANGE(axes_without_blocks, plan->tensors[3]->quantization->axes = first_axis;
       plan->tensors[3]->quantization->n_axes = 1)
CHANGE(scales_nowhere, plan->tensors[6]->quantization = plan->tensors[3]->quantization)
CHANGE(odd_operator, plan->nodes[0]->operator_index = 99)
CHANGE(no_node_name, plan->nodes[0]->name = "")
CHANGE(input_elsewhere, plan->nodes[0]->inputs[0] = (uint32_t)plan->n_tensors + 1)
CHANGE(input_far_elsewhere, plan->nodes[0]->inputs[0] = UINT32_MAX)
CHANGE(read_before_made, plan->nodes[1]->inputs[0] = plan->nodes[2]->outputs[0])
CHANGE(reads_itself, plan->nodes[1]->inputs[0] = plan->nodes[1]->outputs[0])
CHANGE(made_twice, plan->nodes[2]->outputs[0] = plan->nodes[1]->outputs[0])
CHANGE(input_is_made, plan->nodes[1]->outputs[0] = 1)
CHANGE(constant_is_made, plan->nodes[1]->outputs[0] = 4)
CHANGE(no_required_input, plan->nodes[1]->inputs[0] = 0)
CHANGE(too_many_inputs, plan->nodes[1]->n_inputs = 2; plan->nodes[1]->inputs = values)
CHANGE(too_many_outputs, plan->nodes[5]->n_outputs = 2; plan->nodes[5]->outputs = values;
       values[0] = values[1] = 0)
CHANGE(unknown_field, plan->nodes[1]->attributes[0]->name = "facto")
CHANGE(field_twice, plan->nodes[1]->attributes[1] = plan->nodes[1]->attributes[0])
CHANGE(no_required_field, plan->nodes[1]->attributes++; plan->nodes[1]->n_attributes--)
CHANGE(odd_field_type, plan->nodes[1]->attributes[0]->type = 99)
CHANGE(graph_field, plan->nodes[1]->attributes[0]->type = TN_FIELD_GRAPH)
CHANGE(wrong_field_type, plan->nodes[1]->attributes[0]->type = TN_FIELD_STRINGS)
CHANGE(field_out_of_range, plan->nodes[0]->attributes[0]->i = 101)
CHANGE(no_field_tensor, plan->nodes[0]->attributes[9]->tensor = NULL)
CHANGE(field_tensor_elsewhere, plan->nodes[0]->attributes[9]->tensor->offset = 1 << 20)
CHANGE(field_tensor_rank, plan->nodes[0]->attributes[9]->tensor->n_shape = 9;
       plan->nodes[0]->attributes[9]->tensor->shape = extents)
CHANGE(odd_state, plan->nodes[2]->state.data[0] = 'S')
CHANGE(short_state, plan->nodes[2]->state.len = 3)
CHANGE(input_twice, plan->inputs[1] = plan->inputs[0])
CHANGE(input_is_none, plan->inputs[0] = 4)
CHANGE(input_is_nowhere, plan->inputs[0] = 1 << 30)
CHANGE(input_is_missing, plan->n_inputs--)
CHANGE(output_nowhere, plan->outputs[0]->tensor = 1 << 30)
CHANGE(output_nobody_makes, plan->n_nodes = 3)
CHANGE(output_names_alone, plan->outputs[0]->extent_names = plan->tensors[0]->extent_names;
       plan->outputs[0]->n_extent_names = plan->tensors[0]->n_extent_names)
CHANGE(output_twice, plan->outputs[1]->name = "result")
CHANGE(no_profile, plan->n_profiles--)
CHANGE(no_point, plan->profiles[0]->optimum = NULL)
static Tenon__Plan__ProfileSet set = TENON__PLAN__PROFILE_SET__INIT;
static Tenon__Plan__ProfileSet *sets[64];
/* One more profile, with the ranges of the first one. */
static void add_set(Tenon__Plan__Plan *plan) {
    set = (Tenon__Plan__ProfileSet)TENON__PLAN__PROFILE_SET__INIT;
    set.inputs = plan->profiles;
    set.n_inputs = plan->n_profiles;
    for (size_t i = 0; i < TN_COUNT(sets); i++)
        sets[i] = &set;
    plan->further_profiles = sets;
    plan->n_further_profiles = 1;
}
CHANGE(program_of_no_profile, plan->programs[0]->profile = 1)
CHANGE(program_beyond_the_profiles, add_set(plan); plan->programs[0]->profile = 2)
CHANGE(further_profile_lacks_an_input, add_set(plan); set.n_inputs--)
CHANGE(too_many_profiles, add_set(plan); plan->n_further_profiles = 64)
CHANGE(odd_further_profile, add_set(plan); plan->profiles[0]->minimum->shape[0] = 3)
CHANGE(odd_order, plan->profiles[0]->minimum->shape[0] = 3)
CHANGE(odd_rank, plan->profiles[0]->minimum->n_shape = 2)
CHANGE(not_as_declared, plan->profiles[0]->maximum->shape[1] = 4)
CHANGE(negative_profile, plan->profiles[0]->minimum->shape[0] = -1)
CHANGE(some_values, plan->profiles[1]->minimum->has_value = false)
CHANGE(short_value, plan->profiles[1]->minimum->value.len = 23)
CHANGE(odd_library, plan->operators[0]->library = 99)
CHANGE(no_library_name, plan->libraries[1]->name = "")
CHANGE(no_operator_name, plan->operators[1]->name = "")
CHANGE(no_device, plan->programs[0]->fingerprint = "")
CHANGE(no_threads, plan->programs[0]->threads = 0)
CHANGE(many_threads, plan->programs[0]->threads = 1025)
CHANGE(odd_time, plan->programs[0]->steps[0]->nanoseconds = -1)
CHANGE(no_time, plan->programs[0]->steps[0]->nanoseconds = 0.0 / 0.0)
CHANGE(few_ports, plan->programs[0]->n_input_values--)
CHANGE(odd_port, plan->programs[0]->input_values[0] = 1 << 30)
CHANGE(no_port, plan->programs[0]->output_values[0] = 0)
CHANGE(odd_value, plan->programs[0]->values[0]->tensor = 1 << 30)
CHANGE(many_extents_noted, plan->programs[0]->values[0]->note->n_shape = 9;
       plan->programs[0]->values[0]->note->shape = extents)
CHANGE(odd_extent_noted, plan->programs[0]->values[0]->note->shape[0] = -1)
CHANGE(shape_without_one, plan->programs[0]->values[0]->note->has_shape = false)
CHANGE(memory_ends_early, plan->programs[0]->values[0]->note->last_step = 0)
CHANGE(memory_beyond_all, plan->programs[0]->values[0]->note->bytes = UINT64_MAX)
CHANGE(odd_format, plan->programs[0]->values[0]->format = 7)
CHANGE(odd_step, plan->programs[0]->steps[0]->kind = 4)
CHANGE(no_node, plan->programs[0]->steps[0]->node = 0)
CHANGE(odd_node, plan->programs[0]->steps[0]->node = 99)
CHANGE(odd_input, plan->programs[0]->steps[1]->inputs[0] = 99)
CHANGE(odd_output, plan->programs[0]->steps[1]->outputs[0] = 99)
CHANGE(odd_absorbed, plan->programs[0]->steps[1]->n_absorbed = 1;
       plan->programs[0]->steps[1]->absorbed = values; values[0] = UINT32_MAX)
CHANGE(step_missing, plan->programs[0]->n_steps--)
CHANGE(library_not_listed, plan->programs[0]->steps[1]->kernel = "quick";
       plan->programs[0]->steps[1]->library = "elsewhere")
CHANGE(kernel_without_library, plan->programs[0]->steps[1]->kernel = "quick")
CHANGE(state_without_kernel, plan->programs[0]->steps[1]->has_state = true)
CHANGE(state_elsewhere, plan->programs[0]->steps[1]->kernel = "quick";
       plan->programs[0]->steps[1]->has_state = true;
       plan->programs[0]->steps[1]->state_offset = UINT64_C(1) << 40)
CHANGE(state_not_aligned, plan->programs[0]->steps[1]->kernel = "quick";
       plan->programs[0]->steps[1]->has_state = true; plan->programs[0]->steps[1]->state_offset = 1)
CHANGE(state_beyond, plan->programs[0]->steps[1]->kernel = "quick";
       plan->programs[0]->steps[1]->has_state = true;
       plan->programs[0]->steps[1]->state_bytes = UINT64_MAX)
CHANGE(key_twice, plan->model->metadata[1]->key = "task")
CHANGE(no_key, plan->model->metadata[0]->key = "")
static Tenon__Plan__Opset *many_opsets[4097];
static Tenon__Plan__Metadata *many_entries[TN_METADATA_MAX_COUNT + 1];
static void too_many_opsets(Tenon__Plan__Plan *plan) {
    for (size_t i = 0; i < TN_COUNT(many_opsets); i++)
        many_opsets[i] = plan->model->opsets[0];
    plan->model->opsets = many_opsets;
    plan->model->n_opsets = TN_COUNT(many_opsets);
}
static void too_much_metadata(Tenon__Plan__Plan *plan) {
    for (size_t i = 0; i < TN_COUNT(many_entries); i++)
        many_entries[i] = plan->model->metadata[0];
    plan->model->metadata = many_entries;
    plan->model->n_metadata = TN_COUNT(many_entries);
}

typedef struct damage_case {
    void (*change)(Tenon__Plan__Plan *plan);
    const char *part;
} damage_case;

static const damage_case damage_cases[] = {
    {program_of_no_profile, "it is for profile 1, and there are 1"},
    {program_beyond_the_profiles, "it is for profile 2, and there are 2"},
    {further_profile_lacks_an_input, "it has 2 profiles for 3 inputs"},
    {too_many_profiles, "it has 65 profiles; at most 64 are possible"},
    {odd_further_profile, "axis 0 of the profile goes from 3"},
    {no_tensor_name, "a tensor has no name"},
    {same_tensor_name, "there is a tensor 'image' already"},
    {odd_kind, "no kind 3 of tensors"},
    {odd_type, "no element type 40"},
    {odd_input_type, "element type 0 is not known"},
    {odd_constant_type, "no element type 99"},
    {odd_extent, "extent 1 is -2"},
    {too_many_extents, "9 extents"},
    {too_few_names, "1 names of extents"},
    {constant_without_shape, "the constant has no shape"},
    {constant_of_another_size, "takes 3 bytes, but has 2"},
    {constant_of_another_shape, "takes 4 bytes, but has 3"},
    {negative_constant, "negative extent"},
    {constant_elsewhere, "is not inside the weights"},
    {constant_far_elsewhere, "is not inside the weights"},
    {constant_not_aligned, "or not aligned"},
    {odd_bool, "is neither 0 nor 1"},
    {no_scales, "has 0 scales"},
    {few_scales, "has 2 scales and 3 zero points"},
    {few_scales_and_zeros, "2 scales along axis 0"},
    {scales_elsewhere, "3 scales along axis 1"},
    {zero_point_beyond, "zero point 300 is none of type i8"},
    {scales_of_integers, "scales are i32"},
    {axes_without_blocks, "1 axes and 0 blocks"},
    {scales_nowhere, "zero point -3 is none of type none"},
    {odd_operator, "no operator number 99"},
    {no_node_name, "a node has no name"},
    {input_elsewhere, "there is no tensor number"},
    {input_far_elsewhere, "there is no tensor number"},
    {read_before_made, "is read before it is made"},
    {reads_itself, "is read before it is made"},
    {made_twice, "is made twice"},
    {input_is_made, "tensor 'image' is made twice"},
    {constant_is_made, "tensor 'weight' is made twice"},
    {no_required_input, "input 'x' is missing"},
    {too_many_inputs, "takes at most 1 inputs"},
    {too_many_outputs, "gives at most 1 outputs"},
    {unknown_field, "its number 1 is 'factor' here"},
    {field_twice, "field 'factor' is given twice"},
    {no_required_field, "needs field 'factor'"},
    {odd_field_type, "no type 99 of fields"},
    {graph_field, "the body is not there"},
    {wrong_field_type, "takes a number"},
    {field_out_of_range, "is 101"},
    {no_field_tensor, "the tensor is not there"},
    {field_tensor_elsewhere, "is not inside the weights"},
    {field_tensor_rank, "a shape has rank 9"},
    {odd_state, "this is no secret"},
    {state_without_kernel, "a step without a kernel has a kernel's state"},
    {state_elsewhere, "a kernel's state of 0 bytes at 1099511627776 is not inside the weights"},
    {state_not_aligned, "or not aligned"},
    {state_beyond, "is not inside the weights"},
    {short_state, "this is no secret"},
    {input_twice, "is none or is listed twice"},
    {input_is_none, "is none or is listed twice"},
    {input_is_nowhere, "is none or is listed twice"},
    {input_is_missing, "2 inputs are listed, but 3 tensors are inputs"},
    {output_nowhere, "which no node computes"},
    {output_nobody_makes, "which no node computes"},
    {output_names_alone, "0 extents and 3 names of extents"},
    {output_twice, "there is an output 'result' already"},
    {no_profile, "2 profiles for 3 inputs"},
    {no_point, "a point of the profile is not there"},
    {odd_order, "goes from 3 over 2 to 4"},
    {odd_rank, "the ranks of the profile differ"},
    {not_as_declared, "goes from 3 over 3 to 4"},
    {negative_profile, "negative extent"},
    {some_values, "values at some of its points"},
    {short_value, "takes 24 bytes, but has 23"},
    {odd_library, "there is no library number 99"},
    {no_library_name, "a library has no name"},
    {no_operator_name, "an operator has no name"},
    {no_device, "it is for no device"},
    {no_threads, "it is for 0 threads"},
    {many_threads, "it is for 1025 threads"},
    {odd_time, "a time that is not possible"},
    {no_time, "a time that is not possible"},
    {few_ports, "values for 2 inputs"},
    {odd_port, "no value for input 0"},
    {no_port, "no value for output 0"},
    {odd_value, "value 0 of the program is damaged"},
    {many_extents_noted, "a value's shape has 9 extents"},
    {odd_extent_noted, "a value's shape has the extent -1"},
    {shape_without_one, "a value's shape has 2 extents"},
    {memory_ends_early, "a value's memory ends before it begins"},
    {memory_beyond_all, "a value's memory ends before it begins"},
    {odd_format, "value 0 of the program is damaged"},
    {odd_step, "is of an unknown kind"},
    {no_node, "step 0 of the program"},
    {odd_node, "step 0 of the program"},
    {odd_input, "reads a value that is not there"},
    {odd_output, "makes a value that is not its own"},
    {odd_absorbed, "step 1 of the program"},
    {step_missing, "no step of the program does node 'copy'"},
    {library_not_listed, "'elsewhere' is not in the manifest"},
    {kernel_without_library, "names a kernel without a library"},
    {key_twice, "the key 'task' twice"},
    {no_key, "entry 0 of the metadata has no key"},
    {too_many_opsets, "it imports 4097 opsets"},
    {too_much_metadata, "4097 entries of metadata"},
};

static void test_reader_refuses_descriptions_that_lie(void **state) {
    plan_test *test = *state;
    for (size_t i = 0; i < TN_COUNT(damage_cases); i++) {
        plan_bytes plan = plan_edit(plan_of_everything(test->runtime), damage_cases[i].change);
        assert_refused(test->runtime, plan.data, plan.bytes, damage_cases[i].part);
        free(plan.data);
    }
}

static void test_reader_refuses_constants_beyond_memory(void **state) {
    plan_test *test = *state;
    tn_plan_contents contents = {0};
    plan_bytes plan = plan_edit(plan_of_everything(test->runtime), huge_constant);
    assert_int_not_equal(plan_read(test->runtime, plan.data, plan.bytes, &contents), TN_OK);
    assert_null(contents.graph);
    free(plan.data);
}

static void test_reader_refuses_lengths_that_lie(void **state) {
    plan_test *test = *state;
    plan_bytes plan = plan_of_everything(test->runtime);
    uint64_t offset = plan_u64(plan.data + 40), bytes = plan_u64(plan.data + 48);
    memset(plan.data + offset, 0x2a, (size_t)bytes); /* tensors of 42 bytes, all alike */
    plan_repair(plan.data, plan.bytes);
    assert_refused(test->runtime, plan.data, plan.bytes, "damaged");
    free(plan.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        PLAN_TEST(test_reader_refuses_a_plan_cut_at_any_byte),
        PLAN_TEST(test_reader_refuses_a_plan_with_bytes_behind_it),
        PLAN_TEST(test_reader_refuses_a_flip_of_any_bit),
        PLAN_TEST(test_reader_survives_a_flip_of_any_bit_with_sound_checksums),
        PLAN_TEST(test_reader_survives_bytes_set_at_random),
        PLAN_TEST(test_reader_refuses_headers_that_lie),
        PLAN_TEST(test_reader_refuses_descriptions_that_lie),
        PLAN_TEST(test_reader_refuses_constants_beyond_memory),
        PLAN_TEST(test_reader_refuses_lengths_that_lie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
