/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors in ONNX files: every element type in every field, sizes that must fit, files beside the
 * model that must stay beside it. */
#include "onnx_test.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <tenon/import.h>

/* Parses a model whose only content is one initializer "w". */
static tn_status parse_tensor(void **state, onnx_part tensor, const char *folder) {
    onnx_part graph = onnx_graph("g");
    onnx_part_move(&graph, ONNX_GRAPH_INITIALIZER, &tensor);
    onnx_part model = onnx_model(&graph, "tiny", 1);
    tn_status status = parse_in(*state, &model, folder);
    onnx_part_free(&model);
    return status;
}

static const tn_graph_tensor *initializer(void **state) {
    const tn_graph *graph = ((graph_test *)*state)->graph;
    return &graph->tensors[find_tensor(graph, "w")];
}

static void test_every_type_comes_as_raw_bytes(void **state) {
    static const struct {
        int onnx;
        tn_type ours;
        size_t bytes;
    } types[] = {{ONNX_F32, TN_F32, 4},  {ONNX_U8, TN_U8, 1},     {ONNX_I8, TN_I8, 1},
                 {ONNX_U16, TN_U16, 2},  {ONNX_I16, TN_I16, 2},   {ONNX_I32, TN_I32, 4},
                 {ONNX_I64, TN_I64, 8},  {ONNX_BOOL, TN_BOOL, 1}, {ONNX_F16, TN_F16, 2},
                 {ONNX_F64, TN_F64, 8},  {ONNX_U32, TN_U32, 4},   {ONNX_U64, TN_U64, 8},
                 {ONNX_BF16, TN_BF16, 2}};
    unsigned char data[1024];
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = i & 1;
    for (size_t i = 0; i < TN_COUNT(types); i++) {
        for (int is_large = 0; is_large < 2; is_large++) {
            const char *shape = is_large ? "2,4,16" : "2,3";
            size_t bytes = types[i].bytes * (is_large ? 128 : 6);
            onnx_part tensor = onnx_tensor_raw("w", types[i].onnx, shape, data, bytes);
            assert_int_equal(parse_tensor(state, tensor, NULL), TN_OK);
            assert_int_equal(initializer(state)->type, types[i].ours);
            assert_int_equal(initializer(state)->bytes, bytes);
            assert_int_equal((uintptr_t)initializer(state)->data % 64, 0);
            assert_memory_equal(initializer(state)->data, data, bytes);
        }
    }
}

/* Adds a list of numbers to a tensor, packed. */
static onnx_part with_numbers(onnx_part tensor, uint32_t field, size_t count,
                              const int64_t *values) {
    onnx_part packed = {0};
    for (size_t i = 0; i < count; i++)
        onnx_part_varint(&packed, (uint64_t)values[i]);
    onnx_part_bytes(&tensor, field, packed.data, packed.bytes);
    onnx_part_free(&packed);
    return tensor;
}

static void test_every_type_comes_as_numbers(void **state) {
    static const struct {
        int onnx;
        uint32_t field;
        int64_t low, high;
    } types[] = {{ONNX_U8, 5, 0, 255},
                 {ONNX_I8, 5, -128, 127},
                 {ONNX_U16, 5, 0, 65535},
                 {ONNX_I16, 5, -32768, 32767},
                 {ONNX_I32, 5, INT32_MIN, INT32_MAX},
                 {ONNX_BOOL, 5, 0, 1},
                 {ONNX_I64, 7, INT64_MIN, INT64_MAX},
                 {ONNX_U32, 11, 0, UINT32_MAX},
                 {ONNX_U64, 11, 0, INT64_MAX}};
    for (size_t i = 0; i < TN_COUNT(types); i++) {
        int64_t values[] = {types[i].low, types[i].high, 1};
        onnx_part tensor = onnx_tensor("w", types[i].onnx, "3");
        assert_int_equal(parse_tensor(state, with_numbers(tensor, types[i].field, 3, values), NULL),
                         TN_OK);
        const tn_graph_tensor *w = initializer(state);
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(tn_element_get_i64(w->data, w->type, k), values[k]);
    }
}

