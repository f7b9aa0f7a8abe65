/* SPDX-License-Identifier: Apache-2.0 */
/* The table of compiled sources; see fused_program.h. */
#include "kit/cuda/fused/fused_program.h"
#include "kit/cuda/fused/fused_cache.h"
#include <tenon/kit/cuda/launch.h>
#include "kit/cuda/nvrtc.h"
#include <tenon/kit/infer.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The runtime loads code without the driver's own library from here on. */
#define CAN_LOAD (CUDART_VERSION >= 12080)

enum { MOST_FOLDER = 3800 };

#if CAN_LOAD

struct tn_cuda_fused_program {
    tn_cuda_fused_program *next;
    char *key;      /* what was compiled, for what, by what */
    uint64_t users; /* guarded by `lock` */
    cudaLibrary_t library;
    cudaKernel_t wide, narrow;
    uint32_t device; /* that the kernels were made ready on */
    int capability;  /* its compute capability, as in 90 */
};

/* All programs in use. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tn_cuda_fused_program *first;

bool tn_cuda_fused_program_is_possible(const tn_host *host) {
    return tn_nvrtc_is_there(host);
}

static tn_cuda_fused_program *find(const char *key, uint32_t device) {
    pthread_mutex_lock(&lock);
    tn_cuda_fused_program *program = first;
    while (program && (program->device != device || strcmp(program->key, key) != 0))
        program = program->next;
    if (program) program->users++;
    pthread_mutex_unlock(&lock);
    return program;
}

/* "<version> <capability>\n<source>" */
static tn_status make_key(tn_call *call, const char *source, int capability, char **out_key) {
    const size_t bytes = strlen(source) + 64;
    char *key = call->host->allocate(call->host, bytes, 64);
    if (!key) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a kernel's source");
    snprintf(key, bytes, "nvrtc %d, sm_%d\n%s", tn_nvrtc_version(call->host), capability, source);
    *out_key = key;
    return TN_OK;
}

/* The kernels are loaded onto the GPU now, so that no run has to wait for that. */
static cudaError_t load(tn_cuda_fused_program *program, const void *code) {
    struct cudaFuncAttributes attributes;
    cudaError_t error = cudaLibraryLoadData(&program->library, code, NULL, NULL, 0, NULL, NULL, 0);
    if (error != cudaSuccess) {
        program->library = NULL;
        return error;
    }
    error = cudaLibraryGetKernel(&program->wide, program->library, TN_CUDA_FUSED_WIDE);
    if (error == cudaSuccess)
        error = cudaLibraryGetKernel(&program->narrow, program->library, TN_CUDA_FUSED_NARROW);
    if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, program->wide);
    if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, program->narrow);
    return error;
}

static void destroy(const tn_host *host, tn_cuda_fused_program *program) {
    if (program->library) (void)cudaLibraryUnload(program->library);
    host->deallocate(host, program->key);
    host->deallocate(host, program);
}

static tn_status compile(tn_call *call, tn_cuda_fused_program *program, const char *source,
                         int capability, const char *folder) {
    char why[600] = "";
    void *code = NULL;
    size_t bytes = 0;
    const tn_status status =
        tn_nvrtc_compile(call->host, source, capability, &code, &bytes, why, sizeof(why));
    if (status != TN_OK)
        return call->host->fail(call, status, "compiling an elementwise kernel: %s", why);
    const cudaError_t error = load(program, code);
    if (error == cudaSuccess && folder) tn_cuda_fused_cache_add(folder, program->key, code, bytes);
    call->host->deallocate(call->host, code);
    return tn_cuda_status(call, error, "loading an elementwise kernel");
}

static double now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void log_time(const tn_call *call, const char *what, double begin) {
    char line[300];
    snprintf(line, sizeof(line),
             "cuda: the kernel of node '%.150s' and %u after it was %s in %.1f ms",
             call->node ? call->node : "", call->step_count, what, now_ms() - begin);
    call->host->log(call->host, TN_LOG_DEBUG, line);
}

