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

/* What is the same for all lines of a block of columns. */
typedef struct block_run {
    block_rows rows; /* `b` is the block's, `ahead` moves on */
    block_end end;
    int64_t block;
} block_run;

/* A line's rows are cut into blocks of about the same size. */
static void do_line(block_run *run, const tn_tile_line *line, int64_t across, int64_t first_row) {
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
        finish(p, &run->end, sums, first_row + row, rows, run->block);
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
        read_block_end(p, of.block, &of.end);
        read_terms(p, of.block, terms);
        for (int64_t i = 0; i < count; i++)
            do_line(&of, &lines[i], across, i * across);
    }
}
