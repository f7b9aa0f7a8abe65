/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each ability beside each other one, on each network: it works, with the results of a plain run,
 * or it is refused as the table says. And a number of sets of three to six, drawn from a seed.
 */
#include "graph_test.h" /* before cmocka's macro `fail`, which is also a member of tn_host */

#include "test.h"

#include "combination.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define NETWORK(net) (UINT32_C(1) << (net))

tn_library *combination_ask(const tn_host *host);

/* What is refused: where all of these meet, on these networks. The first that fits counts. */
static const struct refusal {
    uint32_t nets, abilities;
    tn_status status;
    const char *stage, *message;
} refusals[] = {
    {NETWORK(NET_BODIES), WITH(ISOLATED), TN_ERROR_UNSUPPORTED, "load", "helper process"},
    {NETWORK(NET_SEQUENCES), WITH(ISOLATED), TN_ERROR_UNSUPPORTED, "load", "helper process"},
    {NETWORK(NET_UNKNOWN), WITH(ISOLATED), TN_ERROR_NOT_FOUND, "create", "was linked into"},
    {NETWORK(NET_CONV) | NETWORK(NET_MIXED), WITH(ISOLATED) | WITH(LENT_MEMORY),
     TN_ERROR_UNSUPPORTED, "create", "helper process"},
    {NETWORK(NET_UNKNOWN) | NETWORK(NET_SEQUENCES), WITH(LENT_MEMORY), TN_ERROR_UNSUPPORTED,
     "create", "step by step"},
};

static const struct refusal *refusal_of(const combination *own) {
    for (size_t i = 0; i < TEST_COUNT(refusals); i++)
        if (refusals[i].nets & NETWORK(own->net) &&
            (own->abilities & refusals[i].abilities) == refusals[i].abilities)
            return &refusals[i];
    return NULL;
}

/* --- the plain runs; refitted plans fold and fuse less --- */

static float *plain[NETS][2];
static uint32_t plain_count[NETS][2];
static char folder[] = "/tmp/tenon-combinations-XXXXXX";
static combination test;
static uint32_t done, refused, wrong;
static bool is_first;

static void name_of(char *text, size_t capacity) {
    size_t at = (size_t)snprintf(text, capacity, "%s:", net_names[test.net]);
    for (int i = 0; i < ABILITIES; i++)
        if (test.abilities & WITH(i))
            at += (size_t)snprintf(text + at, capacity - at, " %s", ability_names[i]);
}

static void wrongly(const char *what) {
    char name[512];
    name_of(name, sizeof(name));
    print_error("%s: %s\n", name, what);
    wrong++;
}

/* To the bit; where a range of shapes may have other kernels, to what sums in another order give.
 */
static bool is_same(float found, float expected) {
    const float difference = fabsf(found - expected);
    return memcmp(&found, &expected, sizeof(found)) == 0 ||
           (test.abilities & WITH(PROFILES) && difference <= 1e-5f * fabsf(expected) + 1e-6f);
}

static void compare(const float *found, uint32_t count) {
    const int is_refit = (test.abilities & WITH(REFIT)) != 0;
    const float *expected = plain[test.net][is_refit];
    char text[128];
    if (!expected) return;
    if (count != plain_count[test.net][is_refit]) {
        wrongly("another number of results");
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!is_same(found[i], expected[i])) {
            snprintf(text, sizeof(text), "result %u is %.9g, not %.9g", i, (double)found[i],
                     (double)expected[i]);
            wrongly(text);
            return;
        }
}

/* A combination that hangs is named. */
static void on_alarm(int number) {
    char name[512];
    (void)number;
    name_of(name, sizeof(name));
    print_error("%s: no end after a minute\n", name);
    _exit(1);
}

