/* SPDX-License-Identifier: Apache-2.0 */
/* Values that lie in larger ones: what is cut and joined without copying, and random networks of
 * both against what they compute. */
#include "run_test.h"

#include "random.h"

enum { WIDTH = 16, MOST = 40, MOST_ELEMENTS = 2 * 64 * WIDTH };

/* A tensor [n, c, WIDTH] of a network, with the values that it will have. */
typedef struct shadow {
    tn_tensor_id id;
    int64_t n, c;
    float values[MOST_ELEMENTS];
} shadow;

typedef struct shadow_net {
    tn_graph *graph;
    shadow *items;
    uint32_t count;
} shadow_net;

static tn_attribute integers(const char *name, uint64_t count, const int64_t *items) {
    return (tn_attribute){.size = sizeof(tn_attribute),
                          .type = TN_FIELD_I64S,
                          .name = name,
                          .count = count,
                          .items = items};
}

static void add_standard(tn_graph *graph, const char *op, uint32_t version, uint32_t input_count,
                         const tn_tensor_id *inputs, uint32_t output_count,
                         uint32_t attribute_count, const tn_attribute *const *attributes,
                         tn_tensor_id *out_ids) {
    const tn_node_description node = {.size = sizeof(node),
                                      .version = version,
                                      .domain = "",
                                      .op = op,
                                      .input_count = input_count,
                                      .inputs = inputs,
                                      .output_count = output_count,
                                      .attribute_count = attribute_count,
                                      .attributes = attributes};
    run_must(tn_graph_add_node(graph, &node, out_ids));
}

static shadow *new_shadow(shadow_net *net, int64_t n, int64_t c) {
    shadow *made = &net->items[net->count++];
    made->n = n;
    made->c = c;
    return made;
}

static shadow *net_input(shadow_net *net, const char *name, int64_t n, int64_t c) {
    shadow *x = new_shadow(net, n, c);
    x->id = add_input(net->graph, name, TN_F32, 3, EXTENTS(n, c, WIDTH));
    for (int64_t i = 0; i < n * c * WIDTH; i++)
        x->values[i] = (float)(i % 97 + 1);
    return x;
}

static shadow *net_negate(shadow_net *net, const shadow *x) {
    shadow *y = new_shadow(net, x->n, x->c);
    add_standard(net->graph, "Neg", 13, 1, &x->id, 1, 0, NULL, &y->id);
    for (int64_t i = 0; i < x->n * x->c * WIDTH; i++)
        y->values[i] = -x->values[i];
    return y;
}

static shadow *net_add(shadow_net *net, const shadow *a, const shadow *b) {
    shadow *y = new_shadow(net, a->n, a->c);
    add_standard(net->graph, "Add", 14, 2, TENSORS(a->id, b->id), 1, 0, NULL, &y->id);
    for (int64_t i = 0; i < a->n * a->c * WIDTH; i++)
        y->values[i] = a->values[i] + b->values[i];
    return y;
}

static void copy_channels(shadow *to, int64_t to_first, const shadow *from, int64_t from_first,
                          int64_t count) {
    for (int64_t n = 0; n < to->n; n++)
        memcpy(to->values + (n * to->c + to_first) * WIDTH,
               from->values + (n * from->c + from_first) * WIDTH,
               (size_t)(count * WIDTH) * sizeof(float));
}

static shadow *net_slice(shadow_net *net, const shadow *x, int64_t first, int64_t count) {
    shadow *y = new_shadow(net, x->n, count);
    const int64_t end = first + count, axis = 1;
    const tn_attribute starts = integers("starts", 1, &first), ends = integers("ends", 1, &end),
                       axes = integers("axes", 1, &axis);
    const tn_attribute *const all[] = {&starts, &ends, &axes};
    add_standard(net->graph, "Slice", 1, 1, &x->id, 1, 3, all, &y->id);
    copy_channels(y, 0, x, first, count);
    return y;
}

/* In two parts; the second one is made last. */
static shadow *net_split(shadow_net *net, const shadow *x, int64_t first) {
    const int64_t sizes[] = {first, x->c - first};
    shadow *a = new_shadow(net, x->n, first), *b = new_shadow(net, x->n, x->c - first);
    tn_tensor_id ids[2];
    const tn_attribute axis = {.size = sizeof(axis), .type = TN_FIELD_I64, .name = "axis", .i = 1};
    const tn_attribute split = integers("split", 2, sizes);
    const tn_attribute *const all[] = {&axis, &split};
    add_standard(net->graph, "Split", 2, 1, &x->id, 2, 2, all, ids);
    a->id = ids[0];
    b->id = ids[1];
    copy_channels(a, 0, x, 0, first);
    copy_channels(b, 0, x, first, x->c - first);
    return b;
}

