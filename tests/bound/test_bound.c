/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounds of the conformance suite: a convolution whose factors are rounded as a type rounds
 * them stays within, and one with a mistake does not: a tap left out, a channel taken twice, no
 * bias, factors with fewer bits than the type has.
 */
#include "cases/bound.h"
#include "test.h"
#include "tensor/convert.h"

#include <math.h>
#include <stdlib.h>

enum { CHANNELS = 8, FILTERS = 5, EDGE = 9, TAPS = 9 };
static const char text[] = "pads=[1,1,1,1] | X=f32[1,8,9,9] W=f32[5,8,3,3] B=f32[5]";

typedef enum mistake { NONE, LEFT_OUT, TWICE, NO_BIAS } mistake;

typedef struct fixture {
    tn_runtime *runtime;
    tn_arena *arena;
    const tn_operator *op;
    tn_case c;
    tn_outcome expected;
    double largest;
} fixture;

static bool note_conv(void *user, const tn_operator *op, const tn_library_info *library) {
    fixture *f = user;
    (void)library;
    if (strcmp(op->name, "Conv") == 0 && op->domain[0] == 0) f->op = op;
    return true;
}

static int set_up(void **state) {
    static fixture f;
    const tn_case_options reference = {.is_reference = true, .threads = 1};
    f = (fixture){0};
    assert_int_equal(tn_runtime_create(NULL, &f.runtime), TN_OK);
    tn_runtime_visit_operators(f.runtime, note_conv, &f);
    assert_non_null(f.op);
    assert_int_equal(tn_arena_create(tn_allocator_default(), &f.arena), TN_OK);
    assert_int_equal(tn_case_read(f.arena, f.op, text, &f.c), TN_OK);
    assert_int_equal(tn_case_run(f.runtime, f.op, &f.c, &reference, &f.expected), TN_OK);
    const float *y = f.expected.data[0];
    for (int i = 0; i < FILTERS * EDGE * EDGE; i++)
        f.largest =
            fmaxf(fabsf(y[i]), (float)f.largest); /* in float: a double reduction ends aarch64 gcc
                                                     12 with an internal error */
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    tn_outcome_free(&f->expected);
    tn_arena_destroy(f->arena);
    tn_runtime_release(f->runtime);
    return 0;
}

/* To `bits` behind the first one, to nearest or toward zero. */
static double keep_bits(double value, int bits, bool is_cut) {
    int exponent;
    const double mantissa = frexp(value, &exponent), scale = exp2(bits + 1);
    const double kept = is_cut ? trunc(mantissa * scale) : rint(mantissa * scale);
    return ldexp(kept / scale, exponent);
}

/* One number of the convolution, factors rounded. */
static double convolve(const fixture *f, int filter, int row, int column, int bits, bool is_cut,
                       mistake wrong) {
    const float *x = f->c.inputs[0].data, *w = f->c.inputs[1].data, *b = f->c.inputs[2].data;
    double sum = 0;
    for (int c = 0; c < CHANNELS; c++)
        for (int t = 0; t < TAPS; t++) {
            const int y = row + t / 3 - 1, z = column + t % 3 - 1;
            const int from = wrong == TWICE && c == CHANNELS - 1 ? c - 1 : c;
            if (y < 0 || y >= EDGE || z < 0 || z >= EDGE) continue;
            if (wrong == LEFT_OUT && c == 3 && t == 4) continue;
            sum += keep_bits((double)x[(from * EDGE + y) * EDGE + z], bits, is_cut) *
                   keep_bits((double)w[(filter * CHANNELS + c) * TAPS + t], bits, is_cut);
        }
    return wrong == NO_BIAS ? sum : sum + (double)b[filter];
}

/* How many numbers of the convolution are not within the bound of tf32. */
static int count_beyond_tf32(fixture *f, int bits, bool is_cut, mistake wrong) {
    const tn_bound_case bound = {f->runtime, f->op, f->arena, &f->c, TN_NONE, 0};
    const float *wanted = f->expected.data[0];
    tn_outcome products = {0};
    int beyond = 0;
    assert_int_equal(tn_bound_tf32(&bound, &products), TN_OK);
    for (int i = 0; i < FILTERS * EDGE * EDGE; i++) {
        const int filter = i / (EDGE * EDGE), row = i / EDGE % EDGE, column = i % EDGE;
        const double found = convolve(f, filter, row, column, bits, is_cut, wrong);
        const double allowed = tn_bound_of(TN_F32, (double)wanted[i],
                                           (double)((float *)products.data[0])[i], 0, f->largest);
        beyond += !(fabs(found - (double)wanted[i]) <= allowed);
    }
    tn_outcome_free(&products);
    return beyond;
}

static void bound_tf32_takes_ten_bits(void **state) {
    assert_int_equal(count_beyond_tf32(*state, 10, false, NONE), 0);
    assert_int_equal(count_beyond_tf32(*state, 10, true, NONE), 0);
}

static void bound_tf32_finds_mistakes(void **state) {
    const int all = FILTERS * EDGE * EDGE;
    assert_true(count_beyond_tf32(*state, 10, false, LEFT_OUT) > all / 2);
    assert_true(count_beyond_tf32(*state, 10, false, TWICE) > all / 2);
    assert_true(count_beyond_tf32(*state, 10, false, NO_BIAS) > all / 2);
    assert_true(count_beyond_tf32(*state, 5, true, NONE) > 0);
}

