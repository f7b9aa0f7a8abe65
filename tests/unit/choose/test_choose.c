/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice for a whole graph against brute force: random graphs of up to 8 nodes with made-up
 * costs, several storages, chains and branches.
 */
#include "base/status.h"
#include "builder/choose/choice_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NODES = 8, CANDIDATES = 8, FORMATS = 3, STORAGES = 6, USES = 3 };

/* A random problem. Node n writes tensor n + 1; tensor 0 is the graph's input. */
typedef struct random_problem {
    tn_choose_problem problem;
    tn_choose_node nodes[NODES];
    tn_choose_candidate candidates[NODES][CANDIDATES];
    uint32_t chains[NODES][2];
    tn_choose_use inputs[NODES][CANDIDATES][USES], outputs[NODES][CANDIDATES][1];
    tn_choose_tensor tensors[NODES + 1];
    double reformat[(NODES + 1) * STORAGES * STORAGES];
    uint32_t storages; /* FORMATS: of one type; STORAGES: of two */
    uint32_t reads[NODES][2], read_counts[NODES], use_counts[NODES + 1];
} random_problem;

static uint32_t draw(uint32_t *seed, uint32_t below) {
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 10) % below;
}

static void draw_graph(random_problem *random, uint32_t nodes, uint32_t *seed) {
    for (uint32_t n = 0; n < nodes; n++) {
        random->read_counts[n] = n > 1 && draw(seed, 3) == 0 ? 2 : 1;
        for (uint32_t i = 0; i < random->read_counts[n]; i++) {
            uint32_t back = draw(seed, 4) == 0 ? draw(seed, n + 1) : 0;
            random->reads[n][i] = n - back;
            if (i == 1 && random->reads[n][1] == random->reads[n][0])
                random->reads[n][1] = random->reads[n][0] == 0 ? n : random->reads[n][0] - 1;
        }
        for (uint32_t i = 0; i < random->read_counts[n]; i++)
            random->use_counts[random->reads[n][i]]++;
    }
}

/* The longest chain after n: nodes that alone read what the one before writes. */
static uint32_t find_chain(random_problem *random, uint32_t nodes, uint32_t n) {
    uint32_t length = 0, last = n;
    while (length < 2 && last + 1 < nodes && random->use_counts[last + 1] == 1 &&
           (random->reads[last + 1][0] == last + 1 ||
            (random->read_counts[last + 1] == 2 && random->reads[last + 1][1] == last + 1))) {
        random->chains[n][length++] = last + 1;
        last++;
    }
    return length;
}

static void draw_candidate(random_problem *random, uint32_t n, uint32_t c, uint32_t length,
                           uint32_t *seed) {
    tn_choose_candidate *candidate = &random->candidates[n][c];
    uint32_t storages = random->storages;
    uint32_t in = draw(seed, storages), out = draw(seed, 3) == 0 ? draw(seed, storages) : in;
    double cost = 5 + draw(seed, 100);
    if (in >= FORMATS) cost /= 3; /* the lower type is fast */
    uint32_t count = 0, last = n + length;
    for (uint32_t i = 0; i < random->read_counts[n]; i++)
        random->inputs[n][c][count++] = (tn_choose_use){random->reads[n][i], in};
    for (uint32_t k = 0; k < length; k++) { /* operands */
        uint32_t node = random->chains[n][k];
        for (uint32_t i = 0; i < random->read_counts[node] && count < USES; i++)
            if (random->reads[node][i] != node)
                random->inputs[n][c][count++] = (tn_choose_use){random->reads[node][i], out};
    }
    random->outputs[n][c][0] = (tn_choose_use){last + 1, out};
    *candidate = (tn_choose_candidate){.cost = cost + 20.0 * length,
                                       .chain_count = length,
                                       .chain = random->chains[n],
                                       .input_count = count,
                                       .output_count = 1,
                                       .inputs = random->inputs[n][c],
                                       .outputs = random->outputs[n][c]};
}