static void test_half_precision_comes_as_bits(void **state) {
    int64_t bits[] = {0x3c00, 0xc000};
    assert_int_equal(
        parse_tensor(state, with_numbers(onnx_tensor("w", ONNX_F16, "2"), 5, 2, bits), NULL),
        TN_OK);
    assert_true(tn_element_get_f64(initializer(state)->data, TN_F16, 0) == 1);
    assert_true(tn_element_get_f64(initializer(state)->data, TN_F16, 1) == -2);
    bits[0] = 0x3f80;
    assert_int_equal(
        parse_tensor(state, with_numbers(onnx_tensor("w", ONNX_BF16, "2"), 5, 2, bits), NULL),
        TN_OK);
    assert_true(tn_element_get_f64(initializer(state)->data, TN_BF16, 0) == 1);
}

static void test_floats_come_as_lists(void **state) {
    float floats[] = {1.5f, -2};
    double doubles[] = {0.1, 1e300};
    onnx_part tensor = onnx_tensor("w", ONNX_F32, "2");
    onnx_part_bytes(&tensor, 4, floats, sizeof(floats));
    assert_int_equal(parse_tensor(state, tensor, NULL), TN_OK);
    assert_memory_equal(initializer(state)->data, floats, sizeof(floats));
    tensor = onnx_tensor("w", ONNX_F32, "2"); /* not packed */
    onnx_part_float(&tensor, 4, 1.5f);
    onnx_part_float(&tensor, 4, -2);
    assert_int_equal(parse_tensor(state, tensor, NULL), TN_OK);
    assert_memory_equal(initializer(state)->data, floats, sizeof(floats));
    tensor = onnx_tensor("w", ONNX_F64, "2");
    onnx_part_bytes(&tensor, 10, doubles, sizeof(doubles));
    assert_int_equal(parse_tensor(state, tensor, NULL), TN_OK);
    assert_memory_equal(initializer(state)->data, doubles, sizeof(doubles));
}

static void test_numbers_that_do_not_fit_their_type_are_refused(void **state) {
    static const struct {
        int onnx;
        uint32_t field;
        int64_t number;
    } cases[] = {{ONNX_U8, 5, 256},  {ONNX_U8, 5, -1},
                 {ONNX_I8, 5, 128},  {ONNX_I8, 5, -129},
                 {ONNX_BOOL, 5, 2},  {ONNX_F16, 5, 65536},
                 {ONNX_BF16, 5, -1}, {ONNX_I16, 5, 32768},
                 {ONNX_U16, 5, -1},  {ONNX_U32, 11, (int64_t)1 << 32}};
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        onnx_part tensor = onnx_tensor("w", cases[i].onnx, "");
        assert_int_equal(
            parse_tensor(state, with_numbers(tensor, cases[i].field, 1, &cases[i].number), NULL),
            TN_ERROR_FORMAT);
        assert_error("element 0", "graph 'g': initializer 'w'");
    }
}

static void test_bools_become_0_or_1(void **state) {
    unsigned char data[] = {0, 1, 2, 255};
    assert_int_equal(
        parse_tensor(state, onnx_tensor_raw("w", ONNX_BOOL, "4", data, sizeof(data)), NULL), TN_OK);
    assert_memory_equal(initializer(state)->data, "\0\1\1\1", 4);
}

static void test_empty_tensors_and_scalars(void **state) {
    float one = 1;
    assert_int_equal(parse_tensor(state, onnx_tensor_raw("w", ONNX_F32, "", &one, 4), NULL), TN_OK);
    assert_int_equal(initializer(state)->shape.rank, 0);
    assert_int_equal(parse_tensor(state, onnx_tensor("w", ONNX_F32, "3,0"), NULL), TN_OK);
    assert_int_equal(initializer(state)->bytes, 0);
    assert_int_equal(parse_tensor(state, onnx_tensor_raw("w", ONNX_F32, "0", "", 0), NULL), TN_OK);
}

