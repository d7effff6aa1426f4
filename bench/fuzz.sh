#!/bin/sh
# Fuzzes every target of the tree for a minute, or for as long as SECONDS_EACH says: a line for each. What is found
# stays in the package's testdata/fuzz, where go test runs it from then on. Usage: fuzz.sh [PACKAGE...]; without
# arguments, all packages.
set -u
each=${SECONDS_EACH:-60}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
for package in $(go list "${@:-./...}"); do
	for target in $(go test -run '^$' -list '^Fuzz' "$package" | grep '^Fuzz'); do
		if go test -run '^$' -fuzz "^$target\$" -fuzztime "${each}s" "$package" >"$log" 2>&1; then
			printf 'ok    %-60s %s\n' "$package.$target" \
				"$(sed -n 's/.*execs: \([0-9]*\).*/\1 inputs/p' "$log" | tail -1)"
		else
			printf 'FAIL  %s\n' "$package.$target"
			cat "$log"
			status=1
		fi
	done
done
exit $status
