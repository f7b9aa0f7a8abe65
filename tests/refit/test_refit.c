/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refits compute what a build with the new data computes; what cannot be refitted, wrong names,
 * types and shapes are refused; the build says what it left as it is.
 */
#include "refit_nets.h"

#include "plan/refit/refit_index.h"
#include "plan_repair.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef struct refit_test {
    failing_allocator allocator;
    tn_runtime *runtime;
    char log[512];
} refit_test;

static void keep_log(void *user, uint32_t level, const char *text) {
    refit_test *test = user;
    if (level <= TN_LOG_WARNING) snprintf(test->log, sizeof(test->log), "%s", text);
}

static int set_up(void **state) {
    refit_test *test = calloc(1, sizeof(*test));
    if (!test) return -1;
    failing_allocator_init(&test->allocator);
    *state = test;
    const tn_runtime_options options = {.size = sizeof(options),
                                        .allocator = &test->allocator.functions,
                                        .log = keep_log,
                                        .log_user = test,
                                        .flags = TN_RUNTIME_NO_ENVIRONMENT};
    return tn_runtime_create(&options, &test->runtime) == TN_OK &&
                   tn_runtime_load_library(test->runtime, KEEP_LIBRARY) == TN_OK &&
                   tn_runtime_load_library(test->runtime, BODIES_LIBRARY) == TN_OK
               ? 0
               : -1;
}

static int tear_down(void **state) {
    refit_test *test = *state;
    tn_runtime_release(test->runtime);
    const int64_t left = test->allocator.live;
    free(test);
    if (left != 0) print_error("%lld blocks are left\n", (long long)left);
    return left == 0 ? 0 : -1;
}
#define REFIT_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

/* ----------------------------------------------------------------------------------------------
 * results */

static float first[NET_OUTPUTS], found[NET_OUTPUTS], expected[NET_OUTPUTS];

/* From seed 1 to 2 and on to 3, against builds with that data: with the same kernels the same bits,
 * near to it where what was folded is computed in another order. */
static void check_network(tn_runtime *runtime, net_maker maker, uint32_t flags, bool go) {
    tn_engine *engine = net_engine(runtime, maker, 1, TN_BUILD_REFIT | flags);
    const size_t count = net_run(engine, go, first);
    assert_true(tn_engine_refit_count(engine) > 0);
    tn_engine *last = tn_engine_retain(engine);
    for (uint32_t seed = 2; seed <= 3; seed++) {
        tn_engine *refitted = net_refit(last, runtime, maker, seed);
        tn_engine *built = net_engine(runtime, maker, seed, TN_BUILD_REFIT | flags);
        tn_engine *plain = net_engine(runtime, maker, seed, flags);
        assert_int_equal(net_run(refitted, go, found), count);
        assert_int_equal(net_run(built, go, expected), count);
        net_compare(found, expected, count, 0, "a build with the same constants to be refitted");
        assert_int_equal(net_run(plain, go, expected), count);
        net_compare(found, expected, count, 2e-4f, "a plain build");
        assert_true(memcmp(found, first, count * sizeof(float)) != 0);
        tn_engine_release(built);
        tn_engine_release(plain);
        tn_engine_release(last);
        last = refitted;
    }
    net_run(engine, go, found);
    net_compare(found, first, count, 0, "the engine that was refitted");
    tn_engine_release(last);
    tn_engine_release(engine);
}

static void check_networks(tn_runtime *runtime, uint32_t flags) {
    static const net_maker makers[] = {net_lenet, net_shared, net_rewritten, net_keep};
    for (size_t i = 0; i < TEST_COUNT(makers); i++)
        check_network(runtime, makers[i], flags, true);
}

static void test_results_are_those_of_a_build(void **state) {
    refit_test *test = *state;
    check_networks(test->runtime, 0);
}

static void test_results_without_fusion_and_by_references(void **state) {
    refit_test *test = *state;
    check_networks(test->runtime, TN_BUILD_NO_FUSION);
    check_networks(test->runtime, TN_BUILD_REFERENCE);
}

/* Constants of bodies, and of the same name around them; bodies with engines, and by references. */
static void test_bodies_are_refitted(void **state) {
    refit_test *test = *state;
    for (int go = 0; go < 2; go++) {
        check_network(test->runtime, net_bodies, 0, go);
        check_network(test->runtime, net_bodies, TN_BUILD_REFERENCE, go);
    }
}

