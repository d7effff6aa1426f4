#!/bin/sh
# Runs the mix of examples/deadlines/mix.yaml, real jobs with deadlines, several times under five policies: with the
# deadlines of the file (tight), and with deadlines twice as long (relaxed). Prints how many deadlines each policy met.
# Usage: run.sh SOJOURN [DIRECTORY [REPEATS [MEGABYTES]]]. Everything it makes is in DIRECTORY (out/deadlines). Input is
# made once; its largest files have so many MEGABYTES (100).
set -eu
export LC_ALL=C # decimal points
sojourn=$1
dir=${2:-out/deadlines}
repeats=${3:-5}
size=${4:-100}
here=$(dirname "$0")
mkdir -p "$dir/input"
make_input() { # name, percentage of the size, then arguments of generate
	name=$1; bytes=$((size * $2 * 10000)); shift 2
	[ -e "$dir/input/$name" ] || "$sojourn" generate "$@" --size "$bytes" --output "$dir/input/$name"
}
make_input words.txt 100 text
make_input records.dat 100 teragen
make_input ratings.txt 30 ratings
make_input items.txt 20 associations
make_input edges.txt 10 edges
make_input memo.txt 10 text --seed 2

# workload SECONDS FACTOR writes the mix with percentages of SECONDS as times, and deadlines FACTOR times as long.
workload() {
	sed "s|DIR|$dir|g" "$here/mix.yaml" | awk -v whole="$1" -v factor="$2" '
		function put(key, times) {
			if (!match($0, key ": [0-9]+%")) return
			part = substr($0, RSTART + length(key) + 2) + 0
			$0 = substr($0, 1, RSTART - 1) key ": " sprintf("%.6fs", part * whole * times / 100) \
				substr($0, RSTART + RLENGTH)
		}
		{ put("submit", 1); put("deadline", factor); print }'
}
run() { # workload, then arguments of run
	mix=$1; shift
	rm -rf "$dir/output"
	"$sojourn" run "$mix" --quiet --json --estimator history --history "$dir/history" "$@"
}

# All jobs at once under fifo: how long they take, and, for policies that ask, how long their tasks take.
rm -f "$dir/history"
sed "s|DIR|$dir|g; s/submit: [0-9]*%, deadline: [0-9]*%/submit: 0s/" "$here/mix.yaml" >"$dir/mix.yaml"
for try in 1 2 3; do
	run "$dir/mix.yaml" --policy fifo >"$dir/whole.json"
	awk '/"makespan_s"/ { print $2 + 0 }' "$dir/whole.json"
done >"$dir/whole.txt"
whole=$(sort -n "$dir/whole.txt" | head -n 1)
jobs=$(grep -c deadline: "$here/mix.yaml")
echo "together the $jobs jobs take $whole s under fifo; deadlines met, by the mean, least and most of $repeats runs:"

# least=0: with fewer slots than jobs the minima of flex would be the schedule.
for goals in tight relaxed; do
	factor=1
	[ $goals = tight ] || factor=2
	workload "$whole" $factor >"$dir/$goals.yaml"
	: >"$dir/$goals.txt"
	for repeat in $(seq "$repeats"); do
		run "$dir/$goals.yaml" --policy fair --policy edf --policy adaptive --policy flex:metric=tardy,least=0 \
			--policy distributions >"$dir/$goals.json"
		awk '/"policy":/ { policy = $2; sub(/^"/, "", policy); sub(/",$/, "", policy) }
			/"met":/ { print policy, $2 + 0 }' "$dir/$goals.json" >>"$dir/$goals.txt"
	done
	echo
	awk -v goals="$goals" '
		!($1 in runs) { order[++n] = $1; least[$1] = most[$1] = $2 }
		{ runs[$1]++; sum[$1] += $2; if ($2 < least[$1]) least[$1] = $2; if ($2 > most[$1]) most[$1] = $2 }
		END {
			printf "%-26s  MEAN  LEAST  MOST\n", toupper(goals)
			for (i = 1; i <= n; i++) {
				p = order[i]
				printf "%-26s  %4.1f  %5d  %4d\n", p, sum[p] / runs[p], least[p], most[p]
			}
		}' "$dir/$goals.txt"
done
