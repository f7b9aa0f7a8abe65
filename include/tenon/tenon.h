/* SPDX-License-Identifier: Apache-2.0 */
/* All of the C interface. Layers need tenon/plugin.h alone. No callback may let out a C++ exception
 * or a longjmp: the core has no tables to unwind by (tenon.hpp passes exceptions around it). */
#ifndef TENON_TENON_H
#define TENON_TENON_H

#include <tenon/async.h>
#include <tenon/border.h>
#include <tenon/builder.h>
#include <tenon/calibrate.h>
#include <tenon/calibration.h>
#include <tenon/compile.h>
#include <tenon/context_memory.h>
#include <tenon/crash.h>
#include <tenon/device_memory.h>
#include <tenon/describe.h>
#include <tenon/engine.h>
#include <tenon/graph.h>
#include <tenon/import.h>
#include <tenon/isolation.h>
#include <tenon/operation.h>
#include <tenon/output_allocator.h>
#include <tenon/plugin.h>
#include <tenon/profiles.h>
#include <tenon/refit.h>
#include <tenon/runtime.h>
#include <tenon/status.h>
#include <tenon/threads.h>

#endif
