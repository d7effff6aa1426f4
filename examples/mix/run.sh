#!/bin/sh
# Runs the mix of examples/mix/mix.yaml: real jobs on the source code of the Go distribution and on generated input, under three
# policies. Usage: run.sh SOJOURN [DIRECTORY]. Everything it makes is in DIRECTORY (out/mix); input is made once.
set -eu
sojourn=$1
dir=${2:-out/mix}
here=$(dirname "$0")
mkdir -p "$dir/input"
make_input() { # name, then arguments of generate
	name=$1; shift
	[ -e "$dir/input/$name" ] || "$sojourn" generate "$@" --output "$dir/input/$name"
}
make_input words.txt text --size 300MB
make_input memo.txt text --size 4MB --seed 2
make_input records.dat teragen --size 200MB
make_input ratings.txt ratings --size 60MB
make_input edges.txt edges --size 20MB
make_input items.txt associations --size 40MB
ln -sfn "$(go env GOROOT)/src" "$dir/input/go"
rm -rf "$dir/output" "$dir"/*.rec "$dir"/*.csv
sed "s|DIR|$dir|g" "$here/mix.yaml" >"$dir/mix.yaml"
"$sojourn" run "$dir/mix.yaml" --policy fifo --policy fair --policy hfsp \
	--record "$dir/{policy}.rec" --per-job "$dir/{policy}.csv" --plot "$dir/sojourn.svg"
for policy in fifo fair hfsp; do
	"$sojourn" record export "$dir/$policy.rec" --format chrome >"$dir/$policy.trace.json"
done
cat <<END

In $dir: sojourn.svg (distribution of sojourn times), {fifo,fair,hfsp}.csv (a line a job), .trace.json (open in
https://ui.perfetto.dev), .rec (the records: '$sojourn record summary $dir/hfsp.rec'), output/ (what the jobs wrote).
END
