/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of binary16 as doubles: each of the 65,536 by what its exponent and fraction say. */
#include "kit/math/element.h"
#include "test.h"

#include <math.h>

static double by_definition(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31  ? (fraction ? (double)NAN : (double)INFINITY)
                        : exponent == 0 ? ldexp(fraction, -24)
                                        : ldexp(fraction + 1024, exponent - 25);
    return bits & 0x8000 ? -size : size;
}

static void test_each_binary16_is_what_its_bits_say(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
        const double found = tn_element_f64_from_f16((uint16_t)bits);
        const double wanted = by_definition((uint16_t)bits);
        assert_true(isnan(wanted) ? isnan(found) : found == wanted);
        assert_int_equal(signbit(found) != 0, bits >> 15);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_binary16_is_what_its_bits_say)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
