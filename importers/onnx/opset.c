/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which version of a domain's operators a model means: its imports, or those of the function that a
 * node stands in.
 */
#include "base/status.h"
#include "importers/onnx/onnx.h"

#include <inttypes.h>
#include <string.h>

#define IMPORTS_AT_MOST 256

const char *tn_onnx_domain(const char *domain) {
    return !domain || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

tn_status tn_onnx_opsets_check(size_t count, tn_onnx_opset *const *opsets) {
    if (count > IMPORTS_AT_MOST)
        return tn_fail(TN_ERROR_FORMAT, "%zu opsets are imported; at most %d are read", count,
                       IMPORTS_AT_MOST);
    for (size_t i = 0; i < count; i++) {
        const char *domain = tn_onnx_domain(opsets[i]->domain);
        int64_t version = opsets[i]->version;
        if (version < 0 || version > INT32_MAX)
            return tn_fail(TN_ERROR_FORMAT, "opset %" PRId64 " of domain '%s' is not possible",
                           version, domain);
        if (*domain || (version >= TN_ONNX_OPSET_MINIMUM && version <= TN_ONNX_OPSET_MAXIMUM))
            continue;
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "the model is written for opset %" PRId64
                       " of ONNX; opsets %d to %d are supported",
                       version, TN_ONNX_OPSET_MINIMUM, TN_ONNX_OPSET_MAXIMUM);
    }
    return TN_OK;
}

tn_status tn_onnx_opsets_keep(tn_onnx_reader *reader) {
    for (size_t i = 0; i < reader->model->n_opset_import; i++) {
        const tn_onnx_opset *opset = reader->model->opset_import[i];
        TN_TRY(reader->import->services->set_opset(reader->graph, opset->domain,
                                                   (uint32_t)opset->version));
    }
    return TN_OK;
}

static bool find_import(size_t count, tn_onnx_opset *const *opsets, const char *domain,
                        uint32_t *out_version) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(tn_onnx_domain(opsets[i]->domain), domain) != 0) continue;
        *out_version = (uint32_t)opsets[i]->version;
        return true;
    }
    return false;
}

tn_status tn_onnx_opset_version(const tn_onnx_reader *reader, const tn_onnx_scope *scope,
                                const char *domain, uint32_t *out_version) {
    const tn_onnx_function *function = scope->function;
    uint32_t version = 0;
    bool is_found =
        function && find_import(function->n_opset_import, function->opset_import, domain, &version);
    if (!is_found)
        is_found = find_import(reader->model->n_opset_import, reader->model->opset_import, domain,
                               &version);
    if (!is_found && !*domain)
        return tn_fail(
            TN_ERROR_FORMAT,
            "the model imports no opset of ONNX, so that the version of its operators is "
            "not known");
    *out_version = version > 0 ? version : 1;
    return TN_OK;
}
