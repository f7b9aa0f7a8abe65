/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA kernels of kit/cuda/any as kernels of the processor, for tests where no GPU is: their
 * own callbacks and sources, compiled by the C++ compiler (cuda_words.h). A library, so that every
 * case of the conformance suite goes through them.
 */
#include <tenon/plugin.h>

#include <string.h>

enum { MOST_KERNELS = 400 };

/* Generated: those of each folder, and a null. */
extern const tn_kernel *const *const tn_any_tables[];

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

TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT;
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT {
    (void)host;
    library.kernel_count = 0;
    for (const tn_kernel *const *const *table = tn_any_tables; *table; table++)
        for (const tn_kernel *const *kernel = *table; *kernel; kernel++) {
            if (needs_gpu(*kernel) || library.kernel_count == MOST_KERNELS) continue;
            tn_kernel *own = &tables[library.kernel_count];
            memcpy(own, *kernel, sizeof(*own));
            own->device = "cpu";
            own->open = NULL; /* without a place for faults */
            own->close = NULL;
            kernels[library.kernel_count++] = own;
        }
    return &library;
}
