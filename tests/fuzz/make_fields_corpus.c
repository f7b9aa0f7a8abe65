/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the seeds of the fields fuzz target into a folder: attributes of each type, a sound field
 * table, combinations, in the form that fuzz_fields.c reads.
 *
 *     make_fields_corpus FOLDER
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *folder;

typedef struct seed {
    uint8_t data[512];
    size_t bytes;
} seed;

static void put(seed *to, const void *data, size_t bytes) {
    memcpy(to->data + to->bytes, data, bytes);
    to->bytes += bytes;
}

static void put_byte(seed *to, uint8_t byte) {
    put(to, &byte, 1);
}

static void put_text(seed *to, const char *text) {
    put_byte(to, text ? (uint8_t)strlen(text) : 255);
    if (text) put(to, text, strlen(text));
}

static void write_seed(const seed *from, const char *name, int number) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s_%d", folder, name, number);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(from->data, 1, from->bytes, file) != from->bytes || fclose(file) != 0) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(1);
    }
}

/* One attribute for the field `field`, of the type numbered `type` in the target's list. */
static void write_attribute(uint8_t field, uint8_t type, const char *text, uint8_t count) {
    static int number;
    const int64_t integer = 2, items[] = {1, 2, 3, 4};
    const double real = 0.25;
    seed to = {.bytes = 0};
    put_byte(&to, 0);
    put_byte(&to, 1);
    put_byte(&to, field);
    put_byte(&to, type);
    put(&to, &integer, sizeof(integer));
    put(&to, &real, sizeof(real));
    put_text(&to, text);
    put_byte(&to, count);
    put(&to, items, sizeof(items));
    put_byte(&to, 1);
    write_seed(&to, "attribute", number++);
}

static void write_table(void) {
    const uint32_t offset = 8, bytes = 8;
    const double low = 0, high = 9;
    seed to = {.bytes = 0};
    put_byte(&to, 1);
    put_byte(&to, 1);
    put_text(&to, "extent");
    put_text(&to, "7");
    put_text(&to, NULL);
    put_byte(&to, 3); /* TN_FIELD_I64 */
    put(&to, &offset, sizeof(offset));
    put(&to, &bytes, sizeof(bytes));
    put_byte(&to, 0);
    put_byte(&to, 0);
    put(&to, &low, sizeof(low));
    put(&to, &high, sizeof(high));
    put_byte(&to, 16);
    write_seed(&to, "table", 0);
}

static void write_combination(const char *text, int number) {
    seed to = {.bytes = 0};
    put_byte(&to, 2);
    put(&to, text, strlen(text));
    write_seed(&to, "combination", number);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: make_fields_corpus FOLDER\n");
        return 2;
    }
    folder = argv[1];
    for (uint8_t field = 0; field < 15; field++)
        for (uint8_t type = 0; type < 11; type++)
            write_attribute(field, type, field == 7 ? "f16" : "two", 4);
    write_table();
    write_combination("f32:c16, f32, f32? -> f32:c16", 0);
    write_combination("f32|f16:nhwc... -> *", 1);
    write_combination("* ->", 2);
    return 0;
}
