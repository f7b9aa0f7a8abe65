/* SPDX-License-Identifier: Apache-2.0 */
/* One operator without a network: what it infers and computes, what it keeps, and how it fails. */
#include <tenon/operation.h>

#include "test.h"

#include <math.h>

typedef struct test_state {
    failing_allocator allocator;
    tn_runtime *runtime;
} test_state;

static int set_up(void **state) {
    static test_state test;
    failing_allocator_init(&test.allocator);
    const tn_runtime_options options = {.size = sizeof(options),
                                        .allocator = &test.allocator.functions,
                                        .flags = TN_RUNTIME_NO_KERNEL_LIBRARIES};
    assert_int_equal(tn_runtime_create(&options, &test.runtime), TN_OK);
    *state = &test;
    return 0;
}

static int tear_down(void **state) {
    test_state *test = *state;
    tn_runtime_release(test->runtime);
    assert_int_equal(test->allocator.live, 0);
    return 0;
}

/* A tensor with its shape and data. */
typedef struct value {
    tn_tensor tensor;
    int64_t shape[TN_MAX_RANK];
    _Alignas(64) float data[512];
    int64_t numbers[8];
} value;

static const tn_tensor *f32(value *v, uint32_t rank, const int64_t *extents) {
    uint64_t count = 1;
    for (uint32_t i = 0; i < rank; i++) {
        v->shape[i] = extents[i];
        count *= (uint64_t)extents[i];
    }
    assert_true(count <= TEST_COUNT(v->data));
    for (uint64_t i = 0; i < count; i++)
        v->data[i] = (float)((int)(i * 7 % 23) - 11) / 8;
    v->tensor = (tn_tensor){.size = sizeof(v->tensor),
                            .type = TN_F32,
                            .rank = rank,
                            .shape = v->shape,
                            .data = v->data,
                            .bytes = count * sizeof(float)};
    return &v->tensor;
}

static const tn_tensor *i64s(value *v, uint32_t count, const int64_t *numbers) {
    memcpy(v->numbers, numbers, count * sizeof(*numbers));
    v->shape[0] = count;
    v->tensor = (tn_tensor){.size = sizeof(v->tensor),
                            .type = TN_I64,
                            .rank = 1,
                            .shape = v->shape,
                            .data = v->numbers,
                            .bytes = count * sizeof(*numbers)};
    return &v->tensor;
}

/* With memory for its data, or without. */
static tn_tensor *output(value *v, bool has_data) {
    v->tensor = (tn_tensor){.size = sizeof(v->tensor), .shape = v->shape};
    if (has_data) {
        v->tensor.data = v->data;
        v->tensor.bytes = sizeof(v->data);
    }
    return &v->tensor;
}

static tn_operation *create(test_state *test, const char *op, uint32_t input_count,
                            const tn_attribute *attribute, uint64_t constant_inputs) {
    const tn_operation_description description = {.size = sizeof(description),
                                                  .op = op,
                                                  .input_count = input_count,
                                                  .output_count = 1,
                                                  .attribute_count = attribute != NULL,
                                                  .attributes = &attribute,
                                                  .constant_inputs = constant_inputs,
                                                  .threads = 1};
    tn_operation *operation;
    assert_int_equal(tn_operation_create(test->runtime, &description, &operation), TN_OK);
    return operation;
}

static void test_it_infers_without_data(void **state) {
    static value x, w, y;
    tn_operation *conv = create(*state, "Conv", 3, NULL, 0);
    const tn_tensor *inputs[] = {f32(&x, 4, (int64_t[]){1, 2, 8, 8}),
                                 f32(&w, 4, (int64_t[]){3, 2, 3, 3}), NULL};
    tn_tensor *outputs[] = {output(&y, false)};
    x.tensor.data = w.tensor.data = NULL;
    assert_int_equal(tn_operation_infer(conv, inputs, outputs), TN_OK);
    assert_true(y.tensor.type == TN_F32 && y.tensor.rank == 4);
    assert_true(y.shape[0] == 1 && y.shape[1] == 3 && y.shape[2] == 6 && y.shape[3] == 6);
    assert_null(y.tensor.data);
    w.shape[1] = 5;
    y.shape[1] = 77;
    assert_int_equal(tn_operation_infer(conv, inputs, outputs), TN_ERROR_SHAPE);
    assert_string_equal(tn_last_error()->op, "Conv");
    assert_true(y.shape[1] == 77);
    tn_operation_destroy(conv);
}

static void test_values_decide_shapes(void **state) {
    static value x, shape, y;
    tn_operation *reshape = create(*state, "Reshape", 2, NULL, 0);
    const tn_tensor *inputs[] = {f32(&x, 2, (int64_t[]){2, 6}),
                                 i64s(&shape, 2, (int64_t[]){4, -1})};
    tn_tensor *outputs[] = {output(&y, true)};
    assert_int_equal(tn_operation_infer(reshape, inputs, outputs), TN_OK);
    assert_true(y.tensor.rank == 2 && y.shape[0] == 4 && y.shape[1] == 3);
    assert_int_equal(tn_operation_run(reshape, inputs, outputs), TN_OK);
    assert_memory_equal(y.data, x.data, 12 * sizeof(float));
    shape.numbers[0] = 12;
    assert_int_equal(tn_operation_run(reshape, inputs, outputs), TN_OK);
    assert_true(y.shape[0] == 12 && y.shape[1] == 1);
    shape.tensor.data = NULL;
    assert_failed(tn_operation_infer(reshape, inputs, outputs), TN_ERROR_ARGUMENT,
                  "data is needed");
    tn_operation_destroy(reshape);
}

