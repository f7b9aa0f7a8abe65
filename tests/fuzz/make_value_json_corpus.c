/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seeds for fuzz_value_json: a value of each port that it knows, and what is near to one.
 * make_value_json_corpus FOLDER.
 */
#include <stdio.h>
#include <string.h>

/* The first character chooses the port: '0' is 48, and there are 13. */
static const char *const seeds[] = {
    "4[[1, 2.5e-3], [[\"NaN\"], [\"-Infinity\"]], 7, []]",
    "5[\"one\", [\"\", \"\\u00e9\\n\", \"\\ud83d\\ude00\"]]",
    "6[[0, 255], 256, -1]",
    "7[9223372036854775807, [[-9223372036854775808]]]",
    "8[[true, false], [[true]]]",
    "9[[1]]",
    ":[[1, 2], [3, 4]]",
    ":null",
    ";[\"a\", \"bc\"]",
    "<{\"1\": 0.5, \"-7\": \"Infinity\"}",
    "={\"a\": 1, \"\": -2, \"a\": 3}",
    ">{\"key\": \"value\", \"other\": \"\"}",
    "?[{\"1\": 0.5}, {}, {\"2\": 1e39}]",
    "@[{\"a\": \"b\"}, {\"c\": \"d\"}]",
    "4[[1, 2], [3]]",
    "4[[[[[[[[[[[[1]]]]]]]]]]]]",
    "4[[1, [2]]]",
    "4{\"0\": 1}",
    "={\"a\": [1]}",
    "<{\"1.5\": 1}",
    "6[1e3]",
    "4[1,]",
    "5[\"one\\",
    "4",
    "",
};

int main(int count, char **arguments) {
    if (count != 2) return 1;
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        char path[4096];
        const int length = snprintf(path, sizeof(path), "%s/value_json_%zu", arguments[1], i);
        FILE *file = length > 0 && (size_t)length < sizeof(path) ? fopen(path, "wb") : NULL;
        if (!file) return 1;
        const size_t bytes = strlen(seeds[i]);
        const int is_written = fwrite(seeds[i], 1, bytes, file) == bytes;
        if (fclose(file) != 0 || !is_written) return 1;
    }
    return 0;
}
