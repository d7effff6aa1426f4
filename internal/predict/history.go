package predict

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/internal/jobhistory"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// ReadHistories reads a job's history, or those of a folder (*.jhist, compressed or not) in order of their names, and
// returns those of jobs with a name ("": all), and all names.
func ReadHistories(path, name string) (jobs []*jobhistory.Job, names map[string]bool, err error) {
	paths := []string{path}
	if info, err := os.Stat(path); err != nil {
		return nil, nil, err
	} else if info.IsDir() {
		if paths, _ = filepath.Glob(filepath.Join(path, "*.jhist*")); len(paths) == 0 {
			return nil, nil, fmt.Errorf("%s: there is no .jhist file in it; Hadoop keeps them in "+
				"mapreduce.jobhistory.done-dir", path)
		}
	}
	names = map[string]bool{}
	for _, path := range paths {
		j, err := workload.ReadHistory(path)
		if err != nil {
			return nil, nil, err
		}
		if name == "" || j.Name == name {
			jobs = append(jobs, j)
		}
		names[j.Name] = true
	}
	return jobs, names, nil
}

// means sums times of equal tasks, in seconds.
type means struct{ n, time, square, cpu float64 }

// add counts a task, in seconds. Processor time beyond the task's time is left out.
func (m *means) add(took, cpu float64) {
	m.n, m.time, m.square, m.cpu = m.n+1, m.time+took, m.square+took*took, m.cpu+min(cpu, took)
}

// service is the mean demand of a task: the processor time that was counted, and the rest as a wait that does
// not depend on other tasks.
func (m *means) service() Service {
	if m.n == 0 {
		return Service{}
	}
	return Service{CPU: Seconds(m.cpu / m.n), Wait: Seconds((m.time - m.cpu) / m.n)}
}

// cv is the coefficient of variation of the times.
func (m *means) cv() float64 {
	if m.n < 2 || m.time == 0 {
		return 0
	}
	mean := m.time / m.n
	return math.Sqrt(max(0, m.square/m.n-mean*mean)) / mean
}

// FromHistories makes the profile of a job from histories of its runs on Hadoop, on nodes of so many processors: as
// many tasks as the last one had, and mean times of all. A task's processor time is the service that it got beside what
// else the histories have on its host, because counters leave out most of the start of a process; of other load they
// know nothing. A reduce counts from the end of the last map.
func FromHistories(jobs []*jobhistory.Job, cores int) (*Profile, error) {
	if len(jobs) == 0 {
		return nil, errors.New("there is no history of a job")
	}
	p := &Profile{lenient: true}
	hosts := map[string][]process{}
	commit, grant := 0.0, math.Inf(1)
	for _, j := range jobs {
		if j.State != jobhistory.Succeeded || j.Launch == 0 || j.Uber {
			return nil, fmt.Errorf("job %s (%s) is %s: what is needed is the history of a job that succeeded, "+
				"with tasks in containers of their own", j.ID, j.Name, cmp.Or(j.State, "not over"))
		}
		p.Name, p.Maps, p.Reduces = j.Name, 0, 0
		host := ""
		if n := len(j.Masters); n > 0 {
			host = j.Masters[n-1].Host
		}
		hosts[host] = append(hosts[host], process{j.Submit.Seconds(), j.Launch.Seconds(), 1, 0, ofMasters})
		var mapsEnd, end time.Duration
		for i := range j.Tasks {
			t := &j.Tasks[i]
			a := t.Success()
			if a == nil {
				return nil, fmt.Errorf("job %s: task %s has no attempt that succeeded", j.ID, t.ID)
			}
			if t.Start > 0 && a.Start >= t.Start {
				grant = min(grant, (a.Start - t.Start).Seconds())
			}
			if t.Kind == jobhistory.Map {
				mapsEnd = max(mapsEnd, a.Finish)
			}
			end = max(end, a.Finish)
		}
		commit += max(0, j.Finish-end).Seconds() / float64(len(jobs))
		for i := range j.Tasks {
			a := j.Tasks[i].Success()
			at := process{a.Start.Seconds(), a.Finish.Seconds(), 1, 0, ofMaps}
			if j.Tasks[i].Kind == jobhistory.Map {
				p.Maps++
			} else {
				p.Reduces++
				at.kind, at.from = ofReduces, max(a.Start, mapsEnd).Seconds()
			}
			hosts[a.Host] = append(hosts[a.Host], at)
		}
		p.Container = containersOf(j.Conf)
	}
	var got [3]means
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		serve(hosts[host], float64(max(1, cores)), 0)
		for _, at := range hosts[host] {
			got[at.kind].add(at.got, at.got)
		}
	}
	p.Commit, p.Master = Seconds(commit), got[ofMasters].service()
	p.Demands.Map, p.Demands.Merge, p.Variation = got[ofMaps].service(), got[ofReduces].service(), got[ofMaps].cv()
	if !math.IsInf(grant, 1) {
		p.Demands.Map.Wait += Seconds(grant)
		p.Demands.Merge.Wait += Seconds(grant)
	}
	return p, p.Check()
}

