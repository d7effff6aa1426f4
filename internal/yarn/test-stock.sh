#!/usr/bin/env bash
# test-stock.sh [PART [FILE]]: runs the tests beside stock Hadoop, Spark and Tez whose names match PART (Stock: all of them), prints what passed as a table of
# Markdown, and puts that into FILE (docs/hadoop.md) between the lines that say so.
set -uo pipefail
cd "$(dirname "$0")/../.."
part=${1:-Stock}
file=${2-}
SOJOURN_HADOOP=$(./internal/yarn/fetch-stock.sh hadoop)
SOJOURN_SPARK=$(./internal/yarn/fetch-stock.sh spark)
SOJOURN_TEZ=$(./internal/yarn/fetch-stock.sh tez)
export SOJOURN_HADOOP SOJOURN_SPARK SOJOURN_TEZ SOJOURN_STOCK=all
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT

go test -count=1 -run "$part" -timeout 120m -v ./internal/yarn ./internal/mr/streaming | tee "$log/said"
status=$?
{
	echo "$(date -u +%F), $(java -version 2>&1 | sed -n 's/.*version "\(.*\)".*/Java \1/p'), $(uname -sm), $(nproc) cores, a load of $(cut -d' ' -f1 /proc/loadavg) at the end:"
	echo
	echo '| test | part | | seconds |'
	echo '|---|---|---|---:|'
	awk '/^ +--- (PASS|FAIL|SKIP): TestStock[A-Za-z]*\// {
		split($3, name, "/"); gsub("_", " ", name[2]); gsub("[()s]", "", $4)
		result["PASS:"] = "passed"; result["FAIL:"] = "**failed**"; result["SKIP:"] = "skipped"
		printf "| `%s` | %s | %s | %.0f |\n", name[1], name[2], result[$2], $4
	}' "$log/said"
} >"$log/table"
echo
cat "$log/table"
if [ -n "$file" ]; then
	awk -v table="$log/table" '
		/^<!-- end of the table -->/ { skip = 0 }
		!skip { print }
		/^<!-- by internal\/yarn\/test-stock.sh -->/ { skip = 1; while ((getline line < table) > 0) print line }
	' "$file" >"$log/file" && cat "$log/file" >"$file"
fi
exit $status
