#!/usr/bin/env bash
# Uses Tenon as it is installed, from a checkout's examples and models alone: a program by find_package, the same by pkg-config, a
# plugin by pkg-config, plans of models of each format, plugins checked. Prints a line for each and "N passed, N failed".
# Usage: tests/install/use_installed.sh [PREFIX]; without: as Debian's packages have it.
set -uo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ $# -gt 0 ]; then
    export PATH=$1/bin:$PATH PKG_CONFIG_PATH=$1/lib/pkgconfig CMAKE_PREFIX_PATH=$1 LD_LIBRARY_PATH=$1/lib
fi
passed=0
failed=0
try() { # NAME COMMAND...
    local name=$1
    shift
    if (set -e; "$@") > "$work/log" 2>&1; then
        passed=$((passed + 1))
        echo "PASS $name"
    else
        failed=$((failed + 1))
        echo "FAIL $name"
        tail -n 15 "$work/log" | sed 's/^/    /'
    fi
}

by_cmake() {
    cp -r examples/run_plan "$work/run_plan"
    cmake -S "$work/run_plan" -B "$work/run_plan/build" -DCMAKE_BUILD_TYPE=Release
    cmake --build "$work/run_plan/build"
}
by_pkg_config() {
    # shellcheck disable=SC2046
    cc -std=c11 -Wall -Wextra -Werror -o "$work/run_plan_by_pkg_config" examples/run_plan/run_plan.c $(pkg-config --cflags --libs tenon)
}
plugin_by_pkg_config() {
    # shellcheck disable=SC2046
    cc -O3 -shared -fPIC $(pkg-config --cflags tenon) -o "$work/libsoft_clip.so" examples/soft_clip/soft_clip.c -lm
    tenon plugin check "$work/libsoft_clip.so"
}
plugin_built() {
    cp -r examples/grid_sample "$work/grid_sample"
    (cd "$work/grid_sample" && tenon plugin build . && tenon plugin check build/libgrid_sample.so && tenon plugin bench build/libgrid_sample.so)
}
plan() { tenon build models/lenet.onnx -o "$work/lenet.plan" --shape input=1x1x28x28; }
caffe() { tenon build models/lenet.prototxt --weights models/lenet.caffemodel -o "$work/caffe.plan"; }
uff() { { tenon inspect models/lenet_nhwc.uff 2>&1 || true; } | grep "no library has an operator .MaxPool"; } # its reader came as far as that
isolated() { tenon run models/tiny/tiny_lenet.onnx --input models/tiny/tiny_lenet_input.npy --isolate --json; }
program() { "$1" "$work/lenet.plan" 0.25 | awk '{ sum += $1 } END { exit !(sum > 0.999 && sum < 1.001) }'; }
has_onednn() { tenon doctor | grep "^  onednn "; }
manual() { man --where tenon tenon-build tenon-plugin; }

try version tenon --version
try doctor tenon doctor
try plan plan
try caffe caffe
try uff uff
try isolated isolated
try find_package by_cmake
try program-by-find_package program "$work/run_plan/build/run_plan"
try pkg-config by_pkg_config
try program-by-pkg-config program "$work/run_plan_by_pkg_config"
try plugin plugin_by_pkg_config
try plugin-build plugin_built
try onednn has_onednn
[ $# -gt 0 ] || try manual manual
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
