/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fused CUDA kernel as a kernel of the processor, for tests where no GPU is: its own callbacks
 * and sources, but the sources compiled by the C++ compiler, with a few words of CUDA defined, and
 * run a thread after the other. A library of its own in place of fused_program.c, so that every
 * case of the conformance suite goes through it.
 */
#include "kit/cuda/fused/fused_program.h"
#include <tenon/kit/infer.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef CXX
#define CXX "c++"
#endif

/* C's headers, and no intrinsics: parsing those of C++ takes ten times as long as all the rest. */
static const char words[] =
    "#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS\n"
    "#include <math.h>\n"
    "#include <string.h>\n"
    "typedef short halves __attribute__((vector_size(16)));\n"
    "typedef float floats __attribute__((vector_size(16)));\n"
    "#define __CUDACC_RTC__\n"
    "#define __device__\n"
    "#define __forceinline__ inline\n"
    "#define __global__\n"
    "#define __launch_bounds__(count)\n"
    "#define __grid_constant__\n"
    "struct uint2 { unsigned x, y; };\n"
    "struct uint4 { unsigned x, y, z, w; };\n"
    "static thread_local struct { unsigned x; } threadIdx, blockIdx, gridDim;\n"
    "static inline float __uint_as_float(unsigned bits) {\n"
    "    float x; memcpy(&x, &bits, 4); return x;\n"
    "}\n"
    "static inline unsigned __float_as_uint(float x) {\n"
    "    unsigned bits; memcpy(&bits, &x, 4); return bits;\n"
    "}\n"
    "static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selectors) {\n"
    "    const unsigned long long from = (unsigned long long)b << 32 | a;\n"
    "    unsigned to = 0;\n"
    "    for (int i = 0; i < 4; i++)\n"
    "        to |= (unsigned)(from >> 8 * (selectors >> 4 * i & 7) & 0xff) << 8 * i;\n"
    "    return to;\n"
    "}\n"
    "static inline unsigned __umulhi(unsigned a, unsigned b) {\n"
    "    return (unsigned)((unsigned long long)a * b >> 32);\n"
    "}\n"
    "static inline float from_half(unsigned short x) {\n"
    "    return __builtin_ia32_vcvtph2ps(halves{(short)x})[0];\n"
    "}\n"
    "static inline unsigned short to_half(float x) {\n"
    "    return (unsigned short)__builtin_ia32_vcvtps2ph(floats{x}, 0)[0];\n"
    "}\n"
    "static inline unsigned short to_bfloat(float x) {\n"
    "    unsigned bits; memcpy(&bits, &x, 4);\n"
    "    if (isnan(x)) return 0x7fff;\n"
    "    return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);\n"
    "}\n";

static const char caller[] = "extern \"C\" void run(bool is_wide, const tn_cuda_elements_job *j, "
                             "unsigned blocks, unsigned threads) {\n"
                             "    gridDim.x = blocks;\n"
                             "    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)\n"
                             "        for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++)\n"
                             "            if (is_wide) tenon_wide(*j); else tenon_narrow(*j);\n"
                             "}\n";

typedef void (*run_function)(bool is_wide, const tn_cuda_elements_job *job, unsigned int blocks,
                             unsigned int threads);

struct tn_cuda_fused_program {
    tn_cuda_fused_program *next;
    char *source;
    run_function run;
};

/* Kept as long as the process lives: they are few. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tn_cuda_fused_program *first;

bool tn_cuda_fused_program_is_possible(const tn_host *host) {
    (void)host;
    return true;
}

/* Instructions of the GPU in words of ours. */
static void write_source(FILE *file, const char *source) {
    static const struct {
        const char *from, *to;
    } changes[] = {
        {"asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(y) : \"h\"(x.bits));", "y = from_half(x.bits);"},
        {"asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(y.bits) : \"f\"(x));", "y.bits = to_half(x);"},
        {"asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(y.bits) : \"f\"(x));",
         "y.bits = to_bfloat(x);"}};
    for (size_t i = 0; *source;) {
        for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
            if (strncmp(source, changes[i].from, strlen(changes[i].from)) == 0) break;
        if (i < sizeof(changes) / sizeof(changes[0])) {
            fputs(changes[i].to, file);
            source += strlen(changes[i].from);
        } else {
            fputc(*source++, file);
        }
    }
}

static run_function compile(const char *source) {
    char folder[] = "/tmp/tenon-host-XXXXXX", path[100], command[400];
    run_function found = NULL;
    if (!mkdtemp(folder)) return NULL;
    snprintf(path, sizeof(path), "%s/fused.cpp", folder);
    FILE *file = fopen(path, "w");
    if (file) {
        fputs(words, file);
        write_source(file, source);
        fputs(caller, file);
    }
    snprintf(command, sizeof(command),
             CXX " -std=c++17 -O1 -mf16c -ffp-contract=off -w -shared -fPIC %s/fused.cpp -o "
                 "%s/fused.so",
             folder, folder);
    if (file && fclose(file) == 0 && system(command) == 0) {
        snprintf(path, sizeof(path), "%s/fused.so", folder);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library) *(void **)(void *)&found = dlsym(library, "run");
    }
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command) == 0 ? found : NULL;
}

static tn_cuda_fused_program *find_or_compile(const char *source) {
    tn_cuda_fused_program *program = first;
    while (program && strcmp(program->source, source) != 0)
        program = program->next;
    if (program) return program;
    program = calloc(1, sizeof(*program));
    if (!program) return NULL;
    program->source = strdup(source);
    program->run = program->source ? compile(source) : NULL;
    if (!program->run) {
        free(program->source);
        free(program);
        return NULL;
    }
    program->next = first;
    first = program;
    return program;
}

tn_status tn_cuda_fused_program_retain(tn_call *call, const char *source,
                                       tn_cuda_fused_program **out_program) {
    pthread_mutex_lock(&lock);
    tn_cuda_fused_program *program = find_or_compile(source);
    pthread_mutex_unlock(&lock);
    if (!program) return call->host->fail(call, TN_ERROR_INTERNAL, "the compiler failed");
    *out_program = program;
    return TN_OK;
}

void tn_cuda_fused_program_release(const tn_host *host, tn_cuda_fused_program *program) {
    (void)host, (void)program;
}

cudaError_t tn_cuda_fused_program_launch(const tn_cuda_fused_program *program, bool is_wide,
                                         const tn_cuda_elements_job *job, unsigned int blocks,
                                         cudaStream_t stream) {
    (void)stream;
    program->run(is_wide, job, blocks, TN_CUDA_ELEMENTS_THREADS);
    return cudaSuccess;
}

/* ----------------------------------------------------------------------------------------------
 * the library */

extern const tn_kernel *const tn_fused_cuda_kernels[];
static tn_kernel kernel;
static const tn_kernel *const kernels[] = {&kernel};
static tn_library library = {.size = sizeof(tn_library),
                             .abi_major = TN_ABI_MAJOR,
                             .abi_minor = TN_ABI_MINOR,
                             .name = "fused_on_host",
                             .version = "1",
                             .kernel_count = 1,
                             .kernels = kernels};

TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT;
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT {
    (void)host;
    kernel = *tn_fused_cuda_kernels[0];
    kernel.device = "cpu";
    return &library;
}
