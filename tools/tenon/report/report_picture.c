/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms as SVG; see report_picture.h. Coordinates are whole tenths of a pixel, so that no
 * number has a decimal point that a locale could change. */
#include "report_picture.h"

#include <math.h>

#define TENTHS 10

static double largest_bar(const json *bars) {
    double largest = 0;
    for (const json *bar = bars ? bars->first : NULL; bar; bar = bar->next)
        largest = fmax(largest, json_number(bar, 0));
    return largest;
}

/* The text of an axis' ends. */
static void put_label(FILE *page, double x, double y, const char *anchor, double value) {
    fprintf(page,
            "<text x=\"%.0f\" y=\"%.0f\" font-size=\"100\" fill=\"#5a6b7d\" "
            "text-anchor=\"%s\">%.3g</text>",
            x, y, anchor, value);
}

void report_picture_histogram(FILE *page, const json *tensor, int width, int height,
                              bool has_axis) {
    const json *bars = json_member(tensor, "histogram");
    const size_t count = json_count(bars);
    const double most = largest_bar(bars), largest = json_number_of(tensor, "largest");
    const double bound = json_number_of(tensor, "bound");
    const double wide = width * TENTHS, high = height * TENTHS,
                 floor_y = has_axis ? high - 140 : high;
    size_t index = 0;
    if (count == 0 || !(most > 0) || !(largest > 0)) return;
    fprintf(page,
            "<svg width=\"%d\" height=\"%d\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
            "aria-label=\"histogram\">",
            width, height, wide, high);
    for (const json *bar = bars->first; bar; bar = bar->next, index++) {
        const double value = json_number(bar, 0), left = wide * (double)index / (double)count;
        const double tall = value > 0 ? fmax(10, log1p(value) / log1p(most) * (floor_y - 20)) : 0;
        const bool is_cut = bound > 0 && (double)index / (double)count * largest >= bound;
        if (value > 0)
            fprintf(page,
                    "<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" fill=\"%s\" />",
                    left, floor_y - tall, fmax(wide / (double)count - 5, 5), tall,
                    is_cut ? "#d9822b" : "#5b8fc7");
    }
    if (bound > 0) {
        const double x = fmin(bound / largest, 1) * (wide - 10) + 5;
        fprintf(page,
                "<line x1=\"%.0f\" x2=\"%.0f\" y1=\"0\" y2=\"%.0f\" stroke=\"#b3261e\" "
                "stroke-width=\"12\" />",
                x, x, floor_y);
        if (has_axis)
            put_label(page, x < wide / 2 ? x + 30 : x - 30, 110, x < wide / 2 ? "start" : "end",
                      bound);
    }
    if (has_axis) {
        fprintf(page,
                "<line x1=\"0\" x2=\"%.0f\" y1=\"%.0f\" y2=\"%.0f\" stroke=\"#8a99a8\" "
                "stroke-width=\"8\" />",
                wide, floor_y, floor_y);
        put_label(page, wide, high - 20, "end", largest);
    }
    fputs("</svg>", page);
}