static void draw_problem(random_problem *random, uint32_t nodes, uint32_t candidates,
                         uint32_t storages, uint32_t *seed) {
    memset(random, 0, sizeof *random);
    random->storages = storages;
    draw_graph(random, nodes, seed);
    for (uint32_t n = 0; n < nodes; n++) {
        uint32_t longest = find_chain(random, nodes, n);
        uint32_t count = 1 + draw(seed, candidates);
        for (uint32_t c = 0; c < count; c++)
            draw_candidate(random, n, c, c == 0 ? 0 : draw(seed, longest + 1), seed);
        random->nodes[n] = (tn_choose_node){count, random->candidates[n]};
    }
    for (uint32_t t = 0; t <= nodes; t++) {
        random->tensors[t] = (tn_choose_tensor){TN_CHOOSE_NONE, TN_CHOOSE_NONE};
        uint32_t base = 1 + draw(seed, 60);
        for (uint32_t f = 0; f < storages * storages; f++)
            random->reformat[t * storages * storages + f] = base + draw(seed, 10);
    }
    random->tensors[0].given = 0;
    for (uint32_t t = 1; t <= nodes; t++)
        if (random->use_counts[t] == 0) random->tensors[t].wanted = 0;
    random->problem = (tn_choose_problem){.node_count = nodes,
                                          .tensor_count = nodes + 1,
                                          .storage_count = storages,
                                          .nodes = random->nodes,
                                          .tensors = random->tensors,
                                          .reformat = random->reformat};
}

static void try_all(const tn_choose_problem *problem, uint32_t node, uint32_t *choice,
                    bool *is_covered, double *best) {
    while (node < problem->node_count && is_covered[node])
        choice[node++] = TN_CHOOSE_NONE;
    if (node == problem->node_count) {
        double cost = tn_choose_cost(problem, choice);
        if (cost < *best) *best = cost;
        return;
    }
    for (uint32_t c = 0; c < problem->nodes[node].candidate_count; c++) {
        const tn_choose_candidate *candidate = &problem->nodes[node].candidates[c];
        bool is_free = true;
        for (uint32_t i = 0; i < candidate->chain_count; i++)
            is_free = is_free && !is_covered[candidate->chain[i]];
        if (!is_free) continue;
        for (uint32_t i = 0; i < candidate->chain_count; i++)
            is_covered[candidate->chain[i]] = true;
        choice[node] = c;
        try_all(problem, node + 1, choice, is_covered, best);
        for (uint32_t i = 0; i < candidate->chain_count; i++)
            is_covered[candidate->chain[i]] = false;
    }
}

static double brute_force(const tn_choose_problem *problem) {
    uint32_t choice[NODES];
    bool is_covered[NODES] = {false};
    double best = 1e300;
    try_all(problem, 0, choice, is_covered, &best);
    return best;
}

/* Each node is done by its own candidate or by one head's chain. */
static void assert_sound(const tn_choose_problem *problem, const uint32_t *choice) {
    uint32_t done[NODES] = {0};
    for (uint32_t n = 0; n < problem->node_count; n++) {
        if (choice[n] == TN_CHOOSE_NONE) continue;
        assert_true(choice[n] < problem->nodes[n].candidate_count);
        const tn_choose_candidate *candidate = &problem->nodes[n].candidates[choice[n]];
        done[n]++;
        for (uint32_t i = 0; i < candidate->chain_count; i++)
            done[candidate->chain[i]]++;
    }
    for (uint32_t n = 0; n < problem->node_count; n++)
        assert_int_equal(done[n], 1);
}

static void test_small_graphs_are_chosen_as_brute_force_would(void **state) {
    (void)state;
    static random_problem random;
    uint32_t seed = 1;
    for (int round = 0; round < 300; round++) {
        uint32_t choice[NODES];
        double cost = 0;
        draw_problem(&random, 1 + draw(&seed, NODES), 5, round % 2 ? FORMATS : STORAGES, &seed);
        assert_int_equal(tn_choose(tn_allocator_default(), &random.problem, false, choice, &cost),
                         TN_OK);
        assert_sound(&random.problem, choice);
        assert_true(cost <= brute_force(&random.problem) * (1 + 1e-6));
        assert_true(tn_choose_cost(&random.problem, choice) == cost);
    }
}

/* Candidates that a choice has to do without are not searched, nor any that are slower than
 * conversions could make up for. */
