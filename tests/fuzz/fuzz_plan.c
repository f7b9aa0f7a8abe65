/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a plan. Bytes that begin as a plan get its file size and checksums
 * written anew, so that the fuzzer gets past them; others are taken as the description section of
 * one with small weights. What loads with small shapes is also run, and refitted; libraries that it
 * embeds are looked at as far as their digests. Nothing may crash, leak or take long. Needs the
 * inside of the library; replay.c runs it on files.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tenon/tenon.h>

#include "plan_fuzz.h"
#include "plan_repair.h"
#include "tensor/type.h"

#define LARGEST_BYTES  ((uint64_t)64 << 20)  /* of one allocation */
#define ALL_BYTES      ((uint64_t)256 << 20) /* of all at once */
#define LARGEST_FILE   ((size_t)1 << 20)
#define OPEN_EXTENT    2
#define INPUTS_AT_MOST 8
#define INPUT_ELEMENTS 1024
#define WEIGHT_BYTES   4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Memory as a small machine has it. One thread: the engine is told to use no more. */
static uint64_t live_bytes;

static void *fuzz_allocate(void *user, uint64_t bytes, uint64_t alignment) {
    void *block;
    (void)user;
    if (bytes > LARGEST_BYTES || live_bytes + bytes > ALL_BYTES) return NULL;
    if (alignment < 64) alignment = 64;
    if (posix_memalign(&block, (size_t)alignment, (size_t)(alignment + bytes)) != 0) return NULL;
    unsigned char *memory = (unsigned char *)block + alignment;
    live_bytes += bytes;
    memcpy(memory - 8, &alignment, sizeof(alignment)); /* both stand before the memory */
    memcpy(memory - 16, &bytes, sizeof(bytes));
    return memory;
}

static void fuzz_deallocate(void *user, void *memory) {
    uint64_t alignment, bytes;
    (void)user;
    if (!memory) return;
    memcpy(&alignment, (unsigned char *)memory - 8, sizeof(alignment));
    memcpy(&bytes, (unsigned char *)memory - 16, sizeof(bytes));
    live_bytes -= bytes;
    free((unsigned char *)memory - alignment);
}

static tn_runtime *shared_runtime(void) {
    static tn_runtime *runtime; /* made once, for the life of the process */
    static const tn_allocator allocator = {
        .size = sizeof(allocator), .allocate = fuzz_allocate, .deallocate = fuzz_deallocate};
    if (runtime) return runtime;
    tn_runtime_options options = {
        .size = sizeof(options), .allocator = &allocator, .flags = TN_RUNTIME_NO_ENVIRONMENT};
    if (tn_runtime_create(&options, &runtime) != TN_OK) exit(99);
    return runtime;
}

static void set_u64(unsigned char *at, uint64_t value) {
    memcpy(at, &value, sizeof(value));
}

static void set_entry(unsigned char *at, uint64_t kind, size_t offset, size_t bytes) {
    set_u64(at, kind);
    set_u64(at + 8, offset);
    set_u64(at + 16, bytes);
}

/* A plan around the bytes of a description, or the plan that they are, with sound checksums. */
static unsigned char *make_plan(const uint8_t *data, size_t bytes, size_t *out_bytes) {
    static const unsigned char magic[8] = {0x89, 'T', 'E', 'N', 'O', 'N', '\r', '\n'};
    bool is_plan = bytes >= 64 && memcmp(data, magic, sizeof(magic)) == 0;
    size_t head = PLAN_HEAD + 2 * PLAN_ENTRY;
    size_t weights = (head + bytes + 4095) / 4096 * 4096;
    *out_bytes = is_plan ? bytes : weights + WEIGHT_BYTES;
    unsigned char *plan = calloc(1, *out_bytes);
    if (!plan) return NULL;
    memcpy(plan + (is_plan ? 0 : head), data, bytes);
    if (!is_plan) {
        memcpy(plan, magic, sizeof(magic));
        set_u64(plan + 8, (uint64_t)2 << 32 | 1); /* version 1, two sections */
        set_entry(plan + PLAN_HEAD, 1, head, bytes);
        set_entry(plan + PLAN_HEAD + PLAN_ENTRY, 2, weights, WEIGHT_BYTES);
    }
    set_u64(plan + 16, *out_bytes);
    plan_repair(plan, *out_bytes);
    return plan;
}

