/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign objects of every generation through a whole life: built into a network, saved in a plan,
 * loaded in another process that may not choose kernels again, and run there in two contexts on two
 * threads, in all shapes that the generation can. Results are compared with a plain computation.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <tenon/tenon.h>
#include <unistd.h>

#include "test.h"

enum { MOST = 4096, INPUTS = 2 };

/* What a node computes, in plain words; `value` is its field. */
typedef float (*compute_function)(const float *const *inputs, const int64_t *shape, int64_t index,
                                  float value);

typedef struct object_case {
    const char *name, *domain, *op, *combination; /* null: the builder chooses */
    const char *field;
    uint32_t field_type, input_count;
    float value;
    int64_t minimum[4], maximum[4];
    int64_t times; /* the output's spatial extents, by the input's */
    compute_function compute;
} object_case;

static float compute_clamp(const float *const *x, const int64_t *shape, int64_t i, float value) {
    (void)shape;
    return x[0][i] < value ? value : x[0][i] > 1 ? 1 : x[0][i];
}
static float compute_gain(const float *const *x, const int64_t *shape, int64_t i, float value) {
    (void)shape;
    return value * x[0][i];
}
static float compute_blend(const float *const *x, const int64_t *shape, int64_t i, float value) {
    (void)shape;
    return value * x[0][i] + (1 - value) * x[1][i];
}
static float compute_enlarge(const float *const *x, const int64_t *shape, int64_t i, float value) {
    const int64_t times = (int64_t)value, width = shape[3] * times;
    const int64_t row = i / width, column = i % width, height = shape[2] * times;
    return x[0][(row / height * shape[2] + row % height / times) * shape[3] + column / times];
}
static float compute_shift(const float *const *x, const int64_t *shape, int64_t i, float value) {
    (void)shape;
    return x[0][i] + value;
}

static const object_case cases[] = {
    {"V2",
     "foreign",
     "Clamp_FX",
     NULL,
     "low",
     TN_FIELD_F32,
     1,
     -0.25f,
     {1, 3, 4, 5},
     {4, 3, 4, 5},
     1,
     compute_clamp},
    {"Ext",
     "foreign.extra",
     "Gain",
     NULL,
     "object",
     TN_FIELD_BYTES,
     1,
     1.5f,
     {1, 3, 4, 5},
     {3, 3, 4, 5},
     1,
     compute_gain},
    {"Ext, channels last",
     "foreign.extra",
     "Gain",
     "f32:nhwc -> f32:nhwc",
     "object",
     TN_FIELD_BYTES,
     1,
     1.5f,
     {2, 3, 4, 5},
     {2, 3, 4, 5},
     1,
     compute_gain},
    {"IOExt",
     "foreign",
     "Blend",
     NULL,
     "weight",
     TN_FIELD_F32,
     2,
     0.25f,
     {1, 5, 3, 2},
     {4, 5, 3, 2},
     1,
     compute_blend},
    {"IOExt, blocked",
     "foreign",
     "Blend",
     "f32:c4, f32:c4 -> f32:c4",
     "weight",
     TN_FIELD_F32,
     2,
     0.25f,
     {2, 5, 3, 2},
     {2, 5, 3, 2},
     1,
     compute_blend},
    {"Dynamic",
     "foreign",
     "Enlarge",
     NULL,
     "times",
     TN_FIELD_I32,
     1,
     3,
     {1, 2, 2, 3},
     {2, 2, 5, 7},
     3,
     compute_enlarge},
    {"V3",
     "foreign",
     "Shift",
     NULL,
     "offset",
     TN_FIELD_F32,
     1,
     0.75f,
     {1, 2, 2, 3},
     {3, 2, 4, 4},
     1,
     compute_shift},
};

static void say_why(const char *what) {
    fprintf(stderr, "%s: %s: %s\n", what, tn_last_error()->where, tn_last_error()->message);
}

#define TRY(call)                                                                                  \
    if ((call) != TN_OK) {                                                                         \
        say_why(#call);                                                                            \
        return false;                                                                              \
    }

/* --- in the other process --- */

static void fill(float *values, int64_t count, uint32_t seed) {
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)((i * 7 + seed * 13) % 29) / 8 - 1.5f;
}