static shadow *net_join(shadow_net *net, uint32_t count, const shadow *const *parts) {
    tn_tensor_id ids[4];
    int64_t channels = 0;
    const tn_attribute axis = {.size = sizeof(axis), .type = TN_FIELD_I64, .name = "axis", .i = 1};
    const tn_attribute *const all[] = {&axis};
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = parts[i]->id;
        channels += parts[i]->c;
    }
    shadow *y = new_shadow(net, parts[0]->n, channels);
    add_standard(net->graph, "Concat", 4, count, ids, 1, 1, all, &y->id);
    channels = 0;
    for (uint32_t i = 0; i < count; i++) {
        copy_channels(y, channels, parts[i], 0, parts[i]->c);
        channels += parts[i]->c;
    }
    return y;
}
#define JOIN(net, ...)                                                                             \
    net_join(net, sizeof((const shadow *[]){__VA_ARGS__}) / sizeof(shadow *),                      \
             (const shadow *const[]){__VA_ARGS__})

static void net_start(run_test *test, shadow_net *net) {
    net->graph = test->graph;
    net->items = calloc(MOST, sizeof(*net->items));
    assert_non_null(net->items);
}

static void net_run(run_test *test) {
    static _Alignas(64) float in[MOST_ELEMENTS];
    for (int64_t i = 0; i < MOST_ELEMENTS; i++)
        in[i] = (float)(i % 97 + 1);
    run_start(test, 0, NULL);
    for (uint32_t i = 0; i < tn_engine_input_count(test->engine); i++)
        run_must(tn_context_bind_input(test->context, i, in, sizeof(in)));
    run_must(tn_context_run(test->context));
    run_must(tn_context_run(test->context));
}

static uint32_t steps_left(const run_test *test) {
    return test->context->shapes.current->item_count;
}

static void expect(run_test *test, uint32_t output, const shadow *item) {
    assert_floats(run_result(test, output), item->n * item->c * WIDTH, item->values);
}

/* --- what is not copied --- */

static void test_what_is_joined_is_made_there(void **state) {
    run_test *test = *state;
    shadow_net net = {0};
    net_start(test, &net);
    const shadow *x = net_input(&net, "x", 1, 4), *a = net_negate(&net, x),
                 *b = net_add(&net, x, a);
    const shadow *joined = JOIN(&net, a, b), *y = net_negate(&net, joined);
    run_output(test->graph, y->id, "y");
    run_output(test->graph, joined->id, "joined"); /* the joined tensor is the caller's memory */
    net_run(test);
    expect(test, 0, y);
    expect(test, 1, joined);
    assert_int_equal(steps_left(test), 3);
    assert_int_equal(test->context->shapes.current->memory_bytes, 0);
    free(net.items);
}

/* Each joins one more than the one before it, as in DenseNet: all lie in the last. */
static void test_chains_of_joins_share_one_memory(void **state) {
    run_test *test = *state;
    shadow_net net = {0};
    net_start(test, &net);
    const shadow *x = net_input(&net, "x", 1, 2), *a = net_negate(&net, x);
    const shadow *b = net_negate(&net, net_add(&net, x, a));
    const shadow *c = JOIN(&net, a, b), *d = net_negate(&net, c), *e = JOIN(&net, a, b, d);
    run_output(test->graph, net_negate(&net, e)->id, "y");
    net_run(test);
    expect(test, 0, &net.items[net.count - 1]);
    assert_int_equal(steps_left(test), 4); /* two are fused */
    free(net.items);
}

static void test_what_is_cut_is_not_copied(void **state) {
    run_test *test = *state;
    shadow_net net = {0};
    net_start(test, &net);
    const shadow *x = net_input(&net, "x", 1, 6), *y = net_negate(&net, x);
    const shadow *of_input = net_negate(&net, net_slice(&net, x, 2, 3));
    const shadow *b = net_split(&net, y, 3), *sum = net_add(&net, b - 1, b);
    run_output(test->graph, JOIN(&net, of_input, sum)->id, "y");
    net_run(test);
    expect(test, 0, &net.items[net.count - 1]);
    assert_int_equal(steps_left(test), 3);
    free(net.items);
}

/* The parts of a tensor that is split, with more behind them: what is split lies in the result. */
static void test_split_parts_are_joined_where_they_are(void **state) {
    run_test *test = *state;
    shadow_net net = {0};
    net_start(test, &net);
    const shadow *x = net_input(&net, "x", 1, 4), *y = net_negate(&net, x);
    const shadow *b = net_split(&net, y, 1), *c = net_negate(&net, b);
    const shadow *joined = JOIN(&net, b - 1, b, c);
    run_output(test->graph, net_negate(&net, joined)->id, "y");
    net_run(test);
    expect(test, 0, &net.items[net.count - 1]);
    assert_int_equal(steps_left(test), 3);
    free(net.items);
}