static void test_low_precisions_are_refitted(void **state) {
    static const uint32_t precisions[] = {TN_PRECISION_BF16, TN_PRECISION_F16, TN_PRECISION_I8};
    refit_test *test = *state;
    tn_calibration *table = NULL;
    must(tn_calibration_create(test->runtime, &table));
    for (size_t i = 0; i < TEST_COUNT(precisions); i++) {
        tn_builder_options options = net_options(TN_BUILD_REFIT);
        options.precision = precisions[i];
        options.calibration = table;
        tn_graph *graph = net_make(test->runtime, net_lenet, 1);
        for (size_t t = 0; t < graph->tensor_count; t++)
            must(tn_calibration_set(table, graph->tensors[t].name, 0.125f));
        tn_graph_destroy(graph);
        tn_plan *plans[2];
        for (uint32_t seed = 1; seed <= 2; seed++)
            plans[seed - 1] = net_build(test->runtime, net_lenet, seed, &options);
        tn_engine *engine = net_load(test->runtime, plans[0], 0, NULL);
        tn_engine *built = net_load(test->runtime, plans[1], 0, NULL);
        tn_engine *refitted = net_refit(engine, test->runtime, net_lenet, 2);
        const size_t count = net_run(built, true, expected);
        net_run(refitted, true, found);
        net_compare(found, expected, count, 0, "a build in a lower precision");
        tn_engine_release(engine);
        tn_engine_release(built);
        tn_engine_release(refitted);
        tn_plan_destroy(plans[0]);
        tn_plan_destroy(plans[1]);
    }
    tn_calibration_destroy(table);
}

/* A convolution and a tensor that is added, which may turn out to be broadcast. */
static void net_residual(tn_graph *graph, uint32_t seed) {
    tn_tensor_id r = TN_NO_TENSOR;
    const tn_tensor_id x = net_input(graph, 4, SHAPE(-1, 3, 8, 8));
    must(tn_graph_add_input(graph, "r", TN_F32, 4, SHAPE(-1, 6, 8, 8), NULL, &r));
    const tn_tensor_id y = net_conv(graph, "conv", x, 3, 6, seed);
    must(tn_graph_add_output(graph, net_node(graph, "Add", "add", 2, IDS(y, r)), "y"));
}

static tn_engine *residual_engine(tn_runtime *runtime, uint32_t seed) {
    static const int64_t x[3][4] = {{1, 3, 8, 8}, {2, 3, 8, 8}, {4, 3, 8, 8}},
                         r[3][4] = {{1, 6, 8, 8}, {2, 6, 8, 8}, {4, 6, 8, 8}};
    const tn_profile_input inputs[] = {{.size = sizeof(*inputs),
                                        .rank = 4,
                                        .name = "x",
                                        .minimum = x[0],
                                        .optimum = x[1],
                                        .maximum = x[2]},
                                       {.size = sizeof(*inputs),
                                        .rank = 4,
                                        .name = "r",
                                        .minimum = r[0],
                                        .optimum = r[1],
                                        .maximum = r[2]}};
    const tn_profile_input *const profiles[] = {&inputs[0], &inputs[1]};
    tn_builder_options options = net_options(TN_BUILD_REFIT);
    options.profile_input_count = 2;
    options.profile_inputs = profiles;
    tn_plan *plan = net_build(runtime, net_residual, seed, &options);
    tn_engine *engine = net_load(runtime, plan, 0, NULL);
    tn_plan_destroy(plan);
    return engine;
}

/* Of `batch` images, on one residual. */
static size_t run_residual(tn_engine *engine, int64_t batch, float *out) {
    static _Alignas(64) float x[4 * 192], r[4 * 384];
    tn_context *context = NULL;
    const tn_tensor *made = NULL;
    for (size_t i = 0; i < TEST_COUNT(r); i++)
        x[i % TEST_COUNT(x)] = r[i] = net_number("r", i, 4);
    must(tn_context_create(engine, &context));
    must(tn_context_set_shape(context, 0, 4, SHAPE(batch, 3, 8, 8)));
    must(tn_context_set_shape(context, 1, 4, SHAPE(1, 6, 8, 8)));
    must(tn_context_bind_input(context, 0, x, sizeof(x)));
    must(tn_context_bind_input(context, 1, r, sizeof(r)));
    must(tn_context_run(context));
    must(tn_context_output(context, 0, &made));
    memcpy(out, made->data, (size_t)made->bytes);
    const size_t count = (size_t)made->bytes / sizeof(float);
    tn_context_destroy(context);
    return count;
}

