/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same start with onnxruntime's C interface, from the library that pip installs; cold_start.py
 * runs it: `onnxruntime-start LIBRARY MODEL.onnx THREADS INPUT.f32 NAME OUTPUT 1x3x224x224`. No
 * header is needed: the interface is a table of functions whose offsets are the same in all
 * versions, so the few that are called are found by their offsets.
 */
#include "start.h"

#include <dlfcn.h>
#include <stdint.h>

enum { FLOATS = 1, DEVICE_ALLOCATOR = 0, DEFAULT_MEMORY = 0, WARNINGS = 2, API = 17 };
enum {
    GET_ERROR_MESSAGE = 2,
    CREATE_ENV = 3,
    CREATE_SESSION = 7,
    RUN = 9,
    CREATE_SESSION_OPTIONS = 10,
    SET_INTRA_THREADS = 24,
    SET_INTER_THREADS = 25,
    CREATE_TENSOR = 49,
    GET_DATA = 51,
    CREATE_CPU_MEMORY_INFO = 69
};

typedef void *status; /* null: well */
typedef void (*any_function)(void);
typedef struct base {
    const any_function *(*api)(uint32_t version);
    const char *(*version)(void);
} base;

typedef const char *(*message_function)(status);
typedef status (*create_env_function)(int level, const char *name, void **env);
typedef status (*create_options_function)(void **options);
typedef status (*set_threads_function)(void *options, int threads);
typedef status (*create_session_function)(void *env, const char *path, void *options,
                                          void **session);
typedef status (*create_memory_function)(int allocator, int type, void **memory);
typedef status (*create_tensor_function)(void *memory, void *data, size_t bytes,
                                         const int64_t *shape, size_t rank, int type,
                                         void **tensor);
typedef status (*run_function)(void *session, const void *options, const char *const *inputs,
                               const void *const *values, size_t input_count,
                               const char *const *outputs, size_t output_count, void **results);
typedef status (*get_data_function)(void *tensor, void **data);

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const status failed = (call);                                                              \
        if (failed)                                                                                \
            return fprintf(stderr, "%s\n", ((message_function)api[GET_ERROR_MESSAGE])(failed)), 1; \
    } while (0)

int main(int argc, char **argv) {
    if (argc != 8)
        return fprintf(
                   stderr,
                   "usage: onnxruntime-start LIBRARY MODEL THREADS INPUT.f32 NAME OUTPUT SHAPE\n"),
               2;
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
    const base *(*get_base)(void);
    *(void **)&get_base = dlsym(library, "OrtGetApiBase");
    const any_function *api = get_base ? get_base()->api(API) : NULL;
    if (!api) return fprintf(stderr, "%s: no interface of version %d\n", argv[1], API), 1;
    int64_t shape[8];
    size_t rank = 0, count = 1;
    for (char *text = argv[7]; *text && rank < 8; text += *text == 'x') {
        shape[rank] = strtoll(text, &text, 10);
        count *= (size_t)shape[rank++];
    }
    const int threads = (int)strtol(argv[3], NULL, 10);
    void *env, *options, *session, *memory, *tensor, *result = NULL, *data;
    float *input = start_input(argv[4], count);
    if (!input) return fprintf(stderr, "input: not read\n"), 1;
    TRY(((create_env_function)api[CREATE_ENV])(WARNINGS, "start", &env));
    TRY(((create_options_function)api[CREATE_SESSION_OPTIONS])(&options));
    TRY(((set_threads_function)api[SET_INTRA_THREADS])(options, threads));
    TRY(((set_threads_function)api[SET_INTER_THREADS])(options, 1));
    TRY(((create_session_function)api[CREATE_SESSION])(env, argv[2], options, &session));
    TRY(((create_memory_function)api[CREATE_CPU_MEMORY_INFO])(DEVICE_ALLOCATOR, DEFAULT_MEMORY,
                                                              &memory));
    TRY(((create_tensor_function)api[CREATE_TENSOR])(memory, input, count * sizeof(float), shape,
                                                     rank, FLOATS, &tensor));
    const char *const inputs[] = {argv[5]}, *const outputs[] = {argv[6]};
    const void *const values[] = {tensor};
    TRY(((run_function)api[RUN])(session, NULL, inputs, values, 1, outputs, 1, &result));
    TRY(((get_data_function)api[GET_DATA])(result, &data));
    start_report(data, 8);
    fflush(NULL);
    _Exit(0);
}
