/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version of the kernel kit, the headers tenon/kit/ and the library tenon_kit that go together.
 * It is apart from the versions of Tenon and of the plugin ABI: a plugin has the kit linked in, so
 * that nothing of it is resolved at run time, and plugins of different versions of it are loaded
 * side by side. Between versions sources may have to change; CHANGELOG.md says how. A minor version
 * adds, a major one changes or removes.
 *
 * All of the kit begins with tn_ or TN_. The library's symbols have hidden visibility: a shared
 * library that links it exports none of them.
 */
#ifndef TENON_KIT_VERSION_H
#define TENON_KIT_VERSION_H

#define TN_KIT_MAJOR 0
#define TN_KIT_MINOR 1

/* Whether the headers are at least of this version: #if TN_KIT_IS_AT_LEAST(0, 1). */
#define TN_KIT_IS_AT_LEAST(major, minor)                                                           \
    (TN_KIT_MAJOR > (major) || (TN_KIT_MAJOR == (major) && TN_KIT_MINOR >= (minor)))

#endif
