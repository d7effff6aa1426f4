package workload

import (
	"bytes"
	"testing"
)

// fuzz has a format's reader read anything: an error or jobs that are valid, never a panic. Seeds are the small samples
// and the beginnings of the public traces, where they are.
func fuzz(f *testing.F, format Format, pattern string, samples ...string) {
	for _, s := range samples {
		f.Add([]byte(s))
	}
	if pattern != "" {
		for _, p := range traces(f, pattern) {
			text := unpacked(f, content(f, p))
			f.Add(text[:min(len(text), 4096)])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := open("trace", bytes.NewReader(data))
		if err != nil {
			return
		}
		o := Defaults()
		o.Nodes = 7
		file, err := in.file(format, &o)
		if err != nil {
			return
		}
		check(t, file)
	})
}

func FuzzSWIM(f *testing.F) {
	fuzz(f, SWIM, "swim-*.tsv", "a\t1\t1\t10\t0\t0\r\nb\t2.5\t1\t1e3\t0\t0")
}

func FuzzRumen(f *testing.F) { fuzz(f, Rumen, "rumen-*", twoJobs) }

func FuzzSLS(f *testing.F) { fuzz(f, SLS, "", slsByHand) }

func FuzzYAML(f *testing.F) {
	fuzz(f, YAML, "", mix, "jobs:\n  - name: a\n    maps: &one {count: 1, time: 1s}\n  - {name: b, maps: *one}\n",
		"queues: &q [{name: a, queues: *q}]\njobs: []\n")
}

// FuzzRead leaves the format to the reader, packed or not.
func FuzzRead(f *testing.F) {
	for _, s := range []string{mix, twoJobs, slsByHand, "a\t1\t1\t10\t0\t0\n", "\x1f\x8b\x08\x00",
		"\x28\xb5\x2f\xfd\x04"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { drain(t, data) })
}

func FuzzCluster(f *testing.F) {
	f.Add([]byte(clusterByHand))
	f.Add([]byte("nodes=5,map-slots=3,reduce-slots=1,racks=2"))
	f.Fuzz(func(t *testing.T, data []byte) {
		byFile, err := ReadCluster("cluster", bytes.NewReader(data))
		byFlag, err2 := ParseCluster(string(data))
		for _, c := range []*Cluster{byFile, byFlag} {
			if c != nil && c.Validate() != nil {
				t.Errorf("a cluster that is not valid passes: %+v (%v, %v)", c, err, err2)
			}
		}
	})
}
