#!/bin/sh
# Runs the mix of examples/mix/mix.yaml: real jobs on the source code of the Go distribution and on generated input,
# under three policies. Usage: run.sh SOJOURN [DIRECTORY]. Everything it makes is in DIRECTORY (out/mix); input is made
# once.
set -eu
sojourn=$1
dir=${2:-out/mix}
"$(dirname "$0")/input.sh" "$sojourn" "$dir"
rm -rf "$dir/output" "$dir"/*.rec "$dir"/*.csv
"$sojourn" run "$dir/mix.yaml" --policy fifo --policy fair --policy hfsp \
	--record "$dir/{policy}.rec" --per-job "$dir/{policy}.csv" --plot "$dir/sojourn.svg"
for policy in fifo fair hfsp; do
	"$sojourn" record export "$dir/$policy.rec" --format chrome >"$dir/$policy.trace.json"
done
cat <<END

In $dir: sojourn.svg (distribution of sojourn times), {fifo,fair,hfsp}.csv (a line a job), .trace.json (open in
https://ui.perfetto.dev), .rec (the records: '$sojourn record summary $dir/hfsp.rec'), output/ (what the jobs wrote).
END
