#!/bin/sh
# Counts the deadlines of real MapReduce jobs that policies meet, over several draws of jobs and two loads.
# Usage: run.sh SOJOURN [DIRECTORY [REPEATS [MEGABYTES [JOBS]]]]. Everything it makes is in DIRECTORY (out/deadlines).
# Input is made once; its text has so many MEGABYTES (60). With the defaults it takes about half an hour on two idle
# cores.
#
# The rule: each kind of job of mix.yaml is measured alone, twice, and the shorter time counts. Then three jobs of each
# kind come at once. What they take together, divided by what they take alone, says how much the machine does when jobs
# are always waiting: that is load 1. A repeat (of 10) draws JOBS (100) of these kinds at exponential intervals. A job's
# deadline is uniform from 1.5 to 4 times as long as its kind takes alone. The same seeds give the same draws. All
# policies get the same jobs; what they know of tasks is what the runs before the draws have taught (--history).
#
# Beside what was measured stands what the simulator predicts: the same jobs, with the task times that the run under
# fair has recorded, and the same estimates.
set -eu
export LC_ALL=C # decimal points
sojourn=$1
dir=${2:-out/deadlines}
repeats=${3:-10}
size=${4:-60}
count=${5:-100}
cluster=nodes=1,vcores=$(getconf _NPROCESSORS_ONLN),memory=1TiB # what run has, unless it is told otherwise
here=$(dirname "$0")
mkdir -p "$dir/input"
# What sojourn run remarks itself, once and not before each of the runs (--quiet).
[ ! -r /proc/loadavg ] || awk -v n="$(getconf _NPROCESSORS_ONLN)" '$1 > n / 4 {
	printf "the machine is busy: load %s on %d processors in the last minute. Repeat on an idle machine: ", $1, n
	print "deadlines are of jobs that were measured alone" }' /proc/loadavg >&2
make_input() { # name, percentage of the size, then arguments of generate
	name=$1; bytes=$((size * $2 * 10000)); shift 2
	[ -e "$dir/input/$name" ] || "$sojourn" generate "$@" --size "$bytes" --output "$dir/input/$name"
}
make_input words.txt 100 text
make_input records.dat 100 teragen
make_input ratings.txt 300 ratings
make_input items.txt 30 associations
make_input edges.txt 15 edges
make_input memo.txt 40 text --seed 2
run() { # workload, then arguments of run
	mix=$1; shift
	rm -rf "$dir/output"
	"$sojourn" run "$mix" --quiet --json --estimator history --history "$dir/history" "$@"
}
met() { # a repeat: prints it, each policy and its deadlines met, from the JSON of a comparison
	awk -v repeat="$1" '/"policy":/ { policy = $2; sub(/^"/, "", policy); sub(/",$/, "", policy) }
		/"met":/ { print repeat, policy, $2 + 0 }'
}

# The time of each kind alone.
rm -f "$dir/history"
sed "s|DIR|$dir|g" "$here/mix.yaml" | grep 'name:' >"$dir/kinds.txt"
while read -r kind; do
	{ echo jobs:; echo "  $kind"; } >"$dir/alone.yaml"
	for try in 1 2; do
		run "$dir/alone.yaml" --policy fifo | awk '/"sojourn_s": [0-9]/ { print $2 + 0 }'
	done | sort -n | head -n 1
done <"$dir/kinds.txt" >"$dir/alone.txt"

# How much longer than alone, one after the other, jobs take that wait for each other.
{
	echo jobs:
	for copy in 1 2 3; do
		sed "s|name: |name: copy-$copy-|; s|output: [^}]*|&-$copy|; s|^|  |" "$dir/kinds.txt"
	done
} >"$dir/crowd.yaml"
crowd=$(run "$dir/crowd.yaml" --policy fifo | awk '/"makespan_s": [0-9]/ { print $2 + 0 }')
slow=$(awk -v crowd="$crowd" '{ sum += $1 } END { print crowd / 3 / sum }' "$dir/alone.txt")
awk -v slow="$slow" '{ sum += $1 } END {
	printf "alone the %d kinds of jobs take %.2f s together, and %.2f times as long when they wait for each other\n",
		NR, sum, slow }' "$dir/alone.txt"

