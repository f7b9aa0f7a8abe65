/* SPDX-License-Identifier: Apache-2.0 */
/* Text that is safe in a page; see report_text.h. */
#include "report_text.h"

#include <math.h>
#include <stdbool.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* ----------------------------------------------------------------------------------------------
 * characters */

/* Bytes of the UTF-8 sequence at `at` and its code point; 0 when it is none. */
static size_t decode(const unsigned char *at, unsigned *out_code) {
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t length = at[0] < 0x80                     ? 1
                          : at[0] >= 0xc2 && at[0] < 0xe0  ? 2
                          : at[0] >= 0xe0 && at[0] < 0xf0  ? 3
                          : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
                                                           : 0;
    unsigned code = length == 1 ? at[0] : at[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (at[i] & 0x3fu);
    }
    if (length > 1 &&
        (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)))
        return 0;
    *out_code = code;
    return length;
}

/* Characters that a page must not have, or that would reorder the text around them. */
static bool is_hidden(unsigned code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
           (code >= 0xfdd0 && code <= 0xfdef) || (code & 0xfffe) == 0xfffe || code == 0xfeff;
}

typedef void (*put_character)(FILE *page, const char *bytes, size_t length);

static void put_html(FILE *page, const char *bytes, size_t length) {
    switch (*bytes) {
    case '<':
        fputs("&lt;", page);
        break;
    case '>':
        fputs("&gt;", page);
        break;
    case '&':
        fputs("&amp;", page);
        break;
    case '"':
        fputs("&quot;", page);
        break;
    case '\'':
        fputs("&#39;", page);
        break;
    default:
        fwrite(bytes, 1, length, page);
    }
}

/* No markup can begin or end inside a script element's text without one of these three. */
static void put_script(FILE *page, const char *bytes, size_t length) {
    if (*bytes == '"' || *bytes == '\\')
        fprintf(page, "\\%c", *bytes);
    else if (*bytes == '<' || *bytes == '>' || *bytes == '&')
        fprintf(page, "\\u%04x", (unsigned)*bytes);
    else
        fwrite(bytes, 1, length, page);
}

static size_t count_characters(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    size_t count = 0;
    for (unsigned code; *at; count++) {
        const size_t length = decode(at, &code);
        at += length > 0 ? length : 1;
    }
    return count;
}

static void put(FILE *page, const char *text, size_t limit, put_character character) {
    const unsigned char *at = (const unsigned char *)text;
    const size_t count = count_characters(text);
    const size_t head = count > limit ? (limit - 1) / 2 : count;
    const size_t tail = count > limit ? count - (limit - 1 - head) : count;
    unsigned code = 0;
    for (size_t i = 0; *at; i++) {
        const size_t length = decode(at, &code);
        const bool is_shown = i < head || i >= tail;
        if (i == head && head < tail) fputs("…", page);
        if (is_shown && (length == 0 || is_hidden(code)))
            character(page, REPLACEMENT, 3);
        else if (is_shown)
            character(page, (const char *)at, length);
        at += length > 0 ? length : 1;
    }
}

void report_put_text(FILE *page, const char *text, size_t limit) {
    put(page, text ? text : "", limit, put_html);
}

void report_put_json(FILE *page, const char *text, size_t limit) {
    fputc('"', page);
    put(page, text ? text : "", limit, put_script);
    fputc('"', page);
}

/* ----------------------------------------------------------------------------------------------
 * numbers */

void report_put_fixed(FILE *page, double value, int decimals) {
    const double scale = pow(10, decimals);
    const double all = isfinite(value) ? fmin(floor(fabs(value) * scale + 0.5), 9e15) : 0;
    const double whole = floor(all / scale);
    fprintf(page, "%s%.0f", value < 0 && all > 0 ? "-" : "", whole);
    if (decimals > 0) fprintf(page, ".%0*.0f", decimals, all - whole * scale);
}

void report_put_number(FILE *page, const json *number) {
    if (json_is_there(number)) fprintf(page, "%.4g", json_number(number, 0));
}

void report_put_share(FILE *page, const json *share) {
    if (!json_is_there(share)) return;
    report_put_fixed(page, 100 * json_number(share, 0), 3);
    fputs("%", page);
}

/* Three digits or so. */
static void put_scaled(FILE *page, double value, const char *unit) {
    report_put_fixed(page, value, value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
    fprintf(page, " %s", unit);
}

void report_put_time(FILE *page, double ns) {
    if (ns < 999.5)
        fprintf(page, "%.0f ns", ns);
    else if (ns < 999.5e3)
        put_scaled(page, ns / 1e3, "µs");
    else if (ns < 999.5e6)
        put_scaled(page, ns / 1e6, "ms");
    else
        put_scaled(page, ns / 1e9, "s");
}

void report_put_bytes(FILE *page, double bytes) {
    if (bytes < 1024)
        fprintf(page, "%.0f B", bytes);
    else if (bytes < 1024 * 1024)
        put_scaled(page, bytes / 1024, "KiB");
    else if (bytes < 1024.0 * 1024 * 1024)
        put_scaled(page, bytes / (1024 * 1024), "MiB");
    else
        put_scaled(page, bytes / (1024.0 * 1024 * 1024), "GiB");
}

void report_put_percent(FILE *page, double part, double whole) {
    const double percent = whole > 0 ? 100 * part / whole : 0;
    report_put_fixed(page, percent, percent >= 9.95 ? 0 : 1);
    fputs("%", page);
}
