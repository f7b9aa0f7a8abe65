/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of windows of 3 x 3 for depthwise_body.h, with AVX-512 VNNI. The bytes that three rows of
 * the input have in a column are four neighbours of a product, the fourth of which is 0: each
 * column is interleaved once, and three of them make a window.
 *
 * Of 64 channels, the quarters (0..3 and so on) of each 16 go into a vector of their own, as
 * unpacking leaves them; packing the sums puts them into order again. Inputs have 128 more, which
 * makes them unsigned, and sums begin at as much less.
 */
enum { QUARTERS = 4, ROW_CHANNELS = TN_DEPTHWISE_CHANNELS };

/* From the channels' order to the quarters'. */
static void spread(const void *from, void *to) {
    for (int quarter = 0; quarter < QUARTERS; quarter++)
        for (int of = 0; of < QUARTERS; of++)
            memcpy((char *)to + quarter * 64 + of * 16, (const char *)from + of * 64 + quarter * 16,
                   16);
}

static void read_block(const int32_t *weights, const int32_t *terms, const float *scale,
                       const float *bias, int64_t channels, tn_depthwise_block *block) {
    const __m512i low = _mm512_set1_epi32(255), all = _mm512_set1_epi8((char)0x80);
    const int64_t lanes = channels < ROW_CHANNELS ? channels : ROW_CHANNELS;
    int32_t columns[3][ROW_CHANNELS] = {{0}}, of_sums[ROW_CHANNELS] = {0};
    float of_channels[2][ROW_CHANNELS] = {{0}};
    for (int64_t c = 0; c < lanes; c += TN_LANES, weights += 9 * TN_LANES) {
        for (int column = 0; column < 3; column++) {
            __m512i three = _mm512_setzero_si512();
            for (int row = 2; row >= 0; row--)
                three = _mm512_or_si512(
                    _mm512_slli_epi32(three, 8),
                    _mm512_and_si512(low,
                                     _mm512_loadu_si512(weights + (row * 3 + column) * TN_LANES)));
            _mm512_storeu_si512(columns[column] + c, three);
        }
        memcpy(of_channels[0] + c, scale + c, TN_LANES * sizeof(float));
        memcpy(of_channels[1] + c, bias + c, TN_LANES * sizeof(float));
    }
    if (terms) memcpy(of_sums, terms, (size_t)lanes * sizeof(*terms));
    spread(of_sums, block->initial);
    for (int column = 0; column < 3; column++)
        spread(columns[column], block->weights[column]);
    spread(of_channels[0], block->scale);
    spread(of_channels[1], block->bias);
    for (int i = 0; i < ROW_CHANNELS; i += TN_LANES) {
        __m512i sum = _mm512_setzero_si512();
        for (int column = 0; column < 3; column++)
            sum = _mm512_dpbusd_epi32(sum, all, _mm512_load_si512(block->weights[column] + i));
        _mm512_store_si512(block->initial + i,
                           _mm512_sub_epi32(_mm512_load_si512(block->initial + i), sum));
    }
}

/* The columns that the row's windows see, those of padding too. */
static void interleave(const tn_depthwise_row *row, __mmask64 mask) {
    const __m512i sign = _mm512_set1_epi8((char)0x80), zero = _mm512_setzero_si512();
    const int64_t count = (row->count - 1) * row->stride + 3;
    uint8_t *to = row->columns;
    for (int64_t i = 0; i < count; i++, to += ROW_CHANNELS * QUARTERS) {
        const int64_t x = i - row->left;
        const bool is_inside = x >= 0 && x < row->width;
        const int64_t at = is_inside ? x * row->step : 0;
        __m512i three[3];
        for (int r = 0; r < 3; r++) {
            const __mmask64 seen = is_inside && row->is_inside[r] ? mask : 0;
            three[r] = _mm512_xor_si512(sign, _mm512_maskz_loadu_epi8(seen, row->rows[r] + at));
        }
        const __m512i low = _mm512_unpacklo_epi8(three[0], three[1]);
        const __m512i high = _mm512_unpackhi_epi8(three[0], three[1]);
        const __m512i low_last = _mm512_unpacklo_epi8(three[2], zero);
        const __m512i high_last = _mm512_unpackhi_epi8(three[2], zero);
        _mm512_store_si512(to, _mm512_unpacklo_epi16(low, low_last));
        _mm512_store_si512(to + 64, _mm512_unpackhi_epi16(low, low_last));
        _mm512_store_si512(to + 128, _mm512_unpacklo_epi16(high, high_last));
        _mm512_store_si512(to + 192, _mm512_unpackhi_epi16(high, high_last));
    }
}

/* Bytes of 64 channels. */
TN_INLINE __m512i pack_channels(const __m512i *whole, int32_t zero, const bool is_shifted,
                                const bool is_unsigned) {
    __m512i low = _mm512_packs_epi32(whole[0], whole[1]);
    __m512i high = _mm512_packs_epi32(whole[2], whole[3]);
    if (is_shifted) {
        low = _mm512_adds_epi16(low, _mm512_set1_epi16((int16_t)zero));
        high = _mm512_adds_epi16(high, _mm512_set1_epi16((int16_t)zero));
    }
    return is_unsigned ? _mm512_packus_epi16(low, high) : _mm512_packs_epi16(low, high);
}

/* The last two are constants wherever this is inlined. */
TN_INLINE void run_row_as(const tn_depthwise_row *row, const bool is_shifted,
                          const bool is_unsigned) {
    const tn_depthwise_block *block = row->block;
    const __mmask64 mask =
        row->channels < ROW_CHANNELS ? ((__mmask64)1 << row->channels) - 1 : ~(__mmask64)0;
    const __m512 low = _mm512_set1_ps(row->low), high = _mm512_set1_ps(row->high);
    const uint8_t *from = row->columns;
    int8_t *to = row->output;
    __m512i weights[3][QUARTERS];
    for (int column = 0; column < 3; column++)
        for (int q = 0; q < QUARTERS; q++)
            weights[column][q] = _mm512_load_si512(block->weights[column] + q * TN_LANES);
    interleave(row, mask);
    for (int64_t i = 0; i < row->count; i++, to += row->step) {
        __m512i whole[QUARTERS];
        for (int q = 0; q < QUARTERS; q++) {
            __m512i sum = _mm512_load_si512(block->initial + q * TN_LANES);
            for (int column = 0; column < 3; column++)
                sum =
                    _mm512_dpbusd_epi32(sum, _mm512_load_si512(from + (column * QUARTERS + q) * 64),
                                        weights[column][q]);
            const __m512 value = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum),
                                                 _mm512_load_ps(block->scale + q * TN_LANES),
                                                 _mm512_load_ps(block->bias + q * TN_LANES));
            whole[q] = _mm512_cvtps_epi32(_mm512_min_ps(high, _mm512_max_ps(low, value)));
        }
        _mm512_mask_storeu_epi8(to, mask, pack_channels(whole, row->zero, is_shifted, is_unsigned));
        from += row->stride * ROW_CHANNELS * QUARTERS;
    }
}

static void run_row(const tn_depthwise_row *row) {
    if (row->is_unsigned)
        run_row_as(row, true, true);
    else if (row->zero)
        run_row_as(row, true, false);
    else
        run_row_as(row, false, false);
}
