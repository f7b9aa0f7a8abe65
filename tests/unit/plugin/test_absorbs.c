/* SPDX-License-Identifier: Apache-2.0 */
/* The facets that a kernel lists: what their texts mean, and where a wrong one is wrong. */
#include "plugin/fields/absorbs.h"

#include "test.h"
#include <tenon/plugin/look_up.h>
#include <tenon/plugin/normalize.h>
#include <tenon/plugin/plane_mean.h>

#include <string.h>

static int setup(void **state) {
    return tn_arena_create(tn_allocator_default(), (tn_arena **)state) == TN_OK ? 0 : -1;
}

static int teardown(void **state) {
    tn_arena_destroy(*state);
    return 0;
}

static void test_names_and_variants_are_read_in_order(void **state) {
    const tn_absorb *items = NULL;
    uint32_t count = 7;
    assert_int_equal(tn_absorbs_parse(*state, NULL, false, &items, &count), TN_OK);
    assert_int_equal(count, 0);
    assert_int_equal(tn_absorbs_parse(*state,
                                      "acme.clamp/12 , tn.activation/1( relu|clip ),tn.row/1",
                                      false, &items, &count),
                     TN_OK);
    assert_int_equal(count, 3);
    assert_string_equal(items[0].facet, "acme.clamp/12");
    assert_string_equal(items[1].facet, TN_FACET_ACTIVATION);
    assert_string_equal(items[2].facet, TN_FACET_ROW);
    assert_true(tn_absorb_has(&items[0], NULL));
    assert_false(tn_absorb_has(&items[0], "relu"));
    assert_true(tn_absorb_has(&items[1], "relu"));
    assert_true(tn_absorb_has(&items[1], "clip"));
    assert_false(tn_absorb_has(&items[1], "elu"));
    assert_false(tn_absorb_has(&items[1], NULL));
}

static void test_all_names_of_the_header_are_known(void **state) {
    const tn_absorb *items = NULL;
    uint32_t count = 0;
    assert_int_equal(tn_absorbs_parse(*state,
                                      TN_FACET_BIAS
                                      ", " TN_FACET_SCALE ", " TN_FACET_RESIDUAL ", " TN_FACET_ROW
                                      ", " TN_FACET_EXPRESSION ", " TN_FACET_WINDOW_MAX
                                      ", " TN_FACET_SOFTMAX ", " TN_FACET_NORMALIZE
                                      ", " TN_FACET_LOOK_UP ", " TN_FACET_PLANE_MEAN
                                      ", " TN_FACET_ACTIVATION "(" TN_ACTIVATIONS_1_0 ")",
                                      false, &items, &count),
                     TN_OK);
    assert_int_equal(count, 11);
    assert_int_equal(items[10].variant_count, TN_ACTIVATION_ELU);
    assert_string_equal(items[10].variants[TN_ACTIVATION_GELU_TANH - 1], "gelu_tanh");
}

static void test_wrong_texts_are_refused_with_the_column(void **state) {
    static const struct {
        const char *text, *part, *column;
    } wrong[] = {{"", "expected a facet's name", "column 1:"},
                 {"tn.bias", "with its version", "column 1:"},
                 {"tn.bias/1,", "expected a facet's name", "column 11:"},
                 {"tn.bias/1 tn.scale/1", "expected ','", "column 11:"},
                 {"tn.bias/1, tn.scales/1", "a library's own prefix", "column 12:"},
                 {"tn.affine/1", "a library's own prefix", "column 1:"},
                 {"tn.activation/1", "expected variants, like tn.activation/1(relu|", "column 16:"},
                 {"tn.activation/1(relu|reluu)", "no variant 'reluu'", "column 22:"},
                 {"tn.activation/1(relu", "expected '|' or ')'", "column 21:"},
                 {"tn.activation/1()", "expected a variant's name", "column 17:"},
                 {"tn.row/1, tn.row/1", "listed twice", "column 11:"},
                 {"x: tn.row/1", "expected a facet's name", "column 1:"},
                 {"tn.row/1, @0 acme.pad/1", "from 1 to 64", "column 11:"},
                 {"@65 acme.pad/1", "from 1 to 64", "column 1:"},
                 {"@99999999999 acme.pad/1", "from 1 to 64", "column 1:"},
                 {"@1acme.pad/1", "and a space", "column 1:"},
                 {"@ acme.pad/1", "the number of an input", "column 1:"},
                 {"@1 acme.pad/1, @1  acme.pad/1", "listed twice", "column 20:"},
                 {"@1 tn.dream/1", "a library's own prefix", "column 4:"},
                 {"acme/1", "expected a facet's name", "column 1:"}};
    for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
        const tn_absorb *items = NULL;
        uint32_t count = 0;
        assert_int_equal(tn_absorbs_parse(*state, wrong[i].text, false, &items, &count),
                         TN_ERROR_PLUGIN);
        const char *message = tn_last_error()->message;
        if (!strstr(message, wrong[i].part) || !strstr(message, wrong[i].column))
            fail_msg("\"%s\": %s", wrong[i].text, message);
    }
}

static void test_a_facet_may_stand_before_an_input(void **state) {
    const tn_absorb *items = NULL;
    uint32_t count = 0;
    assert_int_equal(tn_absorbs_parse(*state,
                                      "@1 tn.convert/1, @12  tn.activation/1(relu), tn.convert/1",
                                      false, &items, &count),
                     TN_OK);
    assert_int_equal(count, 3);
    assert_int_equal(items[0].port, 1);
    assert_string_equal(items[0].facet, "tn.convert/1");
    assert_int_equal(items[1].port, 12);
    assert_true(tn_absorb_has(&items[1], "relu"));
    assert_int_equal(items[2].port, 0);
}

/* What a newer header has is left out, and only that. */
static void test_names_of_a_newer_header_are_left_out(void **state) {
    const tn_absorb *items = NULL;
    uint32_t count = 0;
    assert_int_equal(tn_absorbs_parse(*state,
                                      "tn.dream/1(a|b), tn.activation/1(relu|serf), tn.row/1", true,
                                      &items, &count),
                     TN_OK);
    assert_int_equal(count, 2);
    assert_string_equal(items[0].facet, TN_FACET_ACTIVATION);
    assert_int_equal(items[0].variant_count, 1);
    assert_true(tn_absorb_has(&items[0], "relu"));
    assert_false(tn_absorb_has(&items[0], "serf"));
    assert_int_equal(tn_absorbs_parse(*state, "tn.dream/1, tn.", true, &items, &count),
                     TN_ERROR_PLUGIN);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_names_and_variants_are_read_in_order),
        TEST(test_all_names_of_the_header_are_known),
        TEST(test_wrong_texts_are_refused_with_the_column),
        TEST(test_a_facet_may_stand_before_an_input),
        TEST(test_names_of_a_newer_header_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
