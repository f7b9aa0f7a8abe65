/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line says on stderr, with the exit code that goes with it; and lists of texts.
 */
#include "cli.h"
#include "interrupt.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_progress;

void cli_clear_progress(void) {
    if (has_progress) fputs("\r\033[K", stderr);
    has_progress = false;
}

bool cli_show_progress(void *user, const char *stage, uint64_t done, uint64_t count) {
    (void)user;
    cli_clear_progress();
    if (cli_interrupt_is_asked()) return false;
    if (done == count || !isatty(STDERR_FILENO)) return true;
    fprintf(stderr, "%s %" PRIu64 "/%" PRIu64, stage, done, count);
    fflush(stderr);
    has_progress = true;
    return true;
}

static void print_message(const char *format, va_list arguments) {
    cli_clear_progress();
    fprintf(stderr, "tenon: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
}

#define MESSAGE(code)                                                                              \
    va_list arguments;                                                                             \
    va_start(arguments, format);                                                                   \
    print_message(format, arguments);                                                              \
    va_end(arguments);                                                                             \
    return code

int cli_fault(const char *format, ...) {
    MESSAGE(EXIT_FAULT);
}
int cli_usage(const char *format, ...) {
    MESSAGE(EXIT_USAGE);
}
int cli_unsupported(const char *format, ...) {
    MESSAGE(EXIT_UNSUPPORTED);
}

/* Bytes of the printable UTF-8 character at `at`, 0 when it is none: names in messages are a
 * file's, and must not steer a terminal. */
static size_t printable_length(const unsigned char *at) {
    if (at[0] == '\n' || (at[0] >= 0x20 && at[0] < 0x7f)) return 1;
    const size_t length = at[0] >= 0xf0 && at[0] < 0xf5   ? 4
                          : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                          : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
                                                          : 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    return at[0] == 0xc2 && at[1] < 0xa0 ? 0 : length;
}

void cli_print_safe(const char *text) {
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        const size_t length = printable_length(at);
        if (length > 0)
            fwrite(at, 1, length, stderr);
        else
            fputc('?', stderr);
        at += length > 0 ? length : 1;
    }
}

int cli_fail(const char *what) {
    const tn_error *error = tn_last_error();
    cli_clear_progress();
    const bool says_where = error->where[0] && strncmp(error->where, what, strlen(what)) != 0;
    fprintf(stderr, "tenon: %s%s", error->where[0] && !says_where ? "" : what,
            error->where[0] && !says_where ? "" : ": ");
    cli_print_safe(error->where);
    fputs(error->where[0] ? ": " : "", stderr);
    cli_print_safe(error->message);
    fputc('\n', stderr);
    return error->status == TN_ERROR_UNSUPPORTED ? EXIT_UNSUPPORTED : EXIT_FAULT;
}

bool text_list_add(text_list *list, const char *text) {
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity ? list->capacity * 2 : 8;
        const char **items = realloc(list->items, capacity * sizeof(*items));
        if (!items) return false;
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = text;
    return true;
}

bool text_list_add_copy(text_list *list, const char *text) {
    char *copy = strdup(text);
    if (copy && text_list_add(list, copy)) return true;
    free(copy);
    return false;
}
