// Package experiment runs sweeps: every combination of policies, their parameters, workloads, loads, clusters and
// seeds, simulated side by side. A sweep that was ended is taken up where it stopped. Its results are one table, with a
// row a run.
//
//	sweep.go  the file of a sweep, and the runs that it makes
//	run.go    runs them, and keeps a journal of those that have ended
//	shelf.go  workloads that several runs need, read once
//	table.go  the results as CSV, Parquet and a picture
package experiment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Limits of a sweep.
const (
	maxSweep = 1 << 20 // bytes of its file
	maxRuns  = 100_000 // that it makes
)

// A Sweep says what to simulate: all combinations of what its lists name.
type Sweep struct {
	Policies []string `yaml:"policies"` // with {name} where a parameter's value is to stand
	// Parameters are values by the name that stands in policies. A policy is run with each combination of the values of
	// the parameters in it.
	Parameters map[string][]string `yaml:"parameters"`
	Workloads  []string            `yaml:"workloads"`  // files, from the folder of the sweep's file
	Loads      []float64           `yaml:"loads"`      // times as many arrivals in a time; default 1
	Clusters   []string            `yaml:"clusters"`   // as --cluster has them
	Seeds      int                 `yaml:"seeds"`      // from 1 on; default 1
	Jobs       int                 `yaml:"jobs"`       // the first so many of each workload; default all
	Costs      string              `yaml:"costs"`      // hadoop (default) or none, as --costs
	Estimator  string              `yaml:"estimator"`  // default oracle
	MostEvents int64               `yaml:"max-events"` // of one run; default no limit
}

// A Run is one combination.
type Run struct {
	Policy     string            `json:"policy"` // with its parameters
	Parameters map[string]string `json:"parameters,omitempty"`
	Workload   string            `json:"workload"`
	Load       float64           `json:"load"`
	Cluster    string            `json:"cluster"`
	Seed       uint64            `json:"seed"`
}

