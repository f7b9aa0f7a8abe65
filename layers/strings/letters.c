/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Upper and lower case of UTF-8, without a locale: of Latin, Greek, Cyrillic and Armenian letters
 * those that have one letter in the other case. The ranges are those of Unicode's table of simple
 * case mappings (UnicodeData.txt).
 */
#include "strings/strings.h"

/* Upper-case letters first..last; the lower one is `distance` above, or, of pairs side by side (0),
 * the next one, the first of each pair being even or odd as `first` is. */
typedef struct letter_range {
    uint32_t first, last, distance;
} letter_range;

static const letter_range ranges[] = {
    {0x41, 0x5A, 32},   {0xC0, 0xD6, 32},   {0xD8, 0xDE, 32},   {0x100, 0x12E, 0},
    {0x132, 0x136, 0},  {0x139, 0x147, 0},  {0x14A, 0x176, 0},  {0x179, 0x17D, 0},
    {0x1CD, 0x1DB, 0},  {0x1DE, 0x1EE, 0},  {0x1F8, 0x21E, 0},  {0x222, 0x232, 0},
    {0x370, 0x372, 0},  {0x386, 0x386, 38}, {0x388, 0x38A, 37}, {0x38C, 0x38C, 64},
    {0x38E, 0x38F, 63}, {0x391, 0x3A1, 32}, {0x3A3, 0x3AB, 32}, {0x3D8, 0x3EE, 0},
    {0x400, 0x40F, 80}, {0x410, 0x42F, 32}, {0x460, 0x480, 0},  {0x48A, 0x4BE, 0},
    {0x4C1, 0x4CD, 0},  {0x4D0, 0x52E, 0},  {0x531, 0x556, 48}, {0x1E00, 0x1E94, 0},
    {0x1EA0, 0x1EFE, 0}};

static uint32_t lower(uint32_t letter) {
    for (size_t i = 0; i < TN_COUNT(ranges); i++) {
        const letter_range *range = &ranges[i];
        if (letter < range->first || letter > range->last) continue;
        if (range->distance > 0) return letter + range->distance;
        return letter + ((letter - range->first) % 2 == 0);
    }
    return letter;
}

static uint32_t upper(uint32_t letter) {
    if (letter == 0xFF) return 0x178;  /* y with diaeresis */
    if (letter == 0x3C2) return 0x3A3; /* sigma at a word's end */
    for (size_t i = 0; i < TN_COUNT(ranges); i++) {
        const letter_range *range = &ranges[i];
        const uint32_t distance = range->distance > 0 ? range->distance : 1;
        if (letter < range->first + distance || letter > range->last + distance) continue;
        if (range->distance > 0) return letter - distance;
        if ((letter - range->first) % 2 == 1) return letter - 1;
    }
    return letter;
}

/* The character at the beginning of the text, and how many bytes it has; 0: these are none. */
static uint64_t decode(const uint8_t *text, uint64_t bytes, uint32_t *out_letter) {
    const uint8_t first = text[0];
    const uint64_t count = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : 0;
    if (count == 0 || count > bytes) return 0;
    uint32_t letter = count == 1 ? first : count == 2 ? first & 0x1Fu : first & 0x0Fu;
    for (uint64_t i = 1; i < count; i++) {
        if (text[i] >> 6 != 2) return 0;
        letter = letter << 6 | (text[i] & 0x3Fu);
    }
    *out_letter = letter;
    return count;
}

static uint64_t encode(uint32_t letter, char *to) {
    if (letter < 0x80) {
        to[0] = (char)letter;
        return 1;
    }
    if (letter < 0x800) {
        to[0] = (char)(0xC0 | letter >> 6);
        to[1] = (char)(0x80 | (letter & 0x3F));
        return 2;
    }
    to[0] = (char)(0xE0 | letter >> 12);
    to[1] = (char)(0x80 | (letter >> 6 & 0x3F));
    to[2] = (char)(0x80 | (letter & 0x3F));
    return 3;
}

static uint64_t map_letters(const char *text, uint64_t bytes, uint32_t (*map)(uint32_t), char *to) {
    uint64_t at = 0, written = 0;
    while (at < bytes) {
        uint32_t letter = 0;
        const uint64_t count = decode((const uint8_t *)text + at, bytes - at, &letter);
        if (count == 0) { /* four bytes a character, or none at all: as it is */
            to[written++] = text[at++];
            continue;
        }
        written += encode(map(letter), to + written);
        at += count;
    }
    return written;
}

uint64_t tn_letters_lower(const char *text, uint64_t bytes, char *to) {
    return map_letters(text, bytes, lower, to);
}

uint64_t tn_letters_upper(const char *text, uint64_t bytes, char *to) {
    return map_letters(text, bytes, upper, to);
}
