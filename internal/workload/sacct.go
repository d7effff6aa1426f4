package workload

import (
	"errors"
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
// needs JobID, Submit, Start and End; it uses Elapsed, JobName, User, Partition, AllocCPUS (or NCPUS), AllocNodes (or
// NNodes) and ReqMem. A job is a task on each of its nodes for as long as it ran. Steps of jobs are left out.
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
						"User,Partition,Submit,Start,End,Elapsed,State,AllocCPUS,AllocNodes,ReqMem'", need)
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
	between := at[2].Sub(at[1])
	took, said, err := slurmElapsed(of("elapsed"))
	if err != nil {
		return nil, err
	}
	if !said {
		took = between
	}
	switch {
	case took > MaxTime:
		return nil, fmt.Errorf("runs for more than ten years: ends at %s, starts at %s", of("end"), of("start"))
	case took < 0:
		report.leave("the job ends before it starts, as where the clock is set back: print Elapsed too")
		return nil, nil
	case took == 0:
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
	report.took(max(0, at[1].Sub(at[0])) + max(between, took)) // a suspended job takes longer than it runs
	spec := sched.JobSpec{Name: of("jobname", "jobid"), User: of("user"), Queue: of("partition"), Type: "SLURM",
		Submit: sched.Time(at[0].Unix()) * sched.Time(time.Second)}
	return o.imported(spec, ordinal, []importedStage{{each: o.each(memory, each), tasks: int32(nodes), time: took}})
}

// slurmElapsed reads Elapsed, how long a job ran: DD-HH:MM:SS, whose larger units may be missing. It is right also if
// the clock was changed between start and end, which are in local time. false: not said, as by an empty text, and by
// INVALID, which sacct prints for a negative time.
func slurmElapsed(text string) (took time.Duration, said bool, err error) {
	if text == "" || text == "INVALID" {
		return 0, false, nil
	}
	days, clock, ok := strings.Cut(text, "-")
	if !ok {
		days, clock = "0", text
	}
	fields := strings.Split(days+strings.Repeat(":0", max(0, 2-strings.Count(clock, ":")))+":"+clock, ":")
	if len(fields) == len(slurmUnits) {
		for i, unit := range slurmUnits {
			n, fault := strconv.ParseUint(fields[i], 10, 16)
			took, err = took+time.Duration(n)*unit, errors.Join(err, fault)
		}
		if err == nil {
			return took, true, nil
		}
	}
	return 0, false, fmt.Errorf("elapsed: %.40q, must be a time such as 1-02:03:04 or 02:03:04", text)
}

// slurmUnits are the units of the fields of Elapsed.
var slurmUnits = [...]time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second}

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
