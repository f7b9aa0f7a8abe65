/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA kernels of kit/cuda/any as kernels of the processor, for tests where no GPU is: their
 * own callbacks and sources, compiled by the C++ compiler (cuda_words.h). A library, so that every
 * case of the conformance suite goes through them.
 */
#include "conv/cuda/cuda_kernels.h"
#include "mat_mul/cuda_any.h"
#include "pool/cuda_any.h"
#include <tenon/plugin.h>

#include <string.h>

enum { MOST_KERNELS = 400 };

/* Generated: those of each folder, and a null. */
extern const tn_kernel *const *const tn_any_tables[];

/* Of folders whose tables have kernels that need NVIDIA's libraries. */
static const tn_kernel *const others[] = {&tn_conv_cuda_any,
                                          &tn_conv_integer_cuda_any,
                                          &tn_q_linear_conv_cuda_any,
                                          &tn_mat_mul_cuda_any,
                                          &tn_mat_mul_integer_cuda_any,
                                          &tn_q_linear_mat_mul_cuda_any,
                                          &tn_max_pool_cuda_any,
                                          &tn_average_pool_cuda_any,
                                          &tn_lp_pool_cuda_any,
                                          &tn_global_max_pool_cuda_any,
                                          &tn_global_average_pool_cuda_any,
                                          &tn_global_lp_pool_cuda_any,
                                          NULL};

static tn_kernel tables[MOST_KERNELS];
static const tn_kernel *kernels[MOST_KERNELS];
static tn_library library = {.size = sizeof(tn_library),
                             .abi_major = TN_ABI_MAJOR,
                             .abi_minor = TN_ABI_MINOR,
                             .name = "any_on_host",
                             .version = "1",
                             .kernels = kernels};

/* Kernels of these folders that are compiled for one type and need a GPU. */
static bool needs_gpu(const tn_kernel *kernel) {
    static const char *const names[] = {"lanes", "runs", "convert", "pointwise"};
    for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(kernel->name, names[i]) == 0) return true;
    return false;
}

static void add(const tn_kernel *const *kernel) {
    for (; *kernel; kernel++) {
        if (needs_gpu(*kernel) || library.kernel_count == MOST_KERNELS) continue;
        tn_kernel *own = &tables[library.kernel_count];
        memcpy(own, *kernel, sizeof(*own));
        own->device = "cpu";
        own->open = NULL; /* without words for faults */
        own->close = NULL;
        own->verify = NULL;
        kernels[library.kernel_count++] = own;
    }
}

TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT;
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT {
    (void)host;
    library.kernel_count = 0;
    add(others);
    for (const tn_kernel *const *const *table = tn_any_tables; *table; table++)
        add(*table);
    return &library;
}
