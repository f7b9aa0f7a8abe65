/* SPDX-License-Identifier: Apache-2.0 */
/* Where the elements of a part of a tensor lie. */
#include "tensor/window.h"

#include "test.h"

typedef struct window_row {
    tn_type type;
    tn_format format;
    tn_shape shape;
    int64_t offsets[4], extents[4];
    bool is_found;
    tn_window expected;
} window_row;

static const window_row rows[] = {
    /* contiguous */
    {TN_F32, TN_LINEAR, {4, {1, 8, 2, 3}}, {0, 2, 0, 0}, {1, 4, 2, 3}, true, {48, 1, 96, 0}},
    {TN_F32, TN_LINEAR, {2, {5, 3}}, {2, 0}, {2, 3}, true, {24, 1, 24, 0}},
    {TN_F32, TN_LINEAR, {2, {5, 3}}, {0, 0}, {5, 3}, true, {0, 1, 60, 0}},
    {TN_F16, TN_LINEAR, {3, {1, 1, 7}}, {0, 0, 3}, {1, 1, 2}, true, {6, 1, 4, 0}},
    {TN_F32, TN_C8, {4, {1, 24, 2, 3}}, {0, 8, 0, 0}, {1, 8, 2, 3}, true, {192, 1, 192, 0}},
    {TN_F32, TN_C8, {4, {1, 20, 2, 3}}, {0, 8, 0, 0}, {1, 12, 2, 3}, true, {192, 1, 384, 0}},
    /* rows at one distance */
    {TN_F32, TN_LINEAR, {4, {2, 8, 2, 3}}, {0, 2, 0, 0}, {2, 4, 2, 3}, true, {48, 2, 96, 192}},
    {TN_F32, TN_LINEAR, {3, {2, 3, 5}}, {0, 0, 1}, {2, 3, 2}, true, {4, 6, 8, 20}},
    {TN_F32, TN_NHWC, {4, {1, 8, 2, 3}}, {0, 2, 0, 0}, {1, 4, 2, 3}, true, {8, 6, 16, 32}},
    {TN_F32, TN_LINEAR, {3, {4, 3, 5}}, {1, 1, 0}, {2, 1, 5}, true, {80, 2, 20, 60}},
    /* rows at several distances */
    {TN_F32, TN_LINEAR, {3, {2, 3, 5}}, {0, 0, 1}, {2, 2, 2}, false, {0}},
    /* a cut through a block, through a byte, and outside */
    {TN_F32, TN_C8, {4, {1, 24, 2, 3}}, {0, 4, 0, 0}, {1, 8, 2, 3}, false, {0}},
    {TN_F32, TN_C8, {4, {1, 24, 2, 3}}, {0, 8, 0, 0}, {1, 4, 2, 3}, false, {0}},
    {TN_I4, TN_LINEAR, {1, {8}}, {1}, {4}, false, {0}},
    {TN_I4, TN_LINEAR, {1, {8}}, {2}, {4}, true, {1, 1, 2, 0}},
    {TN_F32, TN_LINEAR, {1, {8}}, {5}, {4}, false, {0}},
    {TN_F32, TN_LINEAR, {1, {8}}, {-1}, {4}, false, {0}},
    {TN_F32, TN_LINEAR, {1, {8}}, {INT64_MAX}, {1}, false, {0}},
    /* nothing */
    {TN_F32, TN_LINEAR, {2, {4, 3}}, {4, 0}, {0, 3}, true, {48, 0, 0, 0}},
};

static void test_windows_are_found(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const window_row *row = &rows[i];
        tn_window found = {0};
        if (tn_window_find(row->type, row->format, &row->shape, row->offsets, row->extents,
                           &found) != row->is_found)
            fail_msg("row %zu: expected %d", i, row->is_found);
        if (!row->is_found) continue;
        if (found.offset_bytes != row->expected.offset_bytes ||
            found.row_count != row->expected.row_count ||
            found.row_bytes != row->expected.row_bytes ||
            (found.row_count > 1 && found.pitch_bytes != row->expected.pitch_bytes))
            fail_msg("row %zu: %zu rows of %zu bytes from %zu on, %zu apart", i, found.row_count,
                     found.row_bytes, found.offset_bytes, found.pitch_bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_windows_are_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
