/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processor features and the levels that lower them; declared in cpu.h. Where each stands is said
 * in the manual of the instruction CPUID (Intel's volume 2, AMD's volume 3). A feature counts when
 * the operating system saves its registers too (XGETBV), and those of AMX's tiles when it lets this
 * process use them, which is asked for here.
 */
#include "device/cpu/cpu.h"

#include <stdio.h>
#include <string.h>

/* In ascending levels. */
enum { LEVEL_BASELINE = 0, LEVEL_AVX2 = 1, LEVEL_AVX512 = 2 };
static const char *const level_names[] = {"baseline", "avx2", "avx512"};

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LEAF_1_C = 0, LEAF_1_D, LEAF_7_B, LEAF_7_C, LEAF_7_D, LEAF_7_1_A, WORD_COUNT };
/* What the system must save (bits of the register XCR0): nothing beyond the baseline's, the upper
 * halves of the AVX registers, the mask and 512-bit registers besides, and the tiles. */
enum { SAVED_BASELINE = 0, SAVED_AVX = 0x06, SAVED_AVX512 = 0xe6, SAVED_TILES = 0x600e6 };

typedef struct feature_row {
    const char *name;
    int level;
    uint32_t word, bit, saved;
} feature_row;
static const feature_row features[] = {
    {"sse2", LEVEL_BASELINE, LEAF_1_D, 26, SAVED_BASELINE},
    {"sse4.2", LEVEL_BASELINE, LEAF_1_C, 20, SAVED_BASELINE},
    {"avx", LEVEL_AVX2, LEAF_1_C, 28, SAVED_AVX},
    {"avx2", LEVEL_AVX2, LEAF_7_B, 5, SAVED_AVX},
    {"fma", LEVEL_AVX2, LEAF_1_C, 12, SAVED_AVX},
    {"f16c", LEVEL_AVX2, LEAF_1_C, 29, SAVED_AVX},
    {"avxvnni", LEVEL_AVX2, LEAF_7_1_A, 4, SAVED_AVX},
    {"avx512f", LEVEL_AVX512, LEAF_7_B, 16, SAVED_AVX512},
    {"avx512bw", LEVEL_AVX512, LEAF_7_B, 30, SAVED_AVX512},
    {"avx512vl", LEVEL_AVX512, LEAF_7_B, 31, SAVED_AVX512},
    {"avx512dq", LEVEL_AVX512, LEAF_7_B, 17, SAVED_AVX512},
    {"avx512vnni", LEVEL_AVX512, LEAF_7_C, 11, SAVED_AVX512},
    {"avx512vbmi", LEVEL_AVX512, LEAF_7_C, 1, SAVED_AVX512},
    {"avx512_bf16", LEVEL_AVX512, LEAF_7_1_A, 5, SAVED_AVX512},
    {"amx_tile", LEVEL_AVX512, LEAF_7_D, 24, SAVED_TILES},
    {"amx_int8", LEVEL_AVX512, LEAF_7_D, 25, SAVED_TILES},
};

#define SYSTEM_SAVES_STATE (1u << 27) /* of LEAF_1_C: XGETBV may be used */

static uint32_t saved_state(uint32_t leaf_1_c) {
    if (!(leaf_1_c & SYSTEM_SAVES_STATE)) return 0;
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Linux saves a thread's tiles once its process has asked (Documentation/arch/x86/
 * xstate.rst). Without the permission their first use would be a signal. */
static bool may_use_tiles(void) {
#if defined(__linux__)
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
    return false;
#endif
}

static uint32_t read_words(uint32_t *words) {
    uint32_t a, b, c, d;
    memset(words, 0, WORD_COUNT * sizeof(*words));
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    words[LEAF_1_C] = c;
    words[LEAF_1_D] = d;
    const uint32_t saved = saved_state(c);
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return saved;
    words[LEAF_7_B] = b;
    words[LEAF_7_C] = c;
    words[LEAF_7_D] = d;
    if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) words[LEAF_7_1_A] = a;
    return saved;
}

static void list_features(int highest, char *buffer, size_t bytes) {
    uint32_t words[WORD_COUNT];
    const uint32_t saved = read_words(words);
    size_t at = 0;
    for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
        const feature_row *row = &features[i];
        if (row->level > highest || !(words[row->word] >> row->bit & 1) ||
            (saved & row->saved) != row->saved || (row->saved == SAVED_TILES && !may_use_tiles()))
            continue;
        const int written = snprintf(buffer + at, bytes - at, at ? ",%s" : "%s", row->name);
        if (written < 0 || (size_t)written >= bytes - at) {
            buffer[at] = 0; /* no half names */
            return;
        }
        at += (size_t)written;
    }
}
#else
static void list_features(int highest, char *buffer, size_t bytes) {
    (void)highest;
    (void)buffer;
    (void)bytes;
}
#endif

bool tn_cpu_features(const char *level, char *buffer, size_t bytes) {
    int highest = level ? -1 : LEVEL_AVX512;
    for (int i = LEVEL_BASELINE; level && i <= LEVEL_AVX512; i++) {
        if (strcmp(level, level_names[i]) == 0) highest = i;
    }
    if (highest < 0) return false;
    buffer[0] = 0;
    list_features(highest, buffer, bytes);
    return true;
}
