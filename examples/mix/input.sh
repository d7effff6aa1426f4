#!/bin/sh
# Makes the input of the mix in DIRECTORY/input, once, and writes DIRECTORY/mix.yaml.
# Usage: input.sh SOJOURN DIRECTORY [PERCENT]. Files have so many PERCENT (100) of their size.
set -eu
sojourn=$1
dir=$2
percent=${3:-100}
here=$(dirname "$0")
mkdir -p "$dir/input"
make_input() { # name, megabytes, then arguments of generate
	name=$1; bytes=$(($2 * percent * 10000)); shift 2
	[ -e "$dir/input/$name" ] || "$sojourn" generate "$@" --size "$bytes" --output "$dir/input/$name"
}
make_input words.txt 300 text
make_input memo.txt 4 text --seed 2
make_input records.dat 200 teragen
make_input ratings.txt 60 ratings
make_input edges.txt 20 edges
make_input items.txt 40 associations
ln -sfn "$(go env GOROOT)/src" "$dir/input/go"
sed "s|DIR|$dir|g" "$here/mix.yaml" >"$dir/mix.yaml"
