#!/usr/bin/env bash
# validate-model.sh: measures real MapReduce jobs on stock Hadoop 3.4.2 in a grid of sizes, nodes and simultaneous jobs.
# It adds the measurements to internal/reproduce/hadoop-grid.txt, and writes docs/reproduction/performance-model.md with
# what the model predicts for each. Cells that the file has already are not measured again; delete their lines to do so.
# The machine must be idle. SOJOURN_GRID_CELLS="wordcount 2 1 1,sort 4 2 3" (KIND MAPS NODES JOBS) measures some cells
# only, and SOJOURN_GRID_FOR=14m begins none after that time.
set -euo pipefail
cd "$(dirname "$0")/../.."
SOJOURN_HADOOP=$(./internal/yarn/fetch-stock.sh hadoop)
[ -n "$SOJOURN_HADOOP" ] || exit 1
export SOJOURN_HADOOP
export SOJOURN_GRID=${SOJOURN_GRID:-$PWD/internal/reproduce/hadoop-grid.txt}
echo "load before: $(cut -d' ' -f1-3 /proc/loadavg); the measurements assume an idle machine" >&2
go test -count=1 -run 'TestModelGrid$' -timeout 60m -v ./internal/yarn
[ "$SOJOURN_GRID" != "$PWD/internal/reproduce/hadoop-grid.txt" ] || go run ./cmd/sojourn reproduce performance-model
