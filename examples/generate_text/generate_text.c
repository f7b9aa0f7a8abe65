/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Continues a text character by character with a network of keys and values in caches:
 *
 *     generate_text PLAN TEXT COUNT
 *
 * scripts/models/gpt.py writes the network and says what its inputs are. One plan has two profiles:
 * one for the text, which is a single run, one for a character behind it:
 *
 *     tenon build gpt.onnx -o gpt.plan --shape tokens=1x1:1x32:1x64 \
 *         --next-profile --shape tokens=1x1
 *
 * Each cache is one piece of memory, bound to an input and to an output, so that a run writes its
 * own positions there and copies nothing. Prints the text, and on stderr what the runs allocated
 * once there was a run of each shape: nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/tenon.h>

enum { ALIGNMENT = 64, MOST_CACHES = 64, MOST_CHARACTERS = 4096 };

typedef struct generator {
    tn_runtime *runtime;
    tn_engine *engine;
    tn_context *context;
    uint32_t tokens_input, start_input, next_output;
    int64_t capacity; /* positions of a cache */
    int64_t *tokens;  /* all of them; a run reads those from `start` on */
    int64_t *start, *next;
    void *caches[MOST_CACHES];
    uint32_t cache_count;
} generator;

static bool fail(const char *what) {
    const tn_error *error = tn_last_error();
    fprintf(stderr, "generate_text: %s: %s%s%s\n", what, error->where, error->where[0] ? ": " : "",
            error->message);
    return false;
}

static void *allocate(size_t bytes) {
    void *memory = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    if (memory) memset(memory, 0, bytes);
    return memory;
}

/* Binds one memory to the input and to the output "next_" + its name. */
static bool bind_cache(generator *g, uint32_t input) {
    const tn_port_info *port = tn_engine_input(g->engine, input);
    char name[256];
    uint32_t output = 0;
    uint64_t bytes = sizeof(float);
    for (uint32_t i = 0; i < port->rank; i++)
        bytes *= (uint64_t)port->extents[i];
    snprintf(name, sizeof name, "next_%s", port->name);
    void *memory = g->cache_count < MOST_CACHES ? allocate(bytes) : NULL;
    if (!memory) return fprintf(stderr, "generate_text: no memory for the caches\n"), false;
    g->caches[g->cache_count++] = memory;
    g->capacity = port->extents[2];
    if (tn_engine_find_output(g->engine, name, &output) != TN_OK ||
        tn_context_bind_input(g->context, input, memory, bytes) != TN_OK ||
        tn_context_bind_output(g->context, output, memory, bytes) != TN_OK)
        return fail("binding a cache");
    return true;
}

static bool is_cache(const tn_port_info *port) {
    bool is_fixed = port->type == TN_F32 && port->rank == 4;
    for (uint32_t i = 0; is_fixed && i < port->rank; i++)
        is_fixed = port->extents[i] > 0;
    return is_fixed;
}

static bool open_plan(generator *g, const char *path) {
    if (tn_runtime_create(NULL, &g->runtime) != TN_OK ||
        tn_engine_load(g->runtime, path, NULL, &g->engine) != TN_OK ||
        tn_context_create(g->engine, &g->context) != TN_OK ||
        tn_engine_find_input(g->engine, "tokens", &g->tokens_input) != TN_OK ||
        tn_engine_find_input(g->engine, "start", &g->start_input) != TN_OK ||
        tn_engine_find_output(g->engine, "next", &g->next_output) != TN_OK)
        return fail(path);
    for (uint32_t i = 0; i < tn_engine_input_count(g->engine); i++)
        if (is_cache(tn_engine_input(g->engine, i)) && !bind_cache(g, i)) return false;
    g->tokens = allocate(MOST_CHARACTERS * sizeof *g->tokens);
    g->start = allocate(sizeof *g->start);
    g->next = allocate(sizeof *g->next);
    if (!g->tokens || !g->start || !g->next)
        return fprintf(stderr, "generate_text: no memory\n"), false;
    if (tn_context_bind_input(g->context, g->start_input, g->start, sizeof *g->start) != TN_OK ||
        tn_context_bind_output(g->context, g->next_output, g->next, sizeof *g->next) != TN_OK)
        return fail("binding");
    return true;
}

/* A run over `count` tokens, of which `given` are those of this run, the first at `start`. */
static bool run(generator *g, const int64_t *given, int64_t start, int64_t count) {
    const int64_t shape[] = {1, count};
    memcpy(g->tokens, given, (size_t)count * sizeof *given);
    *g->start = start;
    if (tn_context_set_shape(g->context, g->tokens_input, 2, shape) != TN_OK ||
        tn_context_bind_input(g->context, g->tokens_input, g->tokens,
                              (uint64_t)count * sizeof *given) != TN_OK ||
        tn_context_run(g->context) != TN_OK)
        return fail("a run");
    return true;
}

static uint64_t allocations(const generator *g) {
    tn_context_statistics statistics = {.size = sizeof statistics};
    tn_context_get_statistics(g->context, &statistics);
    return statistics.allocations;
}

static bool generate(generator *g, const char *text, long count) {
    int64_t prompt[MOST_CHARACTERS];
    const int64_t length = (int64_t)strlen(text);
    uint64_t settled = 0;
    if (length < 1 || length + count > g->capacity || length > MOST_CHARACTERS)
        return fprintf(stderr, "generate_text: 1 to %lld characters, text and COUNT together\n",
                       (long long)g->capacity),
               false;
    for (int64_t i = 0; i < length; i++)
        prompt[i] = (unsigned char)text[i];
    fputs(text, stdout);
    for (long made = 0; made < count; made++) {
        const int64_t last = *g->next;
        const bool is_first = made == 0;
        if (!run(g, is_first ? prompt : &last, is_first ? 0 : length + made - 1,
                 is_first ? length : 1))
            return false;
        putchar((int)*g->next);
        if (made == 1) settled = allocations(g);
    }
    putchar('\n');
    if (count > 2)
        fprintf(stderr, "%ld runs of one character: %llu allocations\n", count - 2,
                (unsigned long long)(allocations(g) - settled));
    return true;
}

static void close_plan(generator *g) {
    tn_context_destroy(g->context);
    tn_engine_release(g->engine);
    tn_runtime_release(g->runtime);
    for (uint32_t i = 0; i < g->cache_count; i++)
        free(g->caches[i]);
    free(g->tokens);
    free(g->start);
    free(g->next);
}

int main(int argc, char **argv) {
    generator g = {0};
    char *end = NULL;
    const long count = argc == 4 ? strtol(argv[3], &end, 10) : 0;
    if (argc != 4 || *end || count < 1 || count > MOST_CHARACTERS)
        return fprintf(stderr, "usage: generate_text PLAN TEXT COUNT\n"), 2;
    const bool is_done = open_plan(&g, argv[1]) && generate(&g, argv[2], count);
    close_plan(&g);
    return is_done ? 0 : 1;
}