/* From the disk if it is there and the driver takes it. */
static tn_status fill(tn_call *call, tn_cuda_fused_program *program, const char *source,
                      int capability) {
    char folder[MOST_FOLDER];
    void *code = NULL;
    size_t bytes = 0;
    const double begin = now_ms();
    const bool has_folder = tn_cuda_fused_cache_folder(call->host, folder, sizeof(folder));
    if (has_folder && tn_cuda_fused_cache_find(call->host, folder, program->key, &code, &bytes)) {
        const cudaError_t error = load(program, code);
        call->host->deallocate(call->host, code);
        if (error == cudaSuccess) {
            log_time(call, "read from the cache", begin);
            return TN_OK;
        }
        (void)cudaGetLastError();
        if (program->library) (void)cudaLibraryUnload(program->library);
        program->library = NULL;
    }
    TN_TRY(compile(call, program, source, capability, has_folder ? folder : NULL));
    log_time(call, "compiled", begin);
    return TN_OK;
}

static tn_status create(tn_call *call, const char *source, int capability, char *key,
                        tn_cuda_fused_program **out_program) {
    tn_cuda_fused_program *program = call->host->allocate(call->host, sizeof(*program), 64);
    if (!program) {
        call->host->deallocate(call->host, key);
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a kernel");
    }
    *program = (tn_cuda_fused_program){
        .key = key, .users = 1, .device = call->device->index, .capability = capability};
    const tn_status status = fill(call, program, source, capability);
    if (status != TN_OK) {
        destroy(call->host, program);
        return status;
    }
    pthread_mutex_lock(&lock);
    program->next = first;
    first = program;
    pthread_mutex_unlock(&lock);
    *out_program = program;
    return TN_OK;
}

/* Two threads may compile the same at once: then there are two. */
tn_status tn_cuda_fused_program_retain(tn_call *call, const char *source,
                                       tn_cuda_fused_program **out_program) {
    int major = 0, minor = 0;
    char *key = NULL;
    const int device = (int)call->device->index;
    cudaError_t error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    TN_TRY(tn_cuda_status(call, error, "asking for the compute capability"));
    TN_TRY(make_key(call, source, major * 10 + minor, &key));
    tn_cuda_fused_program *found = find(key, call->device->index);
    if (!found) return create(call, source, major * 10 + minor, key, out_program);
    call->host->deallocate(call->host, key);
    *out_program = found;
    return TN_OK;
}

void tn_cuda_fused_program_release(const tn_host *host, tn_cuda_fused_program *program) {
    if (!program) return;
    pthread_mutex_lock(&lock);
    const bool is_last = --program->users == 0;
    tn_cuda_fused_program **at = &first;
    while (is_last && *at && *at != program)
        at = &(*at)->next;
    if (is_last && *at) *at = program->next;
    pthread_mutex_unlock(&lock);
    if (is_last) destroy(host, program);
}

cudaError_t tn_cuda_fused_program_launch(const tn_cuda_fused_program *program, bool is_wide,
                                         const tn_cuda_elements_job *job, unsigned int blocks,
                                         cudaStream_t stream) {
    void *arguments[] = {(void *)(uintptr_t)job};
    cudaLaunchAttribute early = {.id = cudaLaunchAttributeProgrammaticStreamSerialization};
    early.val.programmaticStreamSerializationAllowed = 1;
    const cudaLaunchConfig_t config = {.gridDim = {blocks, 1, 1},
                                       .blockDim = {TN_CUDA_ELEMENTS_THREADS, 1, 1},
                                       .stream = stream,
                                       .attrs = &early,
                                       .numAttrs = program->capability >= 90 ? 1 : 0};
    return cudaLaunchKernelExC(&config, is_wide ? program->wide : program->narrow, arguments);
}

#else

bool tn_cuda_fused_program_is_possible(const tn_host *host) {
    (void)host;
    return false;
}
tn_status tn_cuda_fused_program_retain(tn_call *call, const char *source,
                                       tn_cuda_fused_program **out_program) {
    (void)source, (void)out_program;
    return call->host->fail(call, TN_ERROR_UNSUPPORTED, "CUDA 12.8 or newer is needed");
}
void tn_cuda_fused_program_release(const tn_host *host, tn_cuda_fused_program *program) {
    (void)host, (void)program;
}
cudaError_t tn_cuda_fused_program_launch(const tn_cuda_fused_program *program, bool is_wide,
                                         const tn_cuda_elements_job *job, unsigned int blocks,
                                         cudaStream_t stream) {
    (void)program, (void)is_wide, (void)job, (void)blocks, (void)stream;
    return cudaErrorNotSupported;
}

#endif