/* Of several sizes, also where an operand is broadcast in a run alone. */
static void test_ranges_of_shapes_are_refitted(void **state) {
    refit_test *test = *state;
    tn_engine *engine = residual_engine(test->runtime, 1),
              *built = residual_engine(test->runtime, 2);
    const size_t count = run_residual(engine, 4, first);
    tn_engine *refitted = net_refit(engine, test->runtime, net_residual, 2);
    assert_int_equal(run_residual(refitted, 4, found), count);
    run_residual(built, 4, expected);
    net_compare(found, expected, count, 0, "an engine of the new data");
    tn_engine_release(engine);
    run_residual(refitted, 1, found);
    run_residual(built, 1, expected);
    net_compare(found, expected, count / 4, 0, "an engine of the new data");
    tn_engine_release(refitted);
    tn_engine_release(built);
}

static const char *plan_path(void) {
    static char path[64];
    snprintf(path, sizeof(path), "test_refit.%ld.plan", (long)getpid());
    return path;
}

/* A plan refitted as a file is the plan that the engine's refit writes, and computes the same. */
static void test_plans_are_refitted(void **state) {
    static const net_maker makers[] = {net_lenet, net_keep, net_bodies};
    refit_test *test = *state;
    for (size_t i = 0; i < TEST_COUNT(makers); i++) {
        const tn_builder_options options = net_options(TN_BUILD_REFIT);
        tn_plan *plan = net_build(test->runtime, makers[i], 1, &options);
        tn_graph *graph = net_make(test->runtime, makers[i], 2);
        tn_engine *engine = net_load(test->runtime, plan, 0, NULL), *saved = NULL;
        tn_engine *refitted = net_refit(engine, test->runtime, makers[i], 2);
        const size_t count = net_run(refitted, true, expected);
        uint32_t changed = 0;
        tn_refit *refit = NULL;
        must(tn_plan_save(plan, plan_path()));
        must(tn_refit_create_for_plan(test->runtime, plan_path(), &refit));
        assert_int_equal(tn_refit_count(refit), tn_engine_refit_count(engine));
        must(tn_refit_set_all(refit, graph, &changed));
        assert_true(changed > 0 && changed <= tn_refit_count(refit));
        assert_int_equal(tn_refit_apply(refit, &saved), TN_ERROR_STATE);
        must(tn_refit_save(refit, plan_path()));
        tn_refit_destroy(refit);
        must(tn_engine_load(test->runtime, plan_path(), NULL, &saved));
        assert_int_equal(net_run(saved, true, found), count);
        net_compare(found, expected, count, 0, "a plan that was refitted");
        tn_engine_release(saved);
        must(tn_refit_create(refitted, &refit)); /* with nothing new but what the engine has */
        must(tn_refit_save(refit, plan_path()));
        tn_refit_destroy(refit);
        must(tn_engine_load(test->runtime, plan_path(), NULL, &saved));
        net_run(saved, true, found);
        net_compare(found, expected, count, 0, "the plan of a refitted engine");
        assert_int_equal(unlink(plan_path()), 0);
        tn_engine_release(saved);
        tn_engine_release(refitted);
        tn_engine_release(engine);
        tn_graph_destroy(graph);
        tn_plan_destroy(plan);
    }
}

/* ----------------------------------------------------------------------------------------------
 * names */

static tn_status build_named(tn_runtime *runtime, net_maker maker, const char *name,
                             tn_plan **out_plan) {
    tn_graph *graph = net_make(runtime, maker, 1);
    tn_builder_options options = net_options(0);
    options.refit_count = 1;
    options.refit = &name;
    const tn_status status = tn_build(graph, &options, out_plan);
    tn_graph_destroy(graph);
    return status;
}