static int64_t product(const int64_t *shape) {
    return shape[0] * shape[1] * shape[2] * shape[3];
}

static bool is_right(const object_case *c, const int64_t *shape, const float *const *inputs,
                     const tn_tensor *output) {
    const int64_t count = product(shape) * c->times * c->times;
    if (output->bytes != (uint64_t)count * sizeof(float)) return false;
    for (int64_t i = 0; i < count; i++) {
        const float expected = c->compute(inputs, shape, i, c->value);
        const float found = ((const float *)output->data)[i];
        if (fabsf(found - expected) > 1e-6f) {
            fprintf(stderr, "element %lld is %g, not %g\n", (long long)i, (double)found,
                    (double)expected);
            return false;
        }
    }
    return true;
}

static bool run_shape(const object_case *c, tn_context *context, const int64_t *shape,
                      uint32_t seed) {
    float values[INPUTS][MOST];
    const float *inputs[INPUTS] = {values[0], values[1]};
    const tn_tensor *output = NULL;
    const int64_t count = product(shape);
    for (uint32_t i = 0; i < c->input_count; i++) {
        fill(values[i], count, seed + i);
        TRY(tn_context_set_shape(context, i, 4, shape));
        TRY(tn_context_bind_input(context, i, values[i], (uint64_t)count * sizeof(float)));
    }
    TRY(tn_context_run(context));
    TRY(tn_context_output(context, 0, &output));
    return is_right(c, shape, inputs, output);
}

typedef struct worker {
    const object_case *c;
    tn_engine *engine;
    uint32_t seed;
    bool is_right;
} worker;

/* The profile's ends and what lies between, again and again. */
static bool run_shapes(const worker *w, tn_context *context) {
    for (uint32_t round = 0; round < 200; round++) {
        int64_t shape[4];
        for (int i = 0; i < 4; i++) {
            const int64_t range = w->c->maximum[i] - w->c->minimum[i] + 1;
            shape[i] = w->c->minimum[i] + (round / 3 + w->seed + (uint32_t)i) % range;
        }
        if (!run_shape(w->c, context, shape, w->seed + round)) return false;
    }
    return true;
}

static bool work(const worker *w) {
    tn_context *context = NULL;
    TRY(tn_context_create(w->engine, &context));
    const bool is_right = run_shapes(w, context);
    tn_context_destroy(context);
    return is_right;
}

static void *work_on_thread(void *user) {
    worker *w = user;
    w->is_right = work(w);
    return NULL;
}

static bool run_on_two_threads(const object_case *c, tn_engine *engine) {
    worker workers[2] = {{c, engine, 1, false}, {c, engine, 2, false}};
    pthread_t thread;
    if (pthread_create(&thread, NULL, work_on_thread, &workers[0]) != 0) return false;
    work_on_thread(&workers[1]);
    pthread_join(thread, NULL);
    return workers[0].is_right && workers[1].is_right;
}

static void log_line(void *user, uint32_t level, const char *text) {
    if (level > TN_LOG_WARNING) return;
    ++*(int *)user;
    fprintf(stderr, "%s\n", text);
}

/* Without a word of the log: kernels are as they were chosen, their states as they were saved. */
static bool run_plan(const object_case *c, const char *path) {
    int lines = 0;
    const tn_runtime_options options = {.size = sizeof(options),
                                        .log = log_line,
                                        .log_user = &lines,
                                        .flags = TN_RUNTIME_NO_ENVIRONMENT};
    const tn_engine_options exact = {.size = sizeof(exact), .flags = TN_ENGINE_EXACT};
    tn_runtime *runtime = NULL;
    tn_engine *engine = NULL;
    TRY(tn_runtime_create(&options, &runtime));
    TRY(tn_runtime_load_library(runtime, FOREIGN_LIBRARY));
    TRY(tn_engine_load(runtime, path, &exact, &engine));
    const bool is_right = run_on_two_threads(c, engine) && lines == 0;
    tn_engine_release(engine);
    tn_runtime_release(runtime);
    return is_right;
}

/* --- in this one --- */

