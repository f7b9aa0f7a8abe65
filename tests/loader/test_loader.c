/* SPDX-License-Identifier: Apache-2.0 */
/* One clear line for each case in which a library of NVIDIA's is not there as it should be. */
#include "kit/cuda/loader.h"
#include "test.h"

static const char *const names[] = {"first_function", "second_function"};

typedef struct functions {
    int (*first)(void);
    int (*second)(void);
} functions;

static bool open_fake(const char *file, const char *const *others, functions *out_functions,
                      char *text, size_t bytes) {
    const tn_cuda_loader wanted = {.title = "cuDNN",
                                   .file = file,
                                   .others = others,
                                   .version_function = "cudnnGetVersion",
                                   .least_version = 90800,
                                   .count = 2,
                                   .names = names};
    void *found[2] = {NULL, NULL};
    const bool is_open = tn_cuda_loader_open(&wanted, found, text, bytes);
    memcpy(out_functions, found, sizeof(found));
    return is_open;
}

static void loader_finds_functions(void **state) {
    functions f;
    char text[600] = "";
    (void)state;
    assert_true(open_fake(FAKES "/right/libcudnn.so.9", NULL, &f, text, sizeof(text)));
    assert_int_equal(f.first(), 1);
    assert_int_equal(f.second(), 2);
    assert_string_equal(text, "");
}

static void expect_line(const char *file, const char *const *others, const char *line) {
    functions f;
    char text[600] = "";
    assert_false(open_fake(file, others, &f, text, sizeof(text)));
    assert_string_equal(text, line);
}

static void loader_names_versions(void **state) {
    (void)state;
    expect_line(FAKES "/old/libcudnn.so.9", NULL,
                "cuDNN is left out: " FAKES
                "/old/libcudnn.so.9 of version 9.8.0 or newer is wanted, found 9.1.0");
    expect_line(FAKES "/silent/libcudnn.so.9", NULL,
                "cuDNN is left out: " FAKES
                "/silent/libcudnn.so.9 of version 9.8.0 or newer is wanted, found 0.0.0");
}

static void loader_names_what_lacks(void **state) {
    (void)state;
    expect_line(FAKES "/lacking/libcudnn.so.9", NULL,
                "cuDNN is left out: " FAKES
                "/lacking/libcudnn.so.9 of version 9.19.0 lacks second_function");
}

static void loader_names_another_version(void **state) {
    static const char *const others[] = {FAKES "/nowhere.so", FAKES "/old/libcudnn.so.9", NULL};
    (void)state;
    expect_line(FAKES "/none/libcudnn.so.9", others,
                "cuDNN is left out: " FAKES
                "/none/libcudnn.so.9 of version 9.8.0 or newer is wanted, found " FAKES
                "/old/libcudnn.so.9 alone");
}

static void loader_says_that_none_is_there(void **state) {
    functions f;
    char text[600] = "";
    (void)state;
    assert_false(open_fake(FAKES "/none/libcudnn.so.9", NULL, &f, text, sizeof(text)));
    assert_non_null(strstr(text, "of version 9.8.0 or newer is wanted, found none: "));
    assert_non_null(strstr(text, "No such file"));
    /* A short buffer gets the beginning. */
    assert_false(open_fake(FAKES "/none/libcudnn.so.9", NULL, &f, text, 20));
    assert_string_equal(text, "cuDNN is left out: ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loader_finds_functions),
        cmocka_unit_test(loader_names_versions),
        cmocka_unit_test(loader_names_what_lacks),
        cmocka_unit_test(loader_names_another_version),
        cmocka_unit_test(loader_says_that_none_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
