/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon/plugin/elementwise.h: an elementwise layer in one declaration. An operator with the trait
 * TN_OPERATOR_ELEMENTWISE and an expression (docs/expressions.md) needs no callbacks: the host
 * fills in its shape rule (inputs are broadcast with each other), its reference in double
 * precision, cases, and where they are missing, its ports: each name in the expression that is no
 * field is an input, in the order of first use, the output is `y` (`result` where an input is named
 * so), all of one type of the group float. Its kernels are `fused`: rows on the processor, a table
 * of 256 entries in 8 bits, a kernel compiled at run time on CUDA.
 *
 *     static const tn_field fields[] = {TN_NUMBER(low, F32, "0", "lower end"),
 *                                       TN_NUMBER(high, F32, "6", "upper end")};
 *     TN_ELEMENTWISE_LIBRARY("soft_clip", "1.0",
 *                            TN_ELEMENTWISE("Test", "SoftClip", 1,
 *                                           "low + (high - low) * sigmoid(x)", fields,
 *                                           "a smooth clip"))
 */
#ifndef TENON_PLUGIN_ELEMENTWISE_H
#define TENON_PLUGIN_ELEMENTWISE_H

#include <tenon/plugin.h>

/* A field that is a number, of TN_FIELD_BOOL, I32, I64, F32 or F64. It has neither offset nor
 * bytes: the host lays out the parameters. A null fallback: it is required. */
#define TN_NUMBER(name, type, fallback, words) TN_NUMBER_RANGE(name, type, fallback, 0, 0, words)
/* The same within low..high. */
#define TN_NUMBER_RANGE(name, type, fallback, low, high, words)                                    \
    {                                                                                              \
#name, words, fallback, NULL, TN_FIELD_##type,                                             \
            (const char *)(fallback) != NULL ? (uint32_t)TN_OPTIONAL : (uint32_t)TN_REQUIRED, 0,   \
            0, 0, 0, low, high                                                                     \
    }

#define TN_NUMBERS(table)                                                                          \
    .params_bytes = 0, .field_size = sizeof(tn_field), .field_count = TN_COUNT(table),             \
    .fields = (table)

/* The initialiser of a tn_operator with state version 1. `table`: an array of fields as above. */
#define TN_ELEMENTWISE(of_domain, of_name, version, text, table, words)                            \
    TN_ELEMENTWISE_WITH(of_domain, of_name, version, text, words, TN_NUMBERS(table))
/* Without fields. */
#define TN_ELEMENTWISE_PLAIN(of_domain, of_name, version, text, words)                             \
    TN_ELEMENTWISE_WITH(of_domain, of_name, version, text, words, TN_NO_FIELDS)
/* With other members of the table, in its order: TN_NUMBERS or TN_FIELDS, TN_INPUTS and TN_OUTPUTS
 * for ports of other names or types. */
#define TN_ELEMENTWISE_WITH(of_domain, of_name, version, text, words, ...)                         \
    {                                                                                              \
        .size = sizeof(tn_operator), .since_version = (version), .state_version = 1,               \
        .traits = TN_OPERATOR_ELEMENTWISE, .domain = (of_domain), .name = (of_name),               \
        .doc = (words), __VA_ARGS__, .expression = (text)                                          \
    }

/* A library of such operators, and no kernels: ... are initialisers as above. It exports the
 * library's one symbol. */
#define TN_ELEMENTWISE_LIBRARY(library_name, library_version, ...)                                 \
    static const tn_operator tn_elementwise_operators[] = {__VA_ARGS__};                           \
    TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT;            \
    TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT {           \
        static const tn_operator *rows[TN_COUNT(tn_elementwise_operators)];                        \
        static tn_library library;                                                                 \
        (void)host;                                                                                \
        for (uint32_t i = 0; i < TN_COUNT(tn_elementwise_operators); i++)                          \
            rows[i] = &tn_elementwise_operators[i];                                                \
        library.size = sizeof(tn_library);                                                         \
        library.abi_major = TN_ABI_MAJOR;                                                          \
        library.abi_minor = TN_ABI_MINOR;                                                          \
        library.name = library_name;                                                               \
        library.version = library_version;                                                         \
        library.operator_count = TN_COUNT(tn_elementwise_operators);                               \
        library.operators = rows;                                                                  \
        return &library;                                                                           \
    }

#endif
