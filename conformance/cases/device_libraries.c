/* SPDX-License-Identifier: Apache-2.0 */
/* Loading the libraries of devices; see conformance.h. */
#include "conformance.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The libraries of devices lie beside the program, as they do where they are installed, or beside
 * its folder, as in a build. */
void tn_device_libraries_load(tn_runtime *runtime) {
    static const char *const folders[] = {"devices", "../lib/tenon/devices"};
    char program[3000] = "", folder[3100];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    char *slash = length > 0 ? strrchr(program, '/') : NULL;
    if (slash) *slash = 0;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(folder, sizeof(folder), "%s/%s", program, folders[i]);
        (void)tn_runtime_load_directory(runtime, folder); /* none there: the other one */
    }
}
