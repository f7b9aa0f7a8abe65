# What run-tests and run-all-tests share: parts, each with a log of its own and one closing line. Sourced, not run.
#
# A part is a command whose last line of the form "N passed, N failed..." counts; without one it counts as one,
# passed when it exits with 0. A command that fails without saying what failed counts as one failed.
shopt -s inherit_errexit
parts_passed=0
parts_failed=0
logs=build/logs
jobs=$(nproc)
mkdir -p "$logs"

part() {
    local name=$1 start=$SECONDS status=0 passed=0 failed=0 summary
    shift
    local log=$logs/$name.log
    ("$@") >"$log" 2>&1 </dev/null || status=$?
    summary=$(grep -aE '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1 || true)
    if [[ $summary =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)? ]]; then
        passed=${BASH_REMATCH[1]}
        failed=$((BASH_REMATCH[2] + ${BASH_REMATCH[4]:-0}))
        [ "$passed" -gt 0 ] || failed=$((failed + 1)) # a part that tried nothing has not passed
    elif [ "$status" -eq 0 ]; then
        passed=1
    fi
    if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
    parts_passed=$((parts_passed + passed))
    parts_failed=$((parts_failed + failed))
    printf '%-28s %5d passed %4d failed  %4d s\n' "$name" "$passed" "$failed" $((SECONDS - start))
    if [ "$failed" -gt 0 ]; then
        { grep -aE '^(FAIL|UNSUPPORTED)|error:|ERROR|\*\*\*(Failed|Timeout|Exception|Not Run)' "$log" || tail -n 15 "$log"; } |
            head -n 30 | cut -c1-300 | sed 's/^/    /'
        echo "    all of it: $log"
    fi
}

# CTest's own closing line in ours. Usage: run_ctest BUILD_FOLDER [ctest options]
run_ctest() {
    local folder=$1 output status=0
    shift
    output=$(ctest --test-dir "$folder" --output-on-failure --no-tests=error -j "$jobs" "$@" 2>&1) || status=$?
    printf '%s\n' "$output"
    if [[ $output =~ ([0-9]+)\ tests?\ failed\ out\ of\ ([0-9]+) ]]; then
        echo "$((BASH_REMATCH[2] - BASH_REMATCH[1])) passed, ${BASH_REMATCH[1]} failed"
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

finish() {
    echo "$parts_passed passed, $parts_failed failed"
    [ "$parts_failed" -eq 0 ]
}
