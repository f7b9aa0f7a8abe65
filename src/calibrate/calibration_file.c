/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of TensorRT's calibration cache: reading and writing. A line is "NAME: HEX", split at
 * its last colon, since names hold colons, blanks and brackets; HEX is the bit pattern of a
 * binary32 number, most significant digit first. The first line is a header, like
 * "TRT-8600-EntropyCalibration2", or, of early versions, a digit for the algorithm with its
 * parameters as the bits of two doubles. It is kept and not interpreted. The table itself lies in
 * src/program/calibration_table.c.
 */
#include "calibrate/calibration_file.h"
#include "base/file.h"
#include "base/status.h"
#include "plugin/runtime.h"
#include "program/calibration_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_HEADER "TRT-8600-EntropyCalibration2"
#define SHOWN_BYTES    60 /* of a line, in messages */
#define DIGITS_AT_MOST 8

typedef struct text_line {
    const char *text; /* not terminated */
    size_t length, number;
} text_line;

typedef struct line_reader {
    const char *at, *end;
    size_t number;
} line_reader;

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next line that is not empty, without its end and the blanks before it. */
static bool next_line(line_reader *reader, text_line *out_line) {
    while (reader->at < reader->end) {
        const char *start = reader->at;
        const char *stop = memchr(start, '\n', (size_t)(reader->end - start));
        if (!stop) stop = reader->end;
        reader->at = stop < reader->end ? stop + 1 : stop;
        reader->number++;
        while (stop > start && is_blank(stop[-1]))
            stop--;
        if (stop == start) continue;
        *out_line = (text_line){start, (size_t)(stop - start), reader->number};
        return true;
    }
    return false;
}

static tn_status fail_at(const text_line *line, const char *why) {
    const int shown = line->length < SHOWN_BYTES ? (int)line->length : SHOWN_BYTES;
    const tn_status status =
        tn_fail(TN_ERROR_FORMAT, "line %zu of a calibration table: %s; found '%.*s%s'",
                line->number, why, shown, line->text, line->length > SHOWN_BYTES ? "..." : "");
    return tn_error_in(status, .line = (uint32_t)line->number);
}

static int digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static const char *last_colon(const text_line *line) {
    return memrchr(line->text, ':', line->length);
}

/* The bits of a scale; false when the text is not 1 to 8 hexadecimal digits. */
static bool parse_bits(const char *text, const char *end, uint32_t *out_bits) {
    uint32_t bits = 0;
    if (text == end || end - text > DIGITS_AT_MOST) return false;
    for (; text < end; text++) {
        const int value = digit_value(*text);
        if (value < 0) return false;
        bits = bits << 4 | (uint32_t)value;
    }
    *out_bits = bits;
    return true;
}

static tn_status parse_entry(const text_line *line, tn_arena *arena, tn_calibration *table) {
    const char *colon = last_colon(line), *end = line->text + line->length;
    uint32_t bits = 0;
    float scale;
    if (!colon)
        return fail_at(line, "expected NAME: and a scale as hexadecimal digits, like conv1: "
                             "3d010204");
    if (colon == line->text) return fail_at(line, "an entry without a tensor's name");
    const char *value = colon + 1;
    while (value < end && is_blank(*value))
        value++;
    if (!parse_bits(value, end, &bits))
        return fail_at(line, "expected 1 to 8 hexadecimal digits after the last colon, the bits of "
                             "a 32-bit float");
    memcpy(&scale, &bits, sizeof(scale));
    char *name = tn_arena_copy(arena, line->text, (size_t)(colon - line->text) + 1);
    if (!name) return tn_fail_memory("a calibration table");
    name[colon - line->text] = 0;
    return tn_calibration_set(table, name, scale);
}

static tn_status parse_header(const text_line *line, tn_arena *arena, tn_calibration *table) {
    if (last_colon(line))
        return fail_at(line, "expected a header without a colon, like " DEFAULT_HEADER);
    char *header = tn_arena_copy(arena, line->text, line->length + 1);
    if (!header) return tn_fail_memory("a calibration table");
    header[line->length] = 0;
    return tn_calibration_table_set_header(table, header);
}

/* `text` ends in a terminating 0 that is not counted, so that the last line may be copied with one
 * byte more. */
