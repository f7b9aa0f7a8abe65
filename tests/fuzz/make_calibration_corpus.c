/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the seeds of the calibration tables' fuzz target into a folder: each header, names with
 * colons and blanks, odd values, lines with every kind of end.
 *
 *     make_calibration_corpus FOLDER
 */
#include <stdio.h>

static const char *const seeds[] = {
    "TRT-8502-EntropyCalibration2\nconv1: 3ce61f4d\npool1: 3cdb9660\n",
    "TRT-100300-EntropyCalibration2\n/conv1/Conv_output_0: 3f9db09c\n",
    "TRT-7103-MinMaxCalibration\ninput:0: 3c008102\n",
    "TRT-5100-EntropyCalibration\n(Unnamed Layer* 4) [Fully Connected]_output: 3d65992f",
    "TRT-8600-LegacyCalibration\r\ndata: 3C008102\r\n\r\nprob: 3c010204\r\n",
    "TRT-8600-EntropyCalibration2\na\r: 3f800000\n\rb:1\n",
    "03ff00000000000003feffffde7210be9\ndata: 3c008102\nip1: 3db8ea7b\n",
    "1\nzero: 0\ninfinite: 7f800000\nnan: 7fc00000\nnegative: bf800000\n",
    "TRT-8XXX-EntropyCalibration2\ntwice: 3f800000\ntwice: 40000000\n",
    "TRT-8600-EntropyCalibration2\n",
    "no header: 3f800000\n",
    "TRT-8600-EntropyCalibration2\nname without a colon\n",
    "TRT-8600-EntropyCalibration2\ndecimal: 4.6586\n",
};

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    for (size_t i = 0; i < sizeof(seeds) / sizeof(*seeds); i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%02zu.cache", argv[1], i);
        FILE *file = fopen(path, "wb");
        if (!file || fputs(seeds[i], file) < 0 || fclose(file) != 0) {
            fprintf(stderr, "cannot write '%s'\n", path);
            return 1;
        }
    }
    printf("%zu seeds\n", sizeof(seeds) / sizeof(*seeds));
    return 0;
}