/* Two images: what belongs to one of them lies together, and the kernels accept that. */
static void test_rows_lie_apart_for_kernels_that_accept_it(void **state) {
    run_test *test = *state;
    shadow_net net = {0};
    net_start(test, &net);
    const shadow *x = net_input(&net, "x", 2, 4), *z = net_input(&net, "z", 2, 3);
    const shadow *joined = JOIN(&net, net_negate(&net, x), net_negate(&net, z));
    const shadow *b = net_split(&net, net_negate(&net, joined), 2);
    run_output(test->graph, net_negate(&net, b)->id, "y");
    const shadow *y = &net.items[net.count - 1];
    run_output(test->graph, net_negate(&net, b - 1)->id, "of the first");
    net_run(test);
    expect(test, 0, y);
    expect(test, 1, &net.items[net.count - 1]);
    assert_int_equal(steps_left(test), 5);
    free(net.items);
}

/* --- what is copied --- */

static void test_rows_that_lie_apart_are_copied_for_others(void **state) {
    run_test *test = *state;
    shadow_net net = {0};
    net_start(test, &net);
    const shadow *x = net_input(&net, "x", 2, 4), *a = net_negate(&net, x);
    const shadow *joined = JOIN(&net, a, net_add(&net, x, a));
    run_output(test->graph, net_negate(&net, joined)->id, "y");
    net_run(test);
    expect(test, 0, &net.items[net.count - 1]);
    free(net.items);
}

static void test_inputs_of_the_network_and_what_is_joined_twice_are_copied(void **state) {
    run_test *test = *state;
    shadow_net net = {0};
    net_start(test, &net);
    const shadow *x = net_input(&net, "x", 1, 2), *a = net_negate(&net, x);
    run_output(test->graph, net_negate(&net, JOIN(&net, x, a))->id, "with_input");
    const shadow *first = &net.items[net.count - 1];
    run_output(test->graph, net_negate(&net, JOIN(&net, a, a))->id, "twice");
    net_run(test);
    expect(test, 0, first);
    expect(test, 1, &net.items[net.count - 1]);
    assert_int_equal(steps_left(test), 5);
    free(net.items);
}

/* A joined tensor is overwritten in place only when its parts are not read any more. */
static void test_in_place_leaves_windows_alone(void **state) {
    run_test *test = *state;
    shadow_net net = {0};
    net_start(test, &net);
    const shadow *x = net_input(&net, "x", 1, 2), *a = net_negate(&net, x),
                 *b = net_add(&net, x, a);
    const shadow *y = net_negate(&net, JOIN(&net, a, b)); /* would overwrite a */
    run_output(test->graph, y->id, "y");
    run_output(test->graph, net_add(&net, a, b)->id, "later");
    net_run(test);
    expect(test, 0, y);
    expect(test, 1, &net.items[net.count - 1]);
    free(net.items);
}

/* --- random networks --- */

static const shadow *pick(test_random *random, const shadow_net *net) {
    return &net->items[random_between(random, 0, net->count - 1)];
}

static void grow(test_random *random, shadow_net *net) {
    const shadow *a = pick(random, net), *b = pick(random, net), *c = pick(random, net);
    switch (random_between(random, 0, 5)) {
    case 0:
        net_negate(net, a);
        return;
    case 1:
        if (a->c == b->c) net_add(net, a, b);
        return;
    case 2:
        if (a->c > 1) net_slice(net, a, random_between(random, 0, a->c - 1), 1);
        return;
    case 3:
        if (a->c > 1) net_split(net, a, random_between(random, 1, a->c - 1));
        return;
    default:
        if (a->c + b->c + c->c > 32) return;
        if (random_between(random, 0, 1))
            JOIN(net, a, b, c);
        else
            JOIN(net, a, b);
    }
}

static void run_random(uint64_t seed) {
    test_random random = {seed};
    void *state = NULL;
    shadow_net net = {0};
    shadow *outputs[MOST];
    uint32_t output_count = 0;
    assert_int_equal(run_test_setup(&state), 0);
    run_test *test = state;
    net_start(test, &net);
    const int64_t n = random_between(&random, 1, 2);
    net_negate(&net, net_input(&net, "x", n, random_between(&random, 1, 4)));
    while (net.count + 2 < 24)
        grow(&random, &net);
    for (uint32_t i = 0; i < net.count; i++) {
        if (i + 1 < net.count && random_between(&random, 0, 4) > 0) continue;
        run_output(test->graph, net.items[i].id, NULL);
        outputs[output_count++] = &net.items[i];
    }
    net_run(test);
    for (uint32_t i = 0; i < output_count; i++)
        expect(test, i, outputs[i]);
    free(net.items);
    assert_int_equal(run_test_teardown(&state), 0);
}

static void test_random_networks(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++)
        run_random(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_what_is_joined_is_made_there),
        RUN_TEST(test_chains_of_joins_share_one_memory),
        RUN_TEST(test_what_is_cut_is_not_copied),
        RUN_TEST(test_split_parts_are_joined_where_they_are),
        RUN_TEST(test_rows_lie_apart_for_kernels_that_accept_it),
        RUN_TEST(test_rows_that_lie_apart_are_copied_for_others),
        RUN_TEST(test_inputs_of_the_network_and_what_is_joined_twice_are_copied),
        RUN_TEST(test_in_place_leaves_windows_alone),
        cmocka_unit_test(test_random_networks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
