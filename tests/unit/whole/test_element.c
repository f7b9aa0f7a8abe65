/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of the command line's files (tools/tenon/files/element.c, which stands on the public
 * interface alone) are those of the core, in every pattern of every type of 8 bits and less. */
#include "test.h"

#include "tensor/type.h"
#include "tools/tenon/files/element.c" /* no part of the library that tests are linked with */

static void test_narrow_elements_are_those_of_the_core(void **state) {
    uint8_t patterns[256];
    (void)state;
    for (int i = 0; i < 256; i++)
        patterns[i] = (uint8_t)i;
    for (tn_type type = TN_F8E4M3; type <= TN_U2; type++) {
        for (size_t k = 0; k < tn_type_elements(type, sizeof(patterns)); k++) {
            const double wanted = tn_element_get_f64(patterns, type, k);
            const double found = element_number(patterns, type, k);
            if (isnan(wanted) ? !isnan(found) : wanted != found)
                fail_msg("%s, element %zu: %g, expected %g", tn_type_name(type), k, found, wanted);
        }
    }
}

static void test_packed_elements_are_printed(void **state) {
    static const uint8_t bytes[] = {0xF8, 0x74};
    char text[ELEMENT_TEXT_BYTES];
    (void)state;
    assert_string_equal(element_print(bytes, TN_I4, 0, 4, text), "-8");
    assert_string_equal(element_print(bytes, TN_I4, 1, 4, text), "-1");
    assert_string_equal(element_print(bytes, TN_U4, 3, 4, text), "7");
    assert_string_equal(element_print(bytes, TN_F4E2M1, 1, 4, text), "-6");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_narrow_elements_are_those_of_the_core),
        cmocka_unit_test(test_packed_elements_are_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
