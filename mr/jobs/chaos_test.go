package jobs

import (
	"strings"
	"sync/atomic"
	"testing"
)

// chaotic are setups in which every third attempt is lost, or the output of a map.
var chaotic = []setup{
	{name: "chaos, one split, one reduce", split: 1 << 30, reduces: 1, memory: enough, workers: 2, chaos: 0.3},
	{name: "chaos, many splits, many reduces", split: 20_011, reduces: 5, memory: enough, workers: 2, chaos: 0.3},
}

// chaoticSpill has less memory than the input takes, so that files are lost as well.
var chaoticSpill = setup{
	name:    "chaos, little memory",
	split:   500_000,
	reduces: 3,
	memory:  2 * least,
	workers: 2,
	chaos:   0.3,
}

// Every job's output is that of its reference while attempts and outputs of maps are lost.
func TestChaos(t *testing.T) {
	tested := map[string]bool{}
	var lost atomic.Int64
	for i, c := range cases {
		if tested[c.name] {
			continue
		}
		tested[c.name] = true
		t.Run(c.name, func(t *testing.T) {
			own, more := exercise{i, ownCorpus(c.name)}, exercise{of: i}
			paths, want := own.corpus().write(t), answer(own)
			for _, s := range chaotic {
				s.lost = &lost
				s.compare(t, c.name, c.conf, paths, want)
			}
			chaoticSpill.compare(t, c.name, c.conf, more.corpus().write(t), answer(more))
		})
	}
	if lost.Load() == 0 { // of some 200 attempts; how many live long enough to be lost differs
		t.Error("no attempt was lost")
	}
	for name := range All {
		if !tested[name] && name != "terasort" && name != "teravalidate" {
			t.Errorf("%s is not tested under chaos", name)
		}
	}
}

// Terasort under chaos, and what validates its output.
func TestTeraSortChaos(t *testing.T) {
	corpora := teraCorpora()
	for _, name := range []string{"teragen", "larger than memory"} {
		paths, sorted := corpora[name].write(t), strings.Join(refTeraSort(corpora[name]), "")
		valid := corpus{"part-r-00000": sorted}
		validPaths, want := valid.write(t), refTeraValidate(valid)
		for _, s := range append(chaotic, chaoticSpill) {
			if got := string(joined(s.run(t, TeraSort, nil, paths))); got != sorted {
				t.Errorf("%s, %s: output differs from the sorted records", name, s.name)
			}
			s.compare(t, "teravalidate", nil, validPaths, want)
		}
	}
}
