/* SPDX-License-Identifier: Apache-2.0 */
/* Packing, and bands of sums; see integer_product.h. */
#include "kit/int8/integer_product.h"
#include "kit/int8/dot_rows.h"
#include "kit/math/round_up.h"
#include <tenon/kit/infer.h>

#include <string.h>

const tn_integer_level tn_integer_baseline = {&tn_dot_baseline, &tn_integer_rows_baseline, NULL};
#if defined(__x86_64__) || defined(__i386__)
extern const tn_dot_level tn_wide_dot_avx2;
static const tn_integer_level narrow_avx2 = {&tn_dot_avx2, &tn_integer_rows_avx2, NULL};
const tn_integer_level tn_integer_avx2 = {&tn_wide_dot_avx2, &tn_integer_rows_avx2, &narrow_avx2};
#else
const tn_integer_level tn_integer_avx2 = {&tn_dot_avx2, &tn_integer_rows_avx2, NULL};
#endif
const tn_integer_level tn_integer_avx512vnni = {&tn_dot_avx512vnni, &tn_integer_rows_avx512vnni,
                                                NULL};

bool tn_integer_product_make(const tn_integer_level *level, int64_t matrices, int64_t depth,
                             int64_t columns, bool a_is_unsigned, tn_integer_product *out_product) {
    const int64_t group = level->dot->group;
    if (depth <= 0 || depth > TN_DOT_DEPTH_LIMIT) return false;
    *out_product =
        (tn_integer_product){.level = level, .depth = depth, .a_is_unsigned = a_is_unsigned};
    return tn_dot_layout_make(level->dot, matrices, columns, (depth + group - 1) / group,
                              &out_product->layout);
}

/* Of a row, up to whole groups. */
static int64_t elements_of(const tn_integer_product *product) {
    return product->layout.groups * product->level->dot->group;
}

static tn_dot_source source_of(const tn_integer_product *product, int32_t *elements) {
    const int64_t columns = product->layout.columns, depth = product->depth;
    for (int64_t k = 0; k < elements_of(product); k++)
        elements[k] = k < depth ? (int32_t)k : -1;
    return (tn_dot_source){.matrix_stride = depth * columns,
                           .column_stride = 1,
                           .element_stride = columns,
                           .period = columns,
                           .elements = elements};
}

int64_t tn_integer_product_blocks(const tn_integer_product *product) {
    return product->layout.matrices * product->layout.blocks;
}

static void pack_block(const tn_integer_product *product, const uint8_t *b, int64_t matrix,
                       int64_t block, void *blob) {
    const tn_dot_layout *layout = &product->layout;
    const int64_t first = tn_dot_block_first(layout, block);
    const int64_t width = tn_dot_block_first(layout, block + 1) - first;
    const int64_t left = layout->columns - first;
    int32_t *sums = (int32_t *)blob + matrix * layout->padded + first;
    int32_t *initial = sums + layout->matrices * layout->padded;
    int8_t *to = (int8_t *)(uintptr_t)tn_dot_weights_of(layout, blob, matrix, block);
    memset(sums, 0, (size_t)width * sizeof(*sums));
    product->level->rows->interleave(layout->level->group, product->depth,
                                     left < width ? left : width, width,
                                     b + matrix * product->depth * layout->columns + first,
                                     layout->columns, product->b_is_unsigned ? 0x80 : 0, to, sums);
    for (int64_t c = 0; c < width; c++)
        initial[c] = sums[c] * -128;
    tn_dot_arrange_block(layout, blob, matrix, block);
}

void tn_integer_product_pack(const tn_integer_product *product, const void *b, int64_t first,
                             int64_t last, void *out_blob) {
    const int64_t blocks = product->layout.blocks;
    for (int64_t i = first; i < last; i++)
        pack_block(product, b, i / blocks, i % blocks, out_blob);
}

static tn_status allocate_elements(tn_call *call, const tn_integer_product *product,
                                   int32_t **out_elements) {
    const tn_host *host = call->host;
    const uint64_t bytes = (uint64_t)elements_of(product) * sizeof(int32_t);
    *out_elements = host->allocate(host, bytes, 64);
    if (*out_elements) return TN_OK;
    return host->fail(call, TN_ERROR_MEMORY, "no memory to pack %lld weights of a column",
                      (long long)product->depth);
}

