/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which cuDNN, cuBLASLt and NVRTC this machine has: times of kernels that call them are valid for
 * these versions alone. Opening them takes a while, so it is done when timings are looked up, not
 * when a network is loaded. Declared in cuda.h.
 */
#include "cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* A function of a library, which stays loaded: the kernels use the same one. False: it is not
 * there. */
static bool find(const char *library, const char *name, void *out_function) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *symbol = handle ? dlsym(handle, name) : NULL;
    if (symbol) memcpy(out_function, &symbol, sizeof(symbol));
    if (handle) (void)dlclose(handle);
    return symbol != NULL;
}

/* The version that a function of a library answers; 0: the library is not there. */
static size_t version_of(const char *library, const char *function) {
    size_t (*version)(void) = NULL;
    return find(library, function, &version) ? version() : 0;
}

static size_t nvrtc_version(const char *library) {
    int (*version)(int *, int *) = NULL;
    int major = 0, minor = 0;
    const bool is_known = find(library, "nvrtcVersion", &version) && version(&major, &minor) == 0;
    return is_known ? (size_t)(major * 1000 + minor * 10) : 0;
}

const char *tn_cuda_libraries(const tn_device *device) {
    tn_cuda_device *own = device->user;
    char name[64];
    pthread_mutex_lock(&own->lock);
    if (!own->libraries[0]) {
        const int major = CUDART_VERSION / 1000;
        const size_t cudnn = version_of("libcudnn.so.9", "cudnnGetVersion");
        snprintf(name, sizeof(name), "libcublasLt.so.%d", major);
        const size_t cublas = version_of(name, "cublasLtGetVersion");
        snprintf(name, sizeof(name), "libnvrtc.so.%d", major);
        snprintf(own->libraries, sizeof(own->libraries), "cudnn %zu; cublaslt %zu; nvrtc %zu",
                 cudnn, cublas, nvrtc_version(name));
    }
    pthread_mutex_unlock(&own->lock);
    return own->libraries;
}
