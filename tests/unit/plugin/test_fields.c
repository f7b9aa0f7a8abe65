/* SPDX-License-Identifier: Apache-2.0 */
/* Fields: attributes to parameters and back, defaults, bounds, refusals, tables that are wrong. */
#include "plugin/fields/fields.h" /* before cmocka's macro `fail` */

#include "test.h"

#include <math.h>

#define NAN_VALUE NAN

typedef struct pool_params {
    uint64_t present;
    bool is_open;
    int32_t narrow;
    int64_t wide;
    float ratio;
    double exact;
    const char *label;
    tn_bytes blob;
    tn_type type;
    uint32_t mode;
    tn_i64s kernel;
    tn_f32s scales;
    tn_strings names;
} pool_params;

static const tn_field pool_fields[] = {
    TN_FIELD(pool_params, is_open, TN_FIELD_BOOL, TN_OPTIONAL, "true", "open"),
    TN_FIELD_RANGE(pool_params, narrow, TN_FIELD_I32, TN_OPTIONAL, "-3", -5, 5, "narrow"),
    TN_FIELD(pool_params, wide, TN_FIELD_I64, TN_REQUIRED, NULL, "wide"),
    TN_FIELD_RANGE(pool_params, ratio, TN_FIELD_F32, TN_OPTIONAL, "0.25", 0, 1, "ratio"),
    TN_FIELD(pool_params, exact, TN_FIELD_F64, TN_OPTIONAL, "1e-3", "exact"),
    TN_FIELD_CHOICE(pool_params, label, TN_FIELD_STRING, TN_OPTIONAL, "one", "one|two", "label"),
    TN_FIELD(pool_params, blob, TN_FIELD_BYTES, TN_OPTIONAL, NULL, "blob"),
    TN_FIELD(pool_params, type, TN_FIELD_TYPE, TN_OPTIONAL, "f16", "type"),
    TN_FIELD_CHOICE(pool_params, mode, TN_FIELD_ENUM, TN_OPTIONAL, "slow", "slow=2|fast=7", "mode"),
    TN_FIELD_LIST(pool_params, kernel, TN_FIELD_I64S, TN_OPTIONAL, "[2,3]", 1, 3, 1, 100, "kernel"),
    TN_FIELD(pool_params, scales, TN_FIELD_F32S, TN_OPTIONAL, NULL, "scales"),
    TN_FIELD(pool_params, names, TN_FIELD_STRINGS, TN_OPTIONAL, NULL, "names")};
static const tn_operator pool = {.size = sizeof(tn_operator),
                                 .domain = "Test",
                                 .name = "Pool",
                                 TN_FIELDS(pool_params, pool_fields)};

static const tn_attribute wide = {
    .size = sizeof(wide), .type = TN_FIELD_I64, .name = "wide", .i = INT64_MIN};

static int setup(void **state) {
    return tn_arena_create(tn_allocator_default(), (tn_arena **)state) == TN_OK ? 0 : -1;
}

static int teardown(void **state) {
    tn_arena_destroy(*state);
    return 0;
}

/* Parses `attribute` beside the required one. */
static tn_status parse(void **state, const tn_attribute *attribute,
                       const pool_params **out_params) {
    const tn_attribute *both[] = {&wide, attribute};
    void *params = NULL;
    tn_status status = tn_fields_parse(*state, &pool, attribute ? 2 : 1, both, &params);
    if (status == TN_OK) *out_params = params;
    return status;
}

static void test_defaults_are_set_and_not_present(void **state) {
    const pool_params *params = NULL;
    assert_int_equal(parse(state, NULL, &params), TN_OK);
    assert_int_equal(params->present, 1u << 2);
    assert_true(params->is_open);
    assert_int_equal(params->narrow, -3);
    assert_true(params->wide == INT64_MIN);
    assert_true(params->ratio == 0.25f && params->exact == 1e-3);
    assert_string_equal(params->label, "one");
    assert_int_equal(params->blob.count, 0);
    assert_int_equal(params->type, TN_F16);
    assert_int_equal(params->mode, 2);
    assert_int_equal(params->kernel.count, 2);
    assert_int_equal(params->kernel.items[1], 3);
    assert_int_equal(params->names.count, 0);
}

static void test_values_are_taken_in_kindred_forms(void **state) {
    const pool_params *params = NULL;
    const tn_attribute whole = {
        .size = sizeof(whole), .type = TN_FIELD_I64, .name = "ratio", .i = 1};
    const tn_attribute single = {
        .size = sizeof(single), .type = TN_FIELD_I64, .name = "kernel", .i = 9};
    const tn_attribute by_name = {
        .size = sizeof(by_name), .type = TN_FIELD_STRING, .name = "mode", .s = "fast"};
    const tn_attribute by_number = {
        .size = sizeof(by_number), .type = TN_FIELD_I64, .name = "mode", .i = 7};
    assert_int_equal(parse(state, &whole, &params), TN_OK);
    assert_true(params->ratio == 1.0f);
    assert_int_equal(parse(state, &single, &params), TN_OK);
    assert_int_equal(params->kernel.count, 1);
    assert_int_equal(params->kernel.items[0], 9);
    assert_int_equal(parse(state, &by_name, &params), TN_OK);
    assert_int_equal(params->mode, 7);
    assert_int_equal(parse(state, &by_number, &params), TN_OK);
    assert_int_equal(params->mode, 7);
}

