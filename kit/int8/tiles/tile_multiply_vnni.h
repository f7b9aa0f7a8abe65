/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The products of tile_product_body.h with AVX-512 VNNI: the lanes of a vector are columns, each
 * takes 4 neighbours of the depth at once. A row has two vectors of sums, up to 14 rows stay in
 * registers over the whole depth, of one line or of two short ones. Few rows run several sums over
 * interleaved chunks, so that the products' latency is hidden.
 *
 * One factor is unsigned. Of signed bytes of A, 128 more are multiplied, which whoever copies rows
 * adds (to_unsigned), and terms are less by as much:
 *
 *     sum of a * w = sum of (a + 128) * w - 128 * sum of w
 */
enum { BLOCK_ROWS = 14, LEAST_ROWS = 1, CHUNK = 4, HAS_LINES = true };

static void begin(const tn_tile_layout *layout) {
    (void)layout;
}

static void end(void) {}

#define TO_UNSIGNED to_unsigned
static void to_unsigned(uint8_t *to, const uint8_t *from, int64_t count) {
    const __m512i sign = _mm512_set1_epi8((char)0x80);
    for (int64_t i = 0; i < count; i += 64) {
        const int64_t left = count - i;
        const __mmask64 mask = left < 64 ? ~(__mmask64)0 >> (64 - left) : ~(__mmask64)0;
        const __m512i bytes = _mm512_maskz_loadu_epi8(mask, from + i);
        _mm512_mask_storeu_epi8(to + i, mask, _mm512_xor_si512(bytes, sign));
    }
}

/* What a block's products read. While they run, a part of the next block's weights is fetched, a
 * step each chunk: weights are read once a run, and come from memory in networks. */
typedef struct block_rows {
    const tn_tile_product *p;
    const int32_t *terms;
    const uint8_t *a[2], *b, *ahead; /* the first row of one line, or of each of two */
    int64_t ahead_step;
    int64_t segments, chunks; /* chunks of a segment */
} block_rows;

/* Four neighbours of a row. */
TN_INLINE __m512i load_chunk(const uint8_t *a) {
    int32_t four;
    memcpy(&four, a, sizeof(four));
    return _mm512_set1_epi32(four);
}

/* `each` rows of `lines` lines. Sums begin at the terms. Rows are three a pointer, which the
 * compiler shall not take apart: there are registers for these. */
TN_INLINE void multiply_rows(const int lines, const int each, const block_rows *of, int32_t *sums) {
    enum { MOST = 6 /* pointers */, UNROLLED = 2, VECTOR = 64 };
    const int rows = lines * each, groups = (each + 2) / 3;
    const int chains = rows < 5 ? 2 : 1;
    const int64_t chunks = of->chunks, stride = of->p->a_stride;
    const int64_t skip = of->p->segment_step - chunks * CHUNK;
    const uint8_t *b = of->b, *ahead = of->ahead, *a[MOST];
    const int64_t ahead_step = of->ahead_step;
    __m512i sum[4][BLOCK_ROWS][2];
#define ROW(r) (a[(r) / each * groups + (r) % each / 3] + (r) % each % 3 * stride)
    TN_UNROLL for (int r = 0; r < rows; r++) {
        sum[0][r][0] = _mm512_load_si512(of->terms);
        sum[0][r][1] = _mm512_load_si512(of->terms + 16);
        TN_UNROLL for (int u = 1; u < chains; u++) {
            sum[u][r][0] = _mm512_setzero_si512();
            sum[u][r][1] = _mm512_setzero_si512();
        }
    }
    TN_UNROLL for (int i = 0; i < lines * groups; i++) {
        a[i] = of->a[i / groups] + i % groups * 3 * stride;
        __asm__("" : "+r"(a[i]));
    }
    for (int64_t segment = 0; segment < of->segments; segment++) {
        int64_t k = 0;
        for (; k + UNROLLED <= chunks; k += UNROLLED) {
            TN_UNROLL for (int u = 0; u < UNROLLED; u++) {
                const __m512i left = _mm512_loadu_si512(b + u * 2 * VECTOR);
                const __m512i right = _mm512_loadu_si512(b + u * 2 * VECTOR + VECTOR);
                _mm_prefetch((const char *)ahead, _MM_HINT_T1);
                ahead += ahead_step;
                TN_UNROLL for (int r = 0; r < rows; r++) {
                    const __m512i four = load_chunk(ROW(r) + u * CHUNK);
                    sum[u % chains][r][0] = _mm512_dpbusd_epi32(sum[u % chains][r][0], four, left);
                    sum[u % chains][r][1] = _mm512_dpbusd_epi32(sum[u % chains][r][1], four, right);
                }
            }
            TN_UNROLL for (int i = 0; i < lines * groups; i++) a[i] += UNROLLED * CHUNK;
            b += UNROLLED * 2 * VECTOR;
        }
        for (; k < chunks; k++, b += 2 * VECTOR) {
            const __m512i left = _mm512_loadu_si512(b), right = _mm512_loadu_si512(b + VECTOR);
            TN_UNROLL for (int r = 0; r < rows; r++) {
                const __m512i four = load_chunk(ROW(r));
                sum[0][r][0] = _mm512_dpbusd_epi32(sum[0][r][0], four, left);
                sum[0][r][1] = _mm512_dpbusd_epi32(sum[0][r][1], four, right);
            }
            TN_UNROLL for (int i = 0; i < lines * groups; i++) a[i] += CHUNK;
        }
        TN_UNROLL for (int i = 0; i < lines * groups; i++) a[i] += skip;
    }
#undef ROW
    TN_UNROLL for (int r = 0; r < rows; r++) {
        TN_UNROLL for (int half = 0; half < 2; half++) {
            TN_UNROLL for (int u = 1; u < chains; u++) sum[0][r][half] =
                _mm512_add_epi32(sum[0][r][half], sum[u][r][half]);
            _mm512_store_si512(sums + r * TN_TILE_COLUMNS + half * 16, sum[0][r][half]);
        }
    }
}

