/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rewrite's two texts as trees: statements, operators with arguments and fields, names. The
 * grammar is in tenon/plugin/rewrite.h; who matches graphs against it is src/builder/passes/.
 */
#ifndef TN_PLUGIN_REWRITE_PATTERN_H
#define TN_PLUGIN_REWRITE_PATTERN_H

#include "base/memory.h"

#include <tenon/plugin/rewrite.h>

/* Bounds of a text, so that a hostile one costs little. */
enum {
    TN_PATTERN_BYTES = 16384,
    TN_PATTERN_NAMES = 64,
    TN_PATTERN_NODES = 96,
    TN_PATTERN_DEPTH = 24,
    TN_PATTERN_ARGUMENTS = 16,
    TN_PATTERN_FIELDS = 16,
    TN_PATTERN_NUMBERS = 32,
    TN_PATTERN_STATEMENTS = 48,
    TN_PATTERN_RESULTS = 8
};
#define TN_NO_NAME      UINT32_MAX
#define TN_NO_STATEMENT UINT32_MAX

enum {
    TN_TERM_TENSOR,   /* name, constraint, is_optional */
    TN_TERM_ANY,      /* _ */
    TN_TERM_ABSENT,   /* - */
    TN_TERM_NUMBERS,  /* numbers, is_list, are_integers */
    TN_TERM_CAPTURE,  /* ?name, is_list */
    TN_TERM_COMPUTED, /* $name */
    TN_TERM_WORD,     /* of a field alone: word */
    TN_TERM_NODE,     /* op, arguments, fields */
    TN_TERM_CHOICE    /* arguments are the alternatives */
};
enum { TN_TERM_UNBOUND, TN_TERM_CONST, TN_TERM_SCALAR, TN_TERM_CHANNEL };

typedef struct tn_term tn_term;
typedef struct tn_term_field {
    const char *name;
    const tn_term *value;
} tn_term_field;
struct tn_term {
    uint32_t kind;
    uint32_t name; /* index into the names */
    uint32_t constraint;
    bool is_optional, is_list, are_integers;
    uint32_t number_count;
    const double *numbers;
    const char *word;
    /* of a node */
    const char *domain, *op;  /* domain null: the rewrite's */
    uint32_t lowest, highest; /* versions; 0: any */
    bool has_other_fields;    /* "..." */
    bool may_stay;            /* "*": where others read its results, it is not taken out */
    uint32_t argument_count, field_count;
    const tn_term **arguments;
    tn_term_field *fields;
};

typedef struct tn_statement {
    uint32_t result_count;
    uint32_t results[TN_PATTERN_RESULTS]; /* names; TN_NO_NAME for '_' */
    const tn_term *term;                  /* a node, or a choice of nodes */
} tn_statement;

typedef struct tn_pattern_name {
    const char *text;
    uint32_t kind;                           /* TN_TERM_TENSOR, CAPTURE or COMPUTED */
    bool is_in_pattern, is_output, is_input; /* input: no statement of the pattern makes it */
    bool is_constant;                        /* the pattern has it with ":const" or the like */
    uint32_t statement, result;              /* of the pattern, that makes it */
} tn_pattern_name;

typedef struct tn_pattern {
    uint32_t name_count;
    tn_pattern_name *names; /* of both texts */
    uint32_t statement_count, replacement_count;
    const tn_statement *statements, *replacements;
    uint32_t least_nodes;       /* of the pattern, in its shortest form */
    uint32_t replacement_nodes; /* but for those of constants alone, which are folded */
} tn_pattern;

/* Reads both texts; all of it lies in `arena`. TN_ERROR_PLUGIN names the text and the column. */
tn_status tn_pattern_parse(tn_arena *arena, const char *pattern, const char *replacement,
                           const tn_pattern **out_pattern);
/* Whether the last statement of a pattern may stand on an operator that there `is`, by the text
 * alone, which is not read otherwise. `op` is not ended by a zero. */
bool tn_pattern_may_end(const char *pattern,
                        bool (*is)(const void *user, const char *op, size_t length),
                        const void *user);
/* Whether the replacement adds a node of this operator. */
bool tn_pattern_adds(const tn_pattern *pattern, const char *op, size_t length);
/* The name's index; TN_NO_NAME: there is none. */
uint32_t tn_pattern_find_name(const tn_pattern *pattern, const char *name);
/* Whether some node of the pattern, of the operator `op` (null: of any), reads constants alone, so
 * that folding constants would take it away. */
bool tn_pattern_reads_constants(const tn_pattern *pattern, const char *op);
/* Whether the pattern holds these two trees together: names used as they can be, the replacement
 * shorter. Called by parse. */
tn_status tn_pattern_check(tn_pattern *pattern);

#endif
