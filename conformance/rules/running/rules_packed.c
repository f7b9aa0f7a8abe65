/* SPDX-License-Identifier: Apache-2.0 */
/* The rule packed: what a kernel packed of constants comes back from a plan that anybody may have
 * damaged; see rules.h. */
#include "base/status.h"
#include "rules/variants.h"

#include <string.h>

enum { MOST_BLOBS = 16, MOST_DAMAGED = 8 };
enum { POISON = 0xA5 }; /* no number that damaged ones lead to: all ones are a NaN that spreads */

/* What one prepare packed, in pages of its own that end with it. */
typedef struct packed_copies {
    tn_guarded copies[MOST_BLOBS];
    tn_constant_note notes[MOST_BLOBS];
    tn_packed_blob blobs[MOST_BLOBS];
    char keys[MOST_BLOBS][128];
    uint32_t count;
} packed_copies;

static tn_status keep(void *user, const tn_weight_key *key, const void *data) {
    packed_copies *kept = user;
    const uint32_t i = kept->count;
    if (i == MOST_BLOBS || key->bytes == 0 || strlen(key->key) >= sizeof(kept->keys[i]))
        return TN_OK;
    const size_t bytes = (size_t)key->bytes;
    TN_TRY(tn_guarded_create(&kept->copies[i], TN_GUARDED_STATE, 0, bytes, true, 0x7F));
    memcpy(kept->copies[i].data, data, bytes);
    strcpy(kept->keys[i], key->key);
    kept->notes[i] = (tn_constant_note){.kind = "packed weights",
                                        .name = "",
                                        .data = kept->copies[i].data,
                                        .bytes = bytes,
                                        .is_verified = true};
    kept->blobs[i] = (tn_packed_blob){.content = key->content,
                                      .packer = key->packer,
                                      .key = kept->keys[i],
                                      .note = &kept->notes[i]};
    kept->count++;
    return TN_OK;
}

static void destroy(packed_copies *kept) {
    for (uint32_t i = 0; i < kept->count; i++)
        tn_guarded_destroy(&kept->copies[i]);
}

/* Prepares and runs with what was kept; it may be read, not written. */
static tn_status run(tn_probe *probe, packed_copies *kept, tn_outcome *out) {
    tn_probe_life life;
    tn_packed_store *store = NULL;
    TN_TRY(tn_packed_store_create(probe->allocator, &store));
    tn_packed_store_lend(store, kept->count, kept->blobs);
    for (uint32_t i = 0; i < kept->count; i++)
        tn_guarded_protect(&kept->copies[i], TN_GUARDED_READ);
    tn_packed_store *before = probe->packed;
    probe->packed = store;
    tn_status status = tn_probe_prepare(&life, probe);
    if (status == TN_OK) {
        status = tn_probe_run_life(&life, true, false, POISON, out);
        tn_probe_release(&life);
    }
    probe->packed = before;
    for (uint32_t i = 0; i < kept->count; i++)
        tn_guarded_protect(&kept->copies[i], TN_GUARDED_WRITE);
    tn_packed_store_destroy(store);
    return status;
}

/* Damaged numbers give other results, and nothing worse. */
static void damage(tn_probe *probe, packed_copies *kept, uint32_t blob, int how,
                   tn_verdict *verdict) {
    static const unsigned char fills[] = {0xFF, 0x7F, 0x00, 0x80};
    unsigned char *data = (unsigned char *)kept->copies[blob].data;
    const size_t bytes = kept->copies[blob].bytes;
    const size_t at = (size_t)how * (bytes / MOST_DAMAGED);
    tn_outcome found = {0};
    if (how < (int)sizeof(fills))
        memset(data, fills[how], bytes);
    else
        for (size_t i = at; i < bytes && i < at + 8; i++)
            data[i] = (unsigned char)(data[i] ^ (i % 2 ? 0x80 : 0x7F));
    const tn_status status = run(probe, kept, &found);
    if (status != TN_OK && probe->rule[0])
        tn_verdict_error(verdict, probe, "with damaged packed weights");
    tn_outcome_free(&found);
}

static void check_damaged(tn_probe *probe, packed_copies *kept, const packed_copies *sound,
                          tn_verdict *verdict) {
    for (uint32_t blob = 0; blob < kept->count; blob++) {
        for (int how = 0; how < MOST_DAMAGED && verdict->outcome == TN_PASSED; how++) {
            damage(probe, kept, blob, how, verdict);
            memcpy(kept->copies[blob].data, sound->copies[blob].data, kept->copies[blob].bytes);
        }
    }
}

/* Twice what the kernel packs, and what it computes with it. */
static bool pack(tn_probe *probe, packed_copies *kept, packed_copies *sound, tn_outcome *expected,
                 tn_verdict *verdict) {
    tn_probe_life life;
    if (tn_probe_prepare(&life, probe) != TN_OK) {
        tn_verdict_error(verdict, probe, "prepare");
        return false;
    }
    if (!life.packed || tn_packed_store_visit(life.packed, 0, keep, kept) != TN_OK ||
        tn_packed_store_visit(life.packed, 0, keep, sound) != TN_OK)
        tn_verdict_skip(verdict, "no memory for what is packed");
    else if (kept->count > 0 && tn_probe_run_life(&life, true, false, 0xFF, expected) != TN_OK)
        tn_verdict_error(verdict, probe, "before what is packed is damaged");
    tn_probe_release(&life);
    return verdict->outcome == TN_PASSED && kept->count > 0 && kept->count == sound->count;
}

static void check_packed(const tn_test *test, const tn_change *change, tn_verdict *verdict) {
    tn_subject subject;
    packed_copies kept = {.count = 0}, sound = {.count = 0};
    tn_outcome expected = {0}, found = {0};
    char why[300];
    if (!tn_test_subject(test, change, &subject, verdict)) return;
    if (pack(&subject.probe, &kept, &sound, &expected, verdict)) {
        if (run(&subject.probe, &kept, &found) != TN_OK)
            tn_verdict_error(verdict, &subject.probe, "with packed weights of a plan");
        else if (!tn_results_equal(&expected, &found, true, why, sizeof(why)))
            tn_verdict_fail(verdict, "with packed weights of a plan: %s", why);
        else
            check_damaged(&subject.probe, &kept, &sound, verdict);
    }
    destroy(&kept);
    destroy(&sound);
    tn_outcome_free(&expected);
    tn_outcome_free(&found);
    tn_subject_destroy(&subject);
}

void tn_rule_packed(const tn_test *test, tn_verdict *verdict) {
    if (test->kernel && test->kernel->prepare) tn_claim_check(test, check_packed, verdict);
}
