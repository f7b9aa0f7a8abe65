/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C interface for C++17: handles that release themselves, and exceptions. There is no code
 * behind it but calls of the C functions, whose headers say what each does; get() answers the C
 * handle, so that whatever is not here is called directly.
 *
 *  - One class a C object, in a header of tenon/cpp/; its methods have the names of the functions
 *    without the prefix, and throw tenon::Error where those answer another status than TN_OK.
 *  - Owned objects move; shared ones (Runtime, Engine) are copied, too, which retains. A class made
 *    from a C handle adopts it: it is released with the object.
 *  - Structs of options are those of C: tenon::options<tn_builder_options>() has `size` set and
 *    all else 0. They hold pointers, to what must live until the call is over.
 *  - Texts and tensors that methods answer have the lifetime of those of the C functions.
 *  - Threads: as the C functions say. Functions that are given to C by pointer must not throw.
 *    Callables may: what one throws ends the visit or the build and is thrown on, and is no memory
 *    for an output; that of Context::run_async must be noexcept.
 *  - Arrays are ranges by tenon::items(pointer, count).
 *  - Context's methods allocate nothing but for errors, names and reports.
 */
#ifndef TENON_TENON_HPP
#define TENON_TENON_HPP

#include <tenon/cpp/build_options.hpp>
#include <tenon/cpp/calibration.hpp>
#include <tenon/cpp/context.hpp>
#include <tenon/cpp/describe.hpp>
#include <tenon/cpp/device.hpp>
#include <tenon/cpp/engine.hpp>
#include <tenon/cpp/error.hpp>
#include <tenon/cpp/graph.hpp>
#include <tenon/cpp/graph_reading.hpp>
#include <tenon/cpp/import.hpp>
#include <tenon/cpp/items.hpp>
#include <tenon/cpp/operation.hpp>
#include <tenon/cpp/plan.hpp>
#include <tenon/cpp/refit.hpp>
#include <tenon/cpp/runtime.hpp>
#include <tenon/cpp/threads.hpp>

#endif
