/* SPDX-License-Identifier: Apache-2.0 */
/* Networks that are run whole decide whether less precision is faster at all. */
#include "quantized_layers.h" /* before cmocka's macro `fail`, which is also a member of tn_host */

#include "build_test.h"

#include <tenon/builder.h>

/* What steps take in a network. */
typedef struct network {
    double byte_ns, float_ns;
    uint32_t float_runs; /* steps in floats that ran */
} network;
typedef struct opened_program {
    tn_program program;
    network *fake;
} opened_program;

static tn_status open_network(void *user, const tn_program *program, void **out_network) {
    opened_program *opened = malloc(sizeof *opened);
    assert_non_null(opened);
    *opened = (opened_program){*program, user};
    *out_network = opened;
    return TN_OK;
}

static double time_steps(const opened_program *opened, double *out_step_ns) {
    double sum = 0;
    for (uint32_t i = 0; i < opened->program.step_count; i++) {
        const char *kernel = opened->program.steps[i].kernel;
        const bool is_float = kernel && strcmp(kernel, "weigh_f32") == 0;
        out_step_ns[i] = is_float                                    ? opened->fake->float_ns
                         : kernel && strcmp(kernel, "weigh_i8") == 0 ? opened->fake->byte_ns
                                                                     : 100;
        sum += out_step_ns[i];
        opened->fake->float_runs += is_float;
    }
    return sum;
}

static tn_status race(void *const *networks, uint32_t count, double most_ns,
                      double *const *out_step_ns, double *out_ns) {
    (void)most_ns;
    for (uint32_t i = 0; i < count; i++)
        out_ns[i] = time_steps(networks[i], out_step_ns[i]);
    return TN_OK;
}

/* By themselves kernels of 8 bits take 20 us and those of floats 300: which one computes `a`? */
static void assert_kernel(graph_test *test, network *fake, const char *kernel) {
    static const int64_t extents[] = {1, 4, 2, 2}, channels[] = {4};
    const tn_lower_runner runner = {open_network, fake, free, race};
    float scales[64] = {0};
    build_stage stage;
    tn_tensor_id last = add_input(test->graph, "x", TN_F32, 4, extents);
    scales[last] = 1;
    for (int i = 0; i < 2; i++) {
        const tn_tensor_id inputs[] = {
            last, add_floats(test->graph, i == 0 ? "a_w" : "b_w", 1, channels)};
        last = add_node(test->graph, "Weigh", i == 0 ? "a" : "b", 2, inputs);
        scales[last] = 1;
    }
    add_output(test->graph, last);
    quantized_float_ns = 300000;
    quantized_byte_ns = 20000;
    lower_or_fail(
        &stage, test->graph,
        (tn_lower_options){.precision = TN_PRECISION_I8, .scales = scales, .runner = &runner});
    assert_string_equal(kernel_of(&stage, "a"), kernel);
    stage_end(&stage);
}

static void test_what_is_slower_in_a_network_is_not_taken(void **state) {
    network fake = {.byte_ns = 900e3, .float_ns = 100e3};
    assert_kernel(*state, &fake, "weigh_f32");
}

static void test_what_is_faster_is_and_both_run(void **state) {
    network fake = {.byte_ns = 10e3, .float_ns = 100e3};
    assert_kernel(*state, &fake, "weigh_i8");
    assert_true(fake.float_runs > 0);
}

static int setup(void **state) {
    quantized_float_ns = quantized_byte_ns = 0;
    if (build_test_setup(state) != 0) return -1;
    graph_test *test = *state;
    return tn_runtime_register_library(test->runtime, quantized_entry) == TN_OK ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_slower_in_a_network_is_not_taken, setup,
                                        graph_test_teardown),
        cmocka_unit_test_setup_teardown(test_what_is_faster_is_and_both_run, setup,
                                        graph_test_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
