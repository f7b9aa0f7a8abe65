/* SPDX-License-Identifier: Apache-2.0 */
/* The helper process; see isolation_process.h. */
#include "isolation/isolation_process.h"
#include "base/child_process.h"
#include "base/status.h"
#include "isolation/isolation_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The three descriptors, out of the way of those that the helper gets. */
typedef struct descriptors {
    int items[3];
} descriptors;

static void close_all(const descriptors *all) {
    for (int i = 0; i < 3; i++)
        if (all->items[i] >= 0) close(all->items[i]);
}

static tn_status spawn(const char *program, const descriptors *all, pid_t *out_id) {
    char *const arguments[] = {(char *)(uintptr_t)program, (char *)(uintptr_t) "serve", NULL};
    const tn_child_descriptor its_own[] = {{all->items[0], TN_ISOLATION_SOCKET},
                                           {all->items[1], TN_ISOLATION_PAGE},
                                           {all->items[2], TN_ISOLATION_PLAN}};
    const tn_child_start start = {
        .arguments = arguments, .descriptors = its_own, .descriptor_count = 3};
    const int failed = tn_child_process_start(&start, out_id);
    return failed ? tn_fail(TN_ERROR_IO, "the helper %s cannot be started: %s", program,
                            strerror(failed))
                  : TN_OK;
}

tn_status tn_isolation_process_start(const char *program, int page, int plan,
                                     tn_isolation_process *out_process) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        return tn_fail(TN_ERROR_IO, "no socket for a helper process: %s", strerror(errno));
    const descriptors all = {{fcntl(sockets[1], F_DUPFD_CLOEXEC, 16),
                              fcntl(page, F_DUPFD_CLOEXEC, 16), fcntl(plan, F_DUPFD_CLOEXEC, 16)}};
    pid_t id = 0;
    const bool are_there = all.items[0] >= 0 && all.items[1] >= 0 && all.items[2] >= 0;
    const tn_status status = are_there
                                 ? spawn(program, &all, &id)
                                 : tn_fail(TN_ERROR_IO, "no file descriptors for a helper process");
    close_all(&all);
    close(sockets[1]);
    if (status != TN_OK) {
        close(sockets[0]);
        return status;
    }
    *out_process = (tn_isolation_process){.id = id, .socket = sockets[0], .how = -1};
    return TN_OK;
}

bool tn_isolation_process_is_over(tn_isolation_process *process) {
    if (process->id == 0 || process->is_over) return true;
    process->is_over = tn_child_process_has_ended(process->id, &process->how);
    return process->is_over;
}

void tn_isolation_process_end(tn_isolation_process *process) {
    if (process->id == 0) return;
    if (!tn_isolation_process_is_over(process)) {
        tn_child_process_end(process->id, false);
        process->is_over = true;
    }
    close(process->socket);
    process->id = 0;
}
