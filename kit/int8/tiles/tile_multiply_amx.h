/* SPDX-License-Identifier: Apache-2.0 */
/* The products of tile_product_body.h on AMX. Tiles 0 to 3 are sums, 4 and 5 rows of A, 6 and 7
 * columns of B. */
enum { BLOCK_ROWS = 32, LEAST_ROWS = 32, CHUNK = 64, HAS_LINES = false };
#define TO_UNSIGNED NULL

/* The memory that LDTILECFG reads (Intel's manual, volume 1, "Tile configuration"). */
typedef struct tile_configuration {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_configuration;

/* Compilers' functions for tiles do not say which memory they read: what is stored is stored. */
#define SETTLE_MEMORY(at) __asm__ volatile("" : : "r"(at) : "memory")

static void begin(const tn_tile_layout *layout) {
    tile_configuration configuration = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        const bool is_a = i == 4 || i == 5, is_b = i > 5;
        configuration.row_bytes[i] = is_a ? (uint16_t)layout->chunk : 64;
        configuration.rows[i] = is_b ? (uint8_t)(layout->chunk / 4) : 16;
    }
    SETTLE_MEMORY(&configuration);
    _tile_loadconfig(&configuration);
}

static void end(void) {
    _tile_release();
}

/* What a block's products read. While they run a part of the next block's weights is fetched, some
 * lines a chunk: weights are read once a run, and come from memory in networks. */
typedef struct block_columns {
    const tn_tile_product *p;
    const int32_t *terms;
    const uint8_t *b, *ahead;
    int64_t lines; /* a chunk */
} block_columns;

/* The sums of 32 rows, 32 columns each, in `sums`; they begin at the terms. */
#define MULTIPLY(name, dot)                                                                        \
    static void name(const block_columns *of, const uint8_t *a, int32_t *sums) {                   \
        const tn_tile_layout *layout = of->p->layout;                                              \
        const int64_t chunk = layout->chunk, stride = of->p->a_stride;                             \
        const uint8_t *b = of->b, *ahead = of->ahead;                                              \
        const uint8_t *below = a + 16 * stride;                                                    \
        SETTLE_MEMORY(a);                                                                          \
        _tile_loadd(0, of->terms, 0);                                                              \
        _tile_loadd(1, of->terms + 16, 0);                                                         \
        _tile_loadd(2, of->terms, 0);                                                              \
        _tile_loadd(3, of->terms + 16, 0);                                                         \
        for (int64_t k = 0; k < layout->chunks; k++) {                                             \
            for (int64_t i = 0; i < of->lines; i++, ahead += 64)                                   \
                _mm_prefetch((const char *)ahead, _MM_HINT_T1);                                    \
            _tile_loadd(6, b, 64);                                                                 \
            _tile_loadd(4, a + k * chunk, (size_t)stride);                                         \
            _tile_loadd(7, b + chunk * 16, 64);                                                    \
            dot(0, 4, 6);                                                                          \
            _tile_loadd(5, below + k * chunk, (size_t)stride);                                     \
            dot(1, 4, 7);                                                                          \
            dot(2, 5, 6);                                                                          \
            dot(3, 5, 7);                                                                          \
            b += chunk * 32;                                                                       \
        }                                                                                          \
        _tile_stored(0, sums, 128);                                                                \
        _tile_stored(1, sums + 16, 128);                                                           \
        _tile_stored(2, sums + 16 * 32, 128);                                                      \
        _tile_stored(3, sums + 16 * 32 + 16, 128);                                                 \
    }
MULTIPLY(multiply_unsigned, _tile_dpbusd)
MULTIPLY(multiply_signed, _tile_dpbssd)

/* The last rows may begin inside the block before them, so that none is read that is not there. */
static void run(const tn_tile_product *p, int64_t first, int64_t last) {
    const tn_tile_layout *layout = p->layout;
    const int64_t bytes = layout->chunks * layout->chunk * TN_TILE_COLUMNS;
    const int64_t latest = p->readable - LEAST_ROWS;
    const int64_t products = (p->rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    const int64_t lines = (layout->chunk * TN_TILE_COLUMNS / 64 + products - 1) / products;
    _Alignas(64) int32_t sums[BLOCK_ROWS * TN_TILE_COLUMNS];
    block_end end;
    for (int64_t block = first; block < last; block++) {
        const uint8_t *b = (const uint8_t *)p->blob + block * bytes, *next = b + bytes;
        block_columns of = {.p = p, .terms = p->end->terms + block * TN_TILE_COLUMNS, .b = b};
        read_block_end(p, block, &end);
        for (int64_t row = 0; row < p->rows; row += BLOCK_ROWS) {
            const int64_t at = row + p->skipped, from = at < latest ? at : latest;
            const int64_t left = p->rows - row;
            const uint8_t *a = p->a + from * p->a_stride;
            of.ahead = next + row / BLOCK_ROWS * lines * layout->chunks * 64;
            of.lines = block + 1 < last && of.ahead < next + bytes ? lines : 0;
            if (p->a_is_signed)
                multiply_signed(&of, a, sums);
            else
                multiply_unsigned(&of, a, sums);
            finish(p, &end, sums + (at - from) * TN_TILE_COLUMNS, row,
                   left < BLOCK_ROWS ? left : BLOCK_ROWS, block);
        }
    }
}
