/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in JSON, whatever the locale's decimal point is. */
#ifndef TN_CALIBRATE_NUMBER_TEXT_H
#define TN_CALIBRATE_NUMBER_TEXT_H

#include "base/text.h"

/* Nine digits; null for what is not finite. */
void tn_number_text_add(tn_text *text, double number);
/* , "key": number */
void tn_number_text_add_member(tn_text *text, const char *key, double number);

#endif