static void test_the_search_is_for_what_can_be_chosen(void **state) {
    (void)state;
    static random_problem random;
    uint32_t seed = 5, kept = 0, all = 0;
    for (int round = 0; round < 100; round++) {
        tn_choose_problem reduced;
        tn_arena *arena;
        uint32_t **numbers;
        draw_problem(&random, NODES, CANDIDATES, FORMATS, &seed);
        for (uint32_t n = 0; n < NODES; n++)
            for (uint32_t c = 1; c < random.nodes[n].candidate_count; c++)
                if (draw(&seed, 3) == 0) random.candidates[n][c].cost = 1e15;
        assert_int_equal(tn_arena_create(tn_allocator_default(), &arena), TN_OK);
        assert_int_equal(tn_choose_reduce(arena, &random.problem, 0, &reduced, &numbers), TN_OK);
        for (uint32_t n = 0; n < NODES; n++)
            for (uint32_t c = 0; c < reduced.nodes[n].candidate_count; c++) {
                assert_true(reduced.nodes[n].candidates[c].cost < 1e15);
                assert_true(random.candidates[n][numbers[n][c]].cost ==
                            reduced.nodes[n].candidates[c].cost);
            }
        for (uint32_t n = 0; n < NODES; n++) {
            kept += reduced.nodes[n].candidate_count;
            all += random.nodes[n].candidate_count;
        }
        assert_true(brute_force(&reduced) == brute_force(&random.problem));
        tn_arena_destroy(arena);
    }
    assert_true(kept < all);
}

static void test_local_search_alone_is_within_5_percent(void **state) {
    (void)state;
    static random_problem random;
    uint32_t seed = 99;
    double worst = 1, sum = 0, best_sum = 0;
    for (int round = 0; round < 300; round++) {
        uint32_t choice[NODES];
        double cost = 0;
        draw_problem(&random, NODES, 5, round % 2 ? FORMATS : STORAGES, &seed);
        assert_int_equal(tn_choose(tn_allocator_default(), &random.problem, true, choice, &cost),
                         TN_OK);
        assert_sound(&random.problem, choice);
        double best = brute_force(&random.problem);
        assert_true(cost >= best * (1 - 1e-6));
        if (cost / best > worst) worst = cost / best;
        sum += cost;
        best_sum += best;
    }
    print_message("local search: worst %.4f, mean %.5f of the best\n", worst, sum / best_sum);
    assert_true(sum / best_sum <= 1.005);
    assert_true(worst <= 1.05);
}

/* Keeps the node's candidates that read and write none but the first `kept_storages`. */
static void leave_out_lower(random_problem *random, uint32_t n, uint32_t kept_storages) {
    uint32_t kept = 0;
    for (uint32_t c = 0; c < random->nodes[n].candidate_count; c++) {
        const tn_choose_candidate candidate = random->candidates[n][c];
        bool is_lower = candidate.outputs[0].storage >= kept_storages;
        for (uint32_t i = 0; i < candidate.input_count; i++)
            is_lower = is_lower || candidate.inputs[i].storage >= kept_storages;
        if (!is_lower) random->candidates[n][kept++] = candidate;
    }
    random->nodes[n].candidate_count = kept;
}

/* The choice among more candidates is never the dearer one: not where the search ends in a local
 * least, nor where the lower types are slow. */
static void test_less_precision_never_costs_more(void **state) {
    (void)state;
    enum { LOWER = ((1u << STORAGES) - 1) ^ ((1u << FORMATS) - 1), LOWEST = 1u << (STORAGES - 1) };
    static random_problem random;
    uint32_t seed = 17, lowest = 0, lower = 0, wide = 0;
    for (int round = 0; round < 600; round++) {
        uint32_t choice[NODES];
        double cost = 0, without[2] = {0, 0}; /* without the lowest, and without all lower ones */
        draw_problem(&random, NODES, CANDIDATES, STORAGES, &seed);
        for (uint32_t n = 0; n < NODES; n++) { /* the first candidate is of no lower type */
            tn_choose_candidate *first = &random.candidates[n][0];
            for (uint32_t i = 0; i < first->input_count; i++)
                random.inputs[n][0][i].storage %= FORMATS;
            random.outputs[n][0][0].storage %= FORMATS;
        }
        random.problem.lower_storages = LOWER;
        random.problem.lowest_storages = LOWEST;
        assert_int_equal(tn_choose(tn_allocator_default(), &random.problem, true, choice, &cost),
                         TN_OK);
        assert_sound(&random.problem, choice);
        assert_true(tn_choose_cost(&random.problem, choice) == cost);
        random.problem.lower_storages = random.problem.lowest_storages = 0;
        for (int i = 0; i < 2; i++) {
            for (uint32_t n = 0; n < NODES; n++)
                leave_out_lower(&random, n, i == 0 ? STORAGES - 1 : FORMATS);
            assert_int_equal(
                tn_choose(tn_allocator_default(), &random.problem, true, choice, &without[i]),
                TN_OK);
            assert_true(cost <= without[i] * (1 + 1e-9));
        }
        lowest += cost < without[0];
        lower += cost < without[1];
        wide += cost == without[1];
    }
    print_message("less precision is chosen in %u of 600, the least in %u, none in %u\n", lower,
                  lowest, wide);
    assert_true(lower > 0 && lowest > 0 && lowest < 600 && wide > 0);
}