/* Declares open extents small and lends all inputs the same small numbers; false when the shapes
 * are not small. */
static bool bind_inputs(tn_engine *engine, tn_context *context) {
    static _Alignas(64) unsigned char values[INPUT_ELEMENTS * 8];
    uint32_t count = tn_engine_input_count(engine);
    if (count > INPUTS_AT_MOST) return false;
    for (size_t i = 0; i < sizeof(values); i += 8)
        values[i] = (unsigned char)(i / 8 % 3 + 1);
    for (uint32_t i = 0; i < count; i++) {
        const tn_port_info *port = tn_engine_input(engine, i);
        int64_t extents[TN_MAX_RANK] = {0}, elements = 1;
        uint32_t rank = port->rank <= TN_MAX_RANK ? port->rank : 1;
        for (uint32_t axis = 0; axis < rank; axis++) {
            int64_t extent = port->rank <= TN_MAX_RANK ? port->extents[axis] : -1;
            extents[axis] = extent < 0 ? OPEN_EXTENT : extent;
            if (extents[axis] > INPUT_ELEMENTS) return false;
            elements *= extents[axis];
            if (elements > INPUT_ELEMENTS) return false;
        }
        if (tn_context_set_shape(context, i, rank, extents) != TN_OK) return false;
        uint64_t bytes = (uint64_t)elements * tn_type_bytes(port->type);
        if (port->type == TN_BOOL) memset(values, 1, sizeof(values));
        if (tn_context_bind_input(context, i, values, bytes) != TN_OK) return false;
    }
    return true;
}

static void run(tn_engine *engine) {
    tn_context *context;
    if (tn_context_create(engine, &context) != TN_OK) return;
    if (bind_inputs(engine, context) && tn_context_reshape(context) == TN_OK) {
        (void)tn_context_run(context);
        (void)tn_context_run(context);
    }
    tn_context_destroy(context);
}

/* With zeros for the first constant, where that is small. */
static void refit(tn_engine *engine) {
    static const unsigned char zeros[INPUT_ELEMENTS * 8];
    const tn_port_info *constant = tn_engine_refit_constant(engine, 0);
    tn_refit *made = NULL;
    tn_engine *fitted = NULL;
    uint64_t elements = 1;
    if (!constant || constant->rank > TN_MAX_RANK || tn_refit_create(engine, &made) != TN_OK)
        return;
    for (uint32_t i = 0; i < constant->rank && elements <= INPUT_ELEMENTS; i++)
        elements *= (uint64_t)constant->extents[i];
    if (elements <= INPUT_ELEMENTS &&
        tn_refit_set(made, constant->name, constant->type, constant->rank, constant->extents, zeros,
                     elements * tn_type_bytes(constant->type)) == TN_OK &&
        tn_refit_apply(made, &fitted) == TN_OK) {
        run(fitted);
        tn_engine_release(fitted);
    }
    tn_refit_destroy(made);
}

static void describe(const void *plan, size_t bytes) {
    const tn_plan_description *description = NULL;
    if (tn_plan_describe_bytes(shared_runtime(), plan, bytes, &description) == TN_OK)
        tn_plan_description_destroy(description);
}

/* There can be no such folder, so that nothing is written: what is trusted ends with that error. */
static void load_embedded(const void *plan, size_t bytes) {
    static const char *const trusted[] = {PLAN_FUZZ_LIBRARY_SHA256};
    const tn_embedded_options options = {.size = sizeof(options),
                                         .trusted_count = 1,
                                         .trusted = trusted,
                                         .cache_folder = "/dev/null/embedded"};
    uint32_t count = 0;
    const tn_status status =
        tn_runtime_load_embedded_bytes(shared_runtime(), plan, bytes, &options, &count);
    if (count > 0 || (status != TN_OK && !tn_last_error()->message[0])) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    tn_engine_options options = {.size = sizeof(options), .threads = 1};
    tn_engine *engine;
    size_t plan_bytes;
    if (bytes > LARGEST_FILE) return 0;
    unsigned char *plan = make_plan(data, bytes, &plan_bytes);
    if (!plan) return 0;
    if (tn_engine_load_bytes(shared_runtime(), plan, plan_bytes, &options, &engine) == TN_OK) {
        run(engine);
        refit(engine);
        tn_engine_release(engine);
    }
    describe(plan, plan_bytes);
    load_embedded(plan, plan_bytes);
    free(plan);
    return 0;
}
