/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of Tenon's log on their path to logging.getLogger("tenon"). Tenon logs from any thread,
 * perhaps with locks of its own held, where the interpreter's lock must not be waited for: lines
 * are queued. */
#include "binding.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_MAX_COUNT 10000u /* a thread that nobody reads after must not fill the memory */

typedef struct log_line {
    struct log_line *next;
    uint32_t level;
    char text[];
} log_line;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static log_line *first, **last = &first;
static uint32_t count;

void binding_log(void *user, uint32_t level, const char *text) {
    (void)user;
    const size_t bytes = strlen(text) + 1;
    log_line *line = malloc(sizeof(*line) + bytes);
    if (!line) return;
    line->next = NULL;
    line->level = level;
    memcpy(line->text, text, bytes);
    pthread_mutex_lock(&lock);
    const bool has_room = count < QUEUE_MAX_COUNT;
    if (has_room) {
        *last = line;
        last = &line->next;
        count++;
    }
    pthread_mutex_unlock(&lock);
    if (!has_room) free(line);
}

static log_line *take_all(void) {
    pthread_mutex_lock(&lock);
    log_line *lines = first;
    first = NULL;
    last = &first;
    count = 0;
    pthread_mutex_unlock(&lock);
    return lines;
}

void binding_log_flush(void) {
    if (!__atomic_load_n(&first, __ATOMIC_RELAXED)) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (log_line *line = take_all(), *next; line; line = next) {
        next = line->next;
        PyObject *result = binding_call("_log", "emit", "Is", (unsigned)line->level, line->text);
        if (!result) PyErr_WriteUnraisable(NULL);
        Py_XDECREF(result);
        free(line);
    }
    PyErr_Restore(type, value, traceback);
}
