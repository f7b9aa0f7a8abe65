/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution of few places on tensor cores, in 16 bits or in 32-bit floats rounded to tf32: the
 * later layers of networks on images, with many channels, where a library's tiles are too few for
 * the GPU and it waits for weights. A tile is 32 filters by 56 or 112 places of an image; its
 * channels are shared out among the blocks of a cluster and, with the places of the window, among
 * the warps of a block. A block brings its weights in one copy before it waits for the kernel in
 * front of it, and then the input that its places see, once for all places of the window. Sums meet
 * in shared memory, first a block's, then the cluster's: each block finishes some of the places.
 * Sums are 32-bit floats, in the same order always; channels last, in and out. Code for compute
 * capability 9.0 alone. See cuda_direct.h; the parts are cuda_deep_block.cuh, cuda_deep_sums.cuh,
 * cuda_deep_cluster.cuh and cuda_deep_weights.cu.
 */
#include "conv/cuda/cuda_deep_sums.cuh"
#include <tenon/kit/cuda/launch.cuh>

namespace {

template <typename T, int ACROSS, bool IS_POINT>
__global__ void __launch_bounds__(THREADS, IS_POINT ? 1 : 2)
    deep_kernel(const __grid_constant__ tn_cuda_direct d, const __grid_constant__ deep_shape t) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    typedef typename stored<T>::type type;
    extern __shared__ uint4 shared_memory[];
    __shared__ uint64_t arrived, are_joined;
    __shared__ int offsets[ACROSS * PLACES];
    float *joined = (float *)shared_memory;
    uint4 *weights = (uint4 *)(joined + ACROSS * PLACES * FILTERS);
    char *patch = (char *)(weights + t.chunks * t.taps * (UNIT / 16));
    if (!IS_POINT) tn_cuda_start_next();
    task at;
    at.chunk = (int)blockIdx.x * t.chunks;
    at.units = min(t.chunks, t.all - at.chunk) * t.taps;
    if (threadIdx.x == 0) {
        const uint4 *from = (const uint4 *)(const void *)d.weights +
                            ((int64_t)blockIdx.y * t.all + at.chunk) * t.taps * (UNIT / 16);
        expect(&arrived, at.units * UNIT);
        bring(weights, from, at.units * UNIT, &arrived);
        expect(&are_joined, ACROSS * PLACES * FILTERS * 4);
    }
    __syncwarp();
    cluster_arrive();
    at.image = (int)tn_divide(blockIdx.z, t.by_tiles);
    at.first = ((int)blockIdx.z - at.image * t.tiles) * t.places;
    at.end = d.out_height * d.out_width;
    at.row = (int)tn_divide(at.first, t.by_width);
    find_places<IS_POINT>(d, t, at, offsets);
    float sums[2][TILES][4] = {};
    if constexpr (IS_POINT) {
        __syncthreads(); /* offsets and barriers are there */
        multiply_points<T, ACROSS>(d, t, at, offsets, weights, &arrived, sums);
    } else {
        load_patch<T>(d, t, at, patch);
        __syncthreads();
        wait_for(&arrived);
        multiply<T, ACROSS>(t, at, offsets, weights, patch, sums);
    }
    __syncthreads();
    float *own = (float *)weights;
    if (IS_POINT) tn_cuda_start_next();
    store_sums(sums, own + (threadIdx.x >> 5) * PLACES * PITCH);
    rest<type, (ACROSS * PLACES * FOURS + THREADS - 1) / THREADS> more = {};
    load_rest(d, t, at, more);
    __syncthreads();
    cluster_wait();
    if (t.splits > 1) {
        share_out<ACROSS>(t, own, joined, &are_joined);
        wait_for(&are_joined);
    }
    finish<ACROSS>(d, t, at, own, joined, more);
#endif
}

/* ----------------------------------------------------------------------------------------------
 * host */

/* Output rows that any tile of places touches. */
int rows_of(int places, int height, int width) {
    int most = 0;
    for (int first = 0; first < height * width; first += places) {
        const int last = (first + places < height * width ? first + places : height * width) - 1;
        const int rows = last / width - first / width + 1;
        if (rows > most) most = rows;
    }
    return most;
}

