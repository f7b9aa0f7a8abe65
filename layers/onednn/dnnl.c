/* SPDX-License-Identifier: Apache-2.0 */
/* The engine and primitives at work; see dnnl.h. Layouts are in dnnl_layout.c, descriptors in
 * dnnl_describe.c, nodes in node.c. */
#include "onednn/dnnl.h"

#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static dnnl_engine_t the_engine;
static pthread_once_t engine_once = PTHREAD_ONCE_INIT;

static void make_engine(void) {
    if (dnnl_engine_create(&the_engine, dnnl_cpu, 0) != dnnl_success) the_engine = NULL;
}

dnnl_engine_t tn_dnnl_engine(void) {
    pthread_once(&engine_once, make_engine);
    return the_engine;
}

tn_status tn_dnnl_check(tn_call *call, dnnl_status_t status, const char *what) {
    if (status == dnnl_success) return TN_OK;
    return call->host->fail(call,
                            status == dnnl_out_of_memory ? TN_ERROR_MEMORY : TN_ERROR_UNSUPPORTED,
                            "oneDNN answers %d to %s", (int)status, what);
}

int tn_dnnl_set_threads(uint32_t threads) {
    const int before = omp_get_max_threads(), wanted = threads ? (int)threads : 1;
    if (before != wanted) omp_set_num_threads(wanted);
    return before;
}

tn_status tn_dnnl_primitive_make(tn_call *call, const_dnnl_primitive_desc_t desc,
                                 tn_dnnl_primitive *primitive) {
    const int before = tn_dnnl_set_threads(call->threads);
    tn_dnnl_primitive_destroy(primitive);
    tn_dnnl_view scratch = dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
    tn_status status = tn_dnnl_check(
        call, dnnl_stream_create(&primitive->stream, tn_dnnl_engine(), dnnl_stream_default_flags),
        "making a stream");
    if (status == TN_OK)
        status = tn_dnnl_check(call, dnnl_primitive_create(&primitive->primitive, desc),
                               "making a primitive");
    tn_dnnl_set_threads((uint32_t)before);
    if (status == TN_OK)
        status = tn_dnnl_primitive_add(call, primitive, DNNL_ARG_SCRATCHPAD, scratch);
    primitive->parts = 1;
    primitive->scratch_bytes = scratch ? dnnl_memory_desc_get_size(scratch) : 0;
    return status;
}

tn_status tn_dnnl_primitive_add(tn_call *call, tn_dnnl_primitive *primitive, int id,
                                tn_dnnl_view view) {
    primitive->ids[primitive->count] = id;
    const tn_status status =
        tn_dnnl_check(call,
                      dnnl_memory_create(&primitive->memories[primitive->count], view,
                                         tn_dnnl_engine(), DNNL_MEMORY_NONE),
                      "making a memory");
    primitive->count += status == TN_OK;
    return status;
}

void tn_dnnl_primitive_destroy(tn_dnnl_primitive *primitive) {
    for (uint32_t i = 0; i < primitive->count; i++)
        dnnl_memory_destroy(primitive->memories[i]);
    if (primitive->primitive) dnnl_primitive_destroy(primitive->primitive);
    if (primitive->stream) dnnl_stream_destroy(primitive->stream);
    memset(primitive, 0, sizeof(*primitive));
}

static dnnl_status_t set_address(const tn_dnnl_primitive *primitive, uint32_t index,
                                 void *address) {
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_memory_set_data_handle(primitive->memories[index], address);
#else
    return dnnl_memory_set_data_handle_v2(primitive->memories[index], address, primitive->stream);
#endif
}

static dnnl_status_t run_part(const tn_dnnl_primitive *primitive) {
    dnnl_exec_arg_t arguments[TN_DNNL_ARGUMENTS];
    for (uint32_t i = 0; i < primitive->count; i++)
        arguments[i] = (dnnl_exec_arg_t){primitive->ids[i], primitive->memories[i]};
    const dnnl_status_t status = dnnl_primitive_execute(primitive->primitive, primitive->stream,
                                                        (int)primitive->count, arguments);
    const dnnl_status_t waited = dnnl_stream_wait(primitive->stream);
    return status != dnnl_success ? status : waited;
}

tn_status tn_dnnl_primitive_run(tn_call *call, const tn_dnnl_primitive *primitive,
                                const tn_dnnl_address *addresses) {
    dnnl_status_t status = dnnl_success;
    const int before = tn_dnnl_set_threads(call->threads);
    for (int64_t part = 0; part < primitive->parts && status == dnnl_success; part++) {
        for (uint32_t i = 0; i < primitive->count && status == dnnl_success; i++) {
            char *address = call->workspace; /* scratch memory comes first */
            if (i > 0)
                address =
                    (char *)addresses[i - 1].data + (uint64_t)part * addresses[i - 1].step_bytes;
            status = set_address(primitive, i, address);
        }
        if (status == dnnl_success) status = run_part(primitive);
    }
    tn_dnnl_set_threads((uint32_t)before);
    return tn_dnnl_check(call, status, "running a primitive");
}

static bool implementation_of(const_dnnl_primitive_desc_t desc, const char **out_name) {
    return dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, out_name) == dnnl_success &&
           *out_name;
}

bool tn_dnnl_is_product(const_dnnl_primitive_desc_t desc) {
    const char *name = NULL;
    return implementation_of(desc, &name) && strstr(name, "gemm");
}

bool tn_dnnl_has_amx(void) {
    return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_amx) ==
           dnnl_cpu_isa_avx512_core_amx;
}

bool tn_dnnl_has_vnni(void) {
    return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_vnni) ==
           dnnl_cpu_isa_avx512_core_vnni;
}

bool tn_dnnl_is_amx(const_dnnl_primitive_desc_t desc) {
    const char *name = NULL;
    return implementation_of(desc, &name) && strstr(name, "amx");
}

void tn_dnnl_implementation(const_dnnl_primitive_desc_t desc, char *text, size_t bytes) {
    const char *name = NULL;
    snprintf(text, bytes, "%s", implementation_of(desc, &name) ? name : "");
}

bool tn_dnnl_is_avx512(const_dnnl_primitive_desc_t desc) {
    const char *name = NULL;
    return implementation_of(desc, &name) && strstr(name, "avx512");
}

bool tn_dnnl_is_plain(const_dnnl_primitive_desc_t desc) {
    const char *name = NULL;
    if (!implementation_of(desc, &name)) return true;
    const char *inner = strchr(name, '+'); /* "conv:any+ref:any": by way of another primitive */
    if (inner && strncmp(inner + 1, "ref", 3) == 0) return true;
    return strncmp(name, "ref", 3) == 0 || strncmp(name, "simple", 6) == 0;
}
