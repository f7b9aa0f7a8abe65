/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operators of the domain Caffe against numbers worked out by hand. That their kernels agree
 * with their references is the conformance suite's affair.
 */
#include <tenon/tenon.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

typedef struct given {
    uint32_t rank;
    int64_t shape[4];
    const float *data;
} given;

typedef struct job {
    tn_runtime *runtime;
    tn_graph *graph;
    tn_plan *plan;
    tn_engine *engine;
    tn_context *context;
} job;

static void require(tn_status status) {
    if (status != TN_OK) fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

static uint64_t bytes_of(const given *input) {
    uint64_t bytes = sizeof(float);
    for (uint32_t i = 0; i < input->rank; i++)
        bytes *= (uint64_t)input->shape[i];
    return bytes;
}

static void make_graph(job *j, const char *op, uint32_t attribute_count,
                       const tn_attribute *const *attributes, uint32_t input_count,
                       const given *inputs) {
    tn_tensor_id ids[4], output;
    require(tn_runtime_create(NULL, &j->runtime));
    require(tn_graph_create(j->runtime, "net", &j->graph));
    for (uint32_t i = 0; i < input_count; i++) {
        const char name[] = {(char)('a' + (int)i), '\0'};
        require(tn_graph_add_input(j->graph, name, TN_F32, inputs[i].rank, inputs[i].shape, NULL,
                                   &ids[i]));
    }
    const tn_node_description node = {.size = sizeof(node),
                                      .version = 1,
                                      .domain = "Caffe",
                                      .op = op,
                                      .name = "node",
                                      .input_count = input_count,
                                      .output_count = 1,
                                      .inputs = ids,
                                      .attribute_count = attribute_count,
                                      .attributes = attributes};
    require(tn_graph_add_node(j->graph, &node, &output));
    require(tn_graph_add_output(j->graph, output, NULL));
}

/* Runs one operator and compares its output, whose extents are `shape` and elements `expected`. */
static void expect(const char *op, uint32_t attribute_count, const tn_attribute *const *attributes,
                   uint32_t input_count, const given *inputs, uint32_t rank, const int64_t *shape,
                   const float *expected) {
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .flags = TN_BUILD_NO_TIMING};
    job j = {0};
    uint64_t bytes, count = 1;
    const tn_tensor *output;
    make_graph(&j, op, attribute_count, attributes, input_count, inputs);
    require(tn_build(j.graph, &options, &j.plan));
    const void *plan = tn_plan_bytes(j.plan, &bytes);
    require(tn_engine_load_bytes(j.runtime, plan, bytes, NULL, &j.engine));
    require(tn_context_create(j.engine, &j.context));
    for (uint32_t i = 0; i < tn_engine_input_count(j.engine); i++) {
        const given *input = &inputs[tn_engine_input(j.engine, i)->name[0] - 'a'];
        require(tn_context_bind_input(j.context, i, input->data, bytes_of(input)));
    }
    require(tn_context_run(j.context));
    require(tn_context_output(j.context, 0, &output));
    assert_int_equal(output->rank, rank);
    for (uint32_t i = 0; i < rank; i++) {
        assert_int_equal(output->shape[i], shape[i]);
        count *= (uint64_t)shape[i];
    }
    for (uint64_t i = 0; i < count; i++) {
        const float found = ((const float *)output->data)[i];
        if (!(fabsf(found - expected[i]) <= 1e-5f))
            fail_msg("element %d is %g, expected %g", (int)i, (double)found, (double)expected[i]);
    }
    tn_context_destroy(j.context);
    tn_engine_release(j.engine);
    tn_plan_destroy(j.plan);
    tn_graph_destroy(j.graph);
    tn_runtime_release(j.runtime);
}

#define INTEGER(field, value)                                                                      \
    &(const tn_attribute) {                                                                        \
        .size = sizeof(tn_attribute), .type = TN_FIELD_I64, .name = field, .i = value              \
    }
#define NUMBER(field, value)                                                                       \
    &(const tn_attribute) {                                                                        \
        .size = sizeof(tn_attribute), .type = TN_FIELD_F32, .name = field, .f = value              \
    }
#define TEXT(field, value)                                                                         \
    &(const tn_attribute) {                                                                        \
        .size = sizeof(tn_attribute), .type = TN_FIELD_STRING, .name = field, .s = value           \
    }
