/* SPDX-License-Identifier: Apache-2.0 */
/* The parent of tenon-check; see check_run.h. */
#include "check_run.h"
#include "cli/cli.h"
#include "plugin/check_child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { FIELD_LIMIT = 8, RESTART_LIMIT = 100000, LATE_LIMIT = 3 };
static const double ANSWER_SECONDS = 0.3; /* for where it is, when its time is over */

/* ----------------------------------------------------------------------------------------------
 * results */

static check_result *add_result(check_results *results) {
    if (results->count == results->capacity) {
        const size_t capacity = results->capacity ? 2 * results->capacity : 256;
        check_result *grown = realloc(results->items, capacity * sizeof(*grown));
        if (!grown) return NULL;
        results->items = grown;
        results->capacity = capacity;
    }
    check_result *added = &results->items[results->count++];
    *added = (check_result){0};
    return added;
}

void check_results_free(check_results *results) {
    for (size_t i = 0; i < results->count; i++) {
        check_result *it = &results->items[i];
        char *const texts[] = {it->test, it->op,   it->kernel, it->combination,
                               it->text, it->rule, it->why};
        for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++)
            free(texts[k]);
    }
    free(results->items);
    *results = (check_results){0};
}

/* The last field takes the rest; those that are not there are null. */
static void split(char *line, char **fields) {
    for (size_t i = 0; i < FIELD_LIMIT; i++)
        fields[i] = i + 1 < FIELD_LIMIT ? strsep(&line, "\t") : line;
}

static char *copy_text(const char *text) {
    return strdup(text ? text : "");
}

/* "begin N RULE OPERATOR KERNEL COMBINATION CONSTANT CASE" */
static check_result *begin(check_results *results, char **fields) {
    check_result *it = add_result(results);
    if (!it) return NULL;
    it->number = strtoul(fields[1] ? fields[1] : "0", NULL, 10);
    it->test = copy_text(fields[2]);
    it->op = copy_text(fields[3]);
    it->kernel = copy_text(fields[4]);
    it->combination = copy_text(fields[5]);
    it->is_constant = fields[6] && fields[6][0] == '1';
    it->text = copy_text(fields[7]);
    it->outcome = CHECK_FAILED;
    return it;
}

static void end(check_results *results, check_result *it, int outcome, const char *rule, int cause,
                const char *why) {
    it->outcome = outcome;
    it->rule = copy_text(rule);
    it->why = copy_text(why);
    it->cause = cause >= 0 && cause < CHECK_CAUSES ? cause : CHECK_OTHER;
    results->totals[outcome]++;
}

/* What is said of a process that ended in the middle of a test. */
static void end_lost(check_results *results, check_result *it, bool is_late, int status,
                     double limit, const char *where, const char *waits) {
    char why[400];
    if (is_late && waits[0])
        snprintf(why, sizeof(why), "%s%s%s", where, where[0] ? ": " : "", waits);
    else if (is_late)
        snprintf(why, sizeof(why), "%s%snot done after %g seconds", where, where[0] ? ": " : "",
                 limit);
    else if (WIFSIGNALED(status))
        snprintf(why, sizeof(why), "the process was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(why, sizeof(why), "the process exited with %d in the middle of it",
                 WEXITSTATUS(status));
    end(results, it, CHECK_FAILED, is_late ? "time-limit" : "crash", CHECK_CRASH, why);
}

/* ----------------------------------------------------------------------------------------------
 * the loop */

typedef struct session {
    const check_options *options;
    check_results *results;
    size_t open_index;  /* of the test that has begun */
    size_t count, next; /* of tests in the child's order, the next one's position from 1 */
    size_t late_count;
    bool has_open, is_done, is_late;
    double begun;
    char *tried;     /* the case that the open test tries now; null: its own */
    char where[200]; /* it was when its time was over */
    char waits[128]; /* what for, where that has no end; "": that is not known */
    int code;        /* EXIT_DONE, or what is wrong with the options was said */
} session;

/* The failure is one of what was tried then. */
static void keep_tried(session *s, check_result *it) {
    if (s->tried && it->outcome == CHECK_FAILED && (it->text[0] || it->cause == CHECK_CRASH)) {
        free(it->text);
        it->text = s->tried;
    } else {
        free(s->tried);
    }
    s->tried = NULL;
}

/* Whether each of the rules that are asked for was found broken. */
static bool is_all_found(const session *s) {
    const char *name = s->options->until;
    if (!name) return false;
    for (bool is_last = false; !is_last; name += !is_last) {
        const size_t length = strcspn(name, ",");
        bool is_broken = false;
        for (size_t i = 0; i < s->results->count && !is_broken; i++) {
            const check_result *it = &s->results->items[i];
            is_broken = it->outcome == CHECK_FAILED && it->rule && strlen(it->rule) == length &&
                        strncmp(it->rule, name, length) == 0;
        }
        if (!is_broken) return false;
        name += length;
        is_last = *name == 0;
    }
    return true;
}

