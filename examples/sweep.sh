#!/bin/sh
# Runs the sweep of sweep.yaml, executes the notebook sweep.ipynb on its table, and checks what the notebook shows.
# Usage: sweep.sh SOJOURN [DIRECTORY]. Everything it makes is in DIRECTORY (out/notebook), also a Python environment
# with the packages that the notebook needs, which pip fetches. The executed notebook is
# DIRECTORY/examples/executed.ipynb.
set -eu
sojourn=$(command -v "$1")
dir=${2:-out/notebook}
here=$(dirname "$0")
mkdir -p "$dir/examples"
cp "$here/sweep.yaml" "$here/sweep.ipynb" "$here/bursty.tsv" "$here/cluster.yaml" "$dir/examples/"
case $sojourn in /*) ;; *) sojourn=$PWD/$sojourn ;; esac
cd "$dir"
"$sojourn" experiment examples/sweep.yaml --output out/sweep --quiet
[ -x python/bin/jupyter-nbconvert ] || {
	python3 -m venv python
	python/bin/pip install --quiet pandas pyarrow duckdb matplotlib nbconvert ipykernel
}
(cd examples && ../python/bin/jupyter-nbconvert --to notebook --execute sweep.ipynb --output executed.ipynb)
python/bin/python - <<'CHECK'
import collections, csv, json, statistics

cells = [c for c in json.load(open("examples/executed.ipynb"))["cells"] if c["cell_type"] == "code"]
kinds = [[o["output_type"] for o in c["outputs"]] for c in cells]
assert all(kinds) and "error" not in sum(kinds, []), f"a cell shows nothing, or an error: {kinds}"
text = "".join("".join(o.get("data", {}).get("text/plain", [])) for c in cells for o in c["outputs"])
runs = collections.defaultdict(list)
for row in csv.DictReader(open("out/sweep/results.csv")):
    runs[row["policy"], row["load"]].append(float(row["sojourn_mean_s"]))
assert len(runs) == 12, f"{len(runs)} policies at loads, must be 12"
for case, means in runs.items():
    mean = f"{statistics.fmean(means):.6f}"
    assert mean in text, f"{case}: the notebook does not show the mean {mean}"
assert any("image/png" in o.get("data", {}) for o in cells[-1]["outputs"]), "the last cell shows no picture"
print(f"{len(cells)} cells show what the table says of {len(runs)} policies at loads")
CHECK
