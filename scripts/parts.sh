# What run-tests, run-all-tests and run-long-tests share: parts, each with a log of its own and one closing line. Sourced,
# not run.
#
# A part is a command whose last line of the form "N passed, N failed[, N skipped]" counts; without one it counts as one,
# passed when it exits with 0. A command that fails without reporting what failed counts as one failed. What is skipped
# because something is absent on this machine is printed and counted; with TENON_TESTS_STRICT=1, which continuous
# integration sets, a skip is a failure. A part that skips everything has passed, one that tries nothing has failed. Lines that
# begin with WARN are printed.
#
# Parts run one after the other; between `together` and `apart` as many at a time as there are processors, each reported
# when it has ended. Those need nothing of each other, and most are programs of one thread.
shopt -s inherit_errexit
parts_passed=0
parts_failed=0
parts_skipped=0
parts_start=$SECONDS
logs=build/logs
jobs=$(nproc)
mkdir -p "$logs"
parts_together=
declare -A parts_running=() # names by process
wanted=("$@")               # what sources this takes names of parts
parts_table=                # a page of bench/results/ that keeps each part's row (scripts/results-table), where one is named

part() {
    local name=$1
    if [ -z "$parts_together" ]; then
        run_part "$@"
        report_part "$name"
        return
    fi
    while [ ${#parts_running[@]} -ge "$jobs" ]; do report_next; done
    run_part "$@" &
    parts_running[$!]=$name
}

# Those that were named, or all where none was.
chosen() {
    [ ${#wanted[@]} -eq 0 ] || [[ " ${wanted[*]} " = *" $1 "* ]] || return 0
    part "$@"
}

together() { parts_together=yes; }

apart() {
    while [ ${#parts_running[@]} -gt 0 ]; do report_next; done
    parts_together=
}

report_next() {
    local process name
    wait -n -p process || true
    name=${parts_running[$process]}
    unset "parts_running[$process]"
    report_part "$name"
}

run_part() {
    local name=$1 start=$SECONDS status
    shift
    set +e # a command that is tested by || or if would go on after its first failure
    (set -e; "$@") >"$logs/$name.log" 2>&1 </dev/null
    status=$?
    set -e
    echo "$status $((SECONDS - start))" > "$logs/$name.result"
}

report_part() {
    local name=$1 status seconds passed=0 failed=0 skipped=0 summary
    local log=$logs/$name.log
    read -r status seconds < "$logs/$name.result"
    rm "$logs/$name.result"
    summary=$(grep -aE '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1 || true)
    if [[ $summary =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)? ]]; then
        passed=${BASH_REMATCH[1]}
        failed=${BASH_REMATCH[2]}
        skipped=${BASH_REMATCH[4]:-0}
        [ $((passed + failed + skipped)) -gt 0 ] || failed=1
    elif [ "$status" -eq 0 ]; then
        passed=1
    fi
    if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
    if [ "${TENON_TESTS_STRICT:-0}" = 1 ]; then
        failed=$((failed + skipped))
        skipped=0
    fi
    if [ -n "$parts_table" ]; then
        printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$passed" "$failed" "$skipped" "$seconds" | scripts/results-table put "$parts_table"
    fi
    parts_passed=$((parts_passed + passed))
    parts_failed=$((parts_failed + failed))
    parts_skipped=$((parts_skipped + skipped))
    printf '%-28s %5d passed %4d failed %4d skipped %3d:%02d min\n' "$name" "$passed" "$failed" "$skipped" \
        $((seconds / 60)) $((seconds % 60))
    if [ "$failed" -gt 0 ]; then
        { grep -aE '^(FAIL|SKIP|UNSUPPORTED)|error:|ERROR|\*\*\*(Failed|Timeout|Exception|Not Run|Skipped)' "$log" || tail -n 15 "$log"; } |
            awk 'NR <= 30' | cut -c1-300 | sed 's/^/    /'
        echo "    all of it: $log"
    elif [ "$skipped" -gt 0 ]; then
        { grep -aE '^(SKIP|UNSUPPORTED)|\*\*\*Skipped' "$log" || true; } | sort -u | awk 'NR <= 10' | cut -c1-300 | sed 's/^/    /'
    fi
    { grep -a '^WARN ' "$log" || true; } | awk 'NR <= 10' | cut -c1-300 | sed 's/^/    /'
}

# CTest's own closing line in ours: N programs passed, N failed, N of the tests in them skipped (cmocka prints those).
# Usage: run_ctest BUILD_FOLDER [ctest options]
run_ctest() {
    local folder=$1 output status=0 skipped
    shift
    output=$(ctest --test-dir "$folder" --output-on-failure --no-tests=error -j "$jobs" "$@" 2>&1) || status=$?
    printf '%s\n' "$output"
    skipped=$(grep -a '^\[  SKIPPED \] test_' "$folder/Testing/Temporary/LastTest.log" | sort -u || true)
    [ -z "$skipped" ] || sed 's/^\[  SKIPPED \] /SKIP /' <<< "$skipped"
    if [[ $output =~ ([0-9]+)\ tests?\ failed\ out\ of\ ([0-9]+) ]]; then
        echo "$((BASH_REMATCH[2] - BASH_REMATCH[1])) passed, ${BASH_REMATCH[1]} failed, $(grep -c . <<< "$skipped" || true) skipped"
    fi
    return $status
}

# Configures and builds a preset. Usage: build_preset NAME [cmake options]
build_preset() {
    local preset=$1
    shift
    cmake --preset "$preset" "$@"
    cmake --build "build-$preset" -j "$jobs"
}

# What a further build of this tree is told of CUDA: as the release's.
cuda_option() { if [ -e build/lib/tenon/devices/libtenon_cuda.so ]; then echo -DTENON_WITH_CUDA=ON; else echo -DTENON_WITH_CUDA=OFF; fi; }

# What clang-tidy looks at, and the build, of clang's, that says how it is compiled and has the headers that are made.
tidy_sources() { git ls-files 'src/*.c' 'importers/*.c' 'tools/*.c' | grep -v 'tools/tenon/files/image.c'; }

prepare_tidy() { build_preset tsan -DTENON_WERROR=ON; }

build_fuzzers() {
    cmake --preset fuzz
    cmake --build build-fuzz -j "$jobs" --target fuzzers
}

# Fuzzes a target of build-fuzz/, beginning with the seeds that the tests make, what tests/fuzz/corpus/ keeps, and for plans and ONNX
# what the program $tenon builds and models/tiny/ has; damage is the fuzzer's own work. Usage: fuzz_target NAME [libFuzzer options]
fuzz_target() {
    local name=$1 corpus=build-fuzz/corpus/$1
    shift
    mkdir -p "$corpus" build-fuzz/found
    "build-fuzz/tests/make_${name}_corpus" "$corpus"
    scripts/fuzz-corpus unpack "tests/fuzz/corpus/$name.hex" "$corpus"
    if [ "$name" = plan ]; then
        "$tenon" build models/tiny/tiny_lenet.onnx -o "$corpus/tiny_lenet.plan" --shape input=1x1x28x28:1x1x28x28:2x1x28x28
        "$tenon" build models/tiny/tiny_resize.onnx -o "$corpus/tiny_resize.plan" \
            --shape image=1x2x1x1:1x2x5x6:1x2x9x9 --shape size=1x1x1x1:1x1x9x13:1x1x20x20
    elif [ "$name" = onnx ]; then
        cp models/tiny/*.onnx "$corpus"
    fi
    ASAN_OPTIONS=allocator_may_return_null=1 "build-fuzz/tests/fuzz_$name" -rss_limit_mb=2048 -max_len=65536 \
        -artifact_prefix=build-fuzz/found/ -print_final_stats=1 "$@" "$corpus"
}

finish() {
    printf '%d:%02d minutes in all\n' $(((SECONDS - parts_start) / 60)) $(((SECONDS - parts_start) % 60))
    echo "$parts_passed passed, $parts_failed failed, $parts_skipped skipped"
    [ "$parts_failed" -eq 0 ]
}
