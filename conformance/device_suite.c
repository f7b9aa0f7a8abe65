/* SPDX-License-Identifier: Apache-2.0 */
/* A device's table against the host: memory and streams, and every conversion. See device_suite.h.
 */
#include "device_suite.h"
#include "tensor/convert.h"

#include <tenon/plugin/device.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct check {
    const tn_device *device;
    void *stream;
    size_t *passed, *failed, missing; /* conversions that are not there */
} check;

static void verdict(const check *c, bool is_passed, const char *what) {
    *c->passed += is_passed;
    *c->failed += !is_passed;
    if (!is_passed)
        printf("FAIL %s %s: %s; last error: %s\n", c->device->kind, c->device->name, what,
               c->device->last_error(c->device));
}

/* ----------------------------------------------------------------------------------------------
 * memory, streams, events, graphs */

enum { BYTES = 1 << 20 };

static bool all_are(const unsigned char *bytes, size_t count, unsigned char value) {
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != value) return false;
    return true;
}

static void check_memory(const check *c) {
    const tn_device *d = c->device;
    void *a = NULL, *b = NULL, *pinned = NULL;
    unsigned char *host = malloc(BYTES);
    bool is_fine = host && d->allocate(d, BYTES, c->stream, &a) == TN_OK &&
                   d->allocate(d, BYTES, c->stream, &b) == TN_OK;
    verdict(c, is_fine, "memory is allocated");
    verdict(c, is_fine && (uintptr_t)a % d->alignment == 0 && (uintptr_t)b % d->alignment == 0,
            "memory is aligned");
    if (d->host_allocate)
        verdict(c,
                is_fine && d->host_allocate(d, BYTES, &pinned) == TN_OK && pinned &&
                    (uintptr_t)pinned % 4096 == 0,
                "pinned memory is allocated and aligned");
    else
        pinned = malloc(BYTES);
    is_fine = is_fine && pinned && d->fill(d, a, 0x5A, BYTES, c->stream) == TN_OK &&
              d->copy(d, b, a, BYTES, TN_COPY_ON_DEVICE, c->stream) == TN_OK &&
              d->copy(d, pinned, b, BYTES, TN_COPY_TO_HOST, c->stream) == TN_OK &&
              d->stream_wait(d, c->stream) == TN_OK;
    verdict(c, is_fine && all_are(pinned, BYTES, 0x5A), "filled memory comes back by copies");
    if (is_fine) memset(host, 0x33, BYTES);
    is_fine = is_fine && d->copy(d, a, host, BYTES, TN_COPY_TO_DEVICE, c->stream) == TN_OK &&
              d->copy(d, pinned, a, BYTES, TN_COPY_TO_HOST, c->stream) == TN_OK &&
              d->stream_wait(d, c->stream) == TN_OK;
    verdict(c, is_fine && all_are(pinned, BYTES, 0x33), "copied memory comes back");
    void *huge = NULL;
    const tn_status status = d->allocate(d, UINT64_C(1) << 60, c->stream, &huge);
    verdict(c, status == TN_ERROR_MEMORY && !huge, "too much memory is refused");
    d->deallocate(d, a, c->stream);
    d->deallocate(d, b, c->stream);
    if (d->host_deallocate)
        d->host_deallocate(d, pinned);
    else
        free(pinned);
    free(host);
}

static void check_events(const check *c) {
    const tn_device *d = c->device;
    void *from = NULL, *to = NULL, *other = NULL, *memory = NULL;
    double ns = -1;
    const bool is_fine =
        d->event_create(d, &from) == TN_OK && d->event_create(d, &to) == TN_OK &&
        d->stream_create(d, &other) == TN_OK &&
        d->allocate(d, BYTES, c->stream, &memory) == TN_OK &&
        d->event_record(d, from, c->stream) == TN_OK &&
        d->fill(d, memory, 0, BYTES, c->stream) == TN_OK &&
        d->event_record(d, to, c->stream) == TN_OK && d->event_wait(d, to, other) == TN_OK &&
        d->event_elapsed(d, from, to, &ns) == TN_OK && d->stream_wait(d, other) == TN_OK;
    verdict(c, is_fine && ns >= 0 && ns < 1e9, "events measure time between them");
    d->deallocate(d, memory, c->stream);
    d->stream_destroy(d, other);
    d->event_destroy(d, from);
    d->event_destroy(d, to);
}