# draw LOAD SEED writes a workload. Chance is a linear congruential generator, the same under every awk.
draw() {
	awk -v load="$1" -v seed="$2" -v count=$count -v slow="$slow" -v dir="$dir" '
		function chance() { state = (state * 16807) % 2147483647; return state / 2147483647 }
		FNR == NR { alone[FNR] = $1; next }
		{ kind[FNR] = $0; kinds = FNR }
		END {
			state = 1000003 * seed % 2147483647
			for (i = 0; i < 10; i++) chance()
			for (i = 1; i <= count; i++) { of[i] = 1 + int(chance() * kinds); work += alone[of[i]] }
			print "jobs:"
			for (i = 1; i <= count; i++) {
				job = kind[of[i]]
				sub(/name: /, "name: job-" i "-", job)
				sub(/output: [^}]*/, "output: " dir "/output/job-" i, job)
				sub(/}/, sprintf(", submit: %.6fs, deadline: %.6fs}", at, alone[of[i]] * (1.5 + 2.5 * chance())), job)
				print "  " job
				at -= log(chance()) * work / count / load * slow
			}
		}' "$dir/alone.txt" "$dir/kinds.txt"
}

for load in 0.9 1.2; do
	: >"$dir/met.txt"
	for repeat in $(seq "$repeats"); do
		draw $load "$repeat" >"$dir/draw-$load-$repeat.yaml"
		cp "$dir/history" "$dir/known"
		rm -f "$dir/draw.fair.rec"
		set --
		for policy in edf distributions adaptive adaptive:shortage=fewest,split=waves,lengths=estimated \
			flex:metric=tardy,least=0; do
			set -- "$@" --policy "$policy"
		done
		mix="$dir/draw-$load-$repeat.yaml"
		run "$mix" --policy fair --record "$dir/draw.fair.rec" | met "$repeat" >"$dir/run.txt"
		cp "$dir/known" "$dir/history"
		run "$mix" "$@" | met "$repeat" >>"$dir/run.txt"
		"$sojourn" sim --from-record "$dir/draw.fair.rec" --cluster "$cluster" --costs none --quiet --json \
			--estimator history --history "$dir/known" --policy fair "$@" | met "$repeat" >"$dir/sim.txt"
		paste -d ' ' "$dir/run.txt" "$dir/sim.txt" >>"$dir/met.txt"
	done
	echo
	awk -v load=$load -v count=$count '
		# half returns half the 95 % confidence interval of a mean by Student: t of 1 to 15 degrees of freedom, 2.1
		# beyond.
		function half(sum, squares, n,    t) {
			split("12.706 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262 2.228 2.201 2.179 2.160 2.145 2.131", t, " ")
			if (n < 2) return 0
			squares -= sum * sum / n
			return (n <= 16 ? t[n - 1] : 2.1) * sqrt((squares > 0 ? squares : 0) / (n - 1) / n)
		}
		!($2 in runs) { order[++n] = $2 }
		{ met[$1, $2] = $3; runs[$2]++; sum[$2] += $3; squares[$2] += $3 * $3; simulated[$2] += $6 }
		END {
			printf "LOAD %.1f, deadlines met of %d:\n%-56s  MEAN    95 %%   AGAINST EDF    95 %%   SIMULATED\n", load,
				count, "POLICY"
			for (i = 1; i <= n; i++) {
				p = order[i]; more = square = 0
				for (r = 1; r <= runs[p]; r++) {
					d = met[r, p] - met[r, "edf"]; more += d; square += d * d
				}
				printf "%-56s  %4.1f  ± %3.1f         %+5.1f   ± %3.1f        %4.1f\n", p, sum[p] / runs[p],
					half(sum[p], squares[p], runs[p]), more / runs[p], half(more, square, runs[p]),
					simulated[p] / runs[p]
			}
		}' "$dir/met.txt"
done