static void test_it_computes_into_memory_of_either_side(void **state) {
    static value x, y, kept;
    const tn_attribute alpha = {
        .size = sizeof(alpha), .type = TN_FIELD_F32, .name = "alpha", .f = 0.5};
    tn_operation *leaky = create(*state, "LeakyRelu", 1, &alpha, 0);
    const tn_tensor *inputs[] = {f32(&x, 2, (int64_t[]){3, 5})};
    tn_tensor *outputs[] = {output(&y, true)}, *kept_outputs[] = {output(&kept, false)};
    assert_string_equal(tn_operation_report(leaky), "");
    assert_int_equal(tn_operation_run(leaky, inputs, outputs), TN_OK);
    assert_int_equal(tn_operation_run(leaky, inputs, kept_outputs), TN_OK);
    assert_true(y.tensor.data == y.data && kept.tensor.data && kept.tensor.bytes >= 60);
    for (int i = 0; i < 15; i++) {
        const float wanted = x.data[i] < 0 ? x.data[i] / 2 : x.data[i];
        assert_true(fabsf(y.data[i] - wanted) < 1e-6f);
        assert_true(((const float *)kept.tensor.data)[i] == y.data[i]);
    }
    assert_non_null(strstr(tn_operation_report(leaky), "LeakyRelu"));
    y.tensor.bytes = 59;
    assert_int_equal(tn_operation_run(leaky, inputs, outputs), TN_ERROR_ARGUMENT);
    tn_operation_destroy(leaky);
}

static void test_a_further_run_allocates_nothing(void **state) {
    test_state *test = *state;
    static value x, w, b, y;
    tn_operation *conv = create(test, "Conv", 3, NULL, 6);
    const tn_tensor *inputs[] = {f32(&x, 4, (int64_t[]){1, 2, 8, 8}),
                                 f32(&w, 4, (int64_t[]){3, 2, 3, 3}), f32(&b, 1, (int64_t[]){3})};
    tn_tensor *outputs[] = {output(&y, true)};
    for (int64_t height = 8; height > 2; height--) { /* six sets of shapes */
        x.shape[2] = height;
        assert_int_equal(tn_operation_run(conv, inputs, outputs), TN_OK);
    }
    const uint64_t before = test->allocator.allocations;
    for (int64_t height = 3; height <= 8; height++) {
        x.shape[2] = height;
        assert_int_equal(tn_operation_run(conv, inputs, outputs), TN_OK);
        assert_true(y.shape[2] == height - 2);
    }
    assert_true(test->allocator.allocations == before);
    float wanted = b.data[0];
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                wanted += x.data[(c * 8 + i) * 8 + j] * w.data[(c * 3 + i) * 3 + j];
    assert_true(fabsf(y.data[0] - wanted) < 1e-4f);
    for (int64_t width = 20; width > 8; width--) { /* more than are kept */
        x.shape[2] = 3;
        x.shape[3] = width;
        assert_int_equal(tn_operation_run(conv, inputs, outputs), TN_OK);
    }
    tn_operation_destroy(conv);
}

static void test_a_network_of_constants_is_folded(void **state) {
    static value start, limit, delta, y;
    tn_operation *range = create(*state, "Range", 3, NULL, 0);
    const tn_tensor *inputs[] = {i64s(&start, 1, (int64_t[]){2}), i64s(&limit, 1, (int64_t[]){9}),
                                 i64s(&delta, 1, (int64_t[]){3})};
    tn_tensor *outputs[] = {output(&y, true)};
    start.tensor.rank = limit.tensor.rank = delta.tensor.rank = 0;
    for (int round = 0; round < 2; round++) {
        assert_int_equal(tn_operation_run(range, inputs, outputs), TN_OK);
        assert_true(y.tensor.type == TN_I64 && y.tensor.rank == 1 && y.shape[0] == 3);
        assert_true(((const int64_t *)y.tensor.data)[2] == 8);
    }
    tn_operation_destroy(range);
}

