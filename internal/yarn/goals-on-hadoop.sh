#!/usr/bin/env bash
# goals-on-hadoop.sh: runs 24 jobs with deadlines in their tags on stock Hadoop 3.4.2 with three NodeManagers, under `sojourn rm` with fair, edf and
# adaptive:shortage=fewest in turn, and prints how many deadlines each meets, with intervals. What each job took stays in out/goals. The machine must
# be idle: about four minutes a run. SOJOURN_GOALS_REPEATS=5, SOJOURN_GOALS_JOBS=24 and SOJOURN_GOALS_POLICIES (specs between semicolons) change it.
set -euo pipefail
cd "$(dirname "$0")/../.."
SOJOURN_HADOOP=$(./internal/yarn/fetch-stock.sh hadoop)
[ -n "$SOJOURN_HADOOP" ] || exit 1
export SOJOURN_HADOOP SOJOURN_GOALS=$PWD/out/goals
mkdir -p "$SOJOURN_GOALS"
go test -count=1 -run 'TestGoalsOnHadoop$' -timeout 180m -v ./internal/yarn
