/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target on files, without a fuzzer: for what a fuzzer found, for the corpus in
 * ordinary tests, and for compilers that have none. Linked with one fuzz_*.c. A name of a folder
 * stands for all files in it; a file NAME.hex holds an input a line in hexadecimal digits
 * (scripts/fuzz-corpus). Exit 0 when all were run, 1 when one could not be read.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static int run_file(const char *path) {
    FILE *file = fopen(path, "rb");
    long length = -1;
    if (file && fseek(file, 0, SEEK_END) == 0) length = ftell(file);
    uint8_t *data = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (data) rewind(file);
    if (!data || fread(data, 1, (size_t)length, file) != (size_t)length) {
        fprintf(stderr, "cannot read %s\n", path);
        free(data);
        if (file) fclose(file);
        return 1;
    }
    fclose(file);
    uint8_t *exact =
        realloc(data, (size_t)length ? (size_t)length : 1); /* so that its end is seen */
    LLVMFuzzerTestOneInput(exact ? exact : data, (size_t)length);
    free(exact ? exact : data);
    return 0;
}

/* One line; its end is the newline, or the text's. */
static int run_line(const char *text, size_t length) {
    uint8_t *data = malloc(length / 2 ? length / 2 : 1); /* so that its end is seen */
    int result = data && length % 2 == 0 ? 0 : 1;
    for (size_t i = 0; result == 0 && i < length / 2; i++)
        if (sscanf(text + 2 * i, "%2hhx", &data[i]) != 1) result = 1;
    if (result == 0) LLVMFuzzerTestOneInput(data, length / 2);
    free(data);
    return result;
}

static int run_lines(const char *path) {
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;
    int result = file ? 0 : 1;
    for (ssize_t length; file && (length = getline(&line, &capacity, file)) > 0;)
        result |= run_line(line, strcspn(line, "\n"));
    if (result) fprintf(stderr, "%s: a line is not of hexadecimal digits\n", path);
    free(line);
    if (file) fclose(file);
    return result;
}

static int run_folder(const char *path) {
    DIR *folder = opendir(path);
    int result = folder ? 0 : 1;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char name[4096];
        struct stat info;
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        if (stat(name, &info) == 0 && S_ISREG(info.st_mode)) result |= run_file(name);
    }
    if (folder) closedir(folder);
    return result;
}

int main(int argument_count, char **arguments) {
    int result = 0;
    for (int i = 1; i < argument_count; i++) {
        struct stat info;
        if (stat(arguments[i], &info) == 0 && S_ISDIR(info.st_mode))
            result |= run_folder(arguments[i]);
        else if (strlen(arguments[i]) > 4 && strcmp(strchr(arguments[i], 0) - 4, ".hex") == 0)
            result |= run_lines(arguments[i]);
        else
            result |= run_file(arguments[i]);
    }
    return result;
}