static void test_only_named_constants_are_refitted(void **state) {
    refit_test *test = *state;
    tn_plan *plan = NULL;
    float values[10];
    for (size_t i = 0; i < 10; i++)
        values[i] = (float)i;
    must(build_named(test->runtime, net_lenet, "fc2.b", &plan));
    tn_engine *engine = net_load(test->runtime, plan, 0, NULL), *refitted = NULL, *again = NULL;
    assert_int_equal(tn_engine_refit_count(engine), 1);
    const tn_port_info *info = tn_engine_refit_constant(engine, 0);
    assert_string_equal(info->name, "fc2.b");
    assert_int_equal(info->type, TN_F32);
    assert_int_equal(info->rank, 1);
    assert_int_equal(info->extents[0], 10);
    assert_null(tn_engine_refit_constant(engine, 1));
    tn_refit *refit = NULL;
    must(tn_refit_create(engine, &refit));
    must(tn_refit_apply(refit, &again)); /* nothing is new */
    assert_ptr_equal(again, engine);
    tn_engine_release(again);
    must(tn_refit_set(refit, "fc2.b", TN_F32, 1, SHAPE(10), values, sizeof(values)));
    must(tn_refit_apply(refit, &refitted));
    tn_refit_destroy(refit);
    net_run(engine, true, first);
    net_run(refitted, true, found);
    for (size_t i = 0; i < 20; i++) {
        const float bias = 1.0f * net_number("fc2.b", i % 10, 1);
        assert_true(fabsf(found[i] - values[i % 10] - (first[i] - bias)) < 1e-4f);
    }
    assert_string_equal(tn_engine_report(refitted), tn_engine_report(engine));
    tn_engine_release(refitted);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

static void test_wrong_data_is_refused(void **state) {
    refit_test *test = *state;
    float values[784] = {0};
    tn_refit *refit = NULL;
    tn_engine *engine = net_engine(test->runtime, net_lenet, 1, TN_BUILD_REFIT);
    must(tn_refit_create(engine, &refit));
    assert_failed(tn_refit_set(refit, "fc2.c", TN_F32, 1, SHAPE(10), values, 40),
                  TN_ERROR_NOT_FOUND,
                  "no constant 'fc2.c' that can be refitted; the nearest is 'fc");
    assert_failed(tn_refit_set(refit, "fc2.b", TN_F64, 1, SHAPE(10), values, 80), TN_ERROR_TYPE,
                  "constant 'fc2.b' is of f32, the new data of f64");
    assert_failed(tn_refit_set(refit, "fc2.b", TN_F32, 1, SHAPE(9), values, 36), TN_ERROR_SHAPE,
                  "constant 'fc2.b' has shape [10], the new data [9]");
    assert_failed(tn_refit_set(refit, "fc2.b", TN_F32, 99, SHAPE(10), values, 40), TN_ERROR_SHAPE,
                  "rank 1");
    assert_failed(tn_refit_set(refit, "fc2.b", TN_F32, 1, SHAPE(10), values, 39), TN_ERROR_ARGUMENT,
                  "takes 40 bytes");
    assert_int_equal(tn_refit_set(refit, NULL, TN_F32, 1, SHAPE(10), values, 40),
                     TN_ERROR_ARGUMENT);
    tn_graph *other = net_make(test->runtime, net_keep, 1);
    assert_failed(tn_refit_set_all(refit, other, NULL), TN_ERROR_NOT_FOUND,
                  "the network has no constant '");
    tn_graph_destroy(other);
    tn_refit_destroy(refit);
    tn_engine_release(engine);
    engine = net_engine(test->runtime, net_lenet, 1, 0);
    assert_failed(tn_refit_create(engine, &refit), TN_ERROR_UNSUPPORTED, "--refit-all");
    tn_engine_release(engine);
    tn_refit_destroy(NULL);
}

/* y = x in the shape of a constant, plus a text, plus one that nobody reads. */
static void net_refused(tn_graph *graph, uint32_t seed) {
    const int64_t extents[] = {8, 4};
    const tn_tensor_id x = net_input(graph, 2, SHAPE(4, 8));
    tn_tensor_id shape = TN_NO_TENSOR;
    must(tn_graph_add_constant(graph, "shape", TN_I64, 1, SHAPE(2), extents, 16, &shape));
    net_constant(graph, "unread", seed, 0, 1, SHAPE(4));
    must(tn_graph_add_output(graph, net_node(graph, "Reshape", "reshape", 2, IDS(x, shape)), "y"));
}

static void test_what_cannot_be_refitted_is_refused(void **state) {
    refit_test *test = *state;
    tn_plan *plan = NULL;
    assert_failed(build_named(test->runtime, net_refused, "shape", &plan), TN_ERROR_UNSUPPORTED,
                  "constant 'shape' cannot be refitted: its value decides shapes");
    assert_failed(build_named(test->runtime, net_refused, "unread", &plan), TN_ERROR_UNSUPPORTED,
                  "constant 'unread' cannot be refitted: nothing reads it");
    assert_failed(build_named(test->runtime, net_lenet, "fc1.v", &plan), TN_ERROR_NOT_FOUND,
                  "there is no constant 'fc1.v' to refit; the nearest is 'fc1.");
    assert_failed(build_named(test->runtime, net_lenet, NULL, &plan), TN_ERROR_ARGUMENT, "null");
}

/* Bodies with another constant of a name. */
static void net_several(tn_graph *graph, uint32_t seed) {
    net_bodies(graph, seed);
    for (size_t t = 0; t < graph->tensor_count; t++)
        if (strcmp(graph->tensors[t].name, "common") == 0)
            ((float *)(uintptr_t)graph->tensors[t].data)[0] += 1;
}

static void test_a_name_of_several_things_is_refused(void **state) {
    refit_test *test = *state;
    tn_plan *plan = NULL;
    assert_failed(build_named(test->runtime, net_several, "common", &plan), TN_ERROR_UNSUPPORTED,
                  "several of this name");
    tn_engine *engine = net_engine(test->runtime, net_several, 1, TN_BUILD_REFIT);
    assert_non_null(strstr(test->log, "constant 'common' cannot be refitted"));
    for (uint32_t i = 0; i < tn_engine_refit_count(engine); i++)
        assert_string_not_equal(tn_engine_refit_constant(engine, i)->name, "common");
    tn_engine_release(engine);
}

/* ----------------------------------------------------------------------------------------------
 * what the build says */

static void test_the_report_says_what_is_left(void **state) {
    refit_test *test = *state;
    tn_builder_options options = net_options(TN_BUILD_REFIT);
    tn_plan *plan = net_build(test->runtime, net_lenet, 1, &options);
    assert_non_null(strstr(tn_plan_report(plan), "\"refit\": {\"constants\": [\"conv1.w\""));
    assert_non_null(strstr(tn_plan_report(plan), "{\"node\": \"bn\", \"constant\": \"bn.scale\""));
    tn_plan_destroy(plan);
    plan = net_build(test->runtime, net_rewritten, 1, &options);
    assert_non_null(strstr(tn_plan_report(plan), "\"node\": \"gelu\", \"constant\": \""));
    assert_non_null(strstr(tn_plan_report(plan), "is not applied"));
    tn_plan_destroy(plan);
    plan = net_build(test->runtime, net_shared, 1, &options);
    assert_non_null(strstr(tn_plan_report(plan), "{\"node\": \"turned\", \"constant\": \"w\", "
                                                 "\"why\": \"its value is not folded\"}"));
    tn_plan_destroy(plan);
    options.flags = TN_BUILD_NO_TIMING;
    plan = net_build(test->runtime, net_lenet, 1, &options);
    assert_null(strstr(tn_plan_report(plan), "\"refit\""));
    tn_plan_destroy(plan);
}

/* ----------------------------------------------------------------------------------------------
 * damaged plans */

/* What can be read of a damaged plan is refitted and loaded, or refused. */
static void try_damaged(const refit_test *test, unsigned char *data, size_t bytes) {
    const tn_allocator *allocator = &test->allocator.functions;
    static const float values[64];
    tn_refit_index *index = NULL;
    tn_engine *engine = NULL, *made = NULL;
    tn_refit *refit = NULL;
    plan_repair(data, bytes);
    if (tn_refit_index_create(allocator, data, bytes, false, &index) == TN_OK) {
        const void *new_data[64] = {NULL};
        for (uint32_t i = 0; i < tn_refit_index_count(index) && i < 64; i++)
            if (tn_refit_index_at(index, i)->bytes <= sizeof(values)) new_data[i] = values;
        assert_true(tn_refit_index_count(index) <= 64);
        if (tn_engine_load_bytes(test->runtime, data, bytes, NULL, &engine) == TN_OK &&
            tn_refit_create(engine, &refit) == TN_OK) {
            for (uint32_t i = 0; i < tn_refit_count(refit); i++) {
                const tn_port_info *info = tn_refit_constant(refit, i);
                (void)tn_refit_set(refit, info->name, info->type, info->rank, info->extents, values,
                                   tn_refit_index_at(index, i)->bytes <= sizeof(values)
                                       ? tn_refit_index_at(index, i)->bytes
                                       : 0);
            }
            (void)tn_refit_apply(refit, &made);
        }
        tn_refit_index_patch(index, new_data, data);
    }
    tn_refit_destroy(refit);
    tn_engine_release(made);
    tn_engine_release(engine);
    tn_refit_index_destroy(index);
}

static void test_damaged_plans(void **state) {
    static const net_maker makers[] = {net_keep, net_bodies};
    refit_test *test = *state;
    for (size_t m = 0; m < TEST_COUNT(makers); m++) {
        const tn_builder_options options = net_options(TN_BUILD_REFIT);
        tn_plan *plan = net_build(test->runtime, makers[m], 1, &options);
        uint64_t bytes = 0;
        const unsigned char *data = tn_plan_bytes(plan, &bytes);
        unsigned char *copy = malloc((size_t)bytes);
        assert_non_null(copy);
        for (size_t i = 32; i < bytes; i++) { /* the description, and those of bodies */
            if (data[i] == 0) continue;
            memcpy(copy, data, (size_t)bytes);
            copy[i] = (unsigned char)(copy[i] ^ 1u << i % 8);
            try_damaged(test, copy, (size_t)bytes);
        }
        free(copy);
        tn_plan_destroy(plan);
    }
}

/* ----------------------------------------------------------------------------------------------
 * time */

static double milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void test_times_of_a_refit(void **state) {
    refit_test *test = *state;
    tn_engine *engine = net_engine(test->runtime, net_lenet, 1, TN_BUILD_REFIT);
    tn_graph *graph = net_make(test->runtime, net_lenet, 2);
    tn_refit *refit = NULL;
    tn_context *context = NULL;
    double best[3] = {1e9, 1e9, 1e9};
    must(tn_refit_create(engine, &refit));
    for (int all = 0; all < 2; all++) {
        const float bias[10] = {1};
        must(tn_refit_set(refit, "fc2.b", TN_F32, 1, SHAPE(10), bias, sizeof(bias)));
        if (all) must(tn_refit_set_all(refit, graph, NULL));
        for (int round = 0; round < 20; round++) {
            tn_engine *made = NULL;
            const double start = milliseconds();
            must(tn_refit_apply(refit, &made));
            const double applied = milliseconds();
            must(tn_context_create(made, &context));
            const double created = milliseconds();
            if (applied - start < best[all]) best[all] = applied - start;
            if (created - applied < best[2]) best[2] = created - applied;
            tn_context_destroy(context);
            tn_engine_release(made);
        }
    }
    print_message("LeNet: one bias %.3f ms, all constants %.3f ms, a context %.3f ms\n", best[0],
                  best[1], best[2]);
    tn_refit_destroy(refit);
    tn_graph_destroy(graph);
    tn_engine_release(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        REFIT_TEST(test_results_are_those_of_a_build),
        REFIT_TEST(test_results_without_fusion_and_by_references),
        REFIT_TEST(test_bodies_are_refitted),
        REFIT_TEST(test_low_precisions_are_refitted),
        REFIT_TEST(test_ranges_of_shapes_are_refitted),
        REFIT_TEST(test_plans_are_refitted),
        REFIT_TEST(test_only_named_constants_are_refitted),
        REFIT_TEST(test_wrong_data_is_refused),
        REFIT_TEST(test_what_cannot_be_refitted_is_refused),
        REFIT_TEST(test_a_name_of_several_things_is_refused),
        REFIT_TEST(test_the_report_says_what_is_left),
        REFIT_TEST(test_damaged_plans),
        REFIT_TEST(test_times_of_a_refit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