static tn_status parse_lines(const char *text, size_t bytes, tn_arena *arena,
                             tn_calibration *table) {
    line_reader reader = {.at = text, .end = text + bytes};
    text_line line;
    if (!next_line(&reader, &line))
        return tn_fail(TN_ERROR_FORMAT, "a calibration table without a line; expected a header "
                                        "like " DEFAULT_HEADER);
    TN_TRY(parse_header(&line, arena, table));
    const bool is_known =
        strncmp(line.text, "TRT-", 4) == 0 || *line.text == '0' || *line.text == '1';
    while (next_line(&reader, &line))
        TN_TRY(parse_entry(&line, arena, table));
    if (tn_calibration_count(table) == 0 && !is_known)
        return fail_at(&line, "no calibration table: no entry follows the first line");
    return TN_OK;
}

static tn_status parse_into(const void *data, size_t bytes, tn_calibration *table) {
    tn_arena *arena;
    size_t padded_bytes;
    if (bytes > 0 && memchr(data, 0, bytes))
        return tn_fail(TN_ERROR_FORMAT, "a calibration table is text, this has a zero byte");
    if (!tn_add_size(bytes, 1, &padded_bytes)) return tn_fail_memory("a calibration table");
    TN_TRY(tn_arena_create(tn_runtime_allocator(tn_calibration_table_runtime(table)), &arena));
    char *text = tn_arena_allocate(arena, 1, padded_bytes);
    tn_status status = text ? TN_OK : tn_fail_memory("a calibration table");
    if (status == TN_OK) {
        if (bytes > 0) memcpy(text, data, bytes);
        status = parse_lines(text, bytes, arena, table);
    }
    tn_arena_destroy(arena);
    return status;
}

tn_status tn_calibration_file_parse(tn_runtime *runtime, const void *data, size_t bytes,
                                    tn_calibration **out_calibration) {
    tn_calibration *table;
    TN_TRY(tn_calibration_create(runtime, &table));
    const tn_status status = parse_into(data, bytes, table);
    if (status == TN_OK)
        *out_calibration = table;
    else
        tn_calibration_destroy(table);
    return status;
}

tn_status tn_calibration_read(tn_runtime *runtime, const char *path,
                              tn_calibration **out_calibration) {
    tn_file file;
    if (!runtime || !path || !out_calibration)
        return tn_fail(TN_ERROR_ARGUMENT, "reading a calibration table needs a runtime, a path and "
                                          "a pointer for it");
    TN_TRY(tn_file_map(tn_runtime_allocator(runtime), path, &file));
    const tn_status status = tn_error_in(
        tn_calibration_file_parse(runtime, file.data, file.bytes, out_calibration), .file = path);
    tn_file_unmap(&file);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * writing */

typedef struct file_entry {
    const char *tensor;
    float scale;
} file_entry;

static int compare_names(const void *a, const void *b) {
    return strcmp(((const file_entry *)a)->tensor, ((const file_entry *)b)->tensor);
}

static tn_status add_entries(tn_text *text, file_entry *entries, size_t count) {
    qsort(entries, count, sizeof(*entries), compare_names);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        if (!*entries[i].tensor || strchr(entries[i].tensor, '\n'))
            return tn_fail(TN_ERROR_ARGUMENT,
                           "the tensor's name '%s' cannot be written into a calibration table: it "
                           "is empty or has a line's end in it",
                           entries[i].tensor);
        memcpy(&bits, &entries[i].scale, sizeof(bits));
        tn_text_add_format(text, "%s: %08" PRIx32 "\n", entries[i].tensor, bits);
    }
    return text->is_failed ? tn_fail_memory("a calibration table") : TN_OK;
}

tn_status tn_calibration_file_print(const tn_calibration *table, tn_text *text) {
    const tn_allocator *allocator = text->allocator;
    const size_t count = (size_t)tn_calibration_count(table);
    const char *header = tn_calibration_table_header(table);
    file_entry *entries = tn_allocate_zero(allocator, count + 1, sizeof(*entries));
    if (!entries) return tn_fail_memory("a calibration table");
    for (size_t i = 0; i < count; i++)
        (void)tn_calibration_entry(table, i, &entries[i].tensor, &entries[i].scale);
    tn_text_add_format(text, "%s\n", header ? header : DEFAULT_HEADER);
    const tn_status status = add_entries(text, entries, count);
    tn_deallocate(allocator, entries);
    return status;
}

tn_status tn_calibration_write(const tn_calibration *calibration, const char *path) {
    tn_text text;
    if (!calibration || !path)
        return tn_fail(TN_ERROR_ARGUMENT, "writing a calibration table needs one and a path");
    const tn_allocator *allocator = tn_runtime_allocator(tn_calibration_table_runtime(calibration));
    tn_text_init(&text, allocator);
    tn_status status = tn_calibration_file_print(calibration, &text);
    if (status == TN_OK) status = tn_file_write(allocator, path, text.data, text.length);
    tn_text_deinit(&text);
    return status;
}
