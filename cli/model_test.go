package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestModel(t *testing.T) {
	const job = "model --job ../examples/model/wordcount.yaml --cluster nodes=8,memory=8GiB,vcores=4"
	out := must(t, strings.Fields(job+" --what-if nodes=2,64")...)
	for _, want := range []string{"wordcount: 80 maps, 4 reduces", "nodes=2", "nodes=64", "BOTTLENECK"} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
	var r struct {
		Results []modelResult
	}
	if err := json.Unmarshal([]byte(must(t, strings.Fields(job+" --what-if nodes=2,64 --json")...)), &r); err != nil {
		t.Fatal(err)
	}
	few, many := r.Results[0], r.Results[1]
	if few.Nodes != 2 || many.Nodes != 64 || few.Mean < 2*many.Mean || few.Queueing["map"] <= many.Queueing["map"] {
		t.Errorf("2 nodes %+v, 64 nodes %+v", few, many)
	}
	if !(many.Low < many.High) {
		t.Errorf("the range of the prediction is %v to %v", many.Low, many.High)
	}
}

func TestModelRefuses(t *testing.T) {
	const job = "model --job ../examples/model/wordcount.yaml --cluster nodes=8,memory=8GiB,vcores=4 "
	for args, says := range map[string]string{
		"model": "--job is needed",
		"model --job ../examples/model/wordcount.yaml": "--cluster is needed",
		"model --job none.yaml --cluster nodes=1":      "none.yaml",
		job + "--what-if nodes=0":                      "must be a whole number from 1",
		job + "--what-if colour=3":                     "what can vary",
		job + "--form other":                           "default or thesis",
		job + "--jobs 0":                               "--jobs 0",
		job + "--slow-start NaN":                       "--slow-start NaN",
		"model --job ../examples/model/wordcount.yaml --cluster nodes=8,memory=1GiB,vcores=4": "larger than every node",
	} {
		status, out, errs := sojourn(t, strings.Fields(args)...)
		if status != statusUsage || out != "" || !strings.Contains(errs, says) {
			t.Errorf("%s: status %d, output %q, errors %q, want 2 and %q", args, status, out, errs, says)
		}
	}
}
