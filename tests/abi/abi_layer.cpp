// SPDX-License-Identifier: Apache-2.0
// The same plugin as C++17.
#include "abi_layer.c"