static void test_an_output_that_a_run_sizes(void **state) {
    static value boxes, scores, most, y;
    tn_operation *suppress = create(*state, "NonMaxSuppression", 3, NULL, 0);
    const tn_tensor *inputs[] = {f32(&boxes, 3, (int64_t[]){1, 3, 4}),
                                 f32(&scores, 3, (int64_t[]){1, 1, 3}),
                                 i64s(&most, 1, (int64_t[]){2})};
    tn_tensor *outputs[] = {output(&y, false)};
    for (int i = 0; i < 3; i++) { /* apart from one another */
        boxes.data[4 * i] = boxes.data[4 * i + 1] = (float)(10 * i);
        boxes.data[4 * i + 2] = boxes.data[4 * i + 3] = (float)(10 * i + 1);
        scores.data[i] = (float)(1 + i);
    }
    for (int round = 0; round < 2; round++) {
        assert_int_equal(tn_operation_infer(suppress, inputs, outputs), TN_OK);
        assert_true(y.tensor.type == TN_I64 && y.tensor.rank == 2 && y.shape[1] == 3);
        assert_int_equal(tn_operation_run(suppress, inputs, outputs), TN_OK);
        assert_true(y.shape[0] == 2 && ((const int64_t *)y.tensor.data)[2] == 2);
        y.tensor.data = NULL;
    }
    tn_operation_destroy(suppress);
}

static void test_what_is_wrong_is_named(void **state) {
    test_state *test = *state;
    static value x, y;
    tn_operation *operation = NULL;
    tn_operation_description description = {
        .size = sizeof(description), .op = "Rellu", .input_count = 1, .output_count = 1};
    assert_failed(tn_operation_create(test->runtime, &description, &operation),
                  TN_ERROR_UNSUPPORTED, "'Relu'");
    const tn_attribute wrong = {.size = sizeof(wrong), .type = TN_FIELD_F32, .name = "alfa"};
    const tn_attribute *const attributes[] = {&wrong};
    description.op = "LeakyRelu";
    description.attribute_count = 1;
    description.attributes = attributes;
    assert_failed(tn_operation_create(test->runtime, &description, &operation), TN_ERROR_ARGUMENT,
                  "the nearest is 'alpha'");
    assert_string_equal(tn_last_error()->mend, "the nearest is 'alpha'");
    description.attribute_count = 0;
    description.output_count = 0;
    assert_failed(tn_operation_create(test->runtime, &description, &operation), TN_ERROR_ARGUMENT,
                  "expected 1 output");
    description.output_count = 1;
    description.threads = 100000;
    assert_failed(tn_operation_create(test->runtime, &description, &operation), TN_ERROR_ARGUMENT,
                  "expected at most 1024");
    description.threads = 0;
    description.size = 3;
    assert_failed(tn_operation_create(test->runtime, &description, &operation), TN_ERROR_ARGUMENT,
                  "`size`");
    assert_null(operation);
    operation = create(test, "Relu", 1, NULL, 0);
    const tn_tensor *inputs[] = {f32(&x, 1, (int64_t[]){4})}, *absent[] = {NULL};
    tn_tensor *outputs[] = {output(&y, true)};
    assert_int_equal(tn_operation_run(operation, absent, outputs), TN_ERROR_ARGUMENT);
    x.tensor.bytes = 15;
    assert_failed(tn_operation_run(operation, inputs, outputs), TN_ERROR_ARGUMENT, "expected 16");
    x.tensor.bytes = 16;
    x.tensor.type = 99;
    assert_failed(tn_operation_run(operation, inputs, outputs), TN_ERROR_TYPE, "99");
    x.tensor.type = TN_F32;
    x.shape[0] = -4;
    assert_int_equal(tn_operation_run(operation, inputs, outputs), TN_ERROR_SHAPE);
    x.shape[0] = 4;
    assert_int_equal(tn_operation_run(operation, inputs, NULL), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_operation_run(operation, inputs, outputs), TN_OK);
    tn_operation_destroy(operation);
    tn_operation_destroy(NULL);
}

static void test_each_allocation_may_fail(void **state) {
    test_state *test = *state;
    static value x, shape, y;
    const tn_tensor *inputs[] = {f32(&x, 2, (int64_t[]){2, 6}),
                                 i64s(&shape, 2, (int64_t[]){4, -1})};
    tn_tensor *outputs[] = {output(&y, true)};
    bool is_done = false;
    for (uint64_t fail_at = 1; !is_done; fail_at++) {
        const tn_operation_description description = {.size = sizeof(description),
                                                      .op = "Reshape",
                                                      .input_count = 2,
                                                      .output_count = 1,
                                                      .threads = 1};
        tn_operation *operation = NULL;
        const int64_t live = test->allocator.live;
        test->allocator.allocations = 0;
        test->allocator.fail_at = fail_at;
        tn_status status = tn_operation_create(test->runtime, &description, &operation);
        if (status == TN_OK) status = tn_operation_infer(operation, inputs, outputs);
        if (status == TN_OK) status = tn_operation_run(operation, inputs, outputs);
        test->allocator.fail_at = 0;
        if (status != TN_OK) assert_int_equal(status, TN_ERROR_MEMORY);
        is_done = status == TN_OK && test->allocator.allocations < fail_at;
        if (operation) assert_int_equal(tn_operation_run(operation, inputs, outputs), TN_OK);
        tn_operation_destroy(operation);
        assert_true(test->allocator.live <= live + 64);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_infers_without_data, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_values_decide_shapes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_it_computes_into_memory_of_either_side, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_further_run_allocates_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_network_of_constants_is_folded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_output_that_a_run_sizes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_wrong_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_each_allocation_may_fail, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
