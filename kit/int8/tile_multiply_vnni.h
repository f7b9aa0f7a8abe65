/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The products of tile_product_body.h with AVX-512 VNNI: the lanes of a vector are columns, each
 * takes 4 neighbours of the depth at once. A row has two vectors of sums, up to 12 rows stay in
 * registers over the whole depth. Few rows run several sums over interleaved chunks, so that the
 * products' latency is hidden.
 *
 * One factor is unsigned. Of signed bytes of A, 128 more are multiplied, and terms are less by as
 * much:
 *
 *     sum of a * w = sum of (a + 128) * w - 128 * sum of w
 */
enum { BLOCK_ROWS = 12, LEAST_ROWS = 1, CHUNK = 4, HAS_LINES = true };

static void begin(const tn_tile_layout *layout) {
    (void)layout;
}

static void end(void) {}

/* Sums begin at the terms. Four neighbours of a row, as unsigned bytes. */
TN_INLINE __m512i load_chunk(const uint8_t *a, const bool is_signed) {
    int32_t four;
    memcpy(&four, a, sizeof(four));
    const __m512i all = _mm512_set1_epi32(four);
    return is_signed ? _mm512_xor_si512(all, _mm512_set1_epi8((char)0x80)) : all;
}

/* What a block's products read. While they run, a part of the next block's weights is fetched, a
 * step each chunk: weights are read once a run, and come from memory in networks. */
typedef struct block_rows {
    const tn_tile_product *p;
    const int32_t *terms;
    const uint8_t *a, *b, *ahead;
    int64_t ahead_step;
    int64_t segments, chunks; /* chunks of a segment */
} block_rows;

/* Rows are three a pointer, which the compiler shall not take apart: there are registers for these.
 */
TN_INLINE void multiply_rows(const int rows, const bool is_signed, const block_rows *of,
                             int32_t *sums) {
    const int chains = rows == 1 ? 4 : rows < 5 ? 2 : 1;
    const int64_t chunks = of->chunks, stride = of->p->a_stride;
    const int64_t skip = of->p->segment_step - chunks * CHUNK;
    const uint8_t *b = of->b, *ahead = of->ahead, *a[BLOCK_ROWS / 3];
    const int64_t ahead_step = of->ahead_step;
    __m512i sum[4][BLOCK_ROWS][2];
    TN_UNROLL for (int r = 0; r < rows; r++) {
        sum[0][r][0] = _mm512_load_si512(of->terms);
        sum[0][r][1] = _mm512_load_si512(of->terms + 16);
        TN_UNROLL for (int u = 1; u < chains; u++) {
            sum[u][r][0] = _mm512_setzero_si512();
            sum[u][r][1] = _mm512_setzero_si512();
        }
    }
    TN_UNROLL for (int i = 0; i * 3 < rows; i++) {
        a[i] = of->a + i * 3 * stride;
        __asm__("" : "+r"(a[i]));
    }
    for (int64_t segment = 0; segment < of->segments; segment++) {
        int64_t k = 0;
        for (; k + chains <= chunks; k += chains) {
            TN_UNROLL for (int u = 0; u < chains; u++) {
                const __m512i left = _mm512_loadu_si512(b), right = _mm512_loadu_si512(b + 64);
                _mm_prefetch((const char *)ahead, _MM_HINT_T1);
                TN_UNROLL for (int r = 0; r < rows; r++) {
                    const __m512i four = load_chunk(a[r / 3] + r % 3 * stride, is_signed);
                    sum[u][r][0] = _mm512_dpbusd_epi32(sum[u][r][0], four, left);
                    sum[u][r][1] = _mm512_dpbusd_epi32(sum[u][r][1], four, right);
                }
                TN_UNROLL for (int i = 0; i * 3 < rows; i++) a[i] += CHUNK;
                b += CHUNK * TN_TILE_COLUMNS;
                ahead += ahead_step;
            }
        }
        for (; k < chunks; k++, b += CHUNK * TN_TILE_COLUMNS) {
            const __m512i left = _mm512_loadu_si512(b), right = _mm512_loadu_si512(b + 64);
            TN_UNROLL for (int r = 0; r < rows; r++) {
                const __m512i four = load_chunk(a[r / 3] + r % 3 * stride, is_signed);
                sum[0][r][0] = _mm512_dpbusd_epi32(sum[0][r][0], four, left);
                sum[0][r][1] = _mm512_dpbusd_epi32(sum[0][r][1], four, right);
            }
            TN_UNROLL for (int i = 0; i * 3 < rows; i++) a[i] += CHUNK;
        }
        TN_UNROLL for (int i = 0; i * 3 < rows; i++) a[i] += skip;
    }
    TN_UNROLL for (int r = 0; r < rows; r++) {
        TN_UNROLL for (int half = 0; half < 2; half++) {
            TN_UNROLL for (int u = 1; u < chains; u++) sum[0][r][half] =
                _mm512_add_epi32(sum[0][r][half], sum[u][r][half]);
            _mm512_store_si512(sums + r * TN_TILE_COLUMNS + half * 16, sum[0][r][half]);
        }
    }
}

