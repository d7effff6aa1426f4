package submit

import (
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/sched"
)

// tagsOf returns what a job tells the scheduler, as the tags that 'sojourn rm' reads. Other ResourceManagers ignore
// them. There are no tags for Min and Max (Untold).
func tagsOf(s *sched.JobSpec) (tags []string) {
	add := func(name, value string) { tags = append(tags, "sojourn."+name+"="+value) }
	if s.Deadline > 0 {
		add("deadline", s.Deadline.String())
	}
	weight := s.Weight
	if g := s.Goal; g != nil {
		if g.Weight > 0 {
			weight = g.Weight
		}
		switch {
		case len(g.Steps) > 0:
			var steps []string
			for _, step := range g.Steps {
				steps = append(steps, step.After.String()+":"+number(step.Cost))
			}
			add("goal", strings.Join(steps, "/"))
		case g.Metric != sched.NoMetric:
			add("goal", g.Metric.String())
		}
	}
	if weight > 0 && weight != 1 {
		add("weight", number(weight))
	}
	switch {
	case s.Delays > 0:
		add("delays", strconv.Itoa(int(s.Delays)))
	case s.Delays < 0:
		add("delays", "0")
	}
	if p := s.Profile; p != nil {
		if len(p.Accelerators) > 0 {
			add("accelerators", strings.Join(p.Accelerators, "/"))
		}
		for phase := sched.NoPhase + 1; phase < sched.NumPhases; phase++ {
			var uses []string
			for k, n := range p.Phases[phase] {
				if n > 0 {
					uses = append(uses, sched.ResourceKind(k).String()+":"+strconv.FormatInt(n, 10))
				}
			}
			if len(uses) > 0 {
				add(phase.String(), strings.Join(uses, "/"))
			}
		}
	}
	return tags
}

// number returns a number in the form of tags.
func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Untold names what a job says that no tag tells a ResourceManager; "": nothing.
func Untold(s *sched.JobSpec) string {
	var what []string
	if s.Min != (sched.Resources{}) {
		what = append(what, "min")
	}
	if s.Max != (sched.Resources{}) {
		what = append(what, "max")
	}
	return strings.Join(what, " and ")
}
