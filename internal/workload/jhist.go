package workload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/jobhistory"
	"github.com/sojourn-sched/sojourn/internal/unpack"
	"github.com/sojourn-sched/sojourn/sched"
)

// longestLaunch bounds what counts to the start of a container: of the time between a job's submission and the start of
// its ApplicationMaster's process, and of that between asking for a task's container and its start. What is beyond was
// waiting for room.
const longestLaunch = 10 * time.Second

// historyLacks are what no job history says.
var historyLacks = []string{
	"the sizes of nodes: describe them with --cluster",
	"queues and their shares: describe them in the cluster's file",
	"how long jobs waited for the containers of their ApplicationMasters: it is simulated",
	"how long containers took to start: the shortest time between asking and the start of a map is taken, at most 10 s",
	"how long ApplicationMasters held their containers after their jobs had ended: a few seconds",
}

// readHistory reads the history of one job. A task takes as long as its attempt that succeeded did; a task without such
// an attempt takes the mean of its stage. A reduce's waiting for maps is no part of its time. On a cluster with
// containers the job has its ApplicationMaster, which asks for the tasks when it has started.
func readHistory(in *input, o *Options, e emit) error {
	in.report.never(historyLacks...)
	j, err := jobhistory.Read(in.name, in)
	if err == nil && j.State == "" {
		err = fmt.Errorf("%s: ends before job %s did: the job runs, or its ApplicationMaster was lost", in.name, j.ID)
	}
	if err != nil {
		return err
	}
	if j.Conf, err = confOf(in.name, j.ID); err != nil {
		return err
	}
	spec, err := o.past(j, in.report, 1)
	if err == nil {
		e(spec, 0)
	}
	return err
}

// confOf reads the configuration that stands beside a job's history; nil where there is none.
func confOf(path, id string) (map[string]string, error) {
	name := filepath.Join(filepath.Dir(path), id+"_conf.xml")
	if id == "" || filepath.Base(name) != id+"_conf.xml" { // an ID with a path in it
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	return jobhistory.ReadConf(name, f)
}

// past makes a job of its history; ordinal is its place among all, from 1.
func (o *Options) past(h *jobhistory.Job, report *Report, ordinal int64) (*sched.JobSpec, error) {
	j := rumenJob{id: h.ID, spec: sched.JobSpec{
		Name: h.Name, User: h.User, Queue: strings.TrimPrefix(h.Queue, "root."), Submit: h.Submit,
		Priority: rumenPriorities[h.Conf["mapreduce.job.priority"]],
	}}
	launch := launchTime(h)
	for i := range h.Tasks {
		t := &h.Tasks[i]
		st := &j.maps
		switch t.Kind {
		case jobhistory.Map:
		case jobhistory.Reduce:
			st = &j.reduces
		default:
			continue
		}
		if len(st.list) == MaxList {
			return nil, fmt.Errorf("job %s: has more than %d tasks", h.ID, MaxList)
		}
		if a := t.Success(); a != nil && !h.Uber {
			a.Start = max(0, a.Start-launch)
		}
		if err := st.addPast(t, o, report); err != nil {
			return nil, fmt.Errorf("job %s: task %s: %w", h.ID, t.ID, err)
		}
	}
	if h.Conf == nil {
		report.lack("the job's configuration (job_..._conf.xml beside the history): its containers are of the " +
			"default size")
	}
	j.mapMB, j.reduceMB = conf(h, "mapreduce.map.memory.mb", 0), conf(h, "mapreduce.reduce.memory.mb", 0)
	spec, err := j.job(o, ordinal)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", h.ID, err)
	}
	if h.Finish > h.Submit {
		report.took(h.Finish - h.Submit)
	}
	for i, name := range [...]string{"mapreduce.map.cpu.vcores", "mapreduce.reduce.cpu.vcores"} {
		if i < len(spec.Stages) && spec.Stages[i].PerTask[sched.VCores] > 0 {
			spec.Stages[i].PerTask[sched.VCores] = conf(h, name, 1)
		}
	}
	if spec.Type != mapReduce || len(h.Masters) == 0 || o.MapTask[sched.Memory] == 0 {
		return spec, nil
	}
	m := DefaultMaster()
	m.Size[sched.Memory] = conf(h, "yarn.app.mapreduce.am.resource.mb", m.Size[sched.Memory])
	m.Size[sched.VCores] = conf(h, "yarn.app.mapreduce.am.resource.cpu-vcores", m.Size[sched.VCores])
	if o.MapTask[sched.VCores] == 0 {
		m.Size[sched.VCores] = 0
	}
	m.Start = max(0, h.Launch-h.Masters[0].Start) + min(longestLaunch, max(0, h.Masters[0].Start-h.Submit))
	spec = m.withMaster(spec)
	spec.Payload.(*Truth).Uber = h.Uber
	return spec, nil
}

// launchTime returns how long a container of the job took from its grant to its start, as far as the history shows: the
// shortest time between asking for a map's container and its start.
func launchTime(h *jobhistory.Job) time.Duration {
	shortest := longestLaunch
	some := false
	for i := range h.Tasks {
		t := &h.Tasks[i]
		if len(t.Attempts) > 0 && t.Kind == jobhistory.Map && t.Start > 0 && t.Attempts[0].Start >= t.Start {
			shortest, some = min(shortest, t.Attempts[0].Start-t.Start), true
		}
	}
	if !some {
		return 0
	}
	return shortest
}

