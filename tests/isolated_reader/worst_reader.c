/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader that does its worst, as its option `what` says: for reading in a helper process. A file
 * is a line that says nothing; the network is y = Relu(x) + w. In the environment,
 * WORST_READER_LOAD=crash or hang does it when the library is loaded.
 */
#include <tenon/plugin/importer.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SOUND,
    CRASH,
    HANG,
    LEAVE,
    GIVE_UP,
    MEMORY,
    MANY_TENSORS,
    STACK,
    CHILD,
    NO_REASON,
    FORGED,
    SPOILED,
    WARNS
};
typedef struct params {
    uint64_t present;
    uint32_t what;
} params;
static const tn_field fields[] = {
    TN_FIELD_CHOICE(params, what, TN_FIELD_ENUM, TN_OPTIONAL, "sound",
                    "sound|crash|hang|leave|give_up|memory|many_tensors|stack|child|no_reason|"
                    "forged|spoiled|warns",
                    "what it does"),
};

static void hang(void) {
    for (;;)
        pause();
}

static void crash(void) {
    *(volatile int *)8 = 1;
}

static void take_memory(void) {
    for (;;) {
        const size_t bytes = (size_t)16 << 20;
        char *memory = malloc(bytes);
        if (memory) memset(memory, 1, bytes);
    }
}

static tn_status take_tensors(tn_import *import) {
    tn_status status = TN_OK;
    tn_import_tensor made;
    while (status == TN_OK)
        status = import->services->add_tensor(import->graph, NULL, &made);
    return status;
}

__attribute__((noinline)) static int deeper(volatile char *from) {
    volatile char buffer[4096];
    buffer[0] = (char)(*from + 1);
    return deeper(buffer) + buffer[0];
}

/* A process that has what the helper has, and stays. */
static void leave_child(void) {
    if (fork() == 0) hang();
}

/* Other bytes at the end of what the helper shares with the one that started it. */
static void spoil(bool says_it_is_done) {
    struct stat about;
    for (int file = 4; file <= 5; file++) {
        if (fstat(file, &about) != 0 || about.st_size == 0) continue;
        unsigned char *bytes =
            mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (bytes == MAP_FAILED) continue;
        for (off_t i = says_it_is_done && file == 4 ? 24 : 0; i < about.st_size; i++)
            bytes[i] = says_it_is_done ? 5 : (unsigned char)(bytes[i] ^ (i * 37));
        if (says_it_is_done && file == 4) memset(bytes + 16, 0, 8), bytes[16] = 5;
    }
    if (says_it_is_done) _exit(0);
}

static tn_status build(tn_import *import) {
    const tn_import_services *s = import->services;
    static const int64_t extents[] = {-1, 3}, constant[] = {3};
    static const float values[] = {1, 2, 3};
    static const char *const names[] = {"h", "y"};
    tn_import_tensor inputs[2], h;
    tn_status status = s->add_input(import->graph, "x", TN_F32, 2, extents, NULL, &h);
    if (status == TN_OK)
        status = s->add_constant(import->graph, "w", TN_F32, 1, constant, values, 12, &inputs[1]);
    for (int i = 0; i < 2 && status == TN_OK; i++) {
        inputs[0] = h;
        const tn_import_node node = {.size = sizeof(node),
                                     .domain = "",
                                     .op_name = i == 0 ? "Relu" : "Add",
                                     .name = i == 0 ? "relu" : "add",
                                     .input_count = i == 0 ? 1 : 2,
                                     .inputs = inputs,
                                     .output_count = 1,
                                     .output_names = &names[i],
                                     .out_outputs = &h};
        status = s->add_node(import->graph, &node);
    }
    return status == TN_OK ? s->add_output(import->graph, h, NULL) : status;
}

static tn_status read_worst(tn_import *import) {
    const uint32_t what = ((const params *)import->params)->what;
    char deep = 0;
    import->services->place(import, 7, "conv1");
    if (what == CRASH) crash();
    if (what == HANG) hang();
    if (what == LEAVE) exit(0);
    if (what == GIVE_UP) abort();
    if (what == MEMORY) take_memory();
    if (what == MANY_TENSORS) return take_tensors(import);
    if (what == STACK) return deeper(&deep);
    if (what == CHILD) leave_child();
    if (what == NO_REASON) return TN_ERROR_FORMAT;
    if (what == FORGED) spoil(true);
    if (what == SPOILED) spoil(false);
    if (what == WARNS) import->services->log(import, TN_LOG_WARNING, "an odd line");
    return build(import);
}

static uint32_t probe(void *user, const void *head, uint64_t bytes) {
    (void)user;
    if (bytes >= 5 && memcmp(head, "CRASH", 5) == 0) crash();
    return 0;
}

static const tn_importer reader = {.size = sizeof(reader),
                                   .name = "worst",
                                   .what = "a test's model",
                                   .doc = "does its worst",
                                   .endings = ".worst",
                                   .probe = probe,
                                   TN_FIELDS(params, fields),
                                   .read = read_worst};
static const tn_importer *const importers[] = {&reader};

__attribute__((constructor)) static void load(void) {
    const char *what = getenv("WORST_READER_LOAD");
    if (what && strcmp(what, "crash") == 0) crash();
    if (what && strcmp(what, "hang") == 0) hang();
}

TN_IMPORTER_LIBRARY("worst_reader", "1", importers)
