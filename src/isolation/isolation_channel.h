/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a context and the process that runs its plugins' kernels say to each other: one page of
 * shared memory with a request and its answer, waited for by futex after a short spin, and a socket
 * over which buffers come as file descriptors and by whose end the process knows that nobody needs
 * it. The asking side is isolation.c, the answering one isolation_serve.c.
 */
#ifndef TN_ISOLATION_ISOLATION_CHANNEL_H
#define TN_ISOLATION_ISOLATION_CHANNEL_H

#include "base/memory.h"

#include <stdatomic.h>
#include <tenon/plugin.h>

/* Both sides are of one build; a helper of another one is refused by this number. */
#define TN_ISOLATION_VERSION      2u
#define TN_ISOLATION_PAYLOAD      ((size_t)8 << 20)
#define TN_ISOLATION_MESSAGE      2048
#define TN_ISOLATION_SPIN_NS      50000u
#define TN_ISOLATION_GLANCE_NS    1000u
#define TN_ISOLATION_NO_STEP      UINT32_MAX
#define TN_ISOLATION_BUFFER_LIMIT 65536u

/* Requests, each about `argument`. */
enum {
    TN_ISOLATION_START =
        1,            /* payload: tn_isolation_start and texts; answers the program's digest */
    TN_ISOLATION_MAP, /* a buffer, by the descriptor that comes over the socket; value: bytes */
    TN_ISOLATION_UNMAP,
    TN_ISOLATION_DEFINE,  /* a call: tn_isolation_call and its tensors */
    TN_ISOLATION_RESHAPE, /* a call; answers the workspace's bytes */
    TN_ISOLATION_RUN,     /* a call; answers the outputs' shapes where the run decides them */
    TN_ISOLATION_FORGET,  /* a call */
    TN_ISOLATION_STOP
};

/* What the helper is about. */
enum {
    TN_ISOLATION_IDLE = 0,
    TN_ISOLATION_IN_LOAD,
    TN_ISOLATION_IN_PREPARE,
    TN_ISOLATION_IN_OPEN,
    TN_ISOLATION_IN_RESHAPE,
    TN_ISOLATION_IN_RUN,
    TN_ISOLATION_IN_CLOSE,
    TN_ISOLATION_IN_RELEASE,
    TN_ISOLATION_STAGE_COUNT
};

enum { TN_ISOLATION_NO_ENVIRONMENT = 1u, TN_ISOLATION_CHECKED = 2u, TN_ISOLATION_ANY_NUMBER = 4u };
typedef struct tn_isolation_start {
    uint32_t threads, flags;
    uint32_t library_count;
    uint32_t dump_bytes; /* of the folder's name, 0 included; 0: none */
    uint32_t profile;    /* of the plan's, whose kernels these are */
} tn_isolation_start; /* then the device's name, the folder's, and of each library hash and path */

enum { TN_ISOLATION_NULL = 0, TN_ISOLATION_BUFFER, TN_ISOLATION_CONSTANT, TN_ISOLATION_NOTHING };
typedef struct tn_isolation_address {
    uint32_t kind;
    uint32_t index; /* BUFFER: its number; CONSTANT: the graph's tensor */
    uint64_t offset;
} tn_isolation_address;

/* Whose scale a tensor has. */
enum { TN_ISOLATION_NO_SCALE = 0, TN_ISOLATION_VALUE_SCALE, TN_ISOLATION_TENSOR_SCALE };
typedef struct tn_isolation_tensor {
    uint32_t is_given, value, type, format, rank, scale;
    int64_t shape[TN_MAX_RANK];
    tn_isolation_address address;
} tn_isolation_tensor;

typedef struct tn_isolation_call {
    uint32_t step;
    uint32_t tensor_count; /* inputs, operands and outputs follow, in this order */
    uint64_t workspace_bytes;
    tn_isolation_address workspace;
} tn_isolation_call;

typedef struct tn_isolation_page {
    uint32_t version;
    /* numbers of the last request and of the last one answered, and who sleeps until they change */
    _Atomic uint32_t asked, answered, helper_sleeps, asker_sleeps;
    _Atomic uint32_t progress; /* changes with each callback that is entered */
    _Atomic uint32_t stage, step;
    uint32_t request, argument;
    int32_t status; /* of the answer */
    int32_t failed; /* what host->fail recorded, and its text */
    uint64_t value;
    char message[TN_ISOLATION_MESSAGE];
    _Alignas(64) unsigned char payload[TN_ISOLATION_PAYLOAD];
} tn_isolation_page;

/* Anonymous shared memory: a descriptor (closed on exec) and its mapping. TN_ERROR_MEMORY. */
tn_status tn_isolation_share(size_t bytes, int *out_descriptor, void **out_memory);
/* A descriptor over the socket; false: the other side is gone. */
bool tn_isolation_send(int socket, int descriptor);
bool tn_isolation_receive(int socket, int *out_descriptor);

/* How long one side looks before it sleeps: long while that pays, briefly (and now and then long
 * again) while the other side does not come to run in that time. */
typedef struct tn_isolation_patience {
    bool is_alone; /* one processor: looking would keep the other side from it */
    uint32_t in_vain, polls;
} tn_isolation_patience;

/* Puts a request, or an answer, and wakes the other side. */
void tn_isolation_ask(tn_isolation_page *page);
void tn_isolation_answer(tn_isolation_page *page);
/* Waits until the last request is answered: false after `ns` without an answer. */
bool tn_isolation_await_answer(tn_isolation_page *page, tn_isolation_patience *patience,
                               uint64_t ns); /* patience may be null: then it sleeps at once */
/* Waits for a request. */
void tn_isolation_await_request(tn_isolation_page *page, tn_isolation_patience *patience);

#endif
