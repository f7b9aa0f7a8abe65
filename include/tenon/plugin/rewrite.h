/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon/plugin/rewrite.h: rewrites. A rewrite says how networks write something with several
 * operators, and which operators compute the same with fewer nodes. The builder applies it; the
 * core knows no operator by name. docs/rewrites.md is the guide.
 *
 * Pattern and replacement are text: statements `y = Operator(arguments)` or `y, m = Operator(...)`,
 * separated by ';'. The last statement of the pattern is where matching begins, and every result
 * that the replacement assigns, too, is an output; all others are inner values, and the host checks
 * that nobody outside the pattern reads them.
 *
 *   Operator  Name, Domain::Name, with Name@13 (since_version at least 13) or Name@1-12. Without a
 *             domain: the rewrite's. In a replacement Name@20 is the operator of opset 20, Name the
 *             newest.
 *   argument  x           a tensor; a name that repeats stands for one tensor (or equal constants)
 *             x?          the same, which may be absent
 *             x:const     a constant; x:scalar: of one element; x:channel: whose elements lie along
 *                         at most one axis
 *             _           any tensor;  - an absent input
 *             0.5         a constant of one element, of that value; [0, 2, 1]: of these elements
 *             ?e          a constant of one element, captured; ?e[]: of any number, as a list
 *             Op(...)     another node of one result;  a | b: the first of the two that matches
 *             Op*(...)    a node that stays in the graph where others read its results too; it
 * reads no result of another node of the pattern field     axis=-1  perm=[0, 2, 1]  mode=linear
 * axis=?a (captured) A field that is not named has its default; `...` as the last argument: any
 * value. An operator without a field of the name does not match. $v        in a replacement, where
 * a field's value or an input stands: what the guard computed under the name v.
 *
 * Numbers match within 1e-6 of their value (1e-3 where the constant is of 16 bits). Inputs 0 and 1
 * of operators with TN_OPERATOR_COMMUTATIVE match in either order. In a replacement a name that the
 * pattern did not bind (an absent input, another alternative's) is an absent input, and a field of
 * such a value has its default; a number is a constant of the first output's type, a list of
 * integers one of type i64.
 *
 * The replacement has fewer nodes than any form of the pattern, not counting nodes whose inputs are
 * all constants, which are folded; the outputs keep types and shapes;
 * operators without a kernel on the build's device are not put where nodes with one were.
 */
#ifndef TENON_PLUGIN_REWRITE_H
#define TENON_PLUGIN_REWRITE_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_match tn_match;

/* Whether the replacement may stand here: TN_OK; any other status: no. Reasons go to
 * match->refuse. [thread: any; called: build] */
typedef tn_status (*tn_rewrite_guard)(const tn_match *match) TN_NOEXCEPT;

struct tn_rewrite {
    uint32_t size;
    uint32_t flags;     /* reserved: 0 */
    const char *name;   /* letters, digits, '_', '-' and '.'; once a library. Names that begin with
                           "tn." are reserved */
    const char *domain; /* of operators that the texts name without one; null: ONNX's */
    const char *doc;
    const char *pattern, *replacement;
    tn_rewrite_guard guard; /* null: always */
    void *user;
    /* What conformance builds the pattern from, each a line: "x=f32[2,3,8] scale=f32[8]{...}
     * e=1e-5 axes=[-1]": a tensor for each input of the pattern, captured values by name. The
     * rewrite applies to each of them and computes the same; at least one. See
     * docs/rewrites.md. */
    uint64_t case_count;
    const char *const *cases;
    /* The same, where the guard or the pattern says no. */
    uint64_t near_miss_count;
    const char *const *near_misses;
};
#define TN_REWRITE_CASES(table)  .case_count = TN_COUNT(table), .cases = (table)
#define TN_REWRITE_MISSES(table) .near_miss_count = TN_COUNT(table), .near_misses = (table)

/* What a guard sees, and its services. Names are those of the texts, without '?' and '$'. All of it
 * has the lifetime of the call. */
struct tn_match {
    uint32_t size, reserved;
    const tn_host *host;
    void *user; /* the rewrite's */
    void *host_private;
    /* A tensor by name: type, rank, and extents; -1 where an extent is not the same for every shape
     * that the network may be run with. `data` of constants alone, and null for those that new data
     * may come for after the build (tenon/refit.h). Null: absent, or not known. */
    const tn_tensor *(*tensor)(const tn_match *match, const char *name)TN_NOEXCEPT;
    /* 1 where both extents are known to be equal for every shape that the network may be run with,
     * be they fixed or not; 0: they are not, or it is not known. Axes may count from the end. */
    uint32_t (*is_equal_extent)(const tn_match *match, const char *a, int32_t axis_a, const char *b,
                                int32_t axis_b) TN_NOEXCEPT;
    /* What was captured under a name; null: nothing. Its type is that of the field or, of a
     * constant, I64, I64S, F64 or F64S. */
    const tn_attribute *(*value)(const tn_match *match, const char *name)TN_NOEXCEPT;
    /* Sets $name: a field's value, copied (type TENSOR: a constant, whose data is copied). */
    tn_status (*set)(const tn_match *match, const tn_attribute *value) TN_NOEXCEPT;
    /* Records why not, for the build's log, and answers TN_ERROR_UNSUPPORTED:
     * `return match->refuse(match, "...")`. */
    tn_status (*refuse)(const tn_match *match, const char *format, ...) TN_NOEXCEPT TN_PRINTF(2, 3);
};

/* --- for guards --- */

/* The extent along an axis that may count from the end; -1: not fixed, or there is no such axis. */
static inline int64_t tn_match_extent(const tn_match *match, const char *name, int32_t axis) {
    const tn_tensor *tensor = match->tensor(match, name);
    const int64_t at = tensor && axis < 0 ? (int64_t)axis + tensor->rank : axis;
    return tensor && at >= 0 && at < (int64_t)tensor->rank ? tensor->shape[at] : -1;
}

static inline int32_t tn_match_rank(const tn_match *match, const char *name) {
    const tn_tensor *tensor = match->tensor(match, name);
    return tensor ? (int32_t)tensor->rank : -1;
}

static inline uint32_t tn_match_is_same_shape(const tn_match *match, const char *a, const char *b) {
    const int32_t rank = tn_match_rank(match, a);
    if (rank < 0 || rank != tn_match_rank(match, b)) return 0;
    for (int32_t axis = 0; axis < rank; axis++)
        if (!match->is_equal_extent(match, a, axis, b, axis)) return 0;
    return 1;
}

/* Element `index` of a captured list, or the captured number as the only one; TN_ERROR_NOT_FOUND:
 * there is none. */
static inline tn_status tn_match_number(const tn_match *match, const char *name, uint64_t index,
                                        double *out_number) {
    const tn_attribute *value = match->value(match, name);
    if (!value || (value->count > 0 || value->items ? index >= value->count : index > 0))
        return TN_ERROR_NOT_FOUND;
    switch (value->type) {
    case TN_FIELD_I64:
        *out_number = (double)value->i;
        return TN_OK;
    case TN_FIELD_F32:
    case TN_FIELD_F64:
        if (!value->items) *out_number = value->f;
        return value->items ? TN_ERROR_NOT_FOUND : TN_OK;
    case TN_FIELD_I64S:
        *out_number = (double)((const int64_t *)value->items)[index];
        return TN_OK;
    case TN_FIELD_F32S:
        *out_number = ((const float *)value->items)[index];
        return TN_OK;
    case TN_FIELD_F64S:
        *out_number = ((const double *)value->items)[index];
        return TN_OK;
    default:
        return TN_ERROR_NOT_FOUND;
    }
}
/* The captured number, or the fallback where there is none. */
static inline double tn_match_number_or(const tn_match *match, const char *name, double fallback) {
    double number = fallback;
    return tn_match_number(match, name, 0, &number) == TN_OK ? number : fallback;
}

static inline tn_status tn_match_set_integer(const tn_match *match, const char *name,
                                             int64_t number) {
    tn_attribute value = {
        sizeof(tn_attribute), TN_FIELD_I64, name, number, 0, NULL, 0, NULL, NULL, NULL};
    return match->set(match, &value);
}

static inline tn_status tn_match_set_number(const tn_match *match, const char *name,
                                            double number) {
    tn_attribute value = {
        sizeof(tn_attribute), TN_FIELD_F64, name, 0, number, NULL, 0, NULL, NULL, NULL};
    return match->set(match, &value);
}

/* --- registering --- */

/* host->extension(host, TN_REWRITES): adds rewrites beside those of the library's table, in its
 * load or at any time later; they serve builds that begin afterwards. The table's texts are copied,
 * `user` is not. TN_ERROR_PLUGIN: the text and the column are in the log. */
#define TN_REWRITES "tn.rewrite/1"
typedef struct tn_rewrite_services {
    uint32_t size, reserved;
    /* [thread: any] */
    tn_status (*add)(const tn_host *host, tn_library *library,
                     const tn_rewrite *rewrite) TN_NOEXCEPT;
} tn_rewrite_services;

/* TN_LIBRARY with an array of pointers to rewrites. */
#define TN_LIBRARY_REWRITES(library_name, library_version, operator_table, kernel_table,           \
                            rewrite_table)                                                         \
    TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT;            \
    TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT {           \
        static tn_library table = {sizeof(tn_library),                                             \
                                   TN_ABI_MAJOR,                                                   \
                                   TN_ABI_MINOR,                                                   \
                                   0,                                                              \
                                   library_name,                                                   \
                                   library_version,                                                \
                                   TN_COUNT(operator_table),                                       \
                                   operator_table,                                                 \
                                   TN_COUNT(kernel_table),                                         \
                                   kernel_table,                                                   \
                                   NULL,                                                           \
                                   NULL,                                                           \
                                   NULL,                                                           \
                                   0,                                                              \
                                   NULL,                                                           \
                                   TN_COUNT(rewrite_table),                                        \
                                   rewrite_table};                                                 \
        (void)host;                                                                                \
        return &table;                                                                             \
    }

#ifdef __cplusplus
}
#endif

TN_FROZEN(tn_rewrite, pattern, 32);
TN_FROZEN(tn_rewrite, cases, 72);
TN_FROZEN(tn_match, tensor, 32);
TN_FROZEN(tn_match, refuse, 64);

#endif