static void test_an_attribute_of_an_older_shorter_struct_is_read(void **state) {
    const pool_params *params = NULL;
    struct {
        uint32_t size, type;
        const char *name;
        int64_t i;
    } short_one = {sizeof(short_one), TN_FIELD_I64, "narrow", 4};
    assert_int_equal(parse(state, (const tn_attribute *)(const void *)&short_one, &params), TN_OK);
    assert_int_equal(params->narrow, 4);
}

static void test_what_does_not_fit_is_refused_by_name(void **state) {
    static const int64_t four[] = {1, 1, 1, 1}, zero[] = {0};
    static const struct {
        tn_attribute attribute;
        tn_status status;
        const char *part;
    } cases[] = {
        {{.type = TN_FIELD_I64, .name = "kernal"}, TN_ERROR_ARGUMENT, "'kernel'"},
        {{.type = TN_FIELD_I64, .name = "wide"}, TN_ERROR_ARGUMENT, "twice"},
        {{.type = TN_FIELD_I64, .name = "narrow", .i = 6}, TN_ERROR_RANGE, "narrow"},
        {{.type = TN_FIELD_F32, .name = "ratio", .f = 1.5}, TN_ERROR_RANGE, "ratio"},
        {{.type = TN_FIELD_F32, .name = "ratio", .f = (double)NAN_VALUE}, TN_ERROR_RANGE, "ratio"},
        {{.type = TN_FIELD_STRING, .name = "narrow", .s = "4"}, TN_ERROR_TYPE, "narrow"},
        {{.type = TN_FIELD_STRING, .name = "label", .s = "three"}, TN_ERROR_RANGE, "one|two"},
        {{.type = TN_FIELD_STRING, .name = "mode", .s = "quick"}, TN_ERROR_RANGE, "slow=2|fast=7"},
        {{.type = TN_FIELD_I64, .name = "mode", .i = 3}, TN_ERROR_RANGE, "mode"},
        {{.type = TN_FIELD_I64, .name = "type", .i = 0}, TN_ERROR_RANGE, "type"},
        {{.type = TN_FIELD_I64, .name = "type", .i = 99}, TN_ERROR_RANGE, "type"},
        {{.type = TN_FIELD_STRING, .name = "type", .s = "f99"}, TN_ERROR_RANGE, "type"},
        {{.type = TN_FIELD_I64S, .name = "kernel", .count = 4, .items = four},
         TN_ERROR_RANGE,
         "kernel"},
        {{.type = TN_FIELD_I64S, .name = "kernel", .count = 1, .items = zero},
         TN_ERROR_RANGE,
         "kernel"},
        {{.type = TN_FIELD_I64S, .name = "kernel", .count = 1}, TN_ERROR_ARGUMENT, "null"},
        {{.type = TN_FIELD_STRING, .name = "label"}, TN_ERROR_ARGUMENT, "null"},
        {{.type = TN_FIELD_TENSOR, .name = "blob"}, TN_ERROR_ARGUMENT, "null"},
        {{.type = TN_FIELD_I64, .name = "names", .i = 1}, TN_ERROR_TYPE, "names"},
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        const pool_params *params = NULL;
        tn_attribute attribute = cases[i].attribute;
        attribute.size = sizeof(attribute);
        assert_failed(parse(state, &attribute, &params), cases[i].status, cases[i].part);
        assert_null(params);
    }
}

static void test_a_required_field_is_asked_for(void **state) {
    void *params = NULL;
    assert_failed(tn_fields_parse(*state, &pool, 0, NULL, &params), TN_ERROR_ARGUMENT, "'wide'");
    assert_null(params);
}

static void test_given_fields_come_back_as_they_were(void **state) {
    static const char *const texts[] = {"a", "", "b c"};
    static const uint8_t bytes[] = {0, 255, 7};
    static const float scales[] = {0.5f, -2};
    const tn_attribute given[] = {
        wide,
        {.size = sizeof(wide),
         .type = TN_FIELD_STRINGS,
         .name = "names",
         .count = 3,
         .items = texts},
        {.size = sizeof(wide), .type = TN_FIELD_BYTES, .name = "blob", .count = 3, .items = bytes},
        {.size = sizeof(wide),
         .type = TN_FIELD_F32S,
         .name = "scales",
         .count = 2,
         .items = scales},
        {.size = sizeof(wide), .type = TN_FIELD_STRING, .name = "mode", .s = "fast"},
        {.size = sizeof(wide), .type = TN_FIELD_STRING, .name = "type", .s = "i8"}};
    const tn_attribute *list[] = {&given[0], &given[1], &given[2], &given[3], &given[4], &given[5]};
    const tn_attribute *const *back = NULL;
    uint64_t count = 0;
    void *params = NULL, *again = NULL;
    tn_text text;
    assert_int_equal(tn_fields_parse(*state, &pool, 6, list, &params), TN_OK);
    assert_int_equal(tn_fields_to_attributes(*state, &pool, params, &count, &back), TN_OK);
    assert_int_equal(count, 6);
    assert_int_equal(tn_fields_parse(*state, &pool, count, back, &again), TN_OK);
    assert_true(tn_fields_hash(&pool, params) == tn_fields_hash(&pool, again));
    const pool_params *same = again;
    assert_string_equal(same->names.items[2], "b c");
    assert_memory_equal(same->blob.items, bytes, 3);
    assert_int_equal(same->type, TN_I8);
    assert_int_equal(tn_fields_parse(*state, &pool, 1, list, &again), TN_OK);
    assert_false(tn_fields_hash(&pool, params) == tn_fields_hash(&pool, again));
    tn_text_init(&text, tn_allocator_default());
    tn_fields_print(&pool, params, &text);
    assert_non_null(strstr(text.data, "mode=fast"));
    tn_text_deinit(&text);
}