static void check_graphs(const check *c) {
    const tn_device *d = c->device;
    void *graph = NULL, *memory = NULL;
    unsigned char host[256] = {0};
    if (!d->capture_begin) return;
    bool is_fine = d->allocate(d, sizeof(host), c->stream, &memory) == TN_OK &&
                   d->fill(d, memory, 1, sizeof(host), c->stream) == TN_OK &&
                   d->capture_begin(d, c->stream) == TN_OK &&
                   d->fill(d, memory, 7, sizeof(host), c->stream) == TN_OK &&
                   d->capture_end(d, c->stream, &graph) == TN_OK &&
                   d->copy(d, host, memory, sizeof(host), TN_COPY_TO_HOST, c->stream) == TN_OK &&
                   d->stream_wait(d, c->stream) == TN_OK;
    verdict(c, is_fine && all_are(host, sizeof(host), 1), "a capture runs nothing");
    is_fine = is_fine && d->graph_launch(d, graph, c->stream) == TN_OK &&
              d->copy(d, host, memory, sizeof(host), TN_COPY_TO_HOST, c->stream) == TN_OK &&
              d->stream_wait(d, c->stream) == TN_OK;
    verdict(c, is_fine && all_are(host, sizeof(host), 7), "a graph does what was captured");
    d->graph_destroy(d, graph);
    d->deallocate(d, memory, c->stream);
}

/* ----------------------------------------------------------------------------------------------
 * conversions */

typedef struct stored {
    tn_tensor_storage storage;
    tn_quantization quantization;
    float scale;
} stored;

static const tn_type types[] = {TN_F32, TN_F16, TN_BF16, TN_I64, TN_I8, TN_I8, TN_U8};
static const float scales[] = {0, 0, 0, 0, 0, 0.03125f, 0.0625f};
static const tn_format formats[] = {TN_LINEAR, TN_NHWC, TN_C2,  TN_C4,
                                    TN_C8,     TN_C16,  TN_C32, TN_C64};
enum { TYPE_COUNT = 7, FORMAT_COUNT = 8 };

static bool describe(stored *s, size_t type, tn_format format, const tn_shape *shape) {
    if (!tn_format_fits(format, shape->rank) ||
        tn_tensor_init(&s->storage, types[type], format, shape) != TN_OK)
        return false;
    s->scale = scales[type];
    s->quantization = (tn_quantization){
        .size = sizeof(s->quantization), .scale_type = TN_F32, .count = 1, .scales = &s->scale};
    if (s->scale != 0) s->storage.tensor.quantization = &s->quantization;
    return true;
}

/* Numbers that all types hold, or round. */
static tn_status draw(const tn_shape *shape, size_t type, tn_tensor *to) {
    tn_tensor_storage linear;
    size_t count = 0;
    (void)type;
    tn_status status = tn_shape_count(shape, &count);
    if (status == TN_OK) status = tn_tensor_init(&linear, TN_F32, TN_LINEAR, shape);
    float *values = malloc((count + 1) * sizeof(*values));
    if (!values) return TN_ERROR_MEMORY;
    uint64_t random = 88172645463325252u;
    for (size_t i = 0; i < count; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        values[i] = (float)((double)(random >> 40) / (1 << 24) * 9 - 4.5);
    }
    linear.tensor.data = values;
    if (status == TN_OK)
        status = tn_convert(&linear.tensor, to, 0, tn_convert_items(&linear.tensor, to));
    free(values);
    return status;
}

/* Bits, or one step of an 8-bit number where a tie went the other way. */
static bool is_same(const tn_tensor *wanted, const tn_tensor *found) {
    if (memcmp(wanted->data, found->data, wanted->bytes) == 0) return true;
    if (wanted->type == TN_I8 || wanted->type == TN_U8) {
        const int8_t *a = wanted->data, *b = found->data;
        for (size_t i = 0; i < wanted->bytes; i++)
            if (abs((int8_t)(a[i] - b[i])) > 1) return false;
        return true;
    }
    return false;
}

