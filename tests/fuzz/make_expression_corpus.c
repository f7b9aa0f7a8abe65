/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seeds for fuzz_expression: the language's parts, and what is near to it. make_expression_corpus
 * FOLDER.
 */
#include <stdio.h>
#include <string.h>

static const char *const seeds[] = {
    "X",
    "low + (high - low) / (1 + exp(-x))",
    "X < 0 ? alpha * expm1(X) : X",
    "approximate == 1 ? X / (1 + exp(-1.5957691216057308 * (X + 0.044715 * X * X * X))) : 0.5 * X",
    "sign(X) * min(softplus(X), max(mod(X, 3), fmod(sigmoid(X), 2)))",
    "fmax(X, 0) + log1p(exp(-fabs(X)))",
    "pow(X, Y) >= 1e-3 && !(A != B) || C <= .5E+2",
    "input > 0 ? 1 : input < 0 ? -1 : input",
    "((((((((((x))))))))))",
    "- - - -x",
    "system(x)",
    "x; asm(\"trap;\")",
    "1e99999 + 0.0000000000000000000000000000000000001",
    "x ? : 1",
    "",
};

int main(int count, char **arguments) {
    if (count != 2) return 1;
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        char path[4096];
        const int length = snprintf(path, sizeof(path), "%s/expression_%zu", arguments[1], i);
        FILE *file = length > 0 && (size_t)length < sizeof(path) ? fopen(path, "wb") : NULL;
        if (!file) return 1;
        const size_t bytes = strlen(seeds[i]);
        const int is_written = fwrite(seeds[i], 1, bytes, file) == bytes;
        if (fclose(file) != 0 || !is_written) return 1;
    }
    return 0;
}
