/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See commas.h. A locale's numbers are a file of glibc's: a mark, the
 * count of its items, where each begins, and the items. It is in no folder once it was read.
 */
#include "commas.h"
#include "watch.h"

#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "tenon_commas"

enum { ITEMS = 6 };
typedef struct numbers_file {
    uint32_t mark, count, begins[ITEMS];
    char point[2], separator, grouping; /* texts: of the last two, no byte but the end */
    uint32_t wide_point, wide_separator;
    char codes[8];
} numbers_file;

static char folder[64];
static bool is_known, is_there;

static bool write_file(const char *path) {
    const numbers_file numbers = {
        .mark = UINT32_C(0x20031115) ^ LC_NUMERIC,
        .count = ITEMS,
        .begins = {offsetof(numbers_file, point), offsetof(numbers_file, separator),
                   offsetof(numbers_file, grouping), offsetof(numbers_file, wide_point),
                   offsetof(numbers_file, wide_separator), offsetof(numbers_file, codes)},
        .point = ",",
        .wide_point = ',',
        .codes = "UTF-8"};
    FILE *file = fopen(path, "wb");
    const bool is_written = file && fwrite(&numbers, sizeof(numbers), 1, file) == 1;
    return file && fclose(file) == 0 && is_written;
}

/* Where the C library looks for locales is a variable of the process. */
static void set_path(const char *path) {
    if (path)
        setenv("LOCPATH", path, 1);
    else
        unsetenv("LOCPATH");
}

/* The C library keeps what was read while an object has it. */
static bool make(void) {
    char within[sizeof(folder) + 16], path[sizeof(within) + 16];
    snprintf(folder, sizeof(folder), "/tmp/tenon-locale-XXXXXX");
    if (!mkdtemp(folder)) return false;
    snprintf(within, sizeof(within), "%s/" NAME, folder);
    snprintf(path, sizeof(path), "%s/LC_NUMERIC", within);
    locale_t kept = (locale_t)0;
    if (mkdir(within, 0700) == 0 && write_file(path)) {
        set_path(folder);
        kept = newlocale(LC_NUMERIC_MASK, NAME, (locale_t)0);
    }
    unlink(path);
    rmdir(within);
    rmdir(folder);
    return kept != (locale_t)0;
}

bool tn_commas_begin(void) {
    const char *found = getenv("LOCPATH");
    char *before = found ? strdup(found) : NULL;
    if (!is_known) is_there = make();
    is_known = true;
    set_path(folder);
    const bool is_set =
        is_there && setlocale(LC_NUMERIC, NAME) && strcmp(localeconv()->decimal_point, ",") == 0;
    set_path(before);
    free(before);
    if (!is_set) setlocale(LC_NUMERIC, "C");
    tn_watch_moved();
    return is_set;
}

void tn_commas_end(void) {
    setlocale(LC_NUMERIC, "C");
    tn_watch_moved();
}
