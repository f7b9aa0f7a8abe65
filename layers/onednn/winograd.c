/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weights of Winograd's algorithm (Lavin and Gray, "Fast Algorithms for Convolutional Neural
 * Networks"): U = G g G^T for each filter and channel, g having 3 x 3 elements and U alpha x alpha.
 * oneDNN 2's own reorder does this element by element, which was a quarter of a build of ResNet-50
 * without measuring; here 16 filters are done side by side. G and the order of the sums are
 * oneDNN's, so that its kernels see the same bits. See dnnl.h.
 *
 * The layouts, by oneDNN's names, have 16 filters (o) innermost. a: elements of U; i, I: channels
 * of a block of 16, blocks of ic2; o, O: the same of filters; what B stands behind counts chunks
 * of blocks:
 *
 *     aaOio         a, O, i, o
 *     aaOBiOo       a, OB, I, i, O, o
 *     OBaaIBOIio    OB, a, IB, O, I, i, o
 */
#include "onednn/dnnl.h"

#if DNNL_VERSION_MAJOR >= 3

/* Its layouts are opaque, and weights in them are refused. */
tn_status tn_dnnl_pack_winograd(tn_call *call, tn_dnnl_view to, const float *weights, float *data,
                                bool *out_is_done) {
    (void)call, (void)to, (void)weights, (void)data;
    *out_is_done = false;
    return TN_OK;
}

#else

#include <string.h>

enum { BLOCK = 16, TAPS = 9, MOST_ALPHA = 6 };

static const float g_of_4[4][3] = {{1, 0, 0}, {0.5f, 0.5f, 0.5f}, {0.5f, -0.5f, 0.5f}, {0, 0, 1}};
static const float g_of_6[6][3] = {{1.13777777777778f, 0, 0},
                                   {-0.688403361344538f, -0.430252100840336f, -0.26890756302521f},
                                   {-0.688403361344538f, 0.430252100840336f, -0.26890756302521f},
                                   {0.119514472455649f, 0.179271708683473f, 0.26890756302521f},
                                   {0.119514472455649f, -0.179271708683473f, 0.26890756302521f},
                                   {0, 0, 1}};

typedef struct winograd_job {
    const dnnl_wino_desc_t *to;
    int64_t filters, channels; /* that there are; the layout rounds them up */
    const float *source;
    float *target;
} winograd_job;

/* Where 16 filters of block `o` and channel `c` have their first element of U, and the elements
 * from there to the next one. */
static float *target_of(const winograd_job *job, int64_t o, int64_t c, int64_t *out_step) {
    const dnnl_wino_desc_t *to = job->to;
    const int64_t chunk = o / to->oc2_block, in_chunk = o % to->oc2_block;
    const int64_t block = c / BLOCK, channel = c % BLOCK;
    *out_step = (int64_t)to->oc * to->ic;
    if (to->wino_format == dnnl_wino_wei_aaOio) return job->target + (o * to->ic + c) * BLOCK;
    if (to->wino_format == dnnl_wino_wei_aaOBiOo)
        return job->target + ((chunk * to->ic + c) * to->oc2_block + in_chunk) * BLOCK;
    *out_step = (int64_t)to->ic * to->oc2_block * BLOCK;
    const int64_t blocks = block / to->ic2_block * to->oc2_block + in_chunk;
    return job->target + chunk * to->alpha * to->alpha * *out_step +
           ((blocks * to->ic2_block + block % to->ic2_block) * BLOCK + channel) * BLOCK;
}

/* 3 x 3 elements of a channel, of the 16 filters of a block; filters that are not there have 0. */
static void read_taps(const winograd_job *job, int64_t o, int64_t c, float taps[TAPS][BLOCK]) {
    const int64_t first = o * BLOCK, left = job->filters - first;
    const int64_t count = c < job->channels ? (left < BLOCK ? left : BLOCK) : 0;
    if (count < BLOCK) memset(taps, 0, TAPS * BLOCK * sizeof(float));
    for (int64_t f = 0; f < count; f++) {
        const float *from = job->source + ((first + f) * job->channels + c) * TAPS;
        for (int k = 0; k < TAPS; k++)
            taps[k][f] = from[k];
    }
}

/* to = sum over k of g[k] * from[k], vectors of 16 filters that are `stride` vectors apart. */
static void combine(const float g[3], const float (*from)[BLOCK], int stride, float *to) {
    for (int f = 0; f < BLOCK; f++)
        to[f] = g[0] * from[0][f] + g[1] * from[stride][f] + g[2] * from[2 * stride][f];
}

static void transform(int alpha, const float taps[TAPS][BLOCK], float *to, int64_t step) {
    const float(*g)[3] = alpha == 4 ? g_of_4 : g_of_6;
    float half[3][MOST_ALPHA][BLOCK]; /* g G^T */
    for (int y = 0; y < 3; y++)
        for (int j = 0; j < alpha; j++)
            combine(g[j], taps + 3 * y, 1, half[y][j]);
    for (int i = 0; i < alpha; i++)
        for (int j = 0; j < alpha; j++)
            combine(g[i], half[0] + j, MOST_ALPHA, to + (i * alpha + j) * step);
}

static tn_status pack_blocks(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const winograd_job *job = user;
    (void)thread;
    for (int64_t o = begin; o < end; o++)
        for (int64_t c = 0; c < job->to->ic; c++) {
            float taps[TAPS][BLOCK];
            int64_t step;
            float *to = target_of(job, o, c, &step);
            read_taps(job, o, c, taps);
            transform(job->to->alpha, (const float(*)[BLOCK])taps, to, step);
        }
    return TN_OK;
}

/* What the formulas above are for: all that oneDNN 2.6 has for 32-bit floats with AVX-512. */
static bool is_known(tn_dnnl_view to) {
    const dnnl_wino_desc_t *w = &to->format_desc.wino_desc;
    if (to->format_kind != dnnl_format_kind_wino || to->data_type != dnnl_f32 || to->ndims != 4 ||
        to->extra.flags != dnnl_memory_extra_flag_none || w->r != 3 || w->oc_block != BLOCK ||
        w->ic_block != BLOCK || w->oc2_block < 1 || w->ic2_block < 1 ||
        w->oc % (BLOCK * w->oc2_block) != 0 || w->ic % (BLOCK * w->ic2_block) != 0 ||
        w->size !=
            sizeof(float) * (size_t)w->alpha * (size_t)w->alpha * (size_t)w->oc * (size_t)w->ic)
        return false;
    return w->wino_format == dnnl_wino_wei_OBaaIBOIio
               ? w->alpha == 6
               : w->alpha == 4 && (w->wino_format == dnnl_wino_wei_aaOio ||
                                   w->wino_format == dnnl_wino_wei_aaOBiOo);
}

tn_status tn_dnnl_pack_winograd(tn_call *call, tn_dnnl_view to, const float *weights, float *data,
                                bool *out_is_done) {
    *out_is_done = is_known(to);
    if (!*out_is_done) return TN_OK;
    winograd_job job = {.to = &to->format_desc.wino_desc,
                        .filters = to->dims[0],
                        .channels = to->dims[1],
                        .source = weights,
                        .target = data};
    return call->host->parallel_for(call, job.to->oc / BLOCK, 1, pack_blocks, &job);
}

#endif