static bool take_line(session *s, char *line) {
    char *fields[FIELD_LIMIT];
    static const char *const outcomes[] = {"passed", "failed", "skipped"};
    split(line, fields);
    if (strcmp(fields[0], "count") == 0 && fields[1]) {
        s->count = strtoul(fields[1], NULL, 10);
    } else if (strcmp(fields[0], "done") == 0) {
        s->is_done = true;
    } else if (strcmp(fields[0], "begin") == 0 && fields[1]) {
        const size_t number = strtoul(fields[1], NULL, 10);
        if (!begin(s->results, fields)) return false;
        s->open_index = s->results->count - 1;
        s->has_open = true;
        s->begun = check_now();
        s->next += number > 0;
        if (s->options->progress) s->options->progress(number, s->count);
    } else if (strcmp(fields[0], "end") == 0 && s->has_open) {
        int outcome = CHECK_FAILED;
        for (int i = 0; i < 3; i++)
            if (fields[2] && strcmp(fields[2], outcomes[i]) == 0) outcome = i;
        check_result *it = &s->results->items[s->open_index];
        it->seconds = check_now() - s->begun;
        end(s->results, it, outcome, fields[3], fields[4] ? atoi(fields[4]) : 0, fields[5]);
        keep_tried(s, it);
        s->has_open = false;
        s->is_done = outcome == CHECK_FAILED && is_all_found(s);
    } else if (strcmp(fields[0], "now") == 0 && s->has_open) {
        free(s->tried);
        s->tried = copy_text(fields[2]);
    } else if (strcmp(fields[0], "in") == 0) {
        snprintf(s->where, sizeof(s->where), "%s", fields[2] ? fields[2] : "");
    } else if (strcmp(fields[0], "stuck") == 0) {
        snprintf(s->waits, sizeof(s->waits), "%s", fields[2] ? fields[2] : "");
    } else if (strcmp(fields[0], "wrong") == 0 && fields[1] && fields[2]) {
        s->code = fields[1][0] == '2' ? cli_usage("plugin check: %s", fields[2])
                                      : cli_fault("plugin check: %s", fields[2]);
    }
    return true;
}

/* The library's own line comes once more with each start. */
static void drop_repeated_load(check_results *results, size_t from) {
    if (from >= results->count || results->items[from].number != 0 || from == 0) return;
    check_result *it = &results->items[from];
    char *const texts[] = {it->test, it->op,   it->kernel, it->combination,
                           it->text, it->rule, it->why};
    for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++)
        free(texts[k]);
    results->totals[it->outcome]--;
    results->count--;
    memmove(it, it + 1, (results->count - from) * sizeof(*it));
}

static int run_once(session *s) {
    char line[CHECK_LINE_LIMIT + 1];
    check_child c;
    const size_t before = s->results->count;
    s->is_late = false;
    s->where[0] = s->waits[0] = 0;
    if (!check_child_start(&c, s->options, s->next))
        return cli_fault("cannot start '%s': %s", s->options->program, strerror(errno));
    int got;
    bool is_taken = true;
    while (is_taken && !s->is_done &&
           (got = check_child_read(&c, s->options->time_limit, line)) == 1)
        is_taken = take_line(s, line);
    s->is_late = is_taken && !s->is_done && (got < 0 || s->waits[0]);
    if (c.waits[0]) snprintf(s->waits, sizeof(s->waits), "%s", c.waits);
    if (s->is_late && kill(c.process, SIGALRM) == 0)
        while (check_child_read(&c, ANSWER_SECONDS, line) == 1)
            take_line(s, line);
    const int status = check_child_stop(&c);
    if (!is_taken) return cli_fault("no memory for the results");
    if (s->code != EXIT_DONE) return s->code;
    if (s->has_open) {
        check_result *it = &s->results->items[s->open_index];
        end_lost(s->results, it, s->is_late, status, s->options->time_limit, s->where, s->waits);
        keep_tried(s, it);
        s->has_open = false;
        s->late_count += s->is_late;
        s->is_done = is_all_found(s);
    } else if (!s->is_done && before == s->results->count) {
        return cli_fault("'%s' ended without a word (status %d)", s->options->program, status);
    }
    drop_repeated_load(s->results, before);
    return EXIT_DONE;
}

/* Where so many tests hang, the rest is not waited for. */
static int give_up(session *s) {
    check_result *it = s->next <= s->count ? add_result(s->results) : NULL;
    char why[120];
    if (!it) return EXIT_DONE;
    snprintf(why, sizeof(why), "not tried, nor what follows: %d tests before it did not end",
             LATE_LIMIT);
    it->number = s->next;
    char **const texts[] = {&it->test, &it->op, &it->kernel, &it->combination, &it->text};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        *texts[i] = copy_text(i == 0 ? "time-limit" : "");
    end(s->results, it, CHECK_FAILED, "time-limit", CHECK_OTHER, why);
    return EXIT_DONE;
}

int check_run(const check_options *options, check_results *results) {
    /* without blocks that the C library keeps aside, a leak of the smallest shows at once */
    setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 0);
    setenv("OMP_WAIT_POLICY", "passive",
           0); /* the check runs more threads than there may be cores */
    session s = {.options = options, .results = results, .next = 1};
    for (size_t starts = 0; starts < RESTART_LIMIT && !s.is_done; starts++) {
        const int code = run_once(&s);
        if (code != EXIT_DONE) return code;
        if (s.late_count == LATE_LIMIT) return give_up(&s);
        if (s.count == 0 || s.next > s.count || options->only) break;
    }
    return EXIT_DONE;
}