static void try_one(uint32_t net, uint32_t abilities) {
    static float found[RESULT_BYTES];
    const char *stage = NULL;
    uint32_t count = 0;
    char text[1024];
    const int64_t live = test.allocator.live;
    test.net = net;
    test.abilities = abilities;
    const struct refusal *refusal = refusal_of(&test);
    alarm(60);
    const tn_status status = combination_run(&test, found, &count, &stage);
    const tn_error *error = tn_last_error();
    alarm(0);
    done++;
    if (status != TN_OK && refusal) {
        refused++;
        if (status != refusal->status || strcmp(stage, refusal->stage) != 0 ||
            !strstr(error->message, refusal->message)) {
            snprintf(text, sizeof(text), "refused otherwise: %s at %s: %s", tn_status_name(status),
                     stage, error->message);
            wrongly(text);
        }
    } else if (status != TN_OK) {
        snprintf(text, sizeof(text), "%s at %s: %s: %s", tn_status_name(status), stage,
                 error->where, error->message);
        wrongly(text);
    } else if (refusal) {
        wrongly("works, though the table says that it is refused");
    } else {
        compare(found, count);
    }
    if (test.allocator.live != live && !is_first) {
        snprintf(text, sizeof(text), "%lld blocks are left",
                 (long long)(test.allocator.live - live));
        wrongly(text);
    }
    if (status == TN_OK && (abilities & ~WITH(REFIT)) == 0) { /* a plain run */
        const int is_refit = abilities != 0;
        plain[net][is_refit] = malloc(count * sizeof(float));
        assert_non_null(plain[net][is_refit]);
        memcpy(plain[net][is_refit], found, count * sizeof(float));
        plain_count[net][is_refit] = count;
    }
}

static void report(void) {
    print_message("%u combinations, %u of them refused as expected, %u wrong\n", done, refused,
                  wrong);
    assert_int_equal(wrong, 0);
}

/* --- tests --- */

static void start_again(void) {
    tn_runtime *runtime = NULL;
    const tn_runtime_options options = {.size = sizeof(options),
                                        .allocator = &test.allocator.functions,
                                        .flags = TN_RUNTIME_NO_ENVIRONMENT,
                                        .run_threads = 1}; /* so that no later run starts one */
    failing_allocator_init(&test.allocator);
    assert_int_equal(tn_runtime_create(&options, &runtime), TN_OK);
    test.runtime = runtime;
    static const char *const libraries[] = {KEEP_LIBRARY, BODIES_LIBRARY, SEQUENCES_LIBRARY,
                                            STUB_LIBRARY};
    for (size_t i = 0; i < TEST_COUNT(libraries); i++)
        assert_int_equal(tn_runtime_load_library(runtime, libraries[i]), TN_OK);
    assert_int_equal(tn_runtime_register_library(runtime, combination_ask), TN_OK);
    assert_true(read_built_in_tables(runtime));
    done = refused = wrong = 0;
}

