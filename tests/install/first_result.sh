#!/usr/bin/env bash
# From nothing to the first result: types the two commands that docs/install.md has for a path, in this checkout, and compares what the second
# prints with the network's reference output. Prints the seconds and processor time of each, and "N passed, N failed".
# Usage: tests/install/first_result.sh wheel|deb|source
set -uo pipefail
cd "$(dirname "$0")/../.."
declare -A headings=([wheel]='A wheel' [deb]="Debian's packages" [source]='From source')
heading=${headings[${1:?wheel, deb or source}]}
mapfile -t commands < <(sed -n "/^## $heading\$/,/^## /s/^    //p" docs/install.md)
output=$(mktemp)
trap 'rm -f "$output"' EXIT
passed=0
failed=0
say() { # STATUS TEXT
    if [ "$1" -eq 0 ]; then passed=$((passed + 1)) && echo "PASS $2"; else failed=$((failed + 1)) && echo "FAIL $2"; fi
}

[ "${#commands[@]}" -eq 2 ]
say $? "$1: ${#commands[@]} commands"
for command in "${commands[@]}"; do
    status=0
    TIMEFORMAT='%R s, %U + %S of processor time'
    time bash -c "$command" > "$output" 2>&1 || status=$?
    [ $status -eq 0 ] || tail -n 15 "$output"
    say $status "$command"
done 2>&1
paste -d ' ' <(tail -n +2 "$output" | tr -d '[]' | tr -s ' ' '\n' | grep .) \
    <(tail -c 80 models/tiny/tiny_lenet_output.npy | od -An -t f4 -v | tr -s ' ' '\n' | grep .) |
    awk '{ if (NF != 2 || ($1 - $2) ^ 2 > 1e-8) exit 1 } END { exit NR != 20 }'
say $? "the result is the reference's"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
