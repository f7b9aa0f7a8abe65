/* SPDX-License-Identifier: Apache-2.0 */
/* RegexFullMatch: which strings a regular expression matches as a whole. */
#include "strings/regex.h"

typedef struct match_params {
    uint64_t present;
    const char *pattern;
} match_params;

enum { GRAIN = 64 };

static tn_status compile(tn_call *call, tn_regex *out_regex) {
    const match_params *params = call->params;
    TN_TRY(tn_regex_parse(call, params->pattern ? params->pattern : "", out_regex));
    return tn_regex_compile(call, out_regex);
}

static tn_status match_infer(tn_call *call) {
    tn_regex regex;
    tn_status status = compile(call, &regex);
    tn_regex_deinit(call, &regex);
    return status == TN_OK ? tn_infer_copy_shape(call, 0, 0) : status;
}

typedef struct match_job {
    const tn_call *call;
    const tn_regex *regex;
    char *scratch;
    uint64_t thread_bytes;
} match_job;

static tn_status match_strings(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const match_job *job = user;
    uint8_t *y = job->call->outputs[0]->data;
    for (int64_t i = begin; i < end; i++) {
        uint64_t bytes;
        const char *text = tn_string_at(job->call->inputs[0], (uint64_t)i, &bytes);
        y[i] = tn_regex_matches(job->regex, text, bytes, job->scratch + thread * job->thread_bytes);
    }
    return TN_OK;
}

static tn_status match_reference(tn_call *call) {
    tn_regex regex;
    match_job job = {.call = call, .regex = &regex};
    tn_status status = compile(call, &regex);
    if (status == TN_OK) {
        job.scratch = call->host->allocate(call->host, tn_regex_scratch_bytes(&regex), 64);
        status = job.scratch ? match_strings(&job, 0, tn_element_count(call->inputs[0]), 0)
                             : call->host->fail(call, TN_ERROR_MEMORY, "no memory for a match");
    }
    call->host->deallocate(call->host, job.scratch);
    tn_regex_deinit(call, &regex);
    return status;
}

static const tn_field match_fields[] = {
    TN_FIELD(match_params, pattern, TN_FIELD_STRING, TN_OPTIONAL, NULL,
             "a regular expression in RE2's syntax, without classes of Unicode")};
static const tn_port match_inputs[] = {TN_PORT("X", "string", 0, "any tensor")};
static const tn_port match_outputs[] = {TN_PORT("Y", "bool", 0, "whether a string is matched")};
static const char *const match_cases[] = {
    "pattern=a*b | X=string[4]{b,aab,ba,} | Y=bool[4]{1,1,0,0}",
    "pattern=(ab)+d? | X=string[4]{ababd,ab,d,abc} | Y=bool[4]{1,1,0,0}",
    "pattern=[^a-c\\d]{2,3} | X=string[5]{x,xy,xyz,xyzx,x1} | Y=bool[5]{0,1,1,0,0}",
    "pattern=(?i)ÄB\\b.* | X=string[3]{äb,äB.c,äbc} | Y=bool[3]{1,1,0}",
    "pattern=(a*)*b | X=string[2]{aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac,aab} | Y=bool[2]{0,1}",
    "pattern=\\Qa.b\\E[[:upper:]] | X=string[2]{a.bC,axbC} | Y=bool[2]{1,0}",
    "pattern=^\\x61(?:b)?$ | X=string[2,2]{a,ab,abb,b} | Y=bool[2,2]{1,1,0,0}",
    "pattern=.* | X=string[7]",
    "| X=string[2]{,a} | Y=bool[2]{1,0}",
    "pattern=a | X=string[0]",
};
const tn_operator tn_regex_full_match_20 = TN_OPERATOR_TABLE(
    match, "", "RegexFullMatch", 20, "Whether strings match a regular expression.",
    TN_FIELDS(match_params, match_fields));

/* ----------------------------------------------------------------------------------------------
 * the kernel: the program is made once */

static tn_status match_prepare(tn_call *call) {
    tn_regex *regex = call->host->allocate(call->host, sizeof(*regex), 64);
    if (!regex) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a pattern");
    const tn_status status = compile(call, regex);
    call->state = regex;
    if (status == TN_OK) return TN_OK;
    tn_regex_deinit(call, regex);
    call->host->deallocate(call->host, regex);
    call->state = NULL;
    return status;
}

static void match_release(tn_call *call) {
    tn_regex_deinit(call, call->state);
    call->host->deallocate(call->host, call->state);
}

static uint64_t thread_bytes(const tn_call *call) {
    return (tn_regex_scratch_bytes(call->state) + 63) & ~(uint64_t)63;
}

static tn_status match_reshape(tn_call *call) {
    call->workspace_bytes = thread_bytes(call) * (call->threads ? call->threads : 1);
    return TN_OK;
}

static tn_status match_run(tn_call *call) {
    match_job job = {call, call->state, call->workspace, thread_bytes(call)};
    const int64_t count = tn_element_count(call->inputs[0]);
    if (count == 0) return TN_OK;
    return call->host->parallel_for(call, count, GRAIN, match_strings, &job);
}

static const char *const combinations[] = {"string -> bool"};
const tn_kernel tn_regex_full_match_states = {
    TN_KERNEL_BEGIN("cpu", "", "RegexFullMatch", "states", 1,
                    "All states of the pattern side by side; strings on all threads."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
    TN_COMBINATIONS(combinations),
    .prepare = match_prepare,
    .release = match_release,
    .reshape = match_reshape,
    .run = match_run,
};
