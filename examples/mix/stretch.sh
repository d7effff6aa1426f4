#!/bin/sh
# Measures what choosing a metric is worth on real jobs: the largest stretch of the mix under fair and under a policy
# that makes it small, and how much better that is than under fair, beside what the simulator predicted.
# Usage: stretch.sh SOJOURN [DIRECTORY [REPEATS [PERCENT]]]. Everything it makes is in DIRECTORY (out/stretch); input is
# made once, and has so many PERCENT (100) of its size.
#
# A job's stretch is its time from submission to end over the time that it takes alone on this machine, which is
# measured first: twice, and the shorter time counts. Each repeat runs the mix under both policies, one after the other;
# who is first alternates. The simulator gets the arrivals and the task times that the run under fair has recorded, and
# has not seen the other run. Intervals are of 95 %.
set -eu
export LC_ALL=C # decimal points
sojourn=$1
dir=${2:-out/stretch}
repeats=${3:-10}
percent=${4:-100}
chosen=flex:metric=max-stretch
cluster=nodes=1,vcores=$(getconf _NPROCESSORS_ONLN),memory=1TiB # what run has, unless it is told otherwise
"$(dirname "$0")/input.sh" "$sojourn" "$dir" "$percent"
run() { # workload, policy, then arguments of run
	mix=$1; policy=$2; shift 2
	rm -rf "$dir/output"
	"$sojourn" run "$mix" --quiet --policy "$policy" --per-job "$dir/jobs.csv" --overwrite "$@" >/dev/null
}
stretch() { # repeat, measured or predicted, policy: prints them and the largest stretch of the jobs in jobs.csv
	awk -F, -v what="$*" 'FNR == NR { alone[$1] = $2; next }
		FNR > 1 && $9 / alone[$3] > most { most = $9 / alone[$3] }
		END { print what, most }' "$dir/alone.csv" "$dir/jobs.csv" >>"$dir/stretches.txt"
}

grep "^ *- {name:" "$dir/mix.yaml" | sed 's/submit: [^,]*/submit: 0s/; s/, queue: [^,}]*//' | while read -r job; do
	{ echo jobs:; echo "  $job"; } >"$dir/alone.yaml"
	for try in 1 2; do
		run "$dir/alone.yaml" fifo
		tail -n 1 "$dir/jobs.csv" | cut -d , -f 3,9
	done | sort -t , -k 2 -g | head -n 1
done >"$dir/alone.csv"

: >"$dir/stretches.txt"
for repeat in $(seq "$repeats"); do
	set -- fair $chosen
	[ $((repeat % 2)) = 1 ] || set -- $chosen fair
	for policy in "$@"; do
		run "$dir/mix.yaml" "$policy" --record "$dir/$policy.rec"
		stretch "$repeat" measured "$policy"
	done
	for policy in fair $chosen; do
		"$sojourn" sim --from-record "$dir/fair.rec" --cluster "$cluster" --costs none --quiet --estimator mean \
			--policy "$policy" --per-job "$dir/jobs.csv" --overwrite >/dev/null
		stretch "$repeat" predicted "$policy"
	done
done
awk '
	# half returns half the 95 % confidence interval of a mean by Student: t of 1 to 15 degrees of freedom, 2.1 beyond.
	function half(sum, squares, n,    t) {
		split("12.706 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262 2.228 2.201 2.179 2.160 2.145 2.131", t, " ")
		if (n < 2) return 0
		squares -= sum * sum / n
		return (n <= 16 ? t[n - 1] : 2.1) * sqrt((squares > 0 ? squares : 0) / (n - 1) / n)
	}
	function add(what, x) { sum[what] += x; squares[what] += x * x }
	{ stretch[$1, $2, $3] = $4; add($2 " " $3, $4); repeats = $1; if ($3 != "fair") policy = $3 }
	END {
		for (r = 1; r <= repeats; r++)
			for (i = 1; i <= 2; i++) {
				how = i == 1 ? "measured" : "predicted"
				add(how, 100 * (1 - stretch[r, how, policy] / stretch[r, how, "fair"]))
			}
		printf "%d repeats, largest stretch of a job\n", repeats
		printf "%-10s  %-15s  %-22s  %s\n", "", "FAIR", policy, "BETTER BY"
		for (i = 1; i <= 2; i++) {
			how = i == 1 ? "measured" : "predicted"; a = how " fair"; b = how " " policy
			printf "%-10s  %5.2f ± %-7.2f  %5.2f ± %-14.2f  %.1f ± %.1f %%\n", how, sum[a] / repeats,
				half(sum[a], squares[a], repeats), sum[b] / repeats, half(sum[b], squares[b], repeats),
				sum[how] / repeats, half(sum[how], squares[how], repeats)
		}
	}' "$dir/stretches.txt"
