/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution as an implicit GEMM with a split depth (split-k) on tensor cores: layers with many
 * channels and few pixels, where a library's tiles are too few for the GPU and it waits for
 * weights. A tile of y is 32 filters k by 56 or 112 pixels (p, q) of an image; its depth (c, r, s)
 * is shared out among the blocks of a cluster, by channels, and the warps of a block. A block
 * loads its weights in one copy before it waits for the kernel in front of it, and then the input
 * that its pixels see, once for all taps. Sums meet in shared memory, first a block's, then the
 * cluster's: each block finishes some of the pixels. They are 32-bit floats, added up in the same
 * order always, or whole numbers where input and weights have 8 bits; y then has 8 bits or is
 * floats. Where the mean of planes is stored a tile is a whole image, and each block of its cluster
 * finishes some of the filters. Channels last, in and out. Code for compute capability 9.0 alone.
 *
 * Limited by latency: a block's weights and input come once, not in stages, and have to fit in
 * shared memory. See cuda_conv.h; the parts are cuda_implicit_gemm.cuh,
 * cuda_implicit_gemm_split_k.cuh and kit/cuda/cluster.cuh.
 */
#include "conv/cuda/cuda_implicit_gemm_split_k.cuh"
#include "kit/cuda/cluster_launch.cuh"

namespace {

template <typename T, typename Y, int ACROSS, bool IS_POINT, bool IS_MEAN>
__global__ void __launch_bounds__(THREADS, IS_POINT || stored<T>::parts > 1 ? 1 : 2)
    implicit_gemm_kernel(const __grid_constant__ tn_cuda_conv d,
                         const __grid_constant__ gemm_shape t) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    typedef typename sum_of<T>::type sum_type;
    extern __shared__ uint4 shared_memory[];
    __shared__ uint64_t arrived, are_joined;
    __shared__ int offsets[ACROSS * PIXELS];
    sum_type *joined = (sum_type *)shared_memory;
    sum_type *parts = joined + t.splits * t.share * FILTERS;
    uint4 *weights = (uint4 *)(parts + (IS_MEAN ? OF_MEANS : 0));
    char *patch = (char *)(weights + t.units * (UNIT / 16));
    task at;
    const int first = (int)blockIdx.x * t.units;
    at.chunk = (int)tn_divide((uint32_t)first, t.by_taps);
    at.unit = first - at.chunk * t.taps;
    at.units = min(t.units, t.all - first);
    at.end = d.out_height * d.out_width;
    at.own = IS_MEAN ? at.end : min(t.share, t.pixels - (int)blockIdx.x * t.share);
    if (threadIdx.x == 0) {
        const uint4 *from = (const uint4 *)(const void *)d.weights +
                            ((int64_t)blockIdx.y * t.all + first) * (UNIT / 16);
        tn_cuda_barrier_expect(&arrived, at.units * UNIT);
        tn_cuda_bulk_copy(weights, from, at.units * UNIT, &arrived);
        tn_cuda_barrier_expect(&are_joined, IS_MEAN ? (t.splits * at.own << t.four_bits) * 16
                                                    : t.splits * at.own * FILTERS * 4);
    }
    __syncwarp();
    tn_cuda_cluster_arrive();
    at.image = (int)tn_divide(blockIdx.z, t.by_tiles);
    at.first = ((int)blockIdx.z - at.image * t.tiles) * t.pixels;
    at.row = (int)tn_divide(at.first, t.by_width);
    find_pixels<IS_POINT>(d, t, at, offsets);
    sum_type sums[2][TILES][4] = {};
    if constexpr (IS_POINT) {
        __syncthreads(); /* offsets and barriers are there */
        multiply_points<T, ACROSS>(d, t, at, offsets, weights, &arrived, sums);
    } else {
        load_patch<T>(d, t, at, patch);
        __syncthreads();
        tn_cuda_barrier_wait(&arrived);
        multiply<T, ACROSS>(t, at, offsets, weights, patch, sums);
    }
    __syncthreads();
    sum_type *own = (sum_type *)weights;
    store_sums(sums, own + (threadIdx.x >> 5) * PIXELS * PITCH);
    rest<Y, (ACROSS * PIXELS * FOURS + THREADS - 1) / THREADS> more = {};
    load_rest<T, IS_MEAN>(d, t, at, more);
    __syncthreads();
    tn_cuda_cluster_wait();
    if (t.splits > 1) {
        share_out<ACROSS, IS_MEAN>(t, at, own, joined, &are_joined);
        tn_cuda_barrier_wait(&are_joined);
    }
    if constexpr (IS_MEAN)
        finish_means<ACROSS>(d, t, at, own, joined, parts, more);
    else
        finish<ACROSS>(d, t, at, own, joined, more);
#endif
}

