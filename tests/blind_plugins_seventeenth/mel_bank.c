/* SPDX-License-Identifier: Apache-2.0 */
/* Triangular filters at equal distances on a mel scale, applied to the bins of spectra. Plans keep
 * the filters. State version 1 had `htk`, true unless given, in place of `scale`, and its `high`
 * was 4000 unless given. */
#include "seventeenth.h"

TN_LAYER_PARAMS(params, int64_t mels; float rate, low, high; uint32_t scale;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, mels, "8", 1, 512, "filters"),
    TN_LAYER_F32(params, rate, "16000", 1, 1e6, "samples a second; the last bin is half of it"),
    TN_LAYER_F32(params, low, "0", 0, 1e6, "where the first filter begins, in hertz"),
    TN_LAYER_F32(params, high, "0", 0, 1e6, "where the last one ends; 0: half of the rate"),
    TN_FIELD_CHOICE(params, scale, TN_FIELD_ENUM, TN_OPTIONAL, "slaney", "htk|slaney", "of mels"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "frames, bins")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "frames, mels")};
enum { HTK, SLANEY };

static double high_of(const params *p) {
    return p->high > 0 ? (double)p->high : (double)p->rate / 2;
}

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_SOME)) return TN_ERROR_SHAPE;
    if (!((double)p->low < high_of(p) && high_of(p) <= (double)p->rate / 2))
        return call->host->fail(call, TN_ERROR_RANGE, "filters from %g to %g Hz at %g a second",
                                (double)p->low, high_of(p), (double)p->rate);
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[0]->shape[0], p->mels);
}

static tn_status upgrade(tn_call *call, uint32_t from) {
    params *p = call->new_params;
    bool has_high = false, is_htk = true;
    for (uint64_t i = 0; i < call->saved_count; i++) {
        const tn_attribute *a = call->saved[i];
        if (strcmp(a->name, "htk") == 0) is_htk = a->i != 0;
        if (strcmp(a->name, "high") == 0) has_high = true;
    }
    if (from != 1)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "there is no state version %u", from);
    if (!has_high && !WRONG(4)) p->high = 4000;
    p->scale = WRONG(5) ? (uint32_t)is_htk : is_htk ? HTK : SLANEY;
    return TN_OK;
}

static double to_mel(const params *p, double hertz) {
    if (p->scale == HTK) return 2595 * log10(1 + hertz / 700);
    return hertz < 1000 ? hertz * 3 / 200 : 15 + 27 * log(hertz / 1000) / log(6.4);
}
static double to_hertz(const params *p, double mel) {
    if (p->scale == HTK) return 700 * (pow(10, mel / 2595) - 1);
    return mel < 15 ? mel * 200 / 3 : 1000 * exp(log(6.4) * (mel - 15) / 27);
}

/* Where filter m begins, has its peak, and ends. */
static void corners(const params *p, int64_t m, double *out) {
    const double low = to_mel(p, (double)p->low), high = to_mel(p, high_of(p));
    for (int64_t i = 0; i < 3; i++)
        out[i] = to_hertz(p, low + (high - low) * (double)(m + i) / (double)(p->mels + 1));
}
static double weight(const params *p, const double *corner, int64_t bin, int64_t bins) {
    const double hertz = bins > 1 ? (double)p->rate / 2 * (double)bin / (double)(bins - 1) : 0;
    if (hertz <= corner[0] || hertz >= corner[2]) return 0;
    return hertz < corner[1] ? (hertz - corner[0]) / (corner[1] - corner[0])
                             : (corner[2] - hertz) / (corner[2] - corner[1]);
}

static double filtered(const params *p, const float *x, int64_t m, int64_t bins) {
    double corner[3], sum = 0;
    corners(p, m, corner);
    for (int64_t bin = 0; bin < bins; bin++) {
        const double w = weight(p, corner, bin, bins);
        if (w != 0) sum += w * (double)x[bin];
    }
    return sum;
}
static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    const int64_t bins = call->inputs[0]->shape[1];
    return filtered(p, (const float *)call->inputs[0]->data + i / p->mels * bins, i % p->mels,
                    bins);
}
TN_LAYER_REFERENCE(element)

/* Behind it lie, for each filter, its first bin and how many it has, then all weights. */
typedef struct bank {
    int64_t bins, mels, total;
    uint64_t check;
} bank;
static int64_t *ranges_of(const bank *b) {
    return (int64_t *)(uintptr_t)(b + 1);
}
static double *weights_of(const bank *b) {
    return (double *)(void *)(ranges_of(b) + 2 * b->mels);
}
static uint64_t bytes_of(int64_t mels, int64_t total) {
    return sizeof(bank) + (uint64_t)mels * 16 + (uint64_t)total * 8;
}
static uint64_t check_of(const bank *b) {
    uint64_t check = 14695981039346656037u ^ (uint64_t)(b->bins + b->mels * 7 + b->total * 31);
    const unsigned char *bytes = (const unsigned char *)ranges_of(b);
    for (uint64_t i = 0; i < bytes_of(b->mels, b->total) - sizeof(*b); i++)
        check = (check ^ bytes[i]) * 1099511628211u;
    return check;
}

