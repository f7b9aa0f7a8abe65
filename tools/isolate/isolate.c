/* SPDX-License-Identifier: Apache-2.0 */
/* tenon-isolate: the process in which a context's plugins run (TN_ENGINE_ISOLATED). It is started
 * by the library, never by hand; what it does is src/isolation/isolation_serve.c. */
#include <tenon/isolation.h>

int main(int argc, char **argv) {
    return tn_isolation_serve(argc, argv);
}
