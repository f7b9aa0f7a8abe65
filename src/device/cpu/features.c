/* SPDX-License-Identifier: Apache-2.0 */
/* Processor features by cpuid, and the levels that lower them; declared in cpu.h. */
#include "device/cpu/cpu.h"

#include <stdio.h>
#include <string.h>

/* In ascending levels: 0 baseline, 1 avx2, 2 avx512. */
typedef struct feature_row {
    const char *name;
    int level;
} feature_row;

#if defined(__x86_64__)
static bool has_feature(const char *name) {
#define FEATURE(text, builtin_name)                                                                \
    if (strcmp(name, text) == 0) return __builtin_cpu_supports(builtin_name) != 0
    FEATURE("sse2", "sse2");
    FEATURE("sse4.2", "sse4.2");
    FEATURE("avx", "avx");
    FEATURE("avx2", "avx2");
    FEATURE("fma", "fma");
    if (strcmp(name, "f16c") == 0) /* every processor with AVX2 has it */
        return __builtin_cpu_supports("avx2") != 0;
    FEATURE("avx512f", "avx512f");
    FEATURE("avx512bw", "avx512bw");
    FEATURE("avx512vl", "avx512vl");
    FEATURE("avx512dq", "avx512dq");
    FEATURE("avx512vnni", "avx512vnni");
    return false;
#undef FEATURE
}
static const feature_row features[] = {{"sse2", 0},     {"sse4.2", 0},    {"avx", 1},
                                       {"avx2", 1},     {"fma", 1},       {"f16c", 1},
                                       {"avx512f", 2},  {"avx512bw", 2},  {"avx512vl", 2},
                                       {"avx512dq", 2}, {"avx512vnni", 2}};
#else
static bool has_feature(const char *name) {
    (void)name;
    return false;
}
static const feature_row features[] = {{"sse2", 0}};
#endif

bool tn_cpu_features(const char *level, char *buffer, size_t bytes) {
    static const char *const levels[] = {"baseline", "avx2", "avx512"};
    int highest = level ? -1 : 2;
    for (int i = 0; level && i < 3; i++) {
        if (strcmp(level, levels[i]) == 0) highest = i;
    }
    if (highest < 0) return false;
#if defined(__x86_64__)
    __builtin_cpu_init();
#endif
    size_t at = 0;
    buffer[0] = 0;
    for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
        if (features[i].level > highest || !has_feature(features[i].name)) continue;
        const int written = snprintf(buffer + at, bytes - at, at ? ",%s" : "%s", features[i].name);
        if (written < 0 || (size_t)written >= bytes - at) break;
        at += (size_t)written;
    }
    return true;
}