// FromTimes makes the profile of a job from times of its past tasks, in seconds; how many tasks it has is not in them.
// Nothing says what tasks used, so that other tasks are taken to stretch no task's time.
func FromTimes(name string, mapTimes, reduceTimes []float64) *Profile {
	p := &Profile{Name: name, lenient: true}
	var maps, reduces means
	for _, t := range mapTimes {
		maps.add(t, 0)
	}
	for _, t := range reduceTimes {
		reduces.add(t, 0)
	}
	p.Demands.Map, p.Demands.Merge, p.Variation = maps.service(), reduces.service(), maps.cv()
	return p
}

// containersOf returns the containers that a job's configuration asks for, by Hadoop's defaults where it says nothing.
func containersOf(conf map[string]string) Container {
	size := func(kind string) map[string]string {
		return map[string]string{
			"memory": cmp.Or(conf["mapreduce."+kind+".memory.mb"], "1024") + "MiB",
			"vcores": cmp.Or(conf["mapreduce."+kind+".cpu.vcores"], "1"),
		}
	}
	return Container{Map: size("map"), Reduce: size("reduce")}
}

// FromJobs makes the profile of a job from past runs of it that are a workload: numbers of tasks of the last one, and
// mean times of all. Nothing says what tasks used, so that other tasks are taken to stretch no task's time. Stages that
// read files are maps, the others reduces.
func FromJobs(jobs []*sched.JobSpec) (*Profile, error) {
	if len(jobs) == 0 {
		return nil, errors.New("there is no job of that name")
	}
	p := &Profile{lenient: true}
	var maps, reduces means
	for _, j := range jobs {
		truth, ok := j.Payload.(*workload.Truth)
		if !ok {
			return nil, fmt.Errorf("job %s has no task times", j.Name)
		}
		p.Name, p.Maps, p.Reduces = j.Name, 0, 0
		for i := range j.Stages {
			st := &j.Stages[i]
			of, n, holds := &maps, &p.Maps, &p.Container.Map
			switch st.Kind {
			case sched.Map:
			case sched.Reduce:
				of, n, holds = &reduces, &p.Reduces, &p.Container.Reduce
			default:
				continue
			}
			*n += int(st.Tasks)
			*holds = amounts(st.PerTask)
			times := &truth.Stages[i]
			for _, t := range times.List {
				of.add(t.Compute.Seconds(), 0)
			}
			if times.List == nil {
				of.add(times.Base.Seconds(), 0)
			}
		}
	}
	p.Demands.Map, p.Demands.Merge, p.Variation = maps.service(), reduces.service(), maps.cv()
	return p, p.Check()
}

// SlowStart returns which part of the maps the reduces of past jobs waited for: that of the last job with reduces that
// waited for a stage; false: there is none. On the embedded engine it is 1.
func SlowStart(jobs []*sched.JobSpec) (part float64, ok bool) {
	for _, j := range jobs {
		for i := range j.Stages {
			if st := &j.Stages[i]; st.Kind == sched.Reduce && len(st.After) > 0 {
				part, ok = st.After[len(st.After)-1].Part, true
			}
		}
	}
	return part, ok
}

// amounts are resources by name, in the units of cluster files.
func amounts(r sched.Resources) map[string]string {
	list := map[string]string{}
	for k, x := range r {
		if x > 0 {
			name := sched.ResourceKind(k).String()
			if list[name] = fmt.Sprint(x); sched.ResourceKind(k) == sched.Memory {
				list[name] += "MiB"
			}
		}
	}
	return list
}
