/* SPDX-License-Identifier: Apache-2.0 */
/* Opening NVIDIA's libraries; see loader.h. */
#include "kit/cuda/loader.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { VERSION_BYTES = 32 };

static const char *print_version(size_t version, char *text) {
    snprintf(text, VERSION_BYTES, "%zu.%zu.%zu", version / 10000, version / 100 % 100,
             version % 100);
    return text;
}

/* The version of an open library; 0: it does not say. */
static size_t version_of(const tn_cuda_loader *wanted, void *library) {
    size_t (*get_version)(void) = NULL;
    void *found = dlsym(library, wanted->version_function);
    memcpy(&get_version, &found, sizeof(found));
    return get_version ? get_version() : 0;
}

/* What is there in place of the file; null: nothing that is known. */
static const char *find_other(const tn_cuda_loader *wanted) {
    for (size_t i = 0; wanted->others && wanted->others[i]; i++) {
        void *library = dlopen(wanted->others[i], RTLD_LAZY | RTLD_LOCAL);
        if (!library) continue;
        dlclose(library);
        return wanted->others[i];
    }
    return NULL;
}

static void say_missing(const tn_cuda_loader *wanted, const char *reason, char *text,
                        size_t bytes) {
    char least[VERSION_BYTES];
    const char *other = find_other(wanted);
    print_version(wanted->least_version, least);
    if (other)
        snprintf(text, bytes, "%s is left out: %s of version %s or newer is wanted, found %s alone",
                 wanted->title, wanted->file, least, other);
    else
        snprintf(text, bytes, "%s is left out: %s of version %s or newer is wanted, found none: %s",
                 wanted->title, wanted->file, least, reason);
}

bool tn_cuda_loader_open(const tn_cuda_loader *wanted, void **out_functions, char *text,
                         size_t bytes) {
    char least[VERSION_BYTES], found[VERSION_BYTES], reason[300];
    void *library = dlopen(wanted->file, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        snprintf(reason, sizeof(reason), "%s", why ? why : "no reason is known");
        say_missing(wanted, reason, text, bytes);
        return false;
    }
    const size_t version = version_of(wanted, library);
    print_version(version, found);
    if (version < wanted->least_version) {
        snprintf(text, bytes, "%s is left out: %s of version %s or newer is wanted, found %s",
                 wanted->title, wanted->file, print_version(wanted->least_version, least), found);
        dlclose(library);
        return false;
    }
    for (size_t i = 0; i < wanted->count; i++) {
        out_functions[i] = dlsym(library, wanted->names[i]);
        if (out_functions[i]) continue;
        snprintf(text, bytes, "%s is left out: %s of version %s lacks %s", wanted->title,
                 wanted->file, found, wanted->names[i]);
        dlclose(library);
        return false;
    }
    return true;
}
