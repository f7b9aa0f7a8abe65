/* SPDX-License-Identifier: Apache-2.0 */
/* tenon doctor: version, processor, devices, libraries, and what is missing with how to get it; of
 * a model or plan in doctor_file.c. */
#include "cli/importers.h"
#include "cli/plugin_path.h"
#include "doctor.h"
#include "session/option_use.h"
#include "session/session.h"

#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <unistd.h>

static const char help[] =
    "usage: tenon doctor [--plugin LIB.so ...]                this program and this machine\n"
    "       tenon doctor PLAN|MODEL [options] [--json]        whether all that it needs is there\n"
    "  of a plan: each operator and library that it names, found or not, where, with which "
    "content,\n"
    "  and the machines that its kernels were chosen for;\n"
    "  of a model (by a build, without timing): the same of the plan that it becomes\n"
    "  -p, --plugin LIB.so[@DOMAIN]  -P, --plugin-dir DIR  --exact  --allow-plugin HASH|DIR\n"
    "      --trust-embedded SHA256|all   as tenon run has them\n"
    "  -s, --shape NAME=...   of a model      -v, --verbose   log all\n"
    "exit: 0 everything is there; 1 something is missing\n"
    "example: tenon doctor net.plan --plugin-dir plugins\n";

typedef struct findings {
    bool has_onednn;
} findings;

static bool note_library(void *user, const tn_library_info *library) {
    findings *found = user;
    found->has_onednn |= strcmp(library->name, "onednn") == 0;
    printf("  %-16s %-8s %llu operators, %llu kernels%s%s%s%s\n", library->name, library->version,
           (unsigned long long)library->operator_count, (unsigned long long)library->kernel_count,
           library->path[0] ? ", " : "", library->path, library->domain[0] ? "@" : "",
           library->domain);
    return true;
}

/* By building a network of an operator that all kernel libraries are for (their listings say so),
 * in a lower precision: in 32-bit floats and without timing, only what could win is loaded. */
void cli_load_kernels(tn_runtime *runtime) {
    const int64_t shape[4] = {1, 1, 1, 1};
    tn_graph *graph = NULL;
    tn_plan *plan = NULL;
    tn_tensor_id input, output;
    if (tn_graph_create(runtime, "doctor", &graph) == TN_OK &&
        tn_graph_add_input(graph, "x", TN_F32, 4, shape, NULL, &input) == TN_OK) {
        const tn_node_description pool = {.size = sizeof(pool),
                                          .domain = "",
                                          .op = "GlobalAveragePool",
                                          .input_count = 1,
                                          .output_count = 1,
                                          .inputs = &input};
        const tn_builder_options options = {.size = sizeof(options),
                                            .threads = 1,
                                            .flags = TN_BUILD_NO_TIMING,
                                            .precision = TN_PRECISION_BF16};
        if (tn_graph_add_node(graph, &pool, &output) == TN_OK &&
            tn_graph_add_output(graph, output, NULL) == TN_OK &&
            tn_build(graph, &options, &plan) == TN_OK)
            tn_plan_destroy(plan);
    }
    tn_graph_destroy(graph);
}

static bool print_device(void *user, const tn_device_info *device) {
    (void)user;
    printf("  %s:%u  %s  (%s)", device->kind, device->index, device->name, device->fingerprint);
    if (device->memory_total > 0)
        printf("  %.1f of %.1f GiB free", (double)device->memory_free / 0x1p30,
               (double)device->memory_total / 0x1p30);
    printf("\n");
    return true;
}

/* The second device is optional: why it is not there is worth a line, and no failure. */
static void list_devices(tn_runtime *runtime) {
    const bool has_cuda = tn_runtime_find_device(runtime, "cuda") == TN_OK;
    printf("devices:\n");
    tn_runtime_visit_devices(runtime, print_device, NULL);
    if (!has_cuda) printf("  no cuda: %s\n", tn_last_error()->message);
}

long doctor_core_count(void) {
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof(cores), &cores) == 0) return CPU_COUNT(&cores);
    return sysconf(_SC_NPROCESSORS_ONLN);
}

static int examine_machine(tn_runtime *runtime) {
    findings found = {0};
    cli_load_kernels(runtime);
    printf("tenon %s, plugin ABI %u.%u\n", tn_version(), TN_ABI_MAJOR, TN_ABI_MINOR);
    printf("processor features: %s\n", tn_runtime_cpu_features(runtime));
    printf("cores that may be used: %ld\n", doctor_core_count());
    list_devices(runtime);
    printf("libraries:\n");
    tn_runtime_visit_libraries(runtime, note_library, &found);
    if (!found.has_onednn)
        printf("missing: the oneDNN kernels (libtenon_onednn.so in lib/tenon/kernels); "
               "everything runs without them, "
               "large convolutions slower; build with TENON_WITH_ONEDNN=ON and Debian's "
               "libdnnl-dev\n");
    plugin_path_print();
    return EXIT_DONE;
}

int command_doctor(int argc, char **argv) {
    cli_options options;
    int code = cli_options_read(argc, argv, "pPvxajsw6", &options);
    if (code == EXIT_DONE && options.help) {
        fputs(help, stdout);
        importers_print_options();
    } else if (code == EXIT_DONE && options.argument_count > 1) {
        code = cli_usage("doctor takes one model or plan, or none (tenon doctor -h)");
    } else if (code == EXIT_DONE && (code = option_use_check(&options)) == EXIT_DONE) {
        tn_runtime *runtime = cli_runtime(&options, &code);
        if (runtime)
            code = options.argument_count == 1
                       ? doctor_file(runtime, options.arguments[0], &options)
                       : examine_machine(runtime);
        tn_runtime_release(runtime);
    }
    cli_options_free(&options);
    return code;
}
