/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds for fuzz_rewrite: the language's parts, and what is near to it. make_rewrite_corpus FOLDER.
 */
#include <stdio.h>

#define PAIR(pattern, replacement)                                                                 \
    { sizeof(pattern "\0" replacement) - 1, pattern "\0" replacement }

static const struct seed {
    size_t bytes;
    const char *text;
} seeds[] = {
    PAIR("y = Mul(x, Sigmoid(x))", "y = Swish(x)"),
    PAIR("m = ReduceMean(x, ?axes[], keepdims=1); d = Sub(x, m); v = ReduceMean(Mul(d, d) | Pow(d, "
         "2), ?axes[]); y = Add(Mul(Div(d, Sqrt(Add(v, ?e))), scale:const), bias?:channel)",
         "y = LayerNormalization(x, scale, bias, axis=$axis, epsilon=?e)"),
    PAIR("a, _, b = com.acme::Split@13(x?, -, _, [1, 2], axis=-1, mode=tanh, ...); y = Add(a, b)",
         "y, b = A::B@20(x)"),
    PAIR("y = A@1-12(((x)) | B(x) | (C(x) | 1e-5), -inf)", ""),
    PAIR("y = A(A(A(A(A(A(A(A(A(x)))))))))", "t = A(x); y = B(t)"),
    PAIR("y = A(x", "y = ="),
    PAIR("", ""),
};

int main(int count, char **arguments) {
    if (count != 2) return 1;
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        char path[4096];
        const int length = snprintf(path, sizeof(path), "%s/rewrite_%zu", arguments[1], i);
        FILE *file = length > 0 && (size_t)length < sizeof(path) ? fopen(path, "wb") : NULL;
        if (!file) return 1;
        const int is_written = fwrite(seeds[i].text, 1, seeds[i].bytes, file) == seeds[i].bytes;
        if (fclose(file) != 0 || !is_written) return 1;
    }
    return 0;
}
