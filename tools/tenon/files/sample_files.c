/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a folder of sample inputs; see sample_files.h. */
#include "sample_files.h"
#include "tensor_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static bool has_ending(const char *name, const char *const *endings, size_t count) {
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < count; i++)
        if (strcasecmp(dot, endings[i]) == 0) return true;
    return false;
}

static bool is_sample(const char *name) {
    static const char *const endings[] = {".npy", ".pb", ".bin", ".raw"};
    return tensor_file_is_image(name) ||
           has_ending(name, endings, sizeof(endings) / sizeof(*endings));
}

static int compare_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void sample_files_free(text_list *names) {
    for (size_t i = 0; i < names->count; i++)
        free((void *)(uintptr_t)names->items[i]);
    free(names->items);
    *names = (text_list){0};
}

bool sample_files_list(const char *path, text_list *names, size_t *out_others, int *out_exit) {
    DIR *folder = opendir(path);
    bool is_complete = true;
    if (!folder) {
        *out_exit = cli_fault("cannot open the directory '%s': %s", path, strerror(errno));
        return false;
    }
    for (struct dirent *entry; is_complete && (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        if (is_sample(entry->d_name))
            is_complete = text_list_add_copy(names, entry->d_name);
        else
            ++*out_others;
    }
    closedir(folder);
    if (names->count) qsort(names->items, names->count, sizeof(*names->items), compare_text);
    if (!is_complete) *out_exit = cli_fault("no memory for the files of '%s'", path);
    return is_complete;
}

char *sample_files_join(const char *folder, const char *name) {
    char *path = NULL;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

char *sample_files_folder_of(const char *path, const char *input) {
    char *folder = sample_files_join(path, input);
    for (char *c = folder ? folder + strlen(path) + 1 : NULL; c && *c; c++)
        if (*c == '/') *c = '_';
    return folder;
}

bool sample_files_is_directory(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

char *sample_files_find_twin(const char *folder, const char *name, const text_list *names) {
    const char *dot = strrchr(name, '.');
    const size_t stem = dot ? (size_t)(dot - name) : strlen(name);
    for (size_t i = 0; i < names->count; i++) {
        const char *other = names->items[i], *end = strrchr(other, '.');
        if (end && (size_t)(end - other) == stem && memcmp(other, name, stem) == 0)
            return sample_files_join(folder, other);
    }
    return NULL;
}

static bool list_has_image(const char *path, bool looks_inside) {
    DIR *folder = opendir(path);
    bool has_image = false;
    for (struct dirent *entry; folder && !has_image && (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        has_image = tensor_file_is_image(entry->d_name);
        char *inside = looks_inside && !has_image ? sample_files_join(path, entry->d_name) : NULL;
        if (inside && sample_files_is_directory(inside)) has_image = list_has_image(inside, false);
        free(inside);
    }
    if (folder) closedir(folder);
    return has_image;
}

bool sample_files_have_image(const char *path) {
    return list_has_image(path, true);
}
