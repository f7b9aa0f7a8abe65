/* SPDX-License-Identifier: Apache-2.0 */
/* Scaler and Normalizer: rows of features scaled alike, by constants or by the row. */
#include "ml/rows.h"

#include <math.h>

static tn_status infer_rows(tn_call *call) {
    TN_TRY(tn_rows_read(call, 0, &(int64_t){0}, &(int64_t){0}));
    return tn_infer_copy_shape(call, 0, 0);
}

static tn_status run_rows(tn_call *call, tn_ml_row_function function, void *user,
                          bool is_parallel) {
    tn_ml_rows rows;
    TN_TRY(tn_ml_rows_open(call, 0, 0, is_parallel, &rows));
    const tn_status status = tn_ml_rows_run(&rows, rows.columns, function, user);
    tn_ml_rows_close(&rows);
    return status;
}

static tn_status reshape_rows(tn_call *call) {
    return tn_ml_rows_reshape(call, 0, 0);
}

#define PORTS(prefix)                                                                              \
    static const tn_port prefix##_inputs[] = {TN_PORT("X", TN_ML_NUMBERS, 0, "[N, C], or [C]")};   \
    static const tn_port prefix##_outputs[] = {TN_PORT("Y", "f32", 0, "of X's shape")}

#define KERNEL(prefix, operator_name)                                                              \
    TN_CPU_KERNEL_OF(prefix##_rows, TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE, TN_ML,          \
                     operator_name, "rows", "Rows on all threads.", .reshape = reshape_rows,       \
                     .run = prefix##_run)

/* ----------------------------------------------------------------------------------------------
 * Scaler */

typedef struct scaler_params {
    uint64_t present;
    tn_f32s offset, scale;
} scaler_params;

typedef struct scaler {
    const scaler_params *params;
    float *y;
} scaler;

static tn_status check_list(tn_call *call, const char *name, uint64_t count) {
    int64_t rows = 0, columns = 0;
    TN_TRY(tn_rows_read(call, 0, &rows, &columns));
    if (count <= 1 || count == (uint64_t)columns) return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE,
                            "field '%s' has %llu values, input 'X' has %lld columns", name,
                            (unsigned long long)count, (long long)columns);
}

/* One value for all columns, or one for each. */
static double value_of(const tn_f32s *list, int64_t column, double otherwise) {
    if (list->count == 0) return otherwise;
    return (double)list->items[list->count == 1 ? 0 : column];
}

static void scale_row(void *user, const tn_ml_row *row) {
    const scaler *s = user;
    float *y = s->y + row->index * row->columns;
    for (int64_t i = 0; i < row->columns; i++)
        y[i] = (float)((row->x[i] - value_of(&s->params->offset, i, 0)) *
                       value_of(&s->params->scale, i, 1));
}

static tn_status scaler_infer(tn_call *call) {
    const scaler_params *params = call->params;
    TN_TRY(check_list(call, "offset", params->offset.count));
    TN_TRY(check_list(call, "scale", params->scale.count));
    return infer_rows(call);
}

static tn_status scaler_compute(tn_call *call, bool is_parallel) {
    scaler s = {call->params, call->outputs[0]->data};
    return run_rows(call, scale_row, &s, is_parallel);
}

TN_SERIAL_AND_PARALLEL(scaler, scaler_compute)

static const tn_field scaler_fields[] = {
    TN_FIELD(scaler_params, offset, TN_FIELD_F32S, TN_OPTIONAL, NULL,
             "what is subtracted first: one value, or one a column; absent: 0"),
    TN_FIELD(scaler_params, scale, TN_FIELD_F32S, TN_OPTIONAL, NULL,
             "what the difference is multiplied by; absent: 1"),
};
PORTS(scaler);
static const char *const scaler_cases[] = {
    "offset=[1,2,3] scale=[0.5,0.25,2] | X=f32[4,3]",
    "offset=[1] scale=[0.5,0.25,2] | X=f64[4,3]",
    "scale=[2] | X=i64[5]",
    "offset=[-1] | X=i32[2,2]",
    "| X=f32[0,3]",
    "offset=[1] scale=[3] | X=f32[100,64]",
};
TN_OPERATOR(scaler, TN_ML, "Scaler", 1, "(x - offset) * scale.",
            TN_FIELDS(scaler_params, scaler_fields));
KERNEL(scaler, "Scaler");

/* ----------------------------------------------------------------------------------------------
 * Normalizer */

enum { NORM_MAX = 0, NORM_L1 = 1, NORM_L2 = 2 };

typedef struct normalizer_params {
    uint64_t present;
    uint32_t norm;
} normalizer_params;

typedef struct normalizer {
    uint32_t norm;
    float *y;
} normalizer;

/* As ONNX has it, the largest element keeps its sign. */
static double find_norm(uint32_t norm, const tn_ml_row *row) {
    double found = norm == NORM_MAX ? -INFINITY : 0;
    for (int64_t i = 0; i < row->columns; i++) {
        const double x = row->x[i];
        found = norm == NORM_MAX ? fmax(found, x) : found + (norm == NORM_L1 ? fabs(x) : x * x);
    }
    return norm == NORM_L2 ? sqrt(found) : found;
}

static void normalize_row(void *user, const tn_ml_row *row) {
    const normalizer *n = user;
    const double norm = find_norm(n->norm, row);
    float *y = n->y + row->index * row->columns;
    for (int64_t i = 0; i < row->columns; i++)
        y[i] = (float)(norm == 0 ? row->x[i] : row->x[i] / norm);
}

static tn_status normalizer_infer(tn_call *call) {
    return infer_rows(call);
}

static tn_status normalizer_compute(tn_call *call, bool is_parallel) {
    const normalizer_params *params = call->params;
    normalizer n = {params->norm, call->outputs[0]->data};
    return run_rows(call, normalize_row, &n, is_parallel);
}

TN_SERIAL_AND_PARALLEL(normalizer, normalizer_compute)

static const tn_field normalizer_fields[] = {
    TN_FIELD_CHOICE(normalizer_params, norm, TN_FIELD_ENUM, TN_OPTIONAL, "MAX", "MAX|L1|L2",
                    "what a row is divided by: its largest element, the sum of magnitudes, or its "
                    "length; by nothing where that is 0"),
};
PORTS(normalizer);
static const char *const normalizer_cases[] = {
    "| X=f32[4,3]{1,-2,0.5,-3,-1,-2,0,0,0,1,1,1}",
    "norm=L1 | X=f32[3,3]{1,-2,0.5,-3,-1,-2,0,0,0}",
    "norm=L2 | X=f64[3,3]",
    "norm=L2 | X=i64[5]",
    "norm=L1 | X=i32[2,7]",
    "norm=L2 | X=f32[200,65]",
};
TN_OPERATOR(normalizer, TN_ML, "Normalizer", 1, "Rows divided by their norms.",
            TN_FIELDS(normalizer_params, normalizer_fields));
KERNEL(normalizer, "Normalizer");

TN_LAYER(ml_scale, TN_OPERATORS(&scaler_1, &normalizer_1),
         TN_KERNELS(&scaler_rows, &normalizer_rows));