#define NUMBERS(field, ...)                                                                        \
    &(const tn_attribute) {                                                                        \
        .size = sizeof(tn_attribute), .type = TN_FIELD_F32S, .name = field,                        \
        .count = sizeof((const float[]){__VA_ARGS__}) / sizeof(float), .items = (const float[]) {  \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define ATTRIBUTES(...)                                                                            \
    sizeof((const tn_attribute *const[]){__VA_ARGS__}) / sizeof(const tn_attribute *),             \
        (const tn_attribute *const[]) {                                                            \
        __VA_ARGS__                                                                                \
    }
#define FLOATS(...)                                                                                \
    (const float[]) {                                                                              \
        __VA_ARGS__                                                                                \
    }
#define SHAPE(...)                                                                                 \
    (const int64_t[]) {                                                                            \
        __VA_ARGS__                                                                                \
    }

/* Two pixels with the lengths 5 and 2. */
static void test_normalize_divides_each_pixel_by_its_length(void **state) {
    const given inputs[] = {{4, {1, 2, 1, 2}, FLOATS(3, 0, 4, 2)}, {1, {2}, FLOATS(10, 20)}};
    (void)state;
    expect("Normalize", ATTRIBUTES(INTEGER("across_spatial", 0), INTEGER("channel_shared", 0)), 2,
           inputs, 4, inputs[0].shape, FLOATS(6, 0, 16, 20));
}

static void test_normalize_divides_an_image_by_its_length(void **state) {
    const given inputs[] = {{4, {2, 2, 1, 2}, FLOATS(1, 1, 1, 1, 3, 0, 0, 4)}, {1, {1}, FLOATS(2)}};
    (void)state;
    expect("Normalize", 0, NULL, 2, inputs, 4, inputs[0].shape,
           FLOATS(1, 1, 1, 1, 1.2f, 0, 0, 1.6f));
}

/* A map of two pixels over 200 x 100 pixels: centres 100 pixels apart; sides 40, sqrt(40 * 90) =
 * 60, 80 x 20 and 20 x 80. */
static void test_prior_box_makes_squares_then_ratios(void **state) {
    static const float nothing[200 * 100];
    const given inputs[] = {{4, {1, 1, 1, 2}, nothing}, {4, {1, 1, 100, 200}, nothing}};
    static const float first[4][4] = {{0.15f, 0.3f, 0.35f, 0.7f},
                                      {0.1f, 0.2f, 0.4f, 0.8f},
                                      {0.05f, 0.4f, 0.45f, 0.6f},
                                      {0.2f, 0.1f, 0.3f, 0.9f}};
    static const float variance[] = {0.1f, 0.1f, 0.2f, 0.3f};
    float expected[64];
    (void)state;
    for (int i = 0; i < 32; i++) {
        expected[i] = first[i / 4 % 4][i % 4] + (i >= 16 && i % 2 == 0 ? 0.5f : 0.0f);
        expected[32 + i] = variance[i % 4];
    }
    expect("PriorBox",
           ATTRIBUTES(NUMBERS("min_size", 40.9f), NUMBERS("max_size", 90),
                      NUMBERS("aspect_ratio", 1, 4, 4),
                      NUMBERS("variance", 0.1f, 0.1f, 0.2f, 0.3f)),
           2, inputs, 3, SHAPE(1, 2, 32), expected);
}

static void test_prior_box_clips_and_takes_steps(void **state) {
    const given inputs[] = {{4, {1, 1, 1, 1}, FLOATS(0)}, {4, {1, 1, 1, 1}, FLOATS(0)}};
    (void)state;
    expect("PriorBox",
           ATTRIBUTES(NUMBERS("min_size", 50), INTEGER("img_size", 100), NUMBER("step", 40),
                      INTEGER("clip", 1)),
           2, inputs, 3, SHAPE(1, 2, 4), FLOATS(0, 0, 0.45f, 0.45f, 0.1f, 0.1f, 0.1f, 0.1f));
}

/* The priors of the tests below; boxes 0 and 1 overlap by 0.68 when 0 has moved. */
#define PRIORS                                                                                     \
    {                                                                                              \
        3, {1, 2, 12},                                                                             \
            FLOATS(0.2f, 0.2f, 0.6f, 0.6f, 0.2f, 0.2f, 0.6f, 0.6f, 0.8f, 0.8f, 1, 1, 0.1f, 0.1f,   \
                   0.2f, 0.2f, 0.1f, 0.1f, 0.2f, 0.2f, 0.1f, 0.1f, 0.2f, 0.2f)                     \
    }
#define SCORES                                                                                     \
    { 2, {1, 9}, FLOATS(0.05f, 0.9f, 0.05f, 0.05f, 0.8f, 0.15f, 0.05f, 0.7f, 0.25f) }

static void test_detection_output_keeps_the_best_of_each_class(void **state) {
    const given inputs[] = {
        {2, {1, 12}, FLOATS(1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)}, SCORES, PRIORS};
    (void)state;
    expect("DetectionOutput",
           ATTRIBUTES(INTEGER("num_classes", 3), TEXT("code_type", "CENTER_SIZE"),
                      NUMBER("nms_threshold", 0.5), NUMBER("confidence_threshold", 0.1),
                      INTEGER("keep_top_k", 3)),
           3, inputs, 4, SHAPE(1, 1, 3, 7),
           FLOATS(0, 1, 0.9f, 0.24f, 0.16f, 0.64f, 0.56f, /* moved by a tenth of its extent */
                  0, 1, 0.7f, 0.8f, 0.8f, 1, 1,           /* the other one overlaps the first */
                  0, 2, 0.25f, 0.8f, 0.8f, 1, 1));
}

static void test_detection_output_moves_corners(void **state) {
    const given inputs[] = {
        {2, {1, 12}, FLOATS(1, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0)}, SCORES, PRIORS};
    const tn_attribute *const top[] = {INTEGER("num_classes", 3), INTEGER("top_k", 1),
                                       INTEGER("keep_top_k", 1), TEXT("code_type", "CORNER")};
    const tn_attribute *const sized[] = {INTEGER("num_classes", 3), INTEGER("top_k", 1),
                                         INTEGER("keep_top_k", 1), TEXT("code_type", "CORNER_SIZE"),
                                         INTEGER("variance_encoded_in_target", 1)};
    (void)state;
    expect("DetectionOutput", 4, top, 3, inputs, 4, SHAPE(1, 1, 1, 7),
           FLOATS(0, 1, 0.9f, 0.3f, 0.4f, 0.8f, 0.8f));
    expect("DetectionOutput", 5, sized, 3, inputs, 4, SHAPE(1, 1, 1, 7),
           FLOATS(0, 1, 0.9f, 0.6f, 1, 1, 1));
}

static void test_detection_output_says_that_nothing_was_found(void **state) {
    static const float zeros[24];
    const given inputs[] = {{2, {2, 12}, zeros}, {2, {2, 9}, zeros}, PRIORS};
    (void)state;
    expect("DetectionOutput",
           ATTRIBUTES(INTEGER("num_classes", 3), NUMBER("confidence_threshold", 0.5)), 3, inputs, 4,
           SHAPE(1, 1, 2, 7), FLOATS(0, -1, -1, -1, -1, -1, -1, 1, -1, -1, -1, -1, -1, -1));
}

static void test_crop_takes_a_part_from_its_offset(void **state) {
    const given inputs[] = {{4, {1, 1, 3, 4}, FLOATS(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)},
                            {4, {1, 9, 2, 2}, (const float[36]){0}}};
    const int64_t offset[] = {1, 2};
    const tn_attribute offsets = {.size = sizeof(offsets),
                                  .type = TN_FIELD_I64S,
                                  .name = "offset",
                                  .count = 2,
                                  .items = offset};
    (void)state;
    expect("Crop", ATTRIBUTES(&offsets), 2, inputs, 4, SHAPE(1, 1, 2, 2), FLOATS(6, 7, 10, 11));
}

static void test_threshold_and_bnll_keep_the_shape(void **state) {
    const given input = {2, {2, 2}, FLOATS(-100, 0, 0.5f, 100)};
    (void)state;
    expect("Threshold", ATTRIBUTES(NUMBER("threshold", 0.25)), 1, &input, 2, input.shape,
           FLOATS(0, 0, 1, 1));
    expect("BNLL", 0, NULL, 1, &input, 2, input.shape, FLOATS(0, 0.6931472f, 0.974077f, 100));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normalize_divides_each_pixel_by_its_length),
        cmocka_unit_test(test_normalize_divides_an_image_by_its_length),
        cmocka_unit_test(test_prior_box_makes_squares_then_ratios),
        cmocka_unit_test(test_prior_box_clips_and_takes_steps),
        cmocka_unit_test(test_detection_output_keeps_the_best_of_each_class),
        cmocka_unit_test(test_detection_output_moves_corners),
        cmocka_unit_test(test_detection_output_says_that_nothing_was_found),
        cmocka_unit_test(test_crop_takes_a_part_from_its_offset),
        cmocka_unit_test(test_threshold_and_bnll_keep_the_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