static void test_same_problem_gives_same_choice(void **state) {
    (void)state;
    static random_problem random;
    uint32_t seed = 5, first[NODES], second[NODES];
    double cost = 0;
    for (int round = 0; round < 20; round++) {
        draw_problem(&random, NODES, 5, round % 2 ? FORMATS : STORAGES, &seed);
        assert_int_equal(tn_choose(tn_allocator_default(), &random.problem, false, first, &cost),
                         TN_OK);
        assert_int_equal(tn_choose(tn_allocator_default(), &random.problem, false, second, &cost),
                         TN_OK);
        assert_memory_equal(first, second, sizeof first);
    }
}

/* Ten fast kernels in storage 1 are worth one conversion at each end, though no single one is. */
/* From where random changes lead, and then a descent: what a change leads to costs no less than its
 * bound. */
static void test_a_changes_bound_is_never_above_its_cost(void **state) {
    static random_problem random;
    uint32_t seed = 7, above = 0;
    (void)state;
    for (int i = 0; i < 200; i++) {
        tn_choice_state search = {0};
        draw_problem(&random, NODES, CANDIDATES, STORAGES, &seed);
        assert_int_equal(tn_choice_state_init(&search, tn_allocator_default(), &random.problem),
                         TN_OK);
        tn_choice_clear(&search);
        for (uint32_t n = 0; n < NODES; n++)
            assert_int_equal(tn_choice_set_head(&search, n, 0), TN_OK);
        assert_int_equal(tn_choice_refresh(&search), TN_OK);
        for (int k = 0; k < 100; k++) {
            const uint32_t n = draw(&seed, NODES);
            const uint32_t c = draw(&seed, random.nodes[n].candidate_count);
            const size_t mark = search.log_count;
            const double before = search.total, least = tn_choice_least(&search, n, c);
            above += least >= before;
            assert_int_equal(tn_choice_apply(&search, n, c), TN_OK);
            if (search.total < least - 1e-9 * least) fail_msg("%g < %g", search.total, least);
            if (search.total > before && k > 20) tn_choice_rollback(&search, mark, before);
        }
        tn_choice_state_deinit(&search);
    }
    print_message("%u of 20000 need not be tried\n", above);
    assert_true(above > 1000);
}

static void test_a_whole_chain_changes_its_storage(void **state) {
    (void)state;
    enum { LENGTH = 40 };
    static tn_choose_candidate candidates[LENGTH][2];
    static tn_choose_use uses[LENGTH + 1][2];
    static tn_choose_node nodes[LENGTH];
    static tn_choose_tensor tensors[LENGTH + 1];
    static double reformat[(LENGTH + 1) * 4];
    uint32_t choice[LENGTH];
    double cost = 0;
    for (uint32_t t = 0; t <= LENGTH; t++) {
        tensors[t] = (tn_choose_tensor){TN_CHOOSE_NONE, TN_CHOOSE_NONE};
        reformat[t * 4 + 1] = reformat[t * 4 + 2] = 50;
        uses[t][0] = (tn_choose_use){t, 0};
        uses[t][1] = (tn_choose_use){t, 1};
    }
    tensors[0].given = tensors[LENGTH].wanted = 0;
    for (uint32_t n = 0; n < LENGTH; n++) {
        for (uint32_t c = 0; c < 2; c++)
            candidates[n][c] = (tn_choose_candidate){.cost = c == 0 ? 30 : 20,
                                                     .input_count = 1,
                                                     .output_count = 1,
                                                     .inputs = &uses[n][c],
                                                     .outputs = &uses[n + 1][c]};
        nodes[n] = (tn_choose_node){2, candidates[n]};
    }
    tn_choose_problem problem = {LENGTH, LENGTH + 1, 2, nodes, tensors, reformat, false, 0, 0};
    assert_int_equal(tn_choose(tn_allocator_default(), &problem, false, choice, &cost), TN_OK);
    assert_true(cost == LENGTH * 20 + 100);
    for (uint32_t n = 0; n < LENGTH; n++)
        assert_int_equal(choice[n], 1);
}

