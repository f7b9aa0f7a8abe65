/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of products whose depth the blocks of a cluster share, and its tactics; see
 * product_cluster.h. Limited by latency: a block reads memory once, computes its part of one or two
 * products, and has whole rows of y after one exchange, where a kernel for each product and for the
 * normalisation would start, read and write anew. Code for compute capability 9.0 alone.
 */
#include "kit/cuda/gemm/product_cluster.cuh"
#include "kit/cuda/cluster_launch.cuh"

namespace {

enum { MOST_SHARED = 226 * 1024, LEAST_SPLITS = 4 /* a row has its threads, four rows a block */ };

template <typename T, bool HAS_FIRST>
__global__ void __launch_bounds__(THREADS) cluster_kernel(const __grid_constant__ cluster_job j) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    extern __shared__ uint4 shared_memory[];
    __shared__ uint64_t is_second_there, are_joined;
    char *memory = (char *)shared_memory;
    const int first_row = (int)blockIdx.y * ROWS, bytes = second_bytes(j.slice);
    if (threadIdx.x == 0) {
        const int rows = (ROWS - 1 - (int)blockIdx.x) / j.splits + 1; /* that this block finishes */
        tn_cuda_barrier_expect(&is_second_there, (uint32_t)bytes);
        tn_cuda_bulk_copy(memory, (const char *)j.second + (int64_t)blockIdx.x * bytes,
                          (uint32_t)bytes, &is_second_there);
        tn_cuda_barrier_expect(&are_joined, (uint32_t)(rows * j.splits * COLUMNS * 4));
    }
    __syncwarp();
    tn_cuda_cluster_arrive();
    uint4 weights[STEPS * 2];
    if constexpr (HAS_FIRST) load_first(j, weights);
    copy_vectors(j, memory + j.at_vectors);
    const finished at = find_finished(j, first_row);
    tn_cuda_wait_for_last();
    tn_cuda_start_next();
    copy_x<HAS_FIRST>(j, first_row, memory + j.at_x);
    uint2 residual = make_uint2(0, 0);
    if (j.residual && at.to >= 0) residual = *(const uint2 *)((const char *)j.residual + at.to * 2);
    tn_copy_wait();
    __syncthreads();
    float sums[4][4] = {};
    if constexpr (HAS_FIRST) compute_middle<T>(j, memory, weights);
    tn_cuda_barrier_wait(&is_second_there);
    add_second<T>(memory + (HAS_FIRST ? j.at_middle : j.at_x), HAS_FIRST ? M_PITCH : X_PITCH,
                  j.slice / 16, memory, sums);
    store_sums(sums, (float *)(memory + j.at_sums) + ((int)threadIdx.x >> 5) * OWN, SUMS_PITCH);
    __syncthreads();
    tn_cuda_cluster_wait(); /* the others' barriers are there */
    share_out(j, memory, &are_joined);
    tn_cuda_barrier_wait(&are_joined);
    finish<T>(j, at, residual, memory);
#endif
}

/* ----------------------------------------------------------------------------------------------
 * how the work is cut */

/* Lays out the shared memory; returns its bytes. Parts of the first product's depth and the sums of
 * y lie in the same bytes. */
int64_t lay_out(cluster_job *j) {
    int64_t at = second_bytes(j->slice);
    const auto add = [&](int64_t bytes) {
        const int64_t begin = at;
        at += bytes;
        return (int32_t)begin;
    };
    const int64_t parts = DEEP * ROWS * PART_PITCH * 4, sums = ROWS * SUMS_PITCH * 4;
    const int64_t slots = (ROWS - 1) / j->splits + 1;
    j->at_x = add(ROWS * X_PITCH);
    j->at_middle = add(j->has_first ? ROWS * M_PITCH : 0);
    j->at_vectors = add(((j->has_first ? MIDDLE : 0) + TN_CLUSTER_VECTORS * COLUMNS) * 4);
    j->at_sums = add(j->has_first && parts > sums ? parts : sums);
    j->at_joined = add(slots * j->splits * COLUMNS * 4);
    return at;
}

cluster_job cut(const tn_cuda_cluster_product *p, const tn_cuda_cluster_config *config,
                int64_t *out_bytes) {
    cluster_job j = {};
    (tn_cuda_cluster_product &)j = *p;
    j.splits = config->splits, j.slice = config->slice;
    j.inverse_columns = 1.0f / (float)p->columns;
    j.by_splits = tn_divider_make((uint32_t)j.splits);
    *out_bytes = lay_out(&j);
    return j;
}

template <typename T> cudaError_t launch(const cluster_job &j, int64_t bytes, cudaStream_t stream) {
    const dim3 grid((unsigned int)j.splits, (unsigned int)((j.rows + ROWS - 1) / ROWS));
    return tn_cuda_launch_cluster(j.has_first ? cluster_kernel<T, true> : cluster_kernel<T, false>,
                                  grid, THREADS, bytes, false, stream, j);
}

/* ----------------------------------------------------------------------------------------------
 * tactics */

/* No block but one of the fewest is without a part of the middle; x of a block without a first
 * product is its slice. */
bool make_config(const tn_cuda_cluster_product *p, int32_t splits,
                 tn_cuda_cluster_config *out_config) {
    const int32_t slice = ((p->middle + splits - 1) / splits + 15) / 16 * 16;
    int64_t bytes;
    *out_config = {splits, slice};
    if ((splits > LEAST_SPLITS && slice * (splits - 1) >= p->middle) ||
        slice > (p->has_first ? (int32_t)MIDDLE : (int32_t)COLUMNS))
        return false;
    (void)cut(p, out_config, &bytes);
    return bytes <= MOST_SHARED;
}

} // namespace

extern "C" bool tn_cuda_cluster_choose(const tn_cuda_cluster_product *p, uint32_t index,
                                       tn_cuda_cluster_config *out_config) {
    static const int32_t splits[] = {8, 6, LEAST_SPLITS};
    uint32_t found = 0;
    if (tn_cuda_cluster_processors() == 0) return false;
    for (const int32_t each : splits)
        if (make_config(p, each, out_config) && found++ == index) return true;
    return false;
}

extern "C" cudaError_t tn_cuda_cluster_launch(const tn_cuda_cluster_product *p,
                                              const tn_cuda_cluster_config *config,
                                              cudaStream_t stream) {
    int64_t bytes;
    const cluster_job j = cut(p, config, &bytes);
    return p->type == TN_F16 ? launch<__half>(j, bytes, stream)
                             : launch<__nv_bfloat16>(j, bytes, stream);
}