static int set_up(void **state) {
    (void)state;
    start_again();
    test.folder = folder;
    is_first = true; /* the thread that it starts stays */
    try_one(NET_CONV, WITH(ASYNC));
    is_first = false;
    for (uint32_t net = 0; net < NETS; net++) { /* what is kept for later runs is there then */
        for (int is_refit = 0; is_refit < 2; is_refit++) {
            free(plain[net][is_refit]);
            plain[net][is_refit] = NULL;
            try_one(net, is_refit ? WITH(REFIT) : 0);
        }
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    tn_runtime_release(test.runtime);
    test.runtime = NULL;
    for (uint32_t net = 0; net < NETS; net++)
        for (int is_refit = 0; is_refit < 2; is_refit++) {
            free(plain[net][is_refit]);
            plain[net][is_refit] = NULL;
        }
    if (test.allocator.live != 0)
        print_error("%lld blocks are left\n", (long long)test.allocator.live);
    return test.allocator.live == 0 ? 0 : -1;
}

static void test_each_alone(void **state) {
    (void)state;
    for (uint32_t net = 0; net < NETS; net++)
        for (int a = 0; a < ABILITIES; a++)
            if (a != REFIT) try_one(net, WITH(a));
    report();
}

static void test_pairs(void **state) {
    (void)state;
    for (uint32_t net = 0; net < NETS; net++)
        for (int a = 0; a < ABILITIES; a++)
            for (int b = a + 1; b < ABILITIES; b++)
                try_one(net, WITH(a) | WITH(b));
    report();
}

/* One alone, "NET: ABILITY ABILITY", as it is written where it fails. */
static void try_named(const char *name) {
    uint32_t abilities = 0, net = 0;
    while (net < NETS && strncmp(name, net_names[net], strcspn(name, ":")) != 0)
        net++;
    assert_true(net < NETS);
    for (const char *at = strchr(name, ':'); at && *at; at += strcspn(at, " ")) {
        at += strspn(at, ": ");
        for (int i = 0; i < ABILITIES; i++)
            if (strlen(ability_names[i]) == strcspn(at, " ") &&
                strncmp(at, ability_names[i], strcspn(at, " ")) == 0)
                abilities |= WITH(i);
    }
    try_one(net, abilities);
    report();
}

static void test_the_one_that_is_asked_for(void **state) {
    const char *wanted = getenv("TENON_COMBINATION");
    (void)state;
    if (wanted) try_named(wanted);
}

/* The same sets in each run; TENON_COMBINATIONS="SEED COUNT" tries others. */
static void test_sets_that_are_drawn(void **state) {
    unsigned seed = 1, count = 200;
    const char *wanted = getenv("TENON_COMBINATIONS");
    (void)state;
    if (wanted) assert_int_equal(sscanf(wanted, "%u %u", &seed, &count), 2);
    uint64_t values = seed * UINT64_C(0x9e3779b97f4a7c15);
    for (unsigned i = 0; i < count; i++) {
        uint32_t abilities = 0, size = 3 + i % 4, net;
        while (size > 0) {
            values = values * UINT64_C(6364136223846793005) + 1442695040888963407u;
            const uint32_t drawn = WITH((values >> 33) % ABILITIES);
            size -= !(abilities & drawn);
            abilities |= drawn;
        }
        values = values * UINT64_C(6364136223846793005) + 1442695040888963407u;
        net = (uint32_t)(values >> 33) % NETS;
        try_one(net, abilities);
    }
    report();
}

/* Of each ability, so many allocations of loading and running fail in turn, spread over all that
 * there are: nothing is left behind, and the error says so. TENON_FAILURES sets their number. */
static void fail_some(uint32_t net, uint32_t abilities, uint64_t wanted) {
    static float found[RESULT_BYTES];
    const char *stage = NULL;
    uint32_t count = 0;
    char text[512];
    test.net = net;
    test.abilities = abilities;
    if (refusal_of(&test)) return;
    test.fail_at = UINT64_MAX >> 1; /* counts */
    const uint64_t before = test.allocator.allocations;
    (void)combination_run(&test, found, &count, &stage);
    const uint64_t all = test.allocator.allocations - before;
    uint64_t step = all / wanted + 1;
    for (uint64_t at = 1 + all % 7 % step; at < all; at += step) {
        const int64_t live = test.allocator.live;
        test.fail_at = at;
        alarm(60);
        const tn_status status = combination_run(&test, found, &count, &stage);
        alarm(0);
        done++;
        if (status == TN_ERROR_MEMORY) refused++;
        if (test.allocator.live != live) {
            snprintf(text, sizeof(text), "allocation %u fails at %s: %d blocks are left",
                     (unsigned)at, stage, (int)(test.allocator.live - live));
            wrongly(text);
        }
        if (status != TN_OK && status != TN_ERROR_MEMORY) {
            snprintf(text, sizeof(text), "allocation %u fails at %s: %s: %s", (unsigned)at, stage,
                     tn_status_name(status), tn_last_error()->message);
            wrongly(text);
        }
        if (status == TN_OK) compare(found, count);
    }
    test.fail_at = 0;
}

static void test_memory_that_is_not_there(void **state) {
    const char *wanted = getenv("TENON_FAILURES");
    (void)state;
    for (uint32_t net = 0; net < NETS; net++)
        for (int a = 0; a < ABILITIES; a++) {
            if (a == CANCELLED_BUILD || a == DESCRIBED) continue;
            fail_some(net, WITH(a), wanted ? strtoul(wanted, NULL, 10) : 4);
        }
    assert_true(refused > 100);
    report();
}

/* test_combinations [TEST] */
int main(int argument_count, char **arguments) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_one_that_is_asked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_each_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pairs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sets_that_are_drawn, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory_that_is_not_there, set_up, tear_down)};
    char path[64];
    signal(SIGALRM, on_alarm);
    if (!mkdtemp(folder)) return 1;
    if (argument_count > 1) cmocka_set_test_filter(arguments[1]);
    if (getenv("TENON_COMBINATION")) cmocka_set_test_filter("test_the_one*");
    const int failed = cmocka_run_group_tests_name("combinations", tests, NULL, NULL);
    snprintf(path, sizeof(path), "%s/combination.plan", folder);
    (void)unlink(path);
    (void)rmdir(folder);
    return failed;
}
