/* SPDX-License-Identifier: Apache-2.0 */
/* Shared resources: made by the first user, freed by the last, one for each device or context. */
#include "plugin/call.h"
#include "plugin/runtime.h"

#include <tenon/plugin/resource.h>

#include <pthread.h>

typedef struct counts {
    int made, freed, fails;
} counts;

static tn_status create(tn_call *call, void *user, void **out_resource) {
    counts *c = user;
    if (c->fails) return call->host->fail(call, TN_ERROR_DEVICE, "told to fail");
    for (volatile int i = 0; i < 1000000; i++) /* others come meanwhile */
        ;
    c->made++;
    *out_resource = c;
    return TN_OK;
}

#include "test.h" /* its macro `fail` is also a member of tn_host */

static void destroy(tn_call *call, void *user, void *resource) {
    (void)call;
    assert_ptr_equal(user, resource);
    ((counts *)user)->freed++;
}

typedef struct user_call {
    tn_call_scope scope;
    tn_call call;
} user_call;

static void user_init(user_call *user, tn_runtime *runtime, const void *context) {
    user->scope = (tn_call_scope){.runtime = runtime, .context = context};
    user->call = (tn_call){.size = sizeof(tn_call),
                           .host = tn_runtime_host(runtime),
                           .device = tn_runtime_cpu(runtime),
                           .host_private = &user->scope};
}

static const tn_resources *table_of(const user_call *user) {
    return user->call.host->extension(user->call.host, TN_RESOURCES);
}

static tn_resource describe(uint32_t scope, const char *key, counts *user) {
    return (tn_resource){.size = sizeof(tn_resource),
                         .scope = scope,
                         .key = key,
                         .user = user,
                         .create = create,
                         .destroy = destroy};
}

static int setup(void **state) {
    return tn_runtime_create(NULL, (tn_runtime **)state) == TN_OK ? 0 : -1;
}
static int teardown(void **state) {
    tn_runtime_release(*state);
    return 0;
}

static void test_the_last_user_frees_what_the_first_made(void **state) {
    counts c = {0};
    user_call a = {0}, b = {0};
    void *found[3] = {0};
    char key[] = "acme.blas/1";
    const tn_resource resource = describe(TN_SCOPE_DEVICE, key, &c);
    user_init(&a, *state, NULL);
    user_init(&b, *state, &b);
    assert_int_equal(table_of(&a)->acquire(&a.call, &resource, &found[0]), TN_OK);
    assert_int_equal(table_of(&b)->acquire(&b.call, &resource, &found[1]), TN_OK);
    assert_ptr_equal(found[0], found[1]);
    table_of(&a)->release(&a.call, &resource, found[0]);
    assert_true(c.made == 1 && c.freed == 0);
    table_of(&b)->release(&b.call, &resource, found[1]);
    assert_int_equal(c.freed, 1);
    assert_int_equal(table_of(&a)->acquire(&a.call, &resource, &found[2]), TN_OK);
    assert_int_equal(c.made, 2);
    table_of(&a)->release(&a.call, &resource, found[2]);
}

static void test_contexts_and_keys_have_their_own(void **state) {
    counts c = {0};
    user_call a = {0}, b = {0}, none = {0};
    void *found[3] = {0};
    const tn_resource one = describe(TN_SCOPE_CONTEXT, "acme.handle/1", &c),
                      other = describe(TN_SCOPE_CONTEXT, "acme.handle/2", &c);
    user_init(&a, *state, &a);
    user_init(&b, *state, &b);
    user_init(&none, *state, NULL);
    assert_int_equal(table_of(&a)->acquire(&a.call, &one, &found[0]), TN_OK);
    assert_int_equal(table_of(&b)->acquire(&b.call, &one, &found[1]), TN_OK);
    assert_int_equal(table_of(&a)->acquire(&a.call, &other, &found[2]), TN_OK);
    assert_int_equal(c.made, 3);
    assert_failed(table_of(&none)->acquire(&none.call, &one, &found[0]), TN_ERROR_STATE,
                  "no context");
    table_of(&a)->release(&a.call, &one, found[0]);
    table_of(&b)->release(&b.call, &one, found[1]);
    table_of(&a)->release(&a.call, &other, found[2]);
    assert_int_equal(c.freed, 3);
}

static void test_a_failure_is_tried_again(void **state) {
    counts c = {.fails = 1};
    user_call a;
    void *found = NULL;
    tn_resource resource = describe(TN_SCOPE_DEVICE, "acme.blas/1", &c);
    user_init(&a, *state, NULL);
    assert_failed(table_of(&a)->acquire(&a.call, &resource, &found), TN_ERROR_DEVICE, "told");
    c.fails = 0;
    assert_int_equal(table_of(&a)->acquire(&a.call, &resource, &found), TN_OK);
    table_of(&a)->release(&a.call, &resource, found);
    resource.key = NULL;
    assert_failed(table_of(&a)->acquire(&a.call, &resource, &found), TN_ERROR_ARGUMENT, "key");
}

static counts shared;
static void *use(void *runtime) {
    user_call a;
    const tn_resource resource = describe(TN_SCOPE_DEVICE, "acme.blas/1", &shared);
    user_init(&a, runtime, NULL);
    for (int i = 0; i < 50; i++) {
        void *found = NULL;
        if (table_of(&a)->acquire(&a.call, &resource, &found) != TN_OK || found != &shared)
            return &shared;
        table_of(&a)->release(&a.call, &resource, found);
    }
    return NULL;
}

static void test_threads_share_one(void **state) {
    pthread_t threads[3];
    user_call a;
    void *held = NULL;
    const tn_resource resource = describe(TN_SCOPE_DEVICE, "acme.blas/1", &shared);
    user_init(&a, *state, NULL);
    assert_int_equal(table_of(&a)->acquire(&a.call, &resource, &held), TN_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use, *state), 0);
    for (int i = 0; i < 3; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_true(shared.made == 1 && shared.freed == 0);
    table_of(&a)->release(&a.call, &resource, held);
    assert_int_equal(shared.freed, 1);
}

#define RESOURCE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        RESOURCE_TEST(test_the_last_user_frees_what_the_first_made),
        RESOURCE_TEST(test_contexts_and_keys_have_their_own),
        RESOURCE_TEST(test_a_failure_is_tried_again),
        RESOURCE_TEST(test_threads_share_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
