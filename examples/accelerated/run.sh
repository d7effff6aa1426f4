#!/bin/sh
# Runs two real jobs on a node with accelerated code and a plain node, under policy hardware, which finds out which job
# gains by it, and under two policies that do not know.
# Usage: run.sh SOJOURN [DIRECTORY [REPEATS [MEGABYTES]]]. Everything it makes is in DIRECTORY (out/accelerated). The
# text has so many MEGABYTES (32) and is read by 256 maps of each job. REPEATS (10) take some minutes on two idle cores.
#
# Both jobs compute AES-CMAC tags of lines. Job gains does so by the processor's AES instructions on the node aes, and
# by portable code elsewhere, which is some twenty times slower. Job plain, with fewer passes, knows portable code only.
# Both come at once, and are due so late that a node each would do.
set -eu
sojourn=$1
dir=${2:-out/accelerated}
repeats=${3:-10}
size=${4:-32}
here=$(dirname "$0")
mkdir -p "$dir/input"
[ -e "$dir/input/words.txt" ] || "$sojourn" generate text --size "$((size * 1000000))" --output "$dir/input/words.txt"
sed "s|DIR|$dir|g; s|SPLIT|$((size * 3907))|g" "$here/mix.yaml" >"$dir/mix.yaml"
"$sojourn" run "$dir/mix.yaml" --cluster "$here/cluster.yaml" --overwrite --repeats "$repeats" \
	--policy hardware --policy adaptive --policy fifo