/* The two of them, host and device; false: not between these two. */
static bool convert_both(const check *c, const tn_tensor *from, tn_tensor *to, tn_tensor *found) {
    const tn_device *d = c->device;
    void *a = NULL, *b = NULL;
    tn_tensor on_a = *from, on_b = *to;
    bool is_fine = d->allocate(d, from->bytes, c->stream, &a) == TN_OK &&
                   d->allocate(d, to->bytes, c->stream, &b) == TN_OK &&
                   d->copy(d, a, from->data, from->bytes, TN_COPY_TO_DEVICE, c->stream) == TN_OK &&
                   d->fill(d, b, 0xA5, to->bytes, c->stream) == TN_OK;
    on_a.data = a;
    on_b.data = b;
    const tn_status status = is_fine ? d->convert(d, &on_a, &on_b, c->stream) : TN_ERROR_DEVICE;
    is_fine = is_fine && status == TN_OK &&
              d->copy(d, found->data, b, to->bytes, TN_COPY_TO_HOST, c->stream) == TN_OK &&
              d->stream_wait(d, c->stream) == TN_OK;
    d->deallocate(d, a, c->stream);
    d->deallocate(d, b, c->stream);
    if (status == TN_ERROR_UNSUPPORTED) return false;
    char what[300], shape[128];
    is_fine = is_fine && tn_convert(from, to, 0, tn_convert_items(from, to)) == TN_OK;
    snprintf(what, sizeof(what), "conversion of %s from %s:%s to %s:%s",
             tn_shape_print(from->rank, from->shape, shape, sizeof(shape)),
             tn_type_name(from->type), tn_format_name(from->format), tn_type_name(to->type),
             tn_format_name(to->format));
    verdict(c, is_fine && is_same(to, found), what);
    return true;
}

static void check_pair(check *c, const tn_shape *shape, const size_t *type,
                       const tn_format *format) {
    stored from, to, found;
    char *memory[3] = {NULL, NULL, NULL};
    if (!describe(&from, type[0], format[0], shape) || !describe(&to, type[1], format[1], shape) ||
        !describe(&found, type[1], format[1], shape))
        return;
    stored *all[3] = {&from, &to, &found};
    bool is_fine = true;
    for (int i = 0; i < 3; i++) {
        memory[i] = aligned_alloc(64, (all[i]->storage.tensor.bytes + 64) / 64 * 64);
        all[i]->storage.tensor.data = memory[i];
        is_fine = is_fine && memory[i];
        if (memory[i]) memset(memory[i], 0, all[i]->storage.tensor.bytes);
    }
    is_fine = is_fine && draw(shape, type[0], &from.storage.tensor) == TN_OK;
    if (!is_fine)
        verdict(c, false, "no memory for a conversion");
    else
        c->missing +=
            !convert_both(c, &from.storage.tensor, &to.storage.tensor, &found.storage.tensor);
    for (int i = 0; i < 3; i++)
        free(memory[i]);
}

static void check_conversions(check *c) {
    static const tn_shape shapes[] = {{4, {1, 3, 5, 7}}, {4, {2, 32, 17, 15}}, {4, {2, 33, 1, 65}},
                                      {3, {2, 40, 40}},  {2, {3, 17}},         {1, {19}},
                                      {0, {0}},          {4, {2, 0, 3, 3}}};
    for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
        for (size_t t = 0; t < (size_t)TYPE_COUNT * TYPE_COUNT; t++)
            for (size_t f = 0; f < (size_t)FORMAT_COUNT * FORMAT_COUNT; f++) {
                const size_t type[2] = {t / TYPE_COUNT, t % TYPE_COUNT};
                const tn_format format[2] = {formats[f / FORMAT_COUNT], formats[f % FORMAT_COUNT]};
                check_pair(c, &shapes[s], type, format);
            }
    printf("%zu conversions are left to the host\n", c->missing);
}

void tn_device_suite(const tn_device *device, size_t *inout_passed, size_t *inout_failed) {
    check c = {.device = device, .passed = inout_passed, .failed = inout_failed};
    if (device->stream_create(device, &c.stream) != TN_OK) {
        verdict(&c, false, "a stream is made");
        return;
    }
    check_memory(&c);
    check_events(&c);
    check_graphs(&c);
    if (device->convert) check_conversions(&c);
    device->stream_destroy(device, c.stream);
}
