package workload

import (
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// A Report says what was understood of imported jobs, what was left out, and what the import cannot know. A reader
// fills it in as its jobs are walked through.
type Report struct {
	Hosts    int         `json:"hosts,omitempty"`           // on which tasks ran; 0: not said
	Measured float64     `json:"sojourn_mean_s,omitempty"`  // of the jobs whose end is known, as measured
	Timed    int64       `json:"jobs_with_times,omitempty"` // those jobs
	LeftOut  []Exception `json:"left_out,omitempty"`
	Missing  []Exception `json:"missing,omitempty"`
	Notes    []string    `json:"notes,omitempty"` // what is probably a mistake: file and line, what, and the remedy

	hosts map[string]bool
}

// An Exception is something that a Report names: what, and for how many jobs; zero: for all.
type Exception struct {
	What string `json:"what"`
	Jobs int64  `json:"jobs,omitempty"`
}

// maxHosts bounds the hosts that are told apart.
const maxHosts = 1 << 20

// host notes a host on which a task ran.
func (r *Report) host(name string) {
	if name == "" || r.Hosts == maxHosts || r.hosts[name] {
		return
	}
	if r.hosts == nil {
		r.hosts = map[string]bool{}
	}
	r.hosts[name] = true
	r.Hosts++
}

// took notes how long a job took from its submission to its end.
func (r *Report) took(d sched.Time) {
	r.Measured = (r.Measured*float64(r.Timed) + d.Seconds()) / float64(r.Timed+1)
	r.Timed++
}

// leave notes a job that is left out.
func (r *Report) leave(what string) { count(&r.LeftOut, what) }

// lack notes what the import does not say of a job.
func (r *Report) lack(what string) { count(&r.Missing, what) }

// never notes what the format says of no job.
func (r *Report) never(what ...string) {
	for _, w := range what {
		if e := (Exception{What: w}); !slices.Contains(r.Missing, e) {
			r.Missing = append(r.Missing, e)
		}
	}
}

func count(list *[]Exception, what string) {
	for i := range *list {
		if (*list)[i].What == what {
			(*list)[i].Jobs++
			return
		}
	}
	*list = append(*list, Exception{what, 1})
}