/* ----------------------------------------------------------------------------------------------
 * host */

/* Of 132 multiprocessors, those that blocks in clusters of 1 to MOST_SPLITS have, one block each
 * (cudaOccupancyMaxActiveClusters on an H200). */
const int found_by_clusters[MOST_SPLITS] = {132, 132, 117, 120, 110, 102, 105, 120};
int found_of(int splits, int processors) {
    return processors * found_by_clusters[splits - 1] / found_by_clusters[0];
}

/* Elements of 16 bytes. */
int64_t each_of(const tn_cuda_conv *d) {
    return d->type == TN_F32 ? 4 : d->type == TN_I8 ? 16 : 8;
}

/* Chunks of channels; the last one may be filled up. */
int64_t chunks_of(const tn_cuda_conv *d) {
    return (d->channels + each_of(d) * 4 - 1) / (each_of(d) * 4);
}

/* Output rows that any tile of pixels touches. */
int rows_of(int pixels, int height, int width) {
    int most = 0;
    for (int first = 0; first < height * width; first += pixels) {
        const int last = (first + pixels < height * width ? first + pixels : height * width) - 1;
        const int rows = last / width - first / width + 1;
        if (rows > most) most = rows;
    }
    return most;
}

/* Bytes between positions: lanes that read at once, of two neighbouring pixels, use all banks. */
int pitch_of(int bytes, int stride) {
    const int step = stride % 2 ? 64 : 32, of = stride % 2 ? 128 : 64;
    return bytes + (step - bytes % of + of) % of;
}

gemm_shape shape_of(const tn_cuda_conv *d, const tn_cuda_conv_config *config) {
    gemm_shape t = {};
    t.splits = config->splits;
    t.taps = d->kernel_height * d->kernel_width;
    t.all = (int)chunks_of(d) * t.taps;
    t.units = (t.all + t.splits - 1) / t.splits;
    for (int first = 0; first < t.all; first += t.units) {
        const int last = (first + t.units < t.all ? first + t.units : t.all) - 1;
        const int chunks = last / t.taps - first / t.taps + 1;
        if (chunks > t.chunks) t.chunks = chunks;
    }
    t.pixels = config->columns * PIXELS;
    t.tiles = (d->out_height * d->out_width + t.pixels - 1) / t.pixels;
    /* A window of one row or column needs no positions between those of strides; 1x1 needs no
     * patch.
     */
    const bool is_row = d->kernel_height == 1, is_column = d->kernel_width == 1;
    t.step_y = is_row ? d->stride_height : 1, t.stride_y = is_row ? 1 : d->stride_height;
    t.step_x = is_column ? d->stride_width : 1, t.stride_x = is_column ? 1 : d->stride_width;
    t.rows = (rows_of(t.pixels, d->out_height, d->out_width) - 1) * t.stride_y +
             (d->kernel_height - 1) * d->dilation_height + 1;
    t.columns = (d->out_width - 1) * t.stride_x + (d->kernel_width - 1) * d->dilation_width + 1;
    t.pitch = pitch_of(t.chunks * CHUNK, t.stride_x);
    t.packs = t.taps == 1 ? 0 : t.rows * t.columns * t.chunks * 4;
    t.offset_x = d->dilation_width * t.pitch;
    t.offset_y = d->dilation_height * t.columns * t.pitch;
    t.by_taps = tn_divider_make((uint32_t)t.taps);
    t.by_window = tn_divider_make((uint32_t)d->kernel_width);
    t.by_packs = tn_divider_make((uint32_t)t.chunks * 4);
    t.by_columns = tn_divider_make((uint32_t)t.columns);
    t.share = (t.pixels + t.splits - 1) / t.splits;
    t.four_bits = d->is_mean ? __builtin_ctz((unsigned)FOURS / (unsigned)t.splits) : 0;
    t.by_share = tn_divider_make((uint32_t)t.share);
    t.by_tiles = tn_divider_make((uint32_t)t.tiles);
    t.by_width = tn_divider_make((uint32_t)d->out_width);
    return t;
}

int64_t bytes_of(const tn_cuda_conv *d, const gemm_shape *t) {
    const int64_t patch = t->taps == 1 ? 0 : (int64_t)t->rows * t->columns * t->pitch;
    const int64_t in = (int64_t)t->units * UNIT + patch;
    const int64_t parts = (int64_t)WARPS * PIXELS * PITCH * 4;
    const int64_t joined = (int64_t)t->splits * t->share * FILTERS + (d->is_mean ? OF_MEANS : 0);
    return joined * 4 + (in > parts ? in : parts);
}