static void test_a_reformat_is_paid_once_for_all_readers(void **state) {
    (void)state;
    static const tn_choose_use in = {0, 1}, out[3] = {{1, 0}, {2, 0}, {3, 0}};
    static const double reformat[4 * 4] = {0, 10, 10, 0};
    tn_choose_candidate candidates[3];
    tn_choose_node nodes[3];
    tn_choose_tensor tensors[4] = {
        {0, TN_CHOOSE_NONE}, {TN_CHOOSE_NONE, 0}, {TN_CHOOSE_NONE, 0}, {TN_CHOOSE_NONE, 0}};
    for (int n = 0; n < 3; n++) {
        candidates[n] = (tn_choose_candidate){
            .cost = 1, .input_count = 1, .output_count = 1, .inputs = &in, .outputs = &out[n]};
        nodes[n] = (tn_choose_node){1, &candidates[n]};
    }
    tn_choose_problem problem = {3, 4, 2, nodes, tensors, reformat, false, 0, 0};
    uint32_t choice[3];
    double cost = 0;
    assert_int_equal(tn_choose(tn_allocator_default(), &problem, false, choice, &cost), TN_OK);
    assert_true(cost == 13);
}

/* Far more readers than are tried in pairs: together they are worth one conversion, alone none. */
static void test_a_tensor_of_many_readers_is_converted_for_all(void **state) {
    enum { READERS = 400 };
    static const tn_choose_use in[2] = {{0, 0}, {0, 1}};
    static tn_choose_use out[READERS];
    static tn_choose_candidate candidates[READERS][2];
    static tn_choose_node nodes[READERS];
    static tn_choose_tensor tensors[READERS + 1];
    static double reformat[(READERS + 1) * 4];
    uint32_t choice[READERS];
    double cost = 0;
    (void)state;
    tensors[0] = (tn_choose_tensor){0, TN_CHOOSE_NONE};
    reformat[1] = reformat[2] = 150;
    for (uint32_t n = 0; n < READERS; n++) {
        out[n] = (tn_choose_use){n + 1, 0};
        tensors[n + 1] = (tn_choose_tensor){TN_CHOOSE_NONE, 0};
        for (uint32_t c = 0; c < 2; c++)
            candidates[n][c] = (tn_choose_candidate){.cost = c == 0 ? 10 : 9,
                                                     .input_count = 1,
                                                     .output_count = 1,
                                                     .inputs = &in[c],
                                                     .outputs = &out[n]};
        nodes[n] = (tn_choose_node){2, candidates[n]};
    }
    const tn_choose_problem problem = {READERS,  READERS + 1, 2, nodes, tensors,
                                       reformat, false,       0, 0};
    assert_int_equal(tn_choose(tn_allocator_default(), &problem, false, choice, &cost), TN_OK);
    assert_true(cost == 150 + 9 * READERS);
    for (uint32_t n = 0; n < READERS; n++)
        assert_int_equal(choice[n], 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_graphs_are_chosen_as_brute_force_would),
        cmocka_unit_test(test_the_search_is_for_what_can_be_chosen),
        cmocka_unit_test(test_local_search_alone_is_within_5_percent),
        cmocka_unit_test(test_less_precision_never_costs_more),
        cmocka_unit_test(test_same_problem_gives_same_choice),
        cmocka_unit_test(test_a_changes_bound_is_never_above_its_cost),
        cmocka_unit_test(test_a_whole_chain_changes_its_storage),
        cmocka_unit_test(test_a_reformat_is_paid_once_for_all_readers),
        cmocka_unit_test(test_a_tensor_of_many_readers_is_converted_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
