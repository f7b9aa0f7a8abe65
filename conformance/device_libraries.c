/* SPDX-License-Identifier: Apache-2.0 */
/* Loading the libraries of devices; see conformance.h. */
#include "conformance.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The libraries of devices lie beside the program's folder, as they do beside the core library. */
void tn_device_libraries_load(tn_runtime *runtime) {
    char program[3000] = "", folder[3100];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (length > 0) program[length] = 0;
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(program, '/');
        if (slash) *slash = 0;
    }
    snprintf(folder, sizeof(folder), "%s/lib/tenon/devices", program);
    (void)tn_runtime_load_directory(runtime, folder); /* none there: the device is not found */
}
