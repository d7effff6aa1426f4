#!/usr/bin/env bash
# goals-on-hadoop.sh: runs 30 jobs with deadlines in their tags on stock Hadoop 3.4.2 with three NodeManagers, under
# `sojourn rm` with fair, edf and adaptive:shortage=fewest in turn, and prints how many deadlines each meets, with
# intervals. Jobs come at load 2; deadlines are from 1.5 to 4 times what a job takes alone; what jobs take and hold
# alone is measured first, in ten minutes. The machine must be idle: six minutes a run, so five repeats of three
# policies take an hour and three quarters. What each job took and the table so far are in out/goals after each run.
# Runs that are there are not made again: remove the folder to begin anew.
# SOJOURN_GOALS_REPEATS=5, SOJOURN_GOALS_JOBS=30 and SOJOURN_GOALS_POLICIES (specs between semicolons; differences are
# to the second) change it.
set -euo pipefail
cd "$(dirname "$0")/../.."
SOJOURN_HADOOP=$(./internal/yarn/fetch-stock.sh hadoop)
[ -n "$SOJOURN_HADOOP" ] || exit 1
export SOJOURN_HADOOP SOJOURN_GOALS=$PWD/out/goals
mkdir -p "$SOJOURN_GOALS"
go test -count=1 -run 'TestGoalsOnHadoop$' -timeout 180m -v ./internal/yarn