// ReadSweep reads the file of a sweep; errors name the file and, where the text is malformed, the line.
func ReadSweep(name string, r io.Reader) (*Sweep, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSweep+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case len(text) > maxSweep:
		return nil, fmt.Errorf("%s: is longer than %d bytes", name, maxSweep)
	}
	s := &Sweep{}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(s); err != nil && !errors.Is(err, io.EOF) {
		if isWorkload(text) {
			return nil, fmt.Errorf("%s: is a workload, and no sweep: a sweep names it in the list workloads", name)
		}
		return nil, fmt.Errorf("%s: %w", name, malformed(err))
	}
	if err := s.count(text); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if s.Loads == nil {
		s.Loads = []float64{1}
	}
	if s.Estimator == "" {
		s.Estimator = "oracle"
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// isWorkload reports whether the text lists jobs: in a sweep jobs is a number.
func isWorkload(text []byte) bool {
	var said struct{ Jobs []yaml.Node }
	return yaml.Unmarshal(text, &said) == nil && len(said.Jobs) > 0
}

// malformed says what keys there are where the text has others.
func malformed(err error) error {
	var types *yaml.TypeError
	if !errors.As(err, &types) {
		return err
	}
	var known []string
	for f := range reflect.TypeFor[Sweep]().Fields() {
		known = append(known, f.Tag.Get("yaml"))
	}
	return errors.New(strings.ReplaceAll(strings.Join(types.Errors, "; "), "not found in type experiment.Sweep",
		"is not known here; known are "+strings.Join(known, ", ")))
}

// count refuses numbers that are not whole: decoding drops what is after the point. It sets the default of the seeds
// where the text has none.
func (s *Sweep) count(text []byte) error {
	said := map[string]yaml.Node{}
	if err := yaml.Unmarshal(text, &said); err != nil {
		return err
	}
	for _, key := range []string{"seeds", "jobs", "max-events"} {
		if n := said[key]; n.Tag == "!!float" {
			return fmt.Errorf("line %d: %s: %s, must be a whole number", n.Line, key, n.Value)
		}
	}
	if n, ok := said["seeds"]; !ok || n.Tag == "!!null" {
		s.Seeds = 1
	}
	return nil
}

// check reports what is wrong with a sweep.
func (s *Sweep) check() error {
	for _, list := range []struct {
		name string
		n    int
	}{{"policies", len(s.Policies)}, {"workloads", len(s.Workloads)}, {"clusters", len(s.Clusters)}} {
		if list.n == 0 {
			return fmt.Errorf("%s: must name at least one", list.name)
		}
	}
	for _, load := range s.Loads {
		if !(load >= 0.001 && load <= 1000) {
			return fmt.Errorf("loads: %v, must be from 0.001 to 1000", load)
		}
	}
	switch {
	case s.Seeds < 1 || s.Seeds > maxRuns:
		return fmt.Errorf("seeds: %d, must be from 1 to %d", s.Seeds, maxRuns)
	case s.Jobs < 0 || s.MostEvents < 0:
		return fmt.Errorf("jobs and max-events: must be 0 or more; 0: no limit")
	case s.Costs != "" && s.Costs != "hadoop" && s.Costs != "none":
		return fmt.Errorf("costs: %q, must be hadoop or none", s.Costs)
	}
	for name, values := range s.Parameters {
		if len(values) == 0 {
			return fmt.Errorf("parameters: %s has no values", name)
		}
		if !slices.ContainsFunc(s.Policies, func(p string) bool { return strings.Contains(p, "{"+name+"}") }) {
			return fmt.Errorf("parameters: no policy has {%s} in it", name)
		}
	}
	policies := s.policies()
	for _, p := range policies {
		if at := placeholder.FindString(p.Policy); at != "" && s.Parameters[strings.Trim(at, "{}")] != nil {
			return fmt.Errorf("policies: %s: a value of a parameter names a parameter", p.Policy)
		}
	}
	n := 1
	for _, k := range []int{len(policies), len(s.Workloads), len(s.Loads), len(s.Clusters), s.Seeds} {
		if n *= k; n > maxRuns {
			return fmt.Errorf("makes more than %d runs: leave some out", maxRuns)
		}
	}
	return nil
}

// placeholder is what stands for a parameter. Policies around others, such as probe{fair}, have braces too: those that
// name no parameter stay.
var placeholder = regexp.MustCompile(`\{[a-z][a-z0-9-]*\}`)

// policies returns the policies with each combination of the parameters in them.
func (s *Sweep) policies() (list []Run) {
	for _, p := range s.Policies {
		with := []Run{{Policy: p, Parameters: map[string]string{}}}
		for _, name := range slices.Sorted(maps.Keys(s.Parameters)) {
			if !strings.Contains(p, "{"+name+"}") {
				continue
			}
			var more []Run
			for _, r := range with {
				for _, v := range s.Parameters[name] {
					parameters := maps.Clone(r.Parameters)
					parameters[name] = v
					policy := strings.ReplaceAll(r.Policy, "{"+name+"}", v)
					more = append(more, Run{Policy: policy, Parameters: parameters})
				}
				if len(more) > maxRuns {
					return more
				}
			}
			with = more
		}
		if list = append(list, with...); len(list) > maxRuns {
			return list
		}
	}
	return list
}

// Runs returns all combinations: seeds change fastest, then policies, clusters, loads, workloads.
func (s *Sweep) Runs() (list []Run) {
	policies := s.policies()
	for _, w := range s.Workloads {
		for _, load := range s.Loads {
			for _, c := range s.Clusters {
				for _, p := range policies {
					for seed := range s.Seeds {
						r := p
						r.Workload, r.Load, r.Cluster, r.Seed = w, load, c, uint64(seed+1)
						list = append(list, r)
					}
				}
			}
		}
	}
	return list
}

// key identifies a run among those of a journal: what it simulates, and what the files in it hold.
func (s *Sweep) key(r *Run, files map[string]string) (string, error) {
	text, err := json.Marshal(struct {
		Run       *Run
		Jobs      int
		Costs     string
		Estimator string
		Most      int64
		Workload  string
		Cluster   string
	}{r, s.Jobs, s.Costs, s.Estimator, s.MostEvents, files[r.Workload], files[r.Cluster]})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// sums returns the hash sums of the files that a sweep names, by their names; a folder has those of its files.
func (s *Sweep) sums(folder string) (map[string]string, error) {
	sums := map[string]string{}
	for _, name := range slices.Concat(s.Workloads, s.Clusters) {
		path := within(folder, name)
		if _, err := os.Stat(path); err != nil {
			continue // a cluster in words; what is no file of the two fails where it is opened
		}
		h := sha256.New()
		err := filepath.WalkDir(path, func(p string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			f, err := os.Open(p)
			if err != nil {
				return err
			}
			defer f.Close()
			fmt.Fprintln(h, d.Name())
			_, err = io.Copy(h, f)
			return err
		})
		if err != nil {
			return nil, err
		}
		sums[name] = hex.EncodeToString(h.Sum(nil))
	}
	return sums, nil
}

// within returns a path from a folder.
func within(folder, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}
