/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of separable convolutions and its tactics; see cuda_separable.h. Limited by latency: a
 * block reads memory once, computes three products and, where it shares its pixels, adds up the
 * sums of its cluster, which three kernels would do otherwise. Code for compute capability 9.0
 * alone.
 */
#include "conv/cuda/cuda_separable.cuh"
#include "kit/cuda/cluster_launch.cuh"

namespace {

enum { MOST_SHARED = 226 * 1024, MOST_PIXELS = 256, TACTICS = 12 };

template <typename T, int STRIDE, bool HAS_EXPAND, bool HAS_WINDOW>
__global__ void __launch_bounds__(THREADS)
    separable_kernel(const __grid_constant__ separable_job s) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    extern __shared__ uint4 shared_memory[];
    __shared__ uint64_t are_joined;
    char *memory = (char *)shared_memory;
    int *pixels = (int *)(memory + s.at_pixels);
    uint32_t column;
    task at;
    const int first = (int)blockIdx.x * s.share; /* of the fours that the block finishes */
    const int own = max(min(s.pixels * (int)s.by_fours.divisor - first, s.share), 0);
    if (s.splits > 1) {
        if (threadIdx.x == 0) tn_cuda_barrier_expect(&are_joined, (uint32_t)(own * s.splits) * 16);
        __syncwarp();
        tn_cuda_cluster_arrive();
    }
    at.channel = (int)blockIdx.x * s.slice;
    at.channels = min(s.slice, s.middle - at.channel);
    at.image = (int)blockIdx.z;
    at.row = (int)tn_divide_rest(blockIdx.y, s.by_tiles_x, &column) * s.height;
    at.column = (int)column * s.width;
    copy_weights<HAS_EXPAND, HAS_WINDOW>(s, at, memory);
    find_pixels(s, at, pixels);
    window_weights window;
    if constexpr (HAS_WINDOW) tn_copy_wait();
    __syncthreads();
    if constexpr (HAS_WINDOW) load_window(s, at, memory, window);
    if constexpr (HAS_EXPAND)
        copy_patch(s, at, pixels, 0, s.channels * 2, memory + s.at_x, pitch_of(s.depth));
    else
        copy_patch(s, at, pixels, at.channel, at.channels * 2,
                   memory + (HAS_WINDOW ? s.at_e : s.at_d), pitch_of(s.slice));
    tn_copy_wait();
    __syncthreads();
    if constexpr (HAS_EXPAND) {
        expand<T>(s, at, memory);
        __syncthreads();
    }
    if constexpr (HAS_WINDOW) {
        apply_window<T, STRIDE>(s, at, memory, window);
        __syncthreads();
    }
    int index = (int)threadIdx.x;
    output to = find_output(s, at, first + index);
    uint2 residual = load_residual(s, to);
    project<T>(s, at, memory);
    __syncthreads();
    if (s.splits > 1) {
        tn_cuda_cluster_wait(); /* the others' barriers are there */
        share_out(s, memory, &are_joined);
        tn_cuda_barrier_wait(&are_joined);
    }
    while (index < own) {
        finish<T>(s, to, index, residual, memory);
        index += THREADS;
        to = find_output(s, at, first + index);
        residual = load_residual(s, to);
    }
#endif
}

/* ----------------------------------------------------------------------------------------------
 * how the work is cut */

/* Lays out the shared memory; returns its bytes. */
int64_t lay_out(separable_job *j) {
    const int64_t of_slice = pitch_of(j->slice), of_depth = pitch_of(j->depth);
    const int64_t patch = round_up(j->patch_pixels, 16), pixels = round_up(j->pixels, 16);
    int64_t at = 0;
    const auto add = [&](int64_t bytes) {
        const int64_t begin = at;
        at += bytes;
        return (int32_t)begin;
    };
    j->at_rows = add(j->has_window ? TN_SEPARABLE_ROWS * j->slice * 4 : 0);
    j->at_bias = add(j->filters * 4);
    j->at_project = add(round_up(j->filters, COLUMNS) * of_slice);
    j->at_d = add(pixels * of_slice);
    j->at_pixels = add(patch * 4);
    j->at_sums = (int32_t)at;
    const int64_t sums = at + pixels * sums_pitch(j->filters) * 4;
    j->at_expand = add(j->has_expand ? round_up(j->slice, COLUMNS) * of_depth : 0);
    j->at_x = add(j->has_expand ? patch * of_depth : 0);
    j->at_e = add(j->has_window ? patch * of_slice : 0);
    at = at > sums ? at : sums;
    j->at_joined = add(j->splits > 1 ? j->splits * j->share * 16 : 0); /* comes while others work */
    return at;
}

int64_t quotient(int64_t number, int64_t divisor) {
    return (number + divisor - 1) / divisor;
}

separable_job cut(const tn_cuda_separable *s, const tn_cuda_separable_config *config,
                  int64_t *out_bytes) {
    separable_job j = {};
    (tn_cuda_separable &)j = *s;
    const int more = s->has_window ? WINDOW - 1 : 0;
    j.height = config->height, j.width = config->width, j.slice = config->slice;
    j.splits = (s->middle + j.slice - 1) / j.slice;
    j.patch_width = (j.width - 1) * s->stride + more + 1;
    j.patch_pixels = ((j.height - 1) * s->stride + more + 1) * j.patch_width;
    j.pixels = j.height * j.width;
    j.tiles_x = (s->out_width + j.width - 1) / j.width;
    j.by_tiles_x = tn_divider_make((uint32_t)j.tiles_x);
    j.by_patch_width = tn_divider_make((uint32_t)j.patch_width);
    j.by_width = tn_divider_make((uint32_t)j.width);
    j.by_packs = tn_divider_make((uint32_t)(s->has_expand ? s->depth : j.slice) / 8);
    j.by_fours = tn_divider_make((uint32_t)s->filters / 4);
    j.share = (j.pixels * (s->filters / 4) + j.splits - 1) / j.splits;
    j.by_share = tn_divider_make((uint32_t)j.share);
    *out_bytes = lay_out(&j);
    return j;
}

