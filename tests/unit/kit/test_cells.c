/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of cells: an operand that is the same everywhere gives what a row of it gives, on either
 * side and on both, at every level of this processor.
 */
#include "kit/elementwise/cells.h"
#include "test.h"

#include <string.h>

enum { LONGEST = 67, WIDEST = 8 };

typedef struct row {
    _Alignas(WIDEST) unsigned char bytes[LONGEST * WIDEST];
} row;

static void fill(tn_cell cell, row *to, int first) {
    for (int i = 0; i < LONGEST; i++) {
        const int value = (first + 5 * i) % 7 - 2;
        if (cell == TN_CELL_F32)
            ((float *)(void *)to->bytes)[i] = (float)value;
        else if (cell == TN_CELL_F64)
            ((double *)(void *)to->bytes)[i] = value;
        else if (cell == TN_CELL_BOOL)
            to->bytes[i] = value > 0;
        else if (tn_cell_bytes(cell) == 8)
            ((int64_t *)(void *)to->bytes)[i] = value;
        else
            ((int32_t *)(void *)to->bytes)[i] = value;
    }
}

static void repeat_first(tn_cell cell, row *of) {
    for (size_t i = 1; i < LONGEST; i++)
        memcpy(of->bytes + i * tn_cell_bytes(cell), of->bytes, tn_cell_bytes(cell));
}

static void compare_strides(tn_cell cell, tn_cell_combine combine, size_t result_bytes) {
    static const int64_t counts[] = {0, 1, 2, 7, 16, 33, LONGEST};
    for (int strides = 0; strides < 4; strides++) {
        const int64_t a_stride = strides & 1, b_stride = strides >> 1;
        row a, b, found, wanted;
        fill(cell, &a, 1);
        fill(cell, &b, 3);
        row whole_a = a, whole_b = b;
        if (!a_stride) repeat_first(cell, &whole_a);
        if (!b_stride) repeat_first(cell, &whole_b);
        for (size_t i = 0; i < TN_COUNT(counts); i++) {
            memset(&found, 0x5A, sizeof(found));
            memset(&wanted, 0x5A, sizeof(wanted));
            combine(counts[i], a.bytes, a_stride, b.bytes, b_stride, found.bytes);
            combine(counts[i], whole_a.bytes, 1, whole_b.bytes, 1, wanted.bytes);
            assert_memory_equal(found.bytes, wanted.bytes, sizeof(found.bytes));
            if (result_bytes != tn_cell_bytes(cell)) continue;
            row in_place = a;
            combine(counts[i], in_place.bytes, a_stride, b.bytes, b_stride, in_place.bytes);
            assert_memory_equal(in_place.bytes, wanted.bytes, (size_t)counts[i] * result_bytes);
        }
    }
}

static void compare_level(const tn_cells_level *level) {
    for (tn_cell cell = 0; cell < TN_CELL_COUNT; cell++) {
        const tn_cell_functions *functions = &level->wide[cell];
        for (uint32_t i = 0; i < TN_CELL_COMBINE_COUNT; i++) {
            if (functions->combines[i])
                compare_strides(cell, functions->combines[i], tn_cell_bytes(cell));
            if (functions->truths[i]) compare_strides(cell, functions->truths[i], 1);
        }
    }
}

static void test_cells_that_are_the_same_everywhere_give_what_rows_of_them_give(void **state) {
    (void)state;
    compare_level(&tn_cells_baseline);
#if defined(__x86_64__)
    if (tn_kit_level() >= TN_KIT_AVX2) compare_level(&tn_cells_avx2);
    if (tn_kit_level() >= TN_KIT_AVX512) compare_level(&tn_cells_avx512);
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells_that_are_the_same_everywhere_give_what_rows_of_them_give)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