static void test_sizes_must_fit_exactly(void **state) {
    float data[4] = {0};
    int64_t values[] = {1, 2, 3};
    assert_int_equal(parse_tensor(state, onnx_tensor_raw("w", ONNX_F32, "3", data, 16), NULL),
                     TN_ERROR_FORMAT);
    assert_error("takes 12 bytes, but raw_data has 16", "initializer 'w'");
    assert_int_equal(parse_tensor(state, onnx_tensor_raw("w", ONNX_F32, "5", data, 16), NULL),
                     TN_ERROR_FORMAT);
    assert_int_equal(
        parse_tensor(state, with_numbers(onnx_tensor("w", ONNX_I64, "4"), 7, 3, values), NULL),
        TN_ERROR_FORMAT);
    assert_error("4 elements, but int64_data has 3", NULL);
    /* numbers in the wrong list are not there */
    assert_int_equal(
        parse_tensor(state, with_numbers(onnx_tensor("w", ONNX_I64, "3"), 5, 3, values), NULL),
        TN_ERROR_FORMAT);
}

static void test_absurd_shapes_are_refused(void **state) {
    static const char *const shapes[] = {"-1", "9223372036854775807,9223372036854775807",
                                         "4294967296,4294967296,4294967296", "1,1,1,1,1,1,1,1,1",
                                         "4611686018427387904"};
    for (size_t i = 0; i < TN_COUNT(shapes); i++) {
        assert_int_not_equal(
            parse_tensor(state, onnx_tensor_raw("w", ONNX_F32, shapes[i], "abcd", 4), NULL), TN_OK);
        assert_error(NULL, "initializer 'w'");
    }
}

static void test_other_types_are_named(void **state) {
    static const struct {
        int onnx;
        const char *name;
    } types[] = {{14, "COMPLEX64"}, {15, "COMPLEX128"}};
    for (size_t i = 0; i < TN_COUNT(types); i++) {
        assert_int_equal(parse_tensor(state, onnx_tensor("w", types[i].onnx, "1"), NULL),
                         TN_ERROR_UNSUPPORTED);
        assert_error(types[i].name, "initializer 'w'");
    }
    assert_int_equal(parse_tensor(state, onnx_tensor("w", 0, "1"), NULL), TN_ERROR_FORMAT);
    assert_int_equal(parse_tensor(state, onnx_tensor("w", 999, "1"), NULL), TN_ERROR_UNSUPPORTED);
}

static onnx_part tensor_of_strings(const char *shape, size_t count) {
    static const char *const texts[] = {"one", "", "t\0wo"};
    static const size_t bytes[] = {3, 0, 4};
    onnx_part tensor = onnx_tensor("w", ONNX_STRING, shape);
    for (size_t i = 0; i < count; i++)
        onnx_part_bytes(&tensor, 6, texts[i], bytes[i]);
    return tensor;
}

static void test_strings_are_a_block(void **state) {
    assert_int_equal(parse_tensor(state, tensor_of_strings("3,1", 3), NULL), TN_OK);
    const tn_graph_tensor *w = initializer(state);
    const tn_tensor tensor = {.data = (void *)(uintptr_t)w->data, .heap = w->heap};
    uint64_t bytes;
    assert_int_equal(w->type, TN_STRING);
    assert_int_equal(w->bytes, 3 * sizeof(tn_string) + 7);
    assert_int_equal(w->heap->bytes, 7);
    assert_memory_equal(tn_string_at(&tensor, 0, &bytes), "one", 3);
    tn_string_at(&tensor, 1, &bytes);
    assert_int_equal(bytes, 0);
    assert_memory_equal(tn_string_at(&tensor, 2, &bytes), "t\0wo", 4);
    assert_int_equal(bytes, 4);
    assert_int_equal(parse_tensor(state, tensor_of_strings("0", 0), NULL), TN_OK);
    assert_int_equal(parse_tensor(state, tensor_of_strings("2", 3), NULL), TN_ERROR_FORMAT);
    assert_error("2 elements, but string_data has 3", "initializer 'w'");
    assert_int_equal(parse_tensor(state, onnx_tensor_raw("w", ONNX_STRING, "1", "a", 1), NULL),
                     TN_ERROR_FORMAT);
}