// conf returns a number of a job's configuration, from 1 to 2^31; otherwise without it.
func conf(h *jobhistory.Job, name string, otherwise int64) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(h.Conf[name]), 10, 32)
	if err != nil || n < 1 {
		return otherwise
	}
	return n
}

// addPast adds a task of a job history.
func (s *rumenStage) addPast(t *jobhistory.Task, o *Options, report *Report) error {
	var r Task
	var ran span
	if a := t.Success(); a != nil {
		report.host(a.Host)
		c := &a.Counters
		r.Input, r.Shuffle, r.Output = max(c.InputBytes, c.FileSystemRead), c.ShuffleBytes, c.OutputBytes
		if t.Kind == jobhistory.Map && c.MaterializedBytes > 0 {
			r.Output = c.MaterializedBytes
		}
		if t.Kind == jobhistory.Reduce {
			r.Input = 0
		}
		if a.Start > 0 && a.Finish > 0 {
			ran = span{a.Start.Milliseconds(), a.Start.Milliseconds(), a.Finish.Milliseconds()}
			if a.Finish-a.Start > MaxTime {
				return fmt.Errorf("attempt %s: runs for more than ten years", a.ID)
			}
			ran.fetched = min(max(ran.start, a.Fetched.Milliseconds()), ran.finish)
		}
	}
	if err := o.scaleTask(&r); err != nil {
		return err
	}
	s.append(r, ran)
	if o.Nodes > 0 {
		first := len(s.hosts)
		for _, location := range t.Locations {
			s.place(o, first, location[strings.LastIndexByte(location, '/')+1:])
		}
		s.ends = append(s.ends, int32(len(s.hosts)))
	}
	return nil
}

// openFolder opens the job histories and Spark's event logs in a folder and the folders in it, such as the done
// directory of the job history server. Jobs that had not ended are left out, and so are logs that are cut off and
// applications without a task that succeeded: the report counts them.
func openFolder(path string, o Options) (*File, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("workload options: %w", err)
	}
	var list []string
	err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(d.Name(), ".gz"), ".zst"), ".bz2")
		if err == nil && !d.IsDir() && (strings.HasSuffix(name, ".jhist") || isSparkName(name)) {
			list = append(list, p)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open workload: %w", err)
	}
	if list == nil {
		return nil, fmt.Errorf("open workload: folder %s holds no job history (*.jhist) and no event log "+
			"of Spark (application_*, app-*, local-*)", path)
	}
	slices.SortStableFunc(list, func(a, b string) int { return strings.Compare(submission(a), submission(b)) })
	f := &File{Path: path, Format: JobHistory, Report: &Report{}}
	if isSparkName(filepath.Base(list[0])) {
		f.Format = SparkLog
	}
	f.Jobs = fromZero(inOrder(path, func(e emit) error {
		report := &Report{}
		defer f.passed(report)
		for i, p := range list {
			spec, err := o.pastAt(p, report, int64(i+1))
			if err != nil {
				return err
			}
			if spec != nil && !e(spec, 0) {
				break
			}
		}
		return nil
	}))
	return f, nil
}

// isSparkName reports whether a file of a folder is named as Spark names its event logs.
func isSparkName(name string) bool {
	return strings.HasPrefix(name, "application_") || strings.HasPrefix(name, "app-") ||
		strings.HasPrefix(name, "local-")
}

// sparkJob reads the event log of an application; nil without an error for an application that report leaves out.
func (o *Options) sparkJob(path string, text io.Reader, report *Report) (*sched.JobSpec, error) {
	in := &input{Reader: bufio.NewReaderSize(text, lineMax), name: path, report: report}
	app, err := readSparkApplication(in)
	if why := app.unfinished(err); why != "" {
		report.leave(why)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	job, err := app.job(o, report)
	if err != nil {
		return nil, in.at(0, 0, "application %.80s: %w", app.id, err)
	}
	return job, nil
}

// submission returns the part of a history's file name that says when the job was submitted, of names that the job
// history server gives: job_1_0001-SUBMITTED-user-name-...; else the whole name.
func submission(path string) string {
	parts := strings.SplitN(filepath.Base(path), "-", 3)
	if len(parts) == 3 {
		return parts[1]
	}
	return parts[0]
}

// pastAt reads the job history, or the event log of Spark, at a path; nil without an error for a job that report leaves
// out.
func (o *Options) pastAt(path string, report *Report, ordinal int64) (job *sched.JobSpec, err error) {
	if isSparkName(filepath.Base(path)) {
		err = decompressed(path, func(text io.Reader) error {
			job, err = o.sparkJob(path, text, report)
			return err
		})
		return job, err
	}
	report.never(historyLacks...)
	j, err := ReadHistory(path)
	if err == nil && j.State == "" || errors.Is(err, jobhistory.ErrCut) {
		report.leave("the history ends before the job did")
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return o.past(j, report, ordinal)
}

// decompressed calls read with the text of a file.
func decompressed(path string, read func(text io.Reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open workload: %w", err)
	}
	defer f.Close()
	text, err := unpack.NewReader(f, unpack.Text)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	defer text.Close()
	return read(text)
}

// ReadHistory reads a job's history, compressed or not, and the job's configuration where that stands beside it.
func ReadHistory(path string) (j *jobhistory.Job, err error) {
	err = decompressed(path, func(text io.Reader) error {
		if j, err = jobhistory.Read(path, text); err == nil {
			j.Conf, err = confOf(path, j.ID)
		}
		return err
	})
	return j, err
}
