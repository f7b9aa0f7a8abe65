/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of -h that subcommands share. */
#ifndef TENON_HELP_TEXT_H
#define TENON_HELP_TEXT_H

/* Of a subcommand that builds a model before it runs it. */
#define HELP_OF_MODELS                                                                             \
    "of a model, as tenon build -h explains them:\n"                                               \
    "      --mean [NAME=]FILE.binaryproto  --no-timing  --no-fusion  "                             \
    "--reference\n"                                                                                \
    "      --precision fp32|tf32|bf16|fp16|int8  --calibration DIR|FILE  --calibrator NAME  "      \
    "--percentile P\n"                                                                             \
    "      --range TENSOR=7.2  --pin NODE=KERNEL|TYPE  --keep NODE  --max-accuracy-loss F  "       \
    "--timing-cache FILE\n"                                                                        \
    "      --border NAME=TYPE[:nhwc]  --without-rewrite NAME  --no-kernel-libraries  "             \
    "--keep-half\n"
#define HELP_OF_IMAGES                                                                             \
    "      --layout nchw|nhwc  --channels rgb|bgr  --scale F  --mean F[,F,F]   for images: value " \
    "= "                                                                                           \
    "(x - mean) * scale\n"

#endif
