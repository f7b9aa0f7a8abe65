/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry of the CUDA library: one device for each GPU that its code runs on, found once a
 * process, and all CUDA kernels. Without a driver or a GPU it still loads, provides no device and
 * logs why.
 */
#include "cuda.h"

#include <stdio.h>

enum { MOST_DEVICES = 64, MOST_KERNELS = 1024, OLDEST_MAJOR = 8 };

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

/* Filled once, constant from then on. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static tn_cuda_device gpus[MOST_DEVICES];
static const tn_device *devices[MOST_DEVICES];
static const tn_kernel *kernels[MOST_KERNELS];
static char note[400]; /* why a GPU is not there; empty: all are */
static tn_library library = {.size = sizeof(tn_library),
                             .abi_major = TN_ABI_MAJOR,
                             .abi_minor = TN_ABI_MINOR,
                             .name = "cuda",
                             .version = "CUDA " TEXT(CUDART_VERSION),
                             .kernels = kernels,
                             .devices = devices};

static void add_device(int ordinal) {
    struct cudaDeviceProp properties;
    const cudaError_t error = cudaGetDeviceProperties(&properties, ordinal);
    if (error != cudaSuccess) {
        snprintf(note, sizeof(note), "cuda: GPU %d cannot be used: %s", ordinal,
                 cudaGetErrorString(error));
        (void)cudaGetLastError();
        return;
    }
    if (properties.major < OLDEST_MAJOR) {
        snprintf(note, sizeof(note),
                 "cuda: GPU %d (%s) has compute capability %d.%d; %d.0 or newer is needed", ordinal,
                 properties.name, properties.major, properties.minor, OLDEST_MAJOR);
        return;
    }
    const uint64_t at = library.device_count++;
    tn_cuda_device_init(&gpus[at], ordinal, &properties);
    devices[at] = &gpus[at].table;
}

static void note_missing(cudaError_t error, int driver) {
    const int needed = CUDART_VERSION;
    if (error == cudaErrorInsufficientDriver && driver == 0)
        snprintf(note, sizeof(note),
                 "cuda: this machine has no NVIDIA driver, or this process does not see it "
                 "(libcuda.so.1); one for CUDA %d.%d or newer is needed",
                 needed / 1000, needed % 1000 / 10);
    else if (error == cudaErrorInsufficientDriver)
        snprintf(note, sizeof(note),
                 "cuda: the NVIDIA driver is for CUDA %d.%d; this library needs one for %d.%d or "
                 "newer",
                 driver / 1000, driver % 1000 / 10, needed / 1000, needed % 1000 / 10);
    else
        snprintf(
            note, sizeof(note), "cuda: no GPU can be used: %s (%s); the driver is for CUDA %d.%d",
            cudaGetErrorString(error), cudaGetErrorName(error), driver / 1000, driver % 1000 / 10);
}

static void find_devices(void) {
    int count = 0, driver = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        (void)cudaDriverGetVersion(&driver);
        note_missing(error, driver);
        return;
    }
    if (count == 0) snprintf(note, sizeof(note), "cuda: this machine has no GPU");
    for (int i = 0; i < count && i < MOST_DEVICES; i++)
        add_device(i);
}

static void fill_library(void) {
    for (const tn_kernel *const *const *table = tn_cuda_kernel_tables; *table; table++) {
        for (const tn_kernel *const *kernel = *table;
             *kernel && library.kernel_count < MOST_KERNELS; kernel++)
            kernels[library.kernel_count++] = *kernel;
    }
    find_devices();
}

TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    pthread_once(&once, fill_library);
    if (note[0]) host->log(host, TN_LOG_WARNING, note);
    return &library;
}