/* Bytes between positions: lanes that read at once, of two neighbouring places, use all banks. */
int pitch_of(int bytes, int stride) {
    const int step = stride % 2 ? 64 : 32, of = stride % 2 ? 128 : 64;
    return bytes + (step - bytes % of + of) % of;
}

deep_shape shape_of(const tn_cuda_direct *d, const tn_cuda_direct_config *config) {
    deep_shape t = {};
    t.splits = config->splits;
    t.all = (int)deep_chunks(d->channels, d->type);
    t.chunks = (t.all + t.splits - 1) / t.splits;
    t.taps = d->kernel_height * d->kernel_width;
    t.places = config->width * PLACES;
    t.tiles = (d->out_height * d->out_width + t.places - 1) / t.places;
    /* A window of one row or column needs no positions between those of strides; one of a single
     * place needs no patch. */
    const bool is_row = d->kernel_height == 1, is_column = d->kernel_width == 1;
    t.step_y = is_row ? d->stride_height : 1, t.stride_y = is_row ? 1 : d->stride_height;
    t.step_x = is_column ? d->stride_width : 1, t.stride_x = is_column ? 1 : d->stride_width;
    t.rows = (rows_of(t.places, d->out_height, d->out_width) - 1) * t.stride_y +
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
    t.share = t.places / t.splits;
    t.by_share = tn_divider_make((uint32_t)t.share);
    t.by_tiles = tn_divider_make((uint32_t)t.tiles);
    t.by_width = tn_divider_make((uint32_t)d->out_width);
    return t;
}

int64_t bytes_of(const deep_shape *t) {
    const int64_t patch = t->taps == 1 ? 0 : (int64_t)t->rows * t->columns * t->pitch;
    const int64_t in = (int64_t)t->chunks * t->taps * UNIT + patch;
    const int64_t parts = (int64_t)WARPS * PLACES * PITCH * 4;
    return (int64_t)t->places * FILTERS * 4 + (in > parts ? in : parts);
}

template <typename T, int ACROSS, bool IS_POINT>
cudaError_t launch_as(const tn_cuda_direct *d, const deep_shape *t, cudaStream_t stream) {
    const int64_t bytes = bytes_of(t);
    if (bytes > MOST_SHARED) return cudaErrorInvalidValue;
    const cudaError_t error = cudaFuncSetAttribute(
        deep_kernel<T, ACROSS, IS_POINT>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess) return error;
    cudaLaunchAttribute attributes[3] = {};
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim.x = (unsigned int)t->splits;
    attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    /* Not two blocks of a cluster to a multiprocessor while others have none. */
    attributes[2].id = cudaLaunchAttributeClusterSchedulingPolicyPreference;
    attributes[2].val.clusterSchedulingPolicyPreference = cudaClusterSchedulingPolicySpread;
    cudaLaunchConfig_t config = {};
    config.gridDim =
        dim3((unsigned int)t->splits, (unsigned int)(d->filters + FILTERS - 1) / FILTERS,
             (unsigned int)(t->tiles * d->batch));
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = (size_t)bytes;
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = 3;
    return cudaLaunchKernelEx(&config, deep_kernel<T, ACROSS, IS_POINT>, *d, *t);
}

template <typename T>
cudaError_t launch(const tn_cuda_direct *d, const tn_cuda_direct_config *config,
                   cudaStream_t stream) {
    const deep_shape t = shape_of(d, config);
    if (t.taps == 1)
        return config->width == 2 ? launch_as<T, 2, true>(d, &t, stream)
                                  : launch_as<T, 1, true>(d, &t, stream);
    return config->width == 2 ? launch_as<T, 2, false>(d, &t, stream)
                              : launch_as<T, 1, false>(d, &t, stream);
}

bool does(const tn_conv_geometry *g, tn_type type) {
    return g->groups == 1 && g->channels >= 16 && g->channels % deep_each(type) == 0 &&
           g->filters >= 16 && g->filters % 4 == 0 && g->filters <= 65536 &&
           g->out_height * g->out_width * g->batch <= 8192 && g->kernel_height <= 16 &&
           g->kernel_width <= 16 && g->in_width <= 1024 && g->out_width <= 1024 &&
           g->dilation_height <= 64 && g->dilation_width <= 64 && g->stride_height <= 16 &&
           g->stride_width <= 16;
}

