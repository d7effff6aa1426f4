#!/usr/bin/env bash
# schedules-by-size.sh: runs ten jobs of 1 to 30 maps on stock Hadoop 3.4.2 with three NodeManagers, under `sojourn rm`
# with one policy after the other, and prints a table of mean sojourn times beside what `sojourn sim` predicts. Records
# and times stay in out/sizes. The machine must be idle: two minutes and a half a run. SOJOURN_SIZES_REPEATS=5 is the
# default; SOJOURN_SIZES_POLICIES=fifo,srpt+told runs these.
set -euo pipefail
cd "$(dirname "$0")/../.."
SOJOURN_HADOOP=$(./internal/yarn/fetch-stock.sh hadoop)
[ -n "$SOJOURN_HADOOP" ] || exit 1
export SOJOURN_HADOOP SOJOURN_SIZES=$PWD/out/sizes
mkdir -p "$SOJOURN_SIZES"
go test -count=1 -run 'TestSizesOnHadoop$' -timeout 120m -v ./internal/yarn