int64_t blocks_of(const tn_cuda_conv *d, const gemm_shape *t) {
    return (int64_t)t->splits * ((d->filters + FILTERS - 1) / FILTERS) * t->tiles * d->batch;
}

/* Blocks come in pairs on a multiprocessor that has room for two, even where others have none:
 * those of a cluster, and those that find few empty ones while the kernel in front runs. Where each
 * can have its own it asks for more than half of the shared memory. */
bool is_alone(const tn_cuda_conv *d, const gemm_shape *t, int processors) {
    return t->taps > 1 && blocks_of(d, t) <= found_of(t->splits, processors);
}
int64_t shared_of(const tn_cuda_conv *d, const gemm_shape *t, int processors) {
    const int64_t bytes = bytes_of(d, t), most_of_two = MOST_SHARED / 2;
    return is_alone(d, t, processors) && bytes <= most_of_two ? most_of_two + 2048 : bytes;
}

template <typename T, typename Y, int ACROSS, bool IS_POINT, bool IS_MEAN>
cudaError_t launch_as(const tn_cuda_conv *d, const gemm_shape *t, cudaStream_t stream) {
    const int64_t bytes = shared_of(d, t, tn_cuda_cluster_processors());
    if (bytes > MOST_SHARED) return cudaErrorInvalidValue;
    const dim3 grid((unsigned int)t->splits, (unsigned int)(d->filters + FILTERS - 1) / FILTERS,
                    (unsigned int)(t->tiles * d->batch));
    return tn_cuda_launch_cluster(implicit_gemm_kernel<T, Y, ACROSS, IS_POINT, IS_MEAN>, grid,
                                  THREADS, bytes, true, stream, *d, *t);
}

template <typename T, typename Y, bool IS_MEAN>
cudaError_t launch_shape(const tn_cuda_conv *d, const tn_cuda_conv_config *config,
                         cudaStream_t stream) {
    const gemm_shape t = shape_of(d, config);
    if (t.taps == 1)
        return config->columns == 2 ? launch_as<T, Y, 2, true, IS_MEAN>(d, &t, stream)
                                    : launch_as<T, Y, 1, true, IS_MEAN>(d, &t, stream);
    return config->columns == 2 ? launch_as<T, Y, 2, false, IS_MEAN>(d, &t, stream)
                                : launch_as<T, Y, 1, false, IS_MEAN>(d, &t, stream);
}

cudaError_t launch(const tn_cuda_conv *d, const tn_cuda_conv_config *config, cudaStream_t stream) {
    if (d->type == TN_I8)
        return d->y_type == TN_I8 ? launch_shape<int8_t, int8_t, false>(d, config, stream)
                                  : launch_shape<int8_t, float, false>(d, config, stream);
    return launch_by_type(d, [&](auto number) {
        typedef decltype(number) T;
        typedef typename stored<T>::type Y;
        return d->is_mean ? launch_shape<T, Y, true>(d, config, stream)
                          : launch_shape<T, Y, false>(d, config, stream);
    });
}

/* ----------------------------------------------------------------------------------------------
 * tactics */

/* Bytes become bytes or floats; only means, which bytes have none of, are linear or of a wider
 * type.
 */
bool is_stored(const tn_cuda_conv *d) {
    if (d->is_mean) return d->type != TN_I8;
    return !d->is_y_linear && (d->type == TN_I8 || d->y_type == d->type);
}

bool is_done(const tn_cuda_conv *d) {
    return is_stored(d) && d->groups == 1 && d->channels >= 16 && d->channels % each_of(d) == 0 &&
           d->filters >= 16 && d->filters % 4 == 0 && d->filters <= 65536 &&
           (int64_t)d->out_height * d->out_width * d->batch <= 1 << 19 && d->kernel_height <= 16 &&
           d->kernel_width <= 16 && d->in_width <= 1024 && d->out_width <= 1024 &&
           d->dilation_height <= 64 && d->dilation_width <= 64 && d->stride_height <= 16 &&
           d->stride_width <= 16;
}

/* Means are of a tile that is the whole image, whose filters, in fours, are shared out evenly. */
bool has_image(const gemm_shape *t) {
    return t->tiles == 1 && FOURS % t->splits == 0;
}

/* Microseconds that a tactic takes, about; a negative number: it cannot be done. Fitted to what the
 * convolutions of ResNet-50 took on an H200: it is there to order tactics, not to foretell times.
 * A unit of bytes has as many words and instructions as one of 16-bit floats. */