static tn_attribute attribute_of(const object_case *c) {
    tn_attribute a = {.size = sizeof(a), .type = c->field_type, .name = c->field};
    a.i = (int64_t)c->value;
    a.f = (double)c->value;
    a.count = sizeof(c->value);
    a.items = &c->value;
    if (c->field_type == TN_FIELD_I32) a.type = TN_FIELD_I64;
    return a;
}

static bool make_graph(const object_case *c, tn_graph *graph) {
    static const int64_t free_shape[] = {-1, -1, -1, -1};
    static const char *const names[INPUTS] = {"a", "b"};
    const tn_attribute attribute = attribute_of(c);
    const tn_attribute *const attributes[] = {&attribute};
    int64_t shape[4];
    tn_tensor_id inputs[INPUTS], output = TN_NO_TENSOR;
    for (int i = 0; i < 4; i++)
        shape[i] = c->minimum[i] == c->maximum[i] ? c->minimum[i] : free_shape[i];
    for (uint32_t i = 0; i < c->input_count; i++)
        TRY(tn_graph_add_input(graph, names[i], TN_F32, 4, shape, NULL, &inputs[i]));
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = c->domain,
                                      .op = c->op,
                                      .name = "object",
                                      .input_count = c->input_count,
                                      .inputs = inputs,
                                      .output_count = 1,
                                      .attribute_count = 1,
                                      .attributes = attributes};
    TRY(tn_graph_add_node(graph, &node, &output));
    TRY(tn_graph_add_output(graph, output, "y"));
    return true;
}

static bool build(const object_case *c, tn_graph *graph, const char *path) {
    const tn_profile_input profile = {.size = sizeof(profile),
                                      .rank = 4,
                                      .name = "a",
                                      .minimum = c->minimum,
                                      .optimum = c->maximum,
                                      .maximum = c->maximum};
    tn_profile_input other = profile;
    other.name = "b";
    const tn_profile_input *const profiles[INPUTS] = {&profile, &other};
    char pin[128];
    const char *const pins[] = {pin};
    snprintf(pin, sizeof(pin), "object=object:%s", c->combination ? c->combination : "");
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 1,
                                        .profile_input_count = c->input_count,
                                        .profile_inputs = profiles,
                                        .pin_count = c->combination != NULL,
                                        .pins = pins};
    tn_plan *plan = NULL;
    TRY(tn_build(graph, &options, &plan));
    TRY(tn_plan_save(plan, path));
    tn_plan_destroy(plan);
    return true;
}

static bool make_plan(const object_case *c, const char *path) {
    const tn_runtime_options options = {.size = sizeof(options),
                                        .flags = TN_RUNTIME_NO_ENVIRONMENT};
    tn_runtime *runtime = NULL;
    tn_graph *graph = NULL;
    TRY(tn_runtime_create(&options, &runtime));
    TRY(tn_runtime_load_library(runtime, FOREIGN_LIBRARY));
    TRY(tn_graph_create(runtime, "foreign", &graph));
    const bool is_made = make_graph(c, graph) && build(c, graph, path);
    tn_graph_destroy(graph);
    tn_runtime_release(runtime);
    return is_made;
}

/* This program again, on the plan. */
static bool run_elsewhere(const object_case *c, const char *path) {
    char number[16];
    int status = 0;
    snprintf(number, sizeof(number), "%d", (int)(c - cases));
    const pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "test_foreign_objects", number, path, (char *)NULL);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static void test_object_lives(void **state) {
    const object_case *c = *state;
    char path[] = "/tmp/tenon_foreign_XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    const bool is_made = make_plan(c, path);
    const bool is_right = is_made && run_elsewhere(c, path);
    unlink(path);
    assert_true(is_made);
    assert_true(is_right);
}

int main(int argc, char **argv) {
    struct CMUnitTest tests[TEST_COUNT(cases)];
    const size_t chosen = argc == 3 ? (size_t)atoi(argv[1]) : TEST_COUNT(cases);
    if (chosen < TEST_COUNT(cases)) return run_plan(&cases[chosen], argv[2]) ? 0 : 1;
    for (size_t i = 0; i < TEST_COUNT(cases); i++)
        tests[i] = (struct CMUnitTest){.name = cases[i].name,
                                       .test_func = test_object_lives,
                                       .initial_state = (void *)(uintptr_t)&cases[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