/* Multiprocessors of the current GPU; 0: it has not what these kernels need. */
int processors_of() {
    int device = 0, major = 0, processors = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) !=
            cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return major == 9 ? processors : 0;
}

/* Microseconds that a way takes, about; a negative number: it cannot be done. Fitted to what the
 * convolutions of ResNet-50 took on an H200: it is there to order ways, not to foretell times. */
double cost_of(const tn_cuda_direct *d, const tn_cuda_direct_config *config, int processors) {
    const deep_shape t = shape_of(d, config);
    const int64_t bytes = bytes_of(&t), units = (int64_t)t.chunks * t.taps;
    if (bytes > MOST_SHARED || t.chunks * (t.splits - 1) >= t.all) return -1;
    const int64_t blocks =
        (int64_t)t.splits * ((d->filters + FILTERS - 1) / FILTERS) * t.tiles * d->batch;
    const int64_t warps = WARPS / config->width, rounds = (units + warps - 1) / warps;
    const bool is_point = t.taps == 1, is_pair = !is_point && bytes <= MOST_SHARED / 2;
    /* Multiprocessors that large clusters find, and blocks that these have at once. */
    const int64_t found = t.splits <= 2 ? processors : processors - processors / 11;
    const int64_t waves = (blocks + found * (is_pair + 1) - 1) / (found * (is_pair + 1));
    int64_t turns = (blocks + found - 1) / found;
    /* Blocks of a cluster come in pairs even where multiprocessors have none. */
    if (t.splits > 1 && is_pair && blocks > processors / 2 && turns < 2) turns = 2;
    const int64_t input = is_point ? (int64_t)t.places * t.chunks * CHUNK : (int64_t)t.packs * 16;
    return 2.58 + (double)(turns * rounds) * (d->type == TN_F32 ? 0.233 : 0.154) +
           (double)(turns * input) * (is_point ? 0.5e-5 : 2.67e-5) + (t.splits > 1 ? 0.25 : 0) +
           (!is_point && (blocks > processors || !is_pair) ? 0.25 : 0) +
           0.32 * (config->width - 1) + 2.19 * (double)(waves - 1);
}

} // namespace

/* The ways from the one that should be fastest. */
bool tn_cuda_deep_choose(const tn_conv_geometry *g, tn_type type, uint32_t index,
                         tn_cuda_direct_config *out_config) {
    enum { MOST = 3 };
    const int processors = does(g, type) ? processors_of() : 0;
    if (processors == 0 || index >= MOST) return false;
    tn_cuda_direct direct = {};
    tn_cuda_direct_describe(g, &direct);
    direct.type = type;
    double before = -1;
    for (uint32_t rank = 0; rank <= index; rank++) {
        double best = -1;
        for (int32_t width = 1; width <= 2; width++)
            for (int32_t splits = 1; splits <= MOST_SPLITS; splits *= 2) {
                const tn_cuda_direct_config config = {FILTERS, 1, 1, splits, width};
                const double own = cost_of(&direct, &config, processors);
                const double cost = own + 1e-6 * (width * 16 + splits); /* no two alike */
                if (own < 0 || cost <= before || (best >= 0 && cost >= best)) continue;
                best = cost;
                *out_config = config;
            }
        if (best < 0) return false;
        before = best;
    }
    return true;
}

bool tn_cuda_deep_fits(const tn_cuda_direct *direct, const tn_cuda_direct_config *config) {
    const deep_shape t = shape_of(direct, config);
    return bytes_of(&t) <= MOST_SHARED;
}

cudaError_t tn_cuda_deep_launch(const tn_cuda_direct *direct, const tn_cuda_direct_config *config,
                                cudaStream_t stream) {
    switch (direct->type) {
    case TN_F16:
        return launch<__half>(direct, config, stream);
    case TN_BF16:
        return launch<__nv_bfloat16>(direct, config, stream);
    default:
        return launch<tn_tf32_number>(direct, config, stream);
    }
}