static void test_names_of_initializers_are_there_once(void **state) {
    onnx_part graph = onnx_graph("g");
    for (int i = 0; i < 2; i++) {
        onnx_part w = onnx_tensor_raw("w", ONNX_F32, "", "abcd", 4);
        onnx_part_move(&graph, ONNX_GRAPH_INITIALIZER, &w);
    }
    onnx_part model = onnx_model(&graph, "tiny", 1);
    assert_int_equal(parse_and_free(*state, &model), TN_ERROR_FORMAT);
    assert_int_equal(parse_tensor(state, onnx_tensor_raw("", ONNX_F32, "", "abcd", 4), NULL),
                     TN_ERROR_FORMAT);
}

/* --- files beside the model --- */

typedef struct external_files {
    char path[64], model_folder[80], outside[80], inside[96], link[96];
} external_files;

static void folder_create(external_files *folder) {
    snprintf(folder->path, sizeof(folder->path), "onnx-external-XXXXXX");
    assert_non_null(mkdtemp(folder->path));
    snprintf(folder->model_folder, sizeof(folder->model_folder), "%s/model", folder->path);
    snprintf(folder->outside, sizeof(folder->outside), "%s/secret.bin", folder->path);
    snprintf(folder->inside, sizeof(folder->inside), "%s/weights.bin", folder->model_folder);
    snprintf(folder->link, sizeof(folder->link), "%s/link.bin", folder->model_folder);
    char command[128];
    snprintf(command, sizeof(command), "mkdir %s", folder->model_folder);
    assert_int_equal(system(command), 0);
    float values[64];
    for (int i = 0; i < 64; i++)
        values[i] = (float)i;
    onnx_write_file(folder->inside, values, sizeof(values));
    onnx_write_file(folder->outside, values, sizeof(values));
    assert_int_equal(symlink("../secret.bin", folder->link), 0);
}

static void folder_remove(const external_files *folder) {
    unlink(folder->link);
    unlink(folder->inside);
    unlink(folder->outside);
    rmdir(folder->model_folder);
    rmdir(folder->path);
}

static void test_external_data_is_mapped_once(void **state) {
    external_files folder;
    folder_create(&folder);
    onnx_part graph = onnx_graph("g");
    onnx_part a = onnx_tensor_external("w", ONNX_F32, "2", "weights.bin", "8", "8");
    onnx_part b = onnx_tensor_external("v", ONNX_F32, "3", "weights.bin", NULL, NULL);
    onnx_part c = onnx_tensor_external("u", ONNX_F32, "1", "weights.bin", "3", "4");
    onnx_part_move(&graph, ONNX_GRAPH_INITIALIZER, &a);
    onnx_part_move(&graph, ONNX_GRAPH_INITIALIZER, &b);
    onnx_part_move(&graph, ONNX_GRAPH_INITIALIZER, &c);
    onnx_part model = onnx_model(&graph, "tiny", 1);
    assert_int_equal(parse_in(*state, &model, folder.model_folder), TN_OK);
    onnx_part_free(&model);
    const tn_graph *parsed = ((graph_test *)*state)->graph;
    assert_int_equal(parsed->file_count, 1);
    assert_ptr_equal(initializer(state)->data, (const char *)parsed->files[0].data + 8);
    assert_true(((const float *)initializer(state)->data)[1] == 3);
    const void *unaligned = parsed->tensors[find_tensor(parsed, "u")].data;
    assert_int_equal((uintptr_t)unaligned % 4, 0);
    assert_memory_equal(unaligned, (const char *)parsed->files[0].data + 3, 4);
    folder_remove(&folder);
}

static void test_external_data_stays_in_the_models_folder(void **state) {
    external_files folder;
    folder_create(&folder);
    char absolute[PATH_MAX];
    assert_non_null(realpath(folder.inside, absolute));
    const char *const paths[] = {"../secret.bin",   "link.bin", "/etc/passwd",
                                 "./../secret.bin", "",         absolute};
    for (size_t i = 0; i < TN_COUNT(paths); i++) {
        onnx_part w = onnx_tensor_external("w", ONNX_F32, "2", paths[i], NULL, NULL);
        assert_int_equal(parse_tensor(state, w, folder.model_folder), TN_ERROR_FORMAT);
        assert_error("outside the model's folder", "graph 'g': initializer 'w'");
    }
    folder_remove(&folder);
}