typedef void multiply_function(const block_rows *of, int32_t *sums);
#define MULTIPLY_AS(name, lines, each)                                                             \
    static void name(const block_rows *of, int32_t *sums) {                                        \
        multiply_rows(lines, each, of, sums);                                                      \
    }
#define MULTIPLY(rows) MULTIPLY_AS(multiply_##rows, 1, rows)
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
MULTIPLY(13)
MULTIPLY(14)
MULTIPLY_AS(multiply_twice_6, 2, 6)
MULTIPLY_AS(multiply_twice_7, 2, 7)

static multiply_function *const multiply[BLOCK_ROWS] = {
    multiply_1, multiply_2, multiply_3,  multiply_4,  multiply_5,  multiply_6,  multiply_7,
    multiply_8, multiply_9, multiply_10, multiply_11, multiply_12, multiply_13, multiply_14};
/* Of two lines that are as long. */
static multiply_function *const multiply_twice[BLOCK_ROWS / 2 + 1] = {
    [6] = multiply_twice_6, [7] = multiply_twice_7};

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

/* What is added to sums is fetched while they are multiplied: a cache line is that of two
 * blocks. */
static void fetch_added(const tn_tile_end *e, int64_t row, int64_t rows, int64_t block) {
    if (!e->z || e->values || block % 2 != 0) return;
    const uint8_t *z = e->z + row * e->row_stride + block * TN_TILE_COLUMNS;
    for (int64_t r = 0; r < rows; r++, z += e->row_stride)
        _mm_prefetch((const char *)z, _MM_HINT_T0);
}

/* Multiplies `rows` rows by `function` and stores what becomes of them. */
static void do_rows(block_run *run, block_rows *of, multiply_function *function, int64_t first_row,
                    int64_t rows) {
    _Alignas(64) int32_t sums[BLOCK_ROWS * TN_TILE_COLUMNS];
    fetch_added(of->p->end, first_row, rows, run->block);
    function(of, sums);
    of->ahead += of->ahead_step * of->segments * of->chunks;
    run->rows.ahead = of->ahead;
    finish(of->p, &run->end, sums, first_row, rows, run->block);
}

/* The first of `left` lines, or with it the next one where both are short; its rows are cut into
 * blocks of about the same size. Answers how many lines there were. */
static int64_t do_lines(block_run *run, const tn_tile_line *line, int64_t left, int64_t across,
                        int64_t first_row) {
    const tn_tile_product *p = run->rows.p;
    const int64_t blocks = (across + BLOCK_ROWS - 1) / BLOCK_ROWS;
    block_rows of = run->rows;
    of.b += line->first * of.chunks * CHUNK * TN_TILE_COLUMNS;
    of.segments = line->count;
    if (left > 1 && across <= BLOCK_ROWS / 2 && multiply_twice[across] &&
        line[1].first == line->first && line[1].count == line->count) {
        of.a[0] = p->a + line->offset;
        of.a[1] = p->a + line[1].offset;
        do_rows(run, &of, multiply_twice[across], first_row, 2 * across);
        return 2;
    }
    for (int64_t i = 0, row = 0; i < blocks; i++) {
        const int64_t rows = (across - row + blocks - i - 1) / (blocks - i);
        of.a[0] = p->a + line->offset + row * p->a_stride;
        do_rows(run, &of, multiply[rows - 1], first_row + row, rows);
        row += rows;
    }
    return 1;
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
        for (int64_t i = 0; i < count;)
            i += do_lines(&of, &lines[i], count - i, across, i * across);
    }
}