typedef void multiply_function(const block_rows *of, int32_t *sums);
#define MULTIPLY_AS(name, rows, is_signed)                                                         \
    static void name(const block_rows *of, int32_t *sums) {                                        \
        multiply_rows(rows, is_signed, of, sums);                                                  \
    }
#define MULTIPLY(rows)                                                                             \
    MULTIPLY_AS(unsigned_##rows, rows, false)                                                      \
    MULTIPLY_AS(signed_##rows, rows, true)
MULTIPLY(1)
MULTIPLY(2)
MULTIPLY(3)
MULTIPLY(4)
MULTIPLY(5)
MULTIPLY(6)
MULTIPLY(7)
MULTIPLY(8)
MULTIPLY(9)
MULTIPLY(10)
MULTIPLY(11)
MULTIPLY(12)

static multiply_function *const multiply[2][BLOCK_ROWS] = {
    {unsigned_1, unsigned_2, unsigned_3, unsigned_4, unsigned_5, unsigned_6, unsigned_7, unsigned_8,
     unsigned_9, unsigned_10, unsigned_11, unsigned_12},
    {signed_1, signed_2, signed_3, signed_4, signed_5, signed_6, signed_7, signed_8, signed_9,
     signed_10, signed_11, signed_12}};

/* A block's terms. */
static void read_terms(const tn_tile_product *p, int64_t block, int32_t *terms) {
    const int64_t bytes = p->layout->blocks * p->layout->chunks * CHUNK * TN_TILE_COLUMNS;
    const int32_t *sums = (const int32_t *)(const void *)((const uint8_t *)p->blob + bytes);
    for (int64_t c = 0; c < TN_TILE_COLUMNS; c++) {
        const int64_t at = block * TN_TILE_COLUMNS + c;
        const uint32_t more = p->a_is_signed ? 128u * (uint32_t)sums[at] : 0;
        terms[c] = (int32_t)((uint32_t)p->end->terms[at] - more);
    }
}

/* ----------------------------------------------------------------------------------------------
 * whole blocks of finite factors as bytes: what is out of 16 bits saturates as the byte does */

/* Bytes of two rows, of which vectors of columns are a and b, c and d. */
TN_INLINE __m512i to_bytes(__m512i a, __m512i b, __m512i c, __m512i d, int32_t zero,
                           const bool is_signed) {
    const __m512i zeros = _mm512_set1_epi16((int16_t)zero);
    const __m512i first = _mm512_adds_epi16(_mm512_packs_epi32(a, b), zeros);
    const __m512i second = _mm512_adds_epi16(_mm512_packs_epi32(c, d), zeros);
    const __m512i bytes =
        is_signed ? _mm512_packs_epi16(first, second) : _mm512_packus_epi16(first, second);
    return _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), bytes);
}

/* What is the same for a block. */
typedef struct block_end {
    const tn_tile_end *e;
    __m512 factors[2], low, high, own, other, most;
    __m512i z_zero;
} block_end;

/* 16 columns of a row before their zero point is added; z null: nothing else is. */
TN_INLINE __m512i requantise(const block_end *of, const int32_t *sums, const uint8_t *z,
                             const int half, const bool is_sum, const bool is_signed) {
    __m512 value =
        _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_load_si512(sums + half * 16)), of->factors[half]);
    if (is_sum) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(z + half * 16));
        const __m512i wide = is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
        const __m512 added =
            _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(wide, of->z_zero)), of->other);
        value = _mm512_min_ps(_mm512_max_ps(value, of->low), of->high);
        value = _mm512_roundscale_ps(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        value = _mm512_add_ps(_mm512_mul_ps(value, of->own), added);
    }
    return _mm512_cvtps_epi32(_mm512_min_ps(value, of->most));
}

TN_INLINE void finish_block(const block_end *of, const int32_t *sums, int64_t rows, uint8_t *y,
                            const uint8_t *z, const bool is_sum, const bool is_signed) {
    const int32_t zero = is_sum ? of->e->sum_zero : of->e->zero;
    const int64_t stride = of->e->row_stride;
    for (int64_t r = 0; r < rows; r += 2) {
        const int64_t next = r + 1 < rows; /* the last of an odd number is done twice */
        const int32_t *above = sums + r * TN_TILE_COLUMNS, *below = above + next * TN_TILE_COLUMNS;
        const uint8_t *z_above = is_sum ? z + r * stride : NULL;
        const uint8_t *z_below = is_sum ? z_above + next * stride : NULL;
        const __m512i bytes =
            to_bytes(requantise(of, above, z_above, 0, is_sum, is_signed),
                     requantise(of, above, z_above, 1, is_sum, is_signed),
                     requantise(of, below, z_below, 0, is_sum, is_signed),
                     requantise(of, below, z_below, 1, is_sum, is_signed), zero, is_signed);
        uint8_t *to = y + r * stride;
        _mm256_storeu_si256((void *)to, _mm512_castsi512_si256(bytes));
        _mm256_storeu_si256((void *)(to + next * stride), _mm512_extracti64x4_epi64(bytes, 1));
    }
}