tn_status tn_integer_product_choose(tn_call *call, const tn_integer_product *product, const void *b,
                                    const tn_integer_level **out_level) {
    const tn_dot_layout *layout = &product->layout;
    tn_integer_product narrow;
    int32_t *elements = NULL;
    *out_level = product->level;
    if (!product->level->narrow ||
        !tn_integer_product_make(product->level->narrow, layout->matrices, product->depth,
                                 layout->columns, product->a_is_unsigned, &narrow))
        return TN_OK;
    TN_TRY(allocate_elements(call, &narrow, &elements));
    const tn_dot_source source = source_of(&narrow, elements);
    if (tn_dot_bytes_are_narrow(&narrow.layout, &source, b, product->b_is_unsigned,
                                !product->a_is_unsigned))
        *out_level = narrow.level;
    call->host->deallocate(call->host, elements);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * bands: scratch memory is rows of A as the level multiplies them, one of them as bytes, sums, two
 * numbers a column, offsets of groups */

typedef struct band_memory {
    char *x;
    int8_t *bytes;
    int32_t *sums, *zeros, *terms, *offsets;
} band_memory;

static uint64_t row_bytes(const tn_integer_product *product) {
    return (uint64_t)elements_of(product) * product->level->dot->form->element_bytes;
}

uint64_t tn_integer_band_bytes(const tn_integer_product *product) {
    const uint64_t elements = (uint64_t)elements_of(product); /* bounded */
    const uint64_t padded = (uint64_t)product->layout.padded; /* below 2^32 */
    return tn_whole_lines(TN_INTEGER_BAND * row_bytes(product)) + tn_whole_lines(elements) +
           (TN_INTEGER_BAND + 2) * tn_whole_lines(padded * sizeof(int32_t)) +
           tn_whole_lines((uint64_t)product->layout.groups * sizeof(int32_t));
}

static band_memory lay_out(const tn_integer_product *product, char *scratch) {
    const uint64_t column_bytes =
        tn_whole_lines((uint64_t)product->layout.padded * sizeof(int32_t));
    band_memory memory = {.x = scratch};
    scratch += tn_whole_lines(TN_INTEGER_BAND * row_bytes(product));
    memory.bytes = (int8_t *)scratch;
    scratch += tn_whole_lines((uint64_t)elements_of(product));
    memory.sums = (int32_t *)(void *)scratch;
    scratch += TN_INTEGER_BAND * column_bytes;
    memory.zeros = (int32_t *)(void *)scratch;
    memory.terms = (int32_t *)(void *)(scratch + column_bytes);
    memory.offsets = (int32_t *)(void *)(scratch + 2 * column_bytes);
    return memory;
}

/* The zero points of the columns as they are packed, and what a row's zero point is multiplied by:
 * depth * zero - sum of the column. Answers whether any zero point is not 0. */
static bool read_columns(const tn_integer_product *product, const tn_integer_band *band,
                         const band_memory *memory) {
    const tn_dot_layout *layout = &product->layout;
    const int32_t *sums = tn_dot_weight_sums(layout, product->blob, band->matrix);
    const int32_t shift = product->b_is_unsigned ? 128 : 0;
    int32_t all = 0;
    for (int64_t c = 0; c < layout->columns; c++) {
        memory->zeros[c] = band->b_zero[c] - shift;
        memory->terms[c] = (int32_t)product->depth * memory->zeros[c] - sums[c];
        all |= memory->zeros[c];
    }
    return all != 0;
}

static void multiply(const tn_integer_product *product, const tn_integer_band *band,
                     const band_memory *memory, const tn_dot_choice *choice) {
    const tn_dot_end end = {.type = TN_I32};
    const tn_dot_layout *layout = &product->layout;
    const int64_t row = elements_of(product);
    int32_t rows[TN_INTEGER_BAND];
    for (int64_t r = 0; r < band->rows; r++)
        rows[r] = (int32_t)(r * row);
    for (int64_t g = 0; g < layout->groups; g++)
        memory->offsets[g] = (int32_t)(g * product->level->dot->group);
    for (int64_t block = 0; block < layout->blocks; block++) {
        const int64_t first = tn_dot_block_first(layout, block);
        tn_dot_tile tile = {.x = memory->x,
                            .offsets = memory->offsets,
                            .row_stride = band->stride,
                            .column_stride = 1,
                            .end = &end};
        tn_dot_tile_begin(layout, product->blob, choice, band->matrix, block, &tile);
        tn_dot_rows_run(layout->level, &tile, rows, band->rows, (char *)(band->sums + first), NULL);
    }
}

static tn_dot_choice choose(const tn_integer_product *product, const tn_integer_band *band,
                            uint8_t flip) {
    const tn_dot_narrow *narrow = product->level->dot->narrow;
    tn_dot_range range = TN_DOT_NO_RANGE;
    for (int64_t r = 0; narrow && r < band->rows; r++)
        narrow->range(band->a + r * band->a_stride, product->depth, flip, &range);
    return tn_dot_choose(&product->layout, range);
}

void tn_integer_band_run(const tn_integer_product *product, tn_integer_band *band, void *scratch) {
    const band_memory memory = lay_out(product, scratch);
    const int64_t padding = elements_of(product) - product->depth;
    const uint8_t flip = product->a_is_unsigned ? 0x80 : 0;
    int32_t of_rows[TN_INTEGER_BAND];
    band->stride =
        (int64_t)(tn_whole_lines((uint64_t)product->layout.padded * sizeof(int32_t)) / 4);
    band->sums = memory.sums;
    const bool has_zeros = read_columns(product, band, &memory);
    const tn_dot_choice choice = choose(product, band, flip);
    const tn_dot_form *form = choice.form;
    for (int64_t r = 0; r < band->rows; r++) {
        char *x = memory.x + r * elements_of(product) * form->element_bytes;
        of_rows[r] = product->level->rows->copy(product->depth, band->a + r * band->a_stride, flip,
                                                memory.bytes);
        form->load(x, memory.bytes, product->depth);
        form->clear(x + product->depth * form->element_bytes, padding);
    }
    multiply(product, band, &memory, &choice);
    for (int64_t r = 0; r < band->rows; r++) {
        const int32_t zero = band->a_zero[r] - (product->a_is_unsigned ? 128 : 0);
        if (has_zeros || zero != 0)
            product->level->rows->correct(product->layout.columns, zero, memory.terms, of_rows[r],
                                          memory.zeros, band->sums + r * band->stride);
    }
}
