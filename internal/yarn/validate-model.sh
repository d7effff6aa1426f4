#!/usr/bin/env bash
# validate-model.sh: measures real MapReduce jobs in a grid of sizes, nodes and simultaneous jobs: on stock Hadoop
# 3.4.2, and on the engine mr. It adds the measurements to hadoop-grid.txt and mr-grid.txt in
# internal/reproduce/performance, and writes docs/reproduction/performance-model.md with what the model predicts for
# each. Cells that the files have already are not measured again; delete their lines to do so. The machine must be idle.
# SOJOURN_GRID_ONLY=mr (or hadoop) measures one of the two. SOJOURN_GRID_CELLS="wordcount 2 1 1,sort 4 2 3" (KIND MAPS
# NODES JOBS; on mr, slots are nodes) measures some cells only, and SOJOURN_GRID_FOR=14m begins none after that time.
set -euo pipefail
cd "$(dirname "$0")/../.."
kept=$PWD/internal/reproduce/performance
echo "load before: $(cut -d' ' -f1-3 /proc/loadavg); the measurements assume an idle machine" >&2
if [ "${SOJOURN_GRID_ONLY:-mr}" = mr ]; then
	export SOJOURN_MR_GRID=${SOJOURN_MR_GRID:-$kept/mr-grid.txt}
	go test -count=1 -run 'TestModelGridOfEngine$' -timeout 60m -v ./internal/reproduce/performance
fi
if [ "${SOJOURN_GRID_ONLY:-hadoop}" = hadoop ]; then
	SOJOURN_HADOOP=$(./internal/yarn/fetch-stock.sh hadoop)
	[ -n "$SOJOURN_HADOOP" ] || exit 1
	export SOJOURN_HADOOP SOJOURN_GRID=${SOJOURN_GRID:-$kept/hadoop-grid.txt}
	go test -count=1 -run 'TestModelGrid$' -timeout 60m -v ./internal/yarn
fi
case "${SOJOURN_GRID:-$kept/}${SOJOURN_MR_GRID:-$kept/}" in
"$kept/"*"$kept/"*) go run ./cmd/sojourn reproduce performance-model ;;
esac
