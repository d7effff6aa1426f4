package workload

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/sched"
)

// sacctTime is how sacct writes instants where SLURM_TIME_FORMAT does not say otherwise.
const sacctTime = "2006-01-02T15:04:05"

// readSacct reads jobs of Slurm as `sacct --parsable2` prints them: a line of names, and a line a job, parted by |. It
// needs JobID, Submit, Start and End; it uses JobName, User, Partition, AllocCPUS (or NCPUS), AllocNodes (or NNodes)
// and ReqMem. A job is a task on each of its nodes for as long as it ran. Steps of jobs are left out.
func readSacct(in *input, o *Options, e emit) error {
	in.report.never("that the nodes of a job start together: they are tasks, which start when there is room",
		"the sizes of nodes: describe them with --cluster", "dependencies, reservations and back-filling")
	var places map[string]int
	columns := 0
	var jobs []gathered
	err := in.lines(func(number int, line string) error {
		f := strings.Split(line, "|")
		if places == nil {
			places, columns = map[string]int{}, len(f)
			for i, name := range f {
				places[strings.ToLower(strings.TrimSpace(name))] = i
			}
			for _, need := range []string{"jobid", "submit", "start", "end"} {
				if _, ok := places[need]; !ok {
					return in.at(number, 0, "has no column %s: print it by 'sacct --parsable2 --format=JobID,JobName,"+
						"User,Partition,Submit,Start,End,State,AllocCPUS,AllocNodes,ReqMem'", need)
				}
			}
			return nil
		}
		if len(f) != columns {
			return in.at(number, 0, "has %s, and the first line names %d: it is cut off, or a name holds a |",
				spelling.Count(len(f), "field"), columns)
		}
		of := func(names ...string) string {
			for _, name := range names {
				if i, ok := places[name]; ok && strings.TrimSpace(f[i]) != "" {
					return strings.TrimSpace(f[i])
				}
			}
			return ""
		}
		if strings.Contains(of("jobid"), ".") {
			return nil // a step
		}
		if len(jobs) == maxGathered {
			return in.at(number, 0, "more than %d jobs: part the table", maxGathered)
		}
		job, err := o.slurmJob(in.report, of, int64(len(jobs)+1))
		if err != nil {
			return in.at(number, 0, "job %.40s: %w", of("jobid"), err)
		}
		if job != nil {
			jobs = append(jobs, gathered{job, number})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return release(in, jobs, e)
}

// slurmJob makes a job of the fields of a line; nil for one that did not run or runs still.
func (o *Options) slurmJob(report *Report, of func(...string) string, ordinal int64) (*sched.JobSpec, error) {
	var at [3]time.Time
	for i, name := range [...]string{"submit", "start", "end"} {
		text := of(name)
		if text == "" || text == "Unknown" || text == "None" {
			report.leave("the job did not run, or runs still")
			return nil, nil
		}
		t, err := time.Parse(sacctTime, text)
		if err != nil || t.Year() < 1970 || t.Year() > 2200 {
			return nil, fmt.Errorf("%s: %.40q, must be a time such as 2024-12-31T23:59:59", name, text)
		}
		at[i] = t
	}
	took := at[2].Sub(at[1])
	if took < 0 || took > MaxTime {
		return nil, fmt.Errorf("ends at %s, starts at %s", of("end"), of("start"))
	}
	if took == 0 {
		report.leave("the job did not run, or runs still")
		return nil, nil
	}
	nodes, err := count1(of("allocnodes", "nnodes"), "allocnodes")
	if err != nil {
		return nil, err
	}
	cpus, err := count1(of("alloccpus", "ncpus", "reqcpus"), "alloccpus")
	if err != nil {
		return nil, err
	}
	each := (cpus + nodes - 1) / nodes
	memory, err := slurmMemory(of("reqmem"), nodes, each)
	if err != nil {
		return nil, err
	}
	if memory == 0 {
		report.lack("memory (ReqMem): tasks have the default")
	}
	report.took(at[2].Sub(at[0]))
	spec := sched.JobSpec{Name: of("jobname", "jobid"), User: of("user"), Queue: of("partition"), Type: "SLURM",
		Submit: sched.Time(at[0].Unix()) * sched.Time(time.Second)}
	return o.imported(spec, ordinal, []importedStage{{each: o.each(memory, each), tasks: int32(nodes), time: took}})
}

// count1 reads a number from 1 on; an empty text and 0 are 1.
func count1(text, what string) (int64, error) {
	if text == "" || text == "0" {
		return 1, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > MaxTasks {
		return 0, fmt.Errorf("%s: %.40q, must be a number from 1 to %d", what, text, MaxTasks)
	}
	return n, nil
}

// slurmMemory reads ReqMem, in MiB a node: 4000M, 4G; with the n of older releases a node, with c a CPU; without
// either it is of the whole job. Zero: not said.
func slurmMemory(text string, nodes, cpus int64) (int64, error) {
	if text == "" || text == "0" {
		return 0, nil
	}
	number := strings.TrimRight(text, "cn")
	per := text[len(number):]
	unit := int64(1)
	if number != "" {
		switch number[len(number)-1] {
		case 'K':
			unit = 0
		case 'G':
			unit = 1 << 10
		case 'T':
			unit = 1 << 20
		}
	}
	x, err := strconv.ParseFloat(strings.TrimRight(number, "KMGT"), 64)
	if err != nil || !(x >= 0 && x < 1e9) {
		return 0, fmt.Errorf("reqmem: %.40q, must be such as 4000M or 4G", text)
	}
	mib := x * float64(unit)
	if unit == 0 {
		mib = x / 1024
	}
	switch per {
	case "c":
		mib *= float64(cpus)
	case "n":
	default:
		mib /= float64(nodes)
	}
	return max(1, int64(mib)), nil
}