/* Whether finish_block computes what finish does: no value is NaN. */
static bool read_block_end(const tn_tile_product *p, int64_t block, block_end *of) {
    const tn_tile_end *e = p->end;
    const int64_t column = block * TN_TILE_COLUMNS;
    const int32_t lowest = e->is_signed ? -128 : 0, highest = e->is_signed ? 127 : 255;
    const __m512 limit = _mm512_set1_ps(3e38f);
    if (e->floats || column + TN_TILE_COLUMNS > p->layout->columns) return false;
    *of = (block_end){.e = e,
                      .low = _mm512_set1_ps((float)(lowest - e->zero)),
                      .high = _mm512_set1_ps((float)(highest - e->zero)),
                      .own = _mm512_set1_ps(e->own_factor),
                      .other = _mm512_set1_ps(e->z_factor),
                      .most = _mm512_set1_ps(32767.0f),
                      .z_zero = _mm512_set1_epi32(e->z_zero)};
    bool are_finite = fabsf(e->own_factor) < 1e30f && fabsf(e->z_factor) < 1e30f;
    for (int half = 0; half < 2; half++) {
        of->factors[half] = _mm512_loadu_ps(e->factors + column + half * 16);
        are_finite = are_finite && _mm512_cmp_ps_mask(_mm512_abs_ps(of->factors[half]), limit,
                                                      _CMP_LT_OQ) == 0xffff;
    }
    return are_finite;
}

static void finish_bytes(const tn_tile_product *p, const block_end *of, const int32_t *sums,
                         int64_t row, int64_t rows, int64_t block) {
    const tn_tile_end *e = p->end;
    const int64_t at = row * e->row_stride + block * TN_TILE_COLUMNS;
    if (e->z && e->is_signed)
        finish_block(of, sums, rows, e->y + at, e->z + at, true, true);
    else if (e->z)
        finish_block(of, sums, rows, e->y + at, e->z + at, true, false);
    else if (e->is_signed)
        finish_block(of, sums, rows, e->y + at, NULL, false, true);
    else
        finish_block(of, sums, rows, e->y + at, NULL, false, false);
}

/* What is the same for all lines of a block of columns. */
typedef struct block_run {
    block_rows rows; /* `b` is the block's, `ahead` moves on */
    block_end end;
    bool is_whole;
    int64_t block;
} block_run;

/* A line's rows are cut into blocks of about the same size. */
static void do_line(block_run *run, const tn_tile_line *line, int64_t across, int64_t first_row) {
    static const int32_t nothing[TN_TILE_COLUMNS];
    const tn_tile_product *p = run->rows.p;
    const int64_t blocks = (across + BLOCK_ROWS - 1) / BLOCK_ROWS;
    _Alignas(64) int32_t sums[BLOCK_ROWS * TN_TILE_COLUMNS];
    block_rows of = run->rows;
    of.b += line->first * of.chunks * CHUNK * TN_TILE_COLUMNS;
    of.segments = line->count;
    for (int64_t i = 0, row = 0; i < blocks; i++) {
        const int64_t rows = (across - row + blocks - i - 1) / (blocks - i);
        of.a = p->a + line->offset + row * p->a_stride;
        multiply[p->a_is_signed][rows - 1](&of, sums);
        of.ahead += of.ahead_step * of.segments * of.chunks;
        if (run->is_whole)
            finish_bytes(p, &run->end, sums, first_row + row, rows, run->block);
        else
            finish(p, nothing, sums, first_row + row, rows, run->block);
        row += rows;
    }
    run->rows.ahead = of.ahead;
}

static void run(const tn_tile_product *p, int64_t first, int64_t last) {
    const tn_tile_line all = {.offset = p->skipped * p->a_stride, .count = 1};
    const tn_tile_line *lines = p->lines ? p->lines : &all;
    const int64_t count = p->lines ? p->line_count : 1, across = p->lines ? p->across : p->rows;
    const int64_t bytes = p->layout->chunks * CHUNK * TN_TILE_COLUMNS;
    const int64_t products = (across + BLOCK_ROWS - 1) / BLOCK_ROWS * count;
    _Alignas(64) int32_t terms[TN_TILE_COLUMNS];
    block_run of = {.rows = {.p = p,
                             .terms = terms,
                             .chunks = p->layout->chunks / (p->lines ? p->segments : 1)}};
    for (of.block = first; of.block < last; of.block++) {
        const bool has_next = of.block + 1 < last;
        of.rows.b = (const uint8_t *)p->blob + of.block * bytes;
        of.rows.ahead = of.rows.b + (has_next ? bytes : 0);
        of.rows.ahead_step = has_next ? CHUNK * TN_TILE_COLUMNS / products : 0;
        of.is_whole = read_block_end(p, of.block, &of.end);
        read_terms(p, of.block, terms);
        for (int64_t i = 0; i < count; i++)
            do_line(&of, &lines[i], across, i * across);
    }
}