/* The bins that filter m has: `out` is its first one and their number. */
static void range_of(const params *p, int64_t m, int64_t bins, int64_t *out) {
    double corner[3];
    corners(p, m, corner);
    out[0] = out[1] = 0;
    for (int64_t bin = 0; bin < bins; bin++)
        if (weight(p, corner, bin, bins) != 0) {
            if (out[1] == 0) out[0] = bin;
            out[1] = bin + 1 - out[0];
        }
}

static tn_status prepare(tn_call *call) {
    const params *p = call->params;
    const int64_t bins = call->inputs[0]->shape[1];
    int64_t total = 0, range[2];
    for (int64_t m = 0; m < p->mels; m++, total += range[1])
        range_of(p, m, bins, range);
    bank *made = call->host->allocate(call->host, bytes_of(p->mels, total), 64);
    if (!made) return TN_ERROR_MEMORY;
    *made = (bank){bins, p->mels, total, 0};
    double *to = weights_of(made);
    for (int64_t m = 0; m < p->mels; m++) {
        double corner[3];
        corners(p, m, corner);
        range_of(p, m, bins, ranges_of(made) + 2 * m);
        for (int64_t i = 0; i < ranges_of(made)[2 * m + 1]; i++)
            *to++ = weight(p, corner, ranges_of(made)[2 * m] + i, bins);
    }
    made->check = check_of(made);
    call->state = made;
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}

static tn_status save(tn_call *call, void *data, uint64_t *inout_bytes) {
    const bank *b = call->state;
    const uint64_t bytes = bytes_of(b->mels, b->total);
    /* Weights were 32-bit floats once. */
    const uint64_t said = WRONG(3) ? bytes - (uint64_t)b->total * 4 : bytes;
    if (data && *inout_bytes < said)
        return call->host->fail(call, TN_ERROR_ARGUMENT, "no room for the filters");
    if (data) memcpy(data, b, bytes);
    *inout_bytes = said;
    return TN_OK;
}

/* Whether what was read is a bank of this node. */
static bool is_sound(const tn_call *call, const bank *b, uint64_t bytes) {
    const params *p = call->params;
    if (b->mels != p->mels || b->bins < 1 || b->total < 0 || b->total > (int64_t)(bytes / 8) ||
        bytes_of(b->mels, b->total) != bytes)
        return false;
    int64_t total = 0;
    for (int64_t m = 0; m < b->mels && !WRONG(1); m++) {
        const int64_t *range = ranges_of(b) + 2 * m;
        if (range[0] < 0 || range[1] < 0 || range[0] > b->bins || range[1] > b->bins - range[0])
            return false;
        total += range[1];
    }
    return WRONG(1) || (total == b->total && b->check == check_of(b));
}

static tn_status load(tn_call *call, const void *data, uint64_t bytes) {
    if (bytes < sizeof(bank))
        return call->host->fail(call, TN_ERROR_FORMAT, "the filters are cut off");
    bank *made = call->host->allocate(call->host, bytes, 64);
    if (!made) return TN_ERROR_MEMORY;
    memcpy(made, data, bytes);
    if (!is_sound(call, made, bytes)) {
        if (!WRONG(2)) call->host->deallocate(call->host, made);
        return call->host->fail(call, TN_ERROR_FORMAT, "the filters are damaged");
    }
    call->state = made;
    return TN_OK;
}

static tn_status frames(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const params *p = call->params;
    const bank *b = call->state;
    const int64_t bins = call->inputs[0]->shape[1];
    (void)thread;
    for (int64_t f = begin; f < end; f++) {
        const float *x = (const float *)call->inputs[0]->data + f * bins;
        float *y = (float *)call->outputs[0]->data + f * p->mels;
        const double *w = weights_of(b);
        for (int64_t m = 0; m < p->mels; m++) {
            const int64_t *range = ranges_of(b) + 2 * m;
            double sum = 0;
            if (bins == b->bins)
                for (int64_t i = 0; i < range[1]; i++)
                    sum += *w++ * (double)x[range[0] + i];
            y[m] = (float)(bins == b->bins ? sum : filtered(p, x, m, bins));
        }
    }
    return TN_OK;
}
TN_LAYER_RUN(frames, call->inputs[0]->shape[0], 4)

static const char *const cases[] = {
    "| x=f32[5,33]",
    "mels=5 scale=htk rate=8000 low=100 high=3800 | x=f32[3,65]",
    "mels=3 high=4000 | x=f32[2,17]",
};
static const tn_operator mel_bank = {.size = sizeof(tn_operator),
                                     .since_version = 1,
                                     .state_version = 2,
                                     .domain = "Seventeenth",
                                     .name = "MelBank",
                                     TN_FIELDS(params, fields),
                                     TN_INPUTS(inputs),
                                     TN_OUTPUTS(outputs),
                                     .infer = infer,
                                     .reference = reference,
                                     .upgrade = upgrade,
                                     TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "MelBank",
                                 .device = "cpu",
                                 .name = "filters",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .prepare = prepare,
                                 .release = release,
                                 .run = run,
                                 .save = save,
                                 .load = load};
LIBRARY("mel_bank", mel_bank, kernel)
