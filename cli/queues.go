package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// queueNames are the queues that have been configured, by their paths; none: jobs make the queues that they name.
type queueNames []string

func namesOf(queues []*sched.QueueSpec) queueNames {
	var names queueNames
	var add func(above string, list []*sched.QueueSpec)
	add = func(above string, list []*sched.QueueSpec) {
		for _, q := range list {
			names = append(names, above+q.Name)
			add(above+q.Name+".", q.Queues)
		}
	}
	add("", queues)
	return names
}

// checkMaxima refuses queues whose maximum, of what the one above may have, is not one whole unit of something that a
// task needs: no task would ever run there.
func checkMaxima(queues []*sched.QueueSpec, capacity, task sched.Resources) error {
	var check func(above string, most sched.Resources, list []*sched.QueueSpec) error
	check = func(above string, most sched.Resources, list []*sched.QueueSpec) error {
		for _, q := range list {
			own := most
			for k := range own {
				switch {
				case q.Max.Amount[k] > 0:
					own[k] = q.Max.Amount[k]
				case q.Max.Part > 0:
					own[k] = int64(q.Max.Part * float64(most[k]))
				}
				if kind := sched.ResourceKind(k); task[k] > 0 && most[k] > 0 && own[k] == 0 {
					return fmt.Errorf(
						"queue %s%s: its maximum of %g %% of %d %s is less than one, and no task could ever run "+
							"there: must be at least %.3g %%",
						above,
						q.Name,
						100*q.Max.Part,
						most[k],
						kind,
						100/float64(most[k]),
					)
				}
			}
			if err := check(above+q.Name+".", own, q.Queues); err != nil {
				return err
			}
		}
		return nil
	}
	return check("", capacity, queues)
}

// check refuses a job whose queue is not configured, as Hadoop does, where queues are. A job that names none is in the
// default one.
func (n queueNames) check(j *sched.JobSpec) error {
	name := strings.TrimPrefix(j.Queue, "root.")
	if len(n) == 0 || name == "" || name == sched.DefaultQueue || slices.Contains(n, name) {
		return nil
	}
	return fmt.Errorf("job %q is for queue %q, which is not configured%s: the queues are %s", j.Name, j.Queue,
		spelling.Suggest(name, n), strings.Join(n, ", "))
}

// source is a source that ends with an error at the first job that check refuses.
func (n queueNames) source(jobs workload.Source) workload.Source {
	if len(n) == 0 {
		return jobs
	}
	return func(yield func(*sched.JobSpec, error) bool) {
		for j, err := range jobs {
			if err == nil {
				if err = n.check(j); err != nil {
					yield(nil, err)
					return
				}
			}
			if !yield(j, err) {
				return
			}
		}
	}
}
