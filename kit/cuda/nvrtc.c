/* SPDX-License-Identifier: Apache-2.0 */
/* Opening NVRTC and compiling with it; see nvrtc.h. */
#include "kit/cuda/nvrtc.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#if __has_include(<nvrtc.h>)
#include <nvrtc.h>

#define NVRTC_FUNCTIONS(each)                                                                      \
    each(nvrtcVersion) each(nvrtcCreateProgram) each(nvrtcDestroyProgram)                          \
        each(nvrtcCompileProgram) each(nvrtcGetCUBINSize) each(nvrtcGetCUBIN)                      \
            each(nvrtcGetProgramLogSize) each(nvrtcGetProgramLog) each(nvrtcGetErrorString)

/* Filled once a process, constant from then on. */
static struct {
#define MEMBER(function) __typeof__(&function) function;
    NVRTC_FUNCTIONS(MEMBER)
#undef MEMBER
    bool is_open;
    char why[300];
} nvrtc;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find_functions(void *library) {
#define FIND(function)                                                                             \
    *(void **)(void *)&nvrtc.function = dlsym(library, #function);                                 \
    if (!nvrtc.function) {                                                                         \
        snprintf(nvrtc.why, sizeof(nvrtc.why), "NVRTC lacks %s", #function);                       \
        return false;                                                                              \
    }
    NVRTC_FUNCTIONS(FIND)
#undef FIND
    return true;
}

static void open_library(void) {
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof(names) / sizeof(names[0]); i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library)
        nvrtc.is_open = find_functions(library);
    else
        snprintf(nvrtc.why, sizeof(nvrtc.why), "NVRTC is missing (%s and %s)", names[0], names[1]);
}

bool tn_nvrtc_is_there(const tn_host *host) {
    static bool is_said; /* set under no lock: at worst the line comes twice */
    char line[400];
    pthread_once(&once, open_library);
    if (nvrtc.is_open) return true;
    if (!__atomic_exchange_n(&is_said, true, __ATOMIC_RELAXED)) {
        snprintf(line, sizeof(line), "%s: elementwise chains are not compiled into one kernel",
                 nvrtc.why);
        host->log(host, TN_LOG_WARNING, line);
    }
    return false;
}

int tn_nvrtc_version(const tn_host *host) {
    int major = 0, minor = 0;
    if (!tn_nvrtc_is_there(host) || nvrtc.nvrtcVersion(&major, &minor) != NVRTC_SUCCESS) return 0;
    return major * 1000 + minor * 10;
}

/* The first lines of what the compiler said. */
static void read_log(nvrtcProgram program, const tn_host *host, char *out_why, size_t why_bytes) {
    size_t bytes = 0;
    if (why_bytes == 0 || nvrtc.nvrtcGetProgramLogSize(program, &bytes) != NVRTC_SUCCESS ||
        bytes <= 1)
        return;
    char *log = host->allocate(host, bytes + 1, 64);
    if (!log) return;
    if (nvrtc.nvrtcGetProgramLog(program, log) == NVRTC_SUCCESS) {
        log[bytes] = 0;
        snprintf(out_why, why_bytes, "%s", log);
    }
    host->deallocate(host, log);
}

static nvrtcResult take_code(nvrtcProgram program, const tn_host *host, void **out_code,
                             size_t *out_bytes) {
    size_t bytes = 0;
    nvrtcResult result = nvrtc.nvrtcGetCUBINSize(program, &bytes);
    if (result != NVRTC_SUCCESS) return result;
    void *code = bytes > 0 ? host->allocate(host, bytes, 64) : NULL;
    if (!code) return NVRTC_ERROR_OUT_OF_MEMORY;
    result = nvrtc.nvrtcGetCUBIN(program, code);
    if (result != NVRTC_SUCCESS) {
        host->deallocate(host, code);
        return result;
    }
    *out_code = code;
    *out_bytes = bytes;
    return NVRTC_SUCCESS;
}

tn_status tn_nvrtc_compile(const tn_host *host, const char *source, int capability, void **out_code,
                           size_t *out_bytes, char *out_why, size_t why_bytes) {
    char architecture[64];
    const char *const options[] = {architecture, "--std=c++17"};
    nvrtcProgram program = NULL;
    if (!tn_nvrtc_is_there(host)) {
        snprintf(out_why, why_bytes, "%s", nvrtc.why);
        return TN_ERROR_UNSUPPORTED;
    }
    snprintf(architecture, sizeof(architecture), "--gpu-architecture=sm_%d", capability);
    nvrtcResult result =
        nvrtc.nvrtcCreateProgram(&program, source, "tenon_fused.cu", 0, NULL, NULL);
    if (result == NVRTC_SUCCESS) result = nvrtc.nvrtcCompileProgram(program, 2, options);
    if (result == NVRTC_SUCCESS) result = take_code(program, host, out_code, out_bytes);
    if (result != NVRTC_SUCCESS) {
        snprintf(out_why, why_bytes, "%s", nvrtc.nvrtcGetErrorString(result));
        if (program) read_log(program, host, out_why, why_bytes);
    }
    if (program) (void)nvrtc.nvrtcDestroyProgram(&program);
    if (result == NVRTC_SUCCESS) return TN_OK;
    return result == NVRTC_ERROR_OUT_OF_MEMORY ? TN_ERROR_MEMORY : TN_ERROR_UNSUPPORTED;
}

#else

bool tn_nvrtc_is_there(const tn_host *host) {
    (void)host;
    return false;
}
int tn_nvrtc_version(const tn_host *host) {
    (void)host;
    return 0;
}
tn_status tn_nvrtc_compile(const tn_host *host, const char *source, int capability, void **out_code,
                           size_t *out_bytes, char *out_why, size_t why_bytes) {
    (void)host, (void)source, (void)capability, (void)out_code, (void)out_bytes;
    snprintf(out_why, why_bytes, "this library was built without NVRTC");
    return TN_ERROR_UNSUPPORTED;
}

#endif