/* The inputs as a 16-bit type holds them, the products in double precision; `is_early`: the sum is
 * rounded before the bias. */
static int count_beyond_half(fixture *f, tn_type type, bool is_early, mistake wrong) {
    const tn_case_options reference = {.is_reference = true, .threads = 1};
    const int bits = type == TN_F16 ? 10 : 7;
    tn_case c = f->c;
    fixture rounded = *f;
    float *x = tn_arena_allocate(f->arena, CHANNELS * EDGE * EDGE, sizeof(*x));
    const float *b = f->c.inputs[2].data;
    int beyond = 0;
    c.inputs = tn_arena_allocate(f->arena, c.input_count, sizeof(*c.inputs));
    assert_true(x && c.inputs);
    memcpy(c.inputs, f->c.inputs, c.input_count * sizeof(*c.inputs));
    for (int i = 0; i < CHANNELS * EDGE * EDGE; i++)
        x[i] = (float)keep_bits((double)((float *)f->c.inputs[0].data)[i], bits, false);
    c.inputs[0].data = x;
    rounded.c = c;
    rounded.expected = (tn_outcome){0};
    const tn_bound_case bound = {f->runtime, f->op, f->arena, &c, type, 1};
    tn_outcome weights = {0}, sums = {0};
    assert_int_equal(tn_case_run(f->runtime, f->op, &c, &reference, &rounded.expected), TN_OK);
    assert_int_equal(tn_bound_weights(&bound, &weights), TN_OK);
    assert_int_equal(tn_bound_sums(&bound, &sums), TN_OK);
    for (int i = 0; i < FILTERS * EDGE * EDGE; i++) {
        const int filter = i / (EDGE * EDGE), row = i / EDGE % EDGE, column = i % EDGE;
        const double bias = (double)b[filter], y = (double)((float *)rounded.expected.data[0])[i];
        double sum = convolve(&rounded, filter, row, column, bits, false, wrong) -
                     (wrong == NO_BIAS ? 0 : bias);
        if (is_early) sum = keep_bits(sum, bits, false);
        const double found = keep_bits(sum + (wrong == NO_BIAS ? 0 : bias), bits, false);
        const double allowed = tn_bound_of(type, y, (double)((float *)weights.data[0])[i],
                                           (double)((float *)sums.data[0])[i], rounded.largest);
        beyond += !(fabs(found - y) <= allowed);
    }
    tn_outcome_free(&rounded.expected);
    tn_outcome_free(&weights);
    tn_outcome_free(&sums);
    return beyond;
}

static void bound_halves_take_two_roundings(void **state) {
    for (int is_early = 0; is_early < 2; is_early++) {
        assert_int_equal(count_beyond_half(*state, TN_F16, is_early, NONE), 0);
        assert_int_equal(count_beyond_half(*state, TN_BF16, is_early, NONE), 0);
    }
}

static void bound_halves_find_mistakes(void **state) {
    const mistake mistakes[] = {LEFT_OUT, TWICE, NO_BIAS};
    const int all = FILTERS * EDGE * EDGE;
    for (int i = 0; i < 3; i++) {
        assert_true(count_beyond_half(*state, TN_F16, false, mistakes[i]) > all / 2);
        assert_true(count_beyond_half(*state, TN_BF16, false, mistakes[i]) > all / 2);
    }
}

/* As above, with x in 32-bit floats, which the kernel rounds. */
static int count_beyond_both(fixture *f, tn_type type, mistake wrong) {
    const tn_bound_case bound = {f->runtime, f->op, f->arena, &f->c, type, 0};
    const float *wanted = f->expected.data[0];
    const int bits = type == TN_F16 ? 10 : 7;
    tn_outcome weights = {0};
    int beyond = 0;
    assert_int_equal(tn_bound_weights(&bound, &weights), TN_OK);
    for (int i = 0; i < FILTERS * EDGE * EDGE; i++) {
        const int filter = i / (EDGE * EDGE), row = i / EDGE % EDGE, column = i % EDGE;
        const double found =
            keep_bits(convolve(f, filter, row, column, bits, false, wrong), bits, false);
        const double allowed = tn_bound_of(type, (double)wanted[i],
                                           (double)((float *)weights.data[0])[i], 0, f->largest);
        beyond += !(fabs(found - (double)wanted[i]) <= allowed);
    }
    tn_outcome_free(&weights);
    return beyond;
}

static void bound_halves_take_both_factors(void **state) {
    const mistake mistakes[] = {LEFT_OUT, TWICE, NO_BIAS};
    const int all = FILTERS * EDGE * EDGE;
    assert_int_equal(count_beyond_both(*state, TN_F16, NONE), 0);
    assert_int_equal(count_beyond_both(*state, TN_BF16, NONE), 0);
    for (int i = 0; i < 3; i++)
        assert_true(count_beyond_both(*state, TN_F16, mistakes[i]) > all / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_tf32_takes_ten_bits),
        cmocka_unit_test(bound_tf32_finds_mistakes),
        cmocka_unit_test(bound_halves_take_two_roundings),
        cmocka_unit_test(bound_halves_find_mistakes),
        cmocka_unit_test(bound_halves_take_both_factors),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