static void test_external_data_reaches_no_further_than_its_file(void **state) {
    external_files folder;
    folder_create(&folder);
    static const struct {
        const char *shape, *offset, *length;
    } cases[] = {{"65", NULL, NULL},
                 {"2", "256", NULL},
                 {"2", "249", "8"},
                 {"2", "18446744073709551615", NULL},
                 {"2", "0", "12"},
                 {"2", "-1", NULL},
                 {"2", "0x10", NULL},
                 {"2", "", NULL},
                 {"2", "99999999999999999999", NULL}};
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        onnx_part w = onnx_tensor_external("w", ONNX_F32, cases[i].shape, "weights.bin",
                                           cases[i].offset, cases[i].length);
        assert_int_equal(parse_tensor(state, w, folder.model_folder), TN_ERROR_FORMAT);
    }
    onnx_part w = onnx_tensor_external("w", ONNX_F32, "2", "missing.bin", NULL, NULL);
    assert_int_equal(parse_tensor(state, w, folder.model_folder), TN_ERROR_NOT_FOUND);
    w = onnx_tensor_external("w", ONNX_F32, "2", ".", NULL, NULL);
    assert_int_not_equal(parse_tensor(state, w, folder.model_folder), TN_OK);
    w = onnx_tensor_external("w", ONNX_F32, "2", NULL, NULL, NULL);
    assert_int_equal(parse_tensor(state, w, folder.model_folder), TN_ERROR_FORMAT);
    w = onnx_tensor_external("w", ONNX_F32, "2", "weights.bin", NULL, NULL);
    assert_int_equal(parse_tensor(state, w, NULL), TN_ERROR_UNSUPPORTED);
    assert_error("without a folder", NULL);
    folder_remove(&folder);
}

static void test_a_file_is_loaded_with_the_data_beside_it(void **state) {
    graph_test *test = *state;
    external_files folder;
    folder_create(&folder);
    onnx_part graph = onnx_graph("g");
    onnx_part w = onnx_tensor_external("w", ONNX_F32, "2", "weights.bin", "4", NULL);
    onnx_part_move(&graph, ONNX_GRAPH_INITIALIZER, &w);
    onnx_graph_node(&graph, "Add", "bad", "tiny", "w,ghost", "y");
    onnx_part model = onnx_model(&graph, "tiny", 1);
    char path[128];
    snprintf(path, sizeof(path), "%s/model.onnx", folder.model_folder);
    onnx_write_file(path, model.data, model.bytes);
    onnx_part_free(&model);
    tn_graph *parsed;
    assert_int_equal(tn_graph_load_onnx(test->runtime, path, &parsed), TN_ERROR_FORMAT);
    assert_error("'ghost'", "model.onnx: graph 'g'");
    unlink(path);
    folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_every_type_comes_as_raw_bytes),
        GRAPH_TEST(test_every_type_comes_as_numbers),
        GRAPH_TEST(test_half_precision_comes_as_bits),
        GRAPH_TEST(test_floats_come_as_lists),
        GRAPH_TEST(test_numbers_that_do_not_fit_their_type_are_refused),
        GRAPH_TEST(test_bools_become_0_or_1),
        GRAPH_TEST(test_empty_tensors_and_scalars),
        GRAPH_TEST(test_sizes_must_fit_exactly),
        GRAPH_TEST(test_absurd_shapes_are_refused),
        GRAPH_TEST(test_other_types_are_named),
        GRAPH_TEST(test_strings_are_a_block),
        GRAPH_TEST(test_names_of_initializers_are_there_once),
        GRAPH_TEST(test_external_data_is_mapped_once),
        GRAPH_TEST(test_external_data_stays_in_the_models_folder),
        GRAPH_TEST(test_external_data_reaches_no_further_than_its_file),
        GRAPH_TEST(test_a_file_is_loaded_with_the_data_beside_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
