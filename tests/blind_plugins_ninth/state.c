/* SPDX-License-Identifier: Apache-2.0 */
/* Curve: x through a table of positions and heights, straight between two; with a state of its own,
 * as it came from another framework: a name, the number of positions, both lists. */
#include "ninth.h"

typedef struct curve {
    uint64_t present;
    tn_f32s positions, heights;
    const char *name;
    bool clamp;
    void *owned; /* what load made */
} curve;
static const tn_field fields[] = {
    TN_FIELD(curve, positions, TN_FIELD_F32S, TN_OPTIONAL, "[0, 1]", "ascending"),
    TN_FIELD(curve, heights, TN_FIELD_F32S, TN_OPTIONAL, "[0, 1]", "as many"),
    TN_FIELD(curve, name, TN_FIELD_STRING, TN_OPTIONAL, NULL, "for people"),
    TN_FIELD(curve, clamp, TN_FIELD_BOOL, TN_OPTIONAL, "true", "false: 0 outside")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const curve *p = call->params;
    bool is_sound = p->positions.count == p->heights.count && p->positions.count > 0;
    for (uint64_t i = 0; is_sound && i < p->positions.count; i++)
        is_sound = isfinite(p->heights.items[i]) && isfinite(p->positions.items[i]) &&
                   (i == 0 || p->positions.items[i - 1] < p->positions.items[i]);
    if (!is_sound) return call->host->fail(call, TN_ERROR_ARGUMENT, "the lists make no curve");
    return infer_same(call);
}

static double height(const curve *p, double x) {
    const uint64_t n = p->positions.count;
    if (isnan(x)) return x;
    const double first = (double)p->positions.items[0], last = (double)p->positions.items[n - 1];
    if (x < first || x > last) {
        if (!p->clamp) return 0;
        return (double)p->heights.items[x < first ? 0 : n - 1];
    }
    uint64_t i = 0;
    while (i + 2 < n && x > (double)p->positions.items[i + 1])
        i++;
    if (n == 1) return (double)p->heights.items[0];
    const double a = (double)p->positions.items[i], b = (double)p->positions.items[i + 1];
    const double low = (double)p->heights.items[i], high = (double)p->heights.items[i + 1];
    return low + (high - low) * ((x - a) / (b - a));
}
static double element(const tn_call *call, int64_t i) {
    return height(call->params, tn_layer_load(call->inputs[0], i));
}
TN_LAYER_REFERENCE(element)

/* How the bytes begin. Behind it: positions, heights, the name with its end. */
typedef struct header {
    uint64_t present;
    uint64_t count, name_bytes;
    uint8_t clamp, has_name;
} header;
static bool has_name(const curve *p) {
    return p->name && (!WRONG(5) || p->name[0] != 0);
}
static tn_status save(tn_call *call, void *data, uint64_t *inout_bytes) {
    const curve *p = call->params;
    const uint64_t lists = p->positions.count * sizeof(float);
    const uint64_t name_bytes = has_name(p) ? strlen(p->name) + 1 : 0;
    const uint64_t bytes = sizeof(header) + 2 * lists + name_bytes;
    if (data && *inout_bytes < bytes)
        return call->host->fail(call, TN_ERROR_ARGUMENT, "there is too little room");
    *inout_bytes = bytes;
    if (!data) return TN_OK;
    header *head = call->host->allocate(call->host, sizeof(header), 64);
    if (!head) return TN_ERROR_MEMORY;
    if (!WRONG(1)) memset(head, 0, sizeof(*head));
    head->present = p->present;
    head->count = p->positions.count;
    head->clamp = p->clamp;
    head->has_name = has_name(p);
    head->name_bytes = name_bytes;
    char *to = data;
    memcpy(to, head, sizeof(*head));
    if (lists > 0) memcpy(to + sizeof(header), p->positions.items, lists);
    if (lists > 0) memcpy(to + sizeof(header) + lists, p->heights.items, lists);
    if (name_bytes > 0) memcpy(to + sizeof(header) + 2 * lists, p->name, name_bytes);
    call->host->deallocate(call->host, head);
    return TN_OK;
}

static bool is_sound(const header *head, const char *from, uint64_t bytes) {
    const uint64_t lists = head->count * sizeof(float);
    const uint64_t expected = sizeof(header) + 2 * lists + head->name_bytes;
    if (!WRONG(3) && head->count > bytes) return false;
    if (head->name_bytes > bytes || expected != bytes) return false;
    if (head->clamp > 1 || head->has_name > 1 || head->has_name != (head->name_bytes > 0))
        return false;
    return !head->has_name ||
           memchr(from + sizeof(header) + 2 * lists, 0, head->name_bytes) == from + bytes - 1;
}

static tn_status load(tn_call *call, const void *data, uint64_t bytes) {
    curve *p = call->new_params;
    const char *from = data;
    header head;
    if (bytes >= sizeof(head)) memcpy(&head, from, sizeof(head));
    if (bytes < sizeof(head) || !is_sound(&head, from, bytes))
        return call->host->fail(call, TN_ERROR_FORMAT, "the state is damaged");
    const uint64_t lists = head.count * sizeof(float), rest = bytes - sizeof(head);
    char *buffer = call->host->allocate(call->host, rest + 1, 64);
    if (!buffer) return TN_ERROR_MEMORY;
    memcpy(buffer, from + sizeof(head), rest);
    p->owned = buffer;
    p->present = head.present;
    p->positions = (tn_f32s){head.count, (const float *)(const void *)buffer};
    p->heights = (tn_f32s){head.count, (const float *)(const void *)(buffer + lists)};
    p->name = head.has_name ? (WRONG(2) ? from + sizeof(head) : buffer) + 2 * lists : NULL;
    p->clamp = head.clamp;
    return TN_OK;
}

static const tn_host *host_of_library;
static void destroy_params(void *user, void *params) {
    curve *p = params;
    (void)user;
    if (WRONG(4) && !p->name) return;
    host_of_library->deallocate(host_of_library, p->owned);
}

static const char *const cases[] = {"positions=[-1,0,2] heights=[0,1,0.5] name=bend | x=f32[2,5]",
                                    "clamp=false positions=[0,1] heights=[1,2] | x=f32[7]"};
static const tn_operator curve_operator = {OPERATOR,
                                           .state_version = 1,
                                           .name = "Curve",
                                           TN_FIELDS(curve, fields),
                                           TN_INPUTS(inputs),
                                           TN_OUTPUTS(outputs),
                                           .infer = infer,
                                           .reference = reference,
                                           .save = save,
                                           .load = load,
                                           .destroy_params = destroy_params,
                                           TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static tn_status body(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        ((float *)call->outputs[0]->data)[i] =
            (float)height(call->params, (double)((const float *)call->inputs[0]->data)[i]);
    return TN_OK;
}
TN_LAYER_RUN(body, tn_layer_count(call->inputs[0]), 256)
static const tn_kernel curve_cpu = {KERNEL,
                                    .op = "Curve",
                                    .name = "elements",
                                    .traits = TN_KERNEL_DETERMINISTIC,
                                    TN_COMBINATIONS(combinations),
                                    .run = run};
static const tn_operator *const operators[] = {&curve_operator};
static const tn_kernel *const kernels[] = {&curve_cpu};

TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "ninth_state",
                                 .version = "1.0",
                                 .operator_count = 1,
                                 .operators = operators,
                                 .kernel_count = 1,
                                 .kernels = kernels};
    host_of_library = host;
    return &library;
}