static void test_wrong_tables_are_refused(void **state) {
    static const struct {
        tn_field field;
        const char *part;
    } cases[] = {
        {{.name = "x", .type = 99, .offset = 8, .bytes = 8}, "not known"},
        {{.name = "x", .type = TN_FIELD_I64, .offset = 8, .bytes = 4}, "4 bytes"},
        {{.name = "x", .type = TN_FIELD_I64, .offset = 0, .bytes = 8}, "outside"},
        {{.name = "x", .type = TN_FIELD_I64, .offset = 12, .bytes = 8}, "outside"},
        {{.name = "x", .type = TN_FIELD_I64, .offset = UINT32_MAX, .bytes = 8}, "outside"},
        {{.name = "x", .type = TN_FIELD_I32, .offset = 9, .bytes = 4}, "aligned"},
        {{.name = "", .type = TN_FIELD_I64, .offset = 8, .bytes = 8}, "no name"},
        {{.name = "x", .type = TN_FIELD_ENUM, .offset = 8, .bytes = 4}, "without choices"},
        {{.name = "x", .type = TN_FIELD_I64, .offset = 8, .bytes = 8, .fallback = "two"},
         "default"},
        {{.name = "x",
          .type = TN_FIELD_I64,
          .offset = 8,
          .bytes = 8,
          .fallback = "9",
          .minimum = 1,
          .maximum = 3},
         "default"},
    };
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        tn_operator op = {.size = sizeof(op),
                          .name = "Wrong",
                          .params_bytes = 16,
                          .field_size = sizeof(tn_field),
                          .field_count = 1,
                          .fields = &cases[i].field};
        assert_failed(tn_fields_check_table(&op), TN_ERROR_PLUGIN, cases[i].part);
    }
    const tn_field twins[] = {{.name = "x", .type = TN_FIELD_I32, .offset = 8, .bytes = 4},
                              {.name = "x", .type = TN_FIELD_I32, .offset = 12, .bytes = 4}};
    tn_operator op = {.size = sizeof(op),
                      .name = "Wrong",
                      .params_bytes = 16,
                      .field_size = sizeof(tn_field),
                      .field_count = 2,
                      .fields = twins};
    assert_failed(tn_fields_check_table(&op), TN_ERROR_PLUGIN, "two fields");
    const tn_field over[] = {{.name = "x", .type = TN_FIELD_I64, .offset = 8, .bytes = 8},
                             {.name = "y", .type = TN_FIELD_I32, .offset = 12, .bytes = 4}};
    op.fields = over;
    assert_failed(tn_fields_check_table(&op), TN_ERROR_PLUGIN, "'x' and 'y' share memory");
    assert_int_equal(tn_fields_check_table(&pool), TN_OK);
}

static void test_memory_may_fail_anywhere(void **state) {
    static const char *const texts[] = {"a", "b"};
    const tn_attribute names = {.size = sizeof(names),
                                .type = TN_FIELD_STRINGS,
                                .name = "names",
                                .count = 2,
                                .items = texts};
    const tn_attribute *both[] = {&wide, &names};
    (void)state;
    for (uint64_t at = 1;; at++) {
        failing_allocator allocator;
        tn_arena *arena = NULL;
        void *params = NULL;
        failing_allocator_init(&allocator);
        allocator.fail_at = at;
        tn_status status = tn_arena_create(&allocator.functions, &arena);
        if (status == TN_OK) status = tn_fields_parse(arena, &pool, 2, both, &params);
        tn_arena_destroy(arena);
        assert_int_equal(allocator.live, 0);
        if (status == TN_OK) break;
        assert_int_equal(status, TN_ERROR_MEMORY);
        assert_null(params);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_defaults_are_set_and_not_present, setup, teardown),
        cmocka_unit_test_setup_teardown(test_values_are_taken_in_kindred_forms, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_attribute_of_an_older_shorter_struct_is_read, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_what_does_not_fit_is_refused_by_name, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_required_field_is_asked_for, setup, teardown),
        cmocka_unit_test_setup_teardown(test_given_fields_come_back_as_they_were, setup, teardown),
        cmocka_unit_test(test_wrong_tables_are_refused),
        cmocka_unit_test(test_memory_may_fail_anywhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