double cost_of(const tn_cuda_conv *d, const tn_cuda_conv_config *config, int processors) {
    const gemm_shape t = shape_of(d, config);
    const int64_t bytes = bytes_of(d, &t);
    if (bytes > MOST_SHARED || t.units * (t.splits - 1) >= t.all ||
        t.share * (t.splits - 1) >= t.pixels || (d->is_mean && !has_image(&t)))
        return -1;
    const int64_t blocks = blocks_of(d, &t);
    const int64_t warps = WARPS / config->columns, rounds = (t.units + warps - 1) / warps;
    const bool is_point = t.taps == 1,
               is_pair = !is_point && shared_of(d, &t, processors) <= MOST_SHARED / 2;
    const int64_t found = found_of(t.splits, processors);
    const int64_t waves = (blocks + found * (is_pair + 1) - 1) / (found * (is_pair + 1));
    const int64_t passes = (blocks + found - 1) / found;
    const int64_t input = is_point ? (int64_t)t.pixels * t.chunks * CHUNK : (int64_t)t.packs * 16;
    const double step = d->type != TN_F32 ? 0.154 : d->is_rounded ? 0.233 : 0.5;
    return 2.58 + (double)(passes * rounds) * step +
           (double)(passes * input) * (is_point ? 0.5e-5 : 2.67e-5) + (t.splits > 1 ? 0.25 : 0) +
           (!is_point && (blocks > processors || !is_pair) ? 0.25 : 0) +
           0.32 * (config->columns - 1) + 2.19 * (double)(waves - 1);
}

/* The tactics from the one that should be fastest. */
bool choose(const tn_cuda_conv *d, uint32_t index, tn_cuda_conv_config *out_config) {
    enum { MOST = 5 };
    const int processors = is_done(d) ? tn_cuda_cluster_processors() : 0;
    if (processors == 0 || index >= MOST) return false;
    double before = -1;
    for (uint32_t rank = 0; rank <= index; rank++) {
        double best = -1;
        for (int32_t columns = 1; columns <= 2; columns++)
            for (int32_t splits = 1; splits <= MOST_SPLITS; splits++) {
                const tn_cuda_conv_config config = {0, columns, 0, splits, 0};
                const double own = cost_of(d, &config, processors);
                const double cost = own + 1e-6 * (columns * 16 + splits); /* no two alike */
                if (own < 0 || cost <= before || (best >= 0 && cost >= best)) continue;
                best = cost;
                *out_config = config;
            }
        if (best < 0) return false;
        before = best;
    }
    return true;
}

bool fits(const tn_cuda_conv *d, const tn_cuda_conv_config *config) {
    const gemm_shape t = shape_of(d, config);
    return bytes_of(d, &t) <= MOST_SHARED && (!d->is_mean || has_image(&t));
}

/* ----------------------------------------------------------------------------------------------
 * weights */

uint64_t get_weight_bytes(const tn_cuda_conv *d) {
    const int64_t tiles = (d->filters + FILTERS - 1) / FILTERS;
    return (uint64_t)(tiles * chunks_of(d) * d->kernel_height * d->kernel_width * UNIT);
}

/* In the order in which lanes read them, those of a block beside each other, however many blocks
 * share out the depth; 16 bytes a lane:
 *
 *   tile of 32 filters | chunk of c | tap (r, s) | 16 filters | half of the chunk | lane 4j + i |
 * word
 *
 * Lane 4j + i has words 4i to 4i + 3 of a chunk's 16, two in each half, v and v + 1, as
 * (v, filter j), (v, j + 8), (v + 1, j), (v + 1, j + 8). */
void pack(const tn_cuda_conv *d, const void *from, void *to) {
    const int64_t each = each_of(d) / 4, of_chunk = each * 16; /* elements a word, a chunk */
    const int64_t chunks = chunks_of(d), taps = (int64_t)d->kernel_height * d->kernel_width;
    pack_weights(d, from, to, [&](int64_t k, int64_t c, int64_t r, int64_t s) {
        const int64_t unit = (k / FILTERS * chunks + c / of_chunk) * taps + r * d->kernel_width + s;
        const int64_t word = c % of_chunk / each, lane = k % 8 * 4 + word / 4;
        const int64_t part = k % FILTERS / 16 * 2 + word % 4 / 2;
        const int64_t words = ((unit * 4 + part) * 32 + lane) * 4;
        return (words + word % 2 * 2 + k % 16 / 8) * each + c % each;
    });
}

} // namespace

extern "C" const tn_cuda_conv_kind tn_cuda_implicit_gemm = {false,  choose,           fits,
                                                            launch, get_weight_bytes, pack};
extern "C" const tn_cuda_conv_kind tn_cuda_implicit_gemm_tf32 = {true,   choose,           fits,
                                                                 launch, get_weight_bytes, pack};
