package policy

import (
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/sched"
)

// footprints say what tasks used of stages that have ended, by the likeness of the stage (sched.JobSpec.Likeness). A
// stage that is like an earlier one begins with the footprint of that one, which counts as much as one task of its own.
type footprints struct {
	Past  map[string]footprint
	Order []string // keys of Past, the oldest first
}

// mostFootprints bounds the kinds of stages that are remembered.
const mostFootprints = 10_000

// put remembers what the tasks of a stage used.
func (f *footprints) put(key string, used footprint) {
	if !utf8.ValidString(key) { // JSON cannot tell such names apart
		return
	}
	if _, known := f.Past[key]; !known {
		if f.Past == nil {
			f.Past = map[string]footprint{}
		}
		if len(f.Order) == mostFootprints {
			delete(f.Past, f.Order[0])
			f.Order = f.Order[1:]
		}
		f.Order = append(f.Order, key)
	}
	f.Past[key] = used
}

// check returns an error if f, which comes from a file, cannot be what an earlier run left: Order does not fit Past,
// there are too many footprints, or one is of no task or has a rate out of range.
func (f *footprints) check() error {
	if len(f.Past) != len(f.Order) || len(f.Order) > mostFootprints {
		return fmt.Errorf("%d footprints of %d kinds of stages: must be as many, up to %d", len(f.Past), len(f.Order),
			mostFootprints)
	}
	seen := make(map[string]bool, len(f.Order))
	for _, key := range f.Order {
		u, ok := f.Past[key]
		if !ok || u.N < 1 {
			return fmt.Errorf("footprint of %q: there is none", key)
		}
		if seen[key] {
			return fmt.Errorf("footprint of %q: its kind of stages stands twice in the order", key)
		}
		seen[key] = true
		for _, x := range [...]float64{u.Cores, u.Disk, u.Network, u.ShuffleNet} {
			if !(x >= 0 && x <= math.MaxFloat32) {
				return fmt.Errorf("footprint of %q: %v must be a rate", key, x)
			}
		}
	}
	return nil
}

// recall gives the stages of a job that is new, or asks for more, what stages like them used.
func (m *matrix) recall(j *sched.Job) {
	if !m.learns || len(m.Known.Past) == 0 {
		return
	}
	for _, st := range j.Stages {
		if own := m.Used.Of(st); own.N == 0 {
			if past, ok := m.Known.Past[j.Spec.Likeness(st.Kind)]; ok {
				*own = past
				own.N = 1
			}
		}
	}
}

// Left implements Lasting: what tasks used outlasts a run.
func (m *matrix) Left(sched.Time) any { return &m.Known }

// Recall implements Lasting. The policy stays as it is where text is refused.
func (m *matrix) Recall(text []byte) error {
	var was footprints
	if err := json.Unmarshal(text, &was); err != nil {
		return err
	}
	if err := was.check(); err != nil {
		return err
	}
	m.Known = was
	return nil
}
