#!/usr/bin/env bash
# test-stock.sh [PART [FILE]]: runs the tests beside stock Hadoop, Spark, Tez and Flink whose names match PART (Stock:
# all of them), and prints their results as a table of Markdown. In FILE (docs/hadoop.md) it replaces the rows of the
# same parts, between the lines that name this script, and adds rows of new parts.
set -uo pipefail
cd "$(dirname "$0")/../.."
part=${1:-Stock}
file=${2-}
SOJOURN_HADOOP=$(./internal/yarn/fetch-stock.sh hadoop)
SOJOURN_SPARK=$(./internal/yarn/fetch-stock.sh spark)
SOJOURN_TEZ=$(./internal/yarn/fetch-stock.sh tez)
SOJOURN_FLINK=$(./internal/yarn/fetch-stock.sh flink)
export SOJOURN_HADOOP SOJOURN_SPARK SOJOURN_TEZ SOJOURN_FLINK SOJOURN_STOCK=all
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT

go test -count=1 -run "$part" -timeout 120m -v ./internal/yarn ./internal/mr/streaming | tee "$log/said"
status=$?
awk -v day="$(date -u +%F)" '/^ +--- (PASS|FAIL|SKIP): TestStock[A-Za-z]*\// {
	split($3, name, "/"); gsub("_", " ", name[2]); gsub("[()s]", "", $4)
	result["PASS:"] = "passed"; result["FAIL:"] = "**failed**"; result["SKIP:"] = "skipped"
	printf "| %s | `%s` | %s | %s | %.0f |\n", day, name[1], name[2], result[$2], $4
}' "$log/said" >"$log/rows"
echo
java=$(java -version 2>&1 | sed -n 's/.*version "\(.*\)".*/Java \1/p')
echo "$java, $(uname -sm), $(nproc) cores, a load of $(cut -d' ' -f1 /proc/loadavg) at the end:"
echo
printf '%s\n' '| run on | test | part | | seconds |' '|---|---|---|---|---:|'
cat "$log/rows"
if [ -n "$file" ]; then
	awk -F ' *[|] *' -v rows="$log/rows" '
		BEGIN {
			while ((getline line < rows) > 0) {
				split(line, cell); key = cell[3] cell[4]; order[++n] = key; new[key] = line
			}
		}
		/^<!-- by internal\/yarn\/test-stock.sh -->/ { table = 1 }
		/^<!-- end of the table -->/ { for (i = 1; i <= n; i++) if (order[i] in new) print new[order[i]]; table = 0 }
		table && ($3 $4) in new { print new[$3 $4]; delete new[$3 $4]; next }
		{ print }
	' "$file" >"$log/file" && cat "$log/file" >"$file"
fi
exit $status