int64_t tiles_of(const separable_job *j) {
    return (int64_t)j->tiles_x * ((j->out_height + j->height - 1) / j->height);
}

/* Microseconds that a tactic takes, about, to order tactics by; a negative number: it cannot be
 * done. Fitted to what 2,300 tactics of the blocks of MobileNetV2 took on an H200: the first sum is
 * of what a block does after another, the second one of what the blocks of a multiprocessor do. */
double cost_of(const tn_cuda_separable *s, const tn_cuda_separable_config *config, int processors) {
    int64_t bytes;
    const separable_job j = cut(s, config, &bytes);
    if (bytes > MOST_SHARED || j.splits > MOST_SPLITS || tiles_of(&j) > 65535) return -1;
    const int64_t blocks = j.splits * tiles_of(&j) * s->batch;
    const int64_t fit = MOST_SHARED / (bytes + 1024), at_once = fit > 4 ? 4 : fit < 1 ? 1 : fit;
    const int64_t rows = quotient(j.pixels, 16), across = quotient(s->filters, COLUMNS);
    const int64_t expansions =
        s->has_expand ? quotient(j.patch_pixels, 16) * quotient(j.slice, COLUMNS) : 0;
    const int64_t windows = s->has_window ? rows * (j.slice / 8) : 0;
    const int64_t packs = (int64_t)j.patch_pixels * (s->has_expand ? s->depth : j.slice) / 8;
    const double own = 2.44 + 0.022 * (double)(quotient(expansions, WARPS) * (s->depth / 16)) +
                       0.515 * (double)quotient(rows * across, WARPS) +
                       (j.splits > 1 ? 0.11 + 0.036 * j.splits : 0);
    const double all =
        0.168 +
        (0.419 * (double)expansions + 0.044 * (double)windows + 0.279 * (double)(rows * across)) /
            WARPS +
        0.0925 * (double)packs / THREADS;
    return own + all * (double)quotient(blocks, processors) +
           2.1 * (double)(quotient(blocks, processors * at_once) - 1);
}

template <typename T> void (*kernel_of(const separable_job &j))(const separable_job) {
    if (!j.has_window) return separable_kernel<T, 1, false, false>;
    if (j.has_expand)
        return j.stride == 2 ? separable_kernel<T, 2, true, true>
                             : separable_kernel<T, 1, true, true>;
    return j.stride == 2 ? separable_kernel<T, 2, false, true>
                         : separable_kernel<T, 1, false, true>;
}

const int32_t heights[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16},
              widths[] = {4, 7, 8, 14, 16, 28};

/* Tactics that would take about as long: as many blocks share about as many pixels. */
bool are_alike(const tn_cuda_separable *s, const tn_cuda_separable_config &a,
               const tn_cuda_separable_config &b) {
    const int of_a = a.height * a.width, of_b = b.height * b.width;
    return quotient(s->middle, a.slice) == quotient(s->middle, b.slice) && of_a * 5 >= of_b * 4 &&
           of_b * 5 >= of_a * 4;
}

/* The best tactic that is not like one of `count`; false: there is none. */
bool choose_next(const tn_cuda_separable *s, int processors, uint32_t count,
                 tn_cuda_separable_config *tactics) {
    double best = -1;
    for (const int32_t height : heights)
        for (const int32_t width : widths)
            for (int32_t splits = 1; splits <= MOST_SPLITS; splits++) {
                const tn_cuda_separable_config config = {
                    height, width, round_up((s->middle + splits - 1) / splits, 16)};
                bool is_new = height * width <= MOST_PIXELS && config.slice <= 4 * THREADS;
                for (uint32_t i = 0; i < count && is_new; i++)
                    is_new = !are_alike(s, config, tactics[i]);
                const double cost = is_new ? cost_of(s, &config, processors) : -1;
                if (cost < 0 || (best >= 0 && cost >= best)) continue;
                best = cost;
                tactics[count] = config;
            }
    return best >= 0;
}

} // namespace

extern "C" bool tn_cuda_separable_fits(const tn_cuda_separable *s,
                                       const tn_cuda_separable_config *config) {
    return cost_of(s, config, 1) >= 0;
}

extern "C" bool tn_cuda_separable_choose(const tn_cuda_separable *s, uint32_t index,
                                         tn_cuda_separable_config *out_config) {
    const int processors = tn_cuda_cluster_processors();
    tn_cuda_separable_config tactics[TACTICS];
    if (processors == 0 || index >= (s->has_window ? TACTICS : 1)) return false;
    for (uint32_t count = 0; count <= index; count++)
        if (!choose_next(s, processors, count, tactics)) return false;
    *out_config = tactics[index];
    return true;
}

extern "C" cudaError_t tn_cuda_separable_launch(const tn_cuda_separable *s,
                                                const tn_cuda_separable_config *config,
                                                cudaStream_t stream) {
    int64_t bytes;
    const separable_job j = cut(s, config, &bytes);
    const dim3 grid((unsigned int)j.splits, (unsigned int)tiles_of(&j), (unsigned int)j.batch);
    return tn_cuda_launch_cluster(s->type == TN_F16 ? kernel_of<__half>(j)
                                                    : kernel_of<__nv_bfloat16>(j),
                                  grid, THREADS, bytes, false, stream, j);
}
