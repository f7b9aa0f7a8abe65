/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks on a device, from the outside: each command is a test of its own that prints one line
 * and ends with 0 when it held. scripts/gpu-test runs them on a GPU, CTest on the stub device.
 *
 *   device_run [--library LIB.so]... [--shape NAME=1x3x8x8]... [--cache FILE] COMMAND DEVICE MODEL
 *     network DEVICE MODEL PRECISION BOUND   results beside the processor's: fp32 by rtol 1e-3 and
 *                                            atol 1e-5, others by the norm of the difference
 *     steady DEVICE MODEL                    no allocation, no wait but the caller's, in later runs
 *     caller DEVICE MODEL                    pointers and a stream of the caller's; his own graph
 *     profile DEVICE MODEL                   the sum of the steps' times beside the run's
 *     pair DEVICE MODEL OTHER_DEVICE         one plan on two devices, in two threads
 *     abilities DEVICE MODEL                 other weights, asynchronous runs, memory of the
 *                                            caller's, strides, two engines, several profiles
 *     memory DEVICE MODEL                    errors, and no more, while the device has no memory
 *     shared DEVICE KEY device|context [PIN]...
 *                                            a third party's kernel shares the resource KEY
 *     bad DEVICE MODEL OP=KERNEL [plain|checked [OTHER_DEVICE [may-refuse]]]
 *                                            the error of a kernel that breaks the contract
 */
#include "device_run.h"

#include "engine/engine_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double device_run_now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int network_command(network_options *o, const char *device, int argc, char **argv) {
    static const char *const names[] = {"fp32", "tf32", "bf16", "fp16", "int8"};
    network on_cpu, on_device;
    const float *wanted = NULL, *found = NULL;
    size_t outside = 0;
    if (argc < 2) network_die("network needs a precision and a bound");
    o->precision = UINT32_MAX;
    for (uint32_t i = 0; i < 5; i++)
        if (strcmp(argv[0], names[i]) == 0) o->precision = i;
    if (o->precision == UINT32_MAX) network_die("'%s' is no precision", argv[0]);
    const double bound = strtod(argv[1], NULL);
    network_load(&on_device, o, device, NULL);
    o->precision = TN_PRECISION_F32;
    network_load(&on_cpu, o, "cpu", NULL);
    network_open(&on_cpu);
    network_open(&on_device);
    double worst = 0;
    size_t all_outside = 0, count = 0;
    for (uint32_t seed = 1; seed <= 4; seed++) { /* the first run, the captured one, and more */
        network_fill(&on_cpu, seed);
        network_fill(&on_device, seed);
        network_must(tn_context_run(on_cpu.context), "the processor");
        network_must(tn_context_run(on_device.context), "the device");
        count = network_output(&on_cpu, &wanted);
        if (network_output(&on_device, &found) != count) network_die("the outputs differ in size");
        worst = fmax(worst, network_error(wanted, found, count, 1e-3, 1e-5, &outside));
        all_outside += outside;
    }
    const bool is_fp32 = strcmp(argv[0], "fp32") == 0;
    const bool is_fine = worst <= bound && (!is_fp32 || all_outside == 0);
    printf("%s norm of error %.2g (bound %.2g)", is_fine ? "ok" : "FAIL", worst, bound);
    if (is_fp32) printf(", %zu of %zu outside rtol 1e-3, atol 1e-5", all_outside, 4 * count);
    printf("\n");
    network_close(&on_device);
    network_close(&on_cpu);
    return is_fine ? 0 : 1;
}

typedef struct command {
    const char *name;
    int (*run)(network_options *options, const char *device, int argc, char **argv);
} command;

static const command commands[] = {
    {"network", network_command},  {"steady", device_run_steady},
    {"caller", device_run_caller}, {"profile", device_run_profile},
    {"pair", device_run_pair},     {"abilities", device_run_abilities},
    {"memory", device_run_memory}, {"shared", device_run_shared},
    {"bad", device_run_bad}};

int main(int argc, char **argv) {
    static network_options options;
    const char *libraries[8];
    uint32_t library_count = 0;
    while (argc > 2 && strncmp(argv[1], "--", 2) == 0) {
        if (strcmp(argv[1], "--library") == 0 && library_count < 8)
            libraries[library_count++] = argv[2];
        if (strcmp(argv[1], "--shape") == 0 && options.shape_count < NETWORK_PORTS)
            options.shapes[options.shape_count++] = argv[2];
        if (strcmp(argv[1], "--cache") == 0) options.timing_cache = argv[2];
        argc -= 2;
        argv += 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; argc > 3 && i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(argv[1], commands[i].name) != 0) continue;
        options.runtime = network_runtime(libraries, library_count);
        options.model = argv[3];
        network_must(tn_runtime_find_device(options.runtime, argv[2]), argv[2]);
        const int code = commands[i].run(&options, argv[2], argc - 4, argv + 4);
        tn_runtime_release(options.runtime);
        return code;
    }
    fprintf(stderr,
            "usage: device_run [--library LIB.so]... [--shape NAME=1x3x8x8]... [--cache FILE] "
            "network|steady|caller|profile|pair|abilities|memory|shared|bad DEVICE MODEL [...]\n");
    return 2;
}
