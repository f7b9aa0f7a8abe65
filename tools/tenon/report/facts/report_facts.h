/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a report's page shows, read from one JSON document: that of a build (tn_plan_report), of a
 * plan (tn_plan_inspect) or of a context (tn_context_report). Steps in the order of execution,
 * and values: a tensor in one type, format and memory space, which steps make and read.
 */
#ifndef TENON_REPORT_FACTS_H
#define TENON_REPORT_FACTS_H

#include "text/json.h"

#include <stdint.h>

#define REPORT_NONE UINT32_MAX

typedef enum report_source { REPORT_MADE, REPORT_INPUT, REPORT_CONSTANT } report_source;

typedef struct report_value {
    const char *tensor, *type, *format;
    const json *shape, *scale; /* may be null */
    bool is_device;
    report_source source;
    uint32_t index; /* MADE: the step; INPUT: which one */
} report_value;

typedef enum report_kind {
    REPORT_KERNEL,
    REPORT_CONVERSION,
    REPORT_VIEW,
    REPORT_SHAPE
} report_kind;

typedef struct report_step {
    const json *item;
    report_kind kind;
    const char *name, *op, *kernel, *library; /* never null; of a conversion its tensor's name */
    bool is_device;
    double ns; /* 0: not known */
    const json *absorbed, *absorbed_ops, *rewrites, *candidates;
    uint32_t input_count, output_count; /* operands are inputs too; absent ones are left out */
    uint32_t *inputs, *outputs;         /* values */
} report_step;

typedef struct report_port { /* of the network */
    const char *name, *tensor;
    uint32_t value; /* REPORT_NONE: no step reads or makes it */
} report_port;

typedef struct report_facts {
    json *tree;
    const json *report;  /* the tree */
    const json *program; /* the report itself, or the first program of a plan */
    const char *model, *what;
    size_t step_count, value_count, input_count, output_count;
    report_step *steps;
    report_value *values;
    report_port *inputs, *outputs;
    uint32_t *ports; /* what the steps' inputs and outputs point into */
    double total_ns, largest_ns, conversion_ns;
    size_t conversion_count, absorbed_count, rewrite_count, device_count;
} report_facts;

/* `what` is "build", "plan" or "run"; both texts are lent. False: the document is not one of these,
 * or there is no memory. */
bool report_facts_read(const char *text, const char *model, const char *what, report_facts *out);
void report_facts_free(report_facts *facts);

/* "Conv + Relu" into `label`, shortened to fit. */
void report_step_label(const report_step *step, char *label, size_t bytes);

#endif
