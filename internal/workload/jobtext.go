package workload

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/jobhistory"
	"github.com/sojourn-sched/sojourn/internal/spelling"
)

// jobTextMark begins what `mapred job -history` prints.
const jobTextMark = "Hadoop job: job_"

// jobTextLast is the kind of the last list of attempts that succeeded.
const jobTextLast = "JOB_CLEANUP"

// jobTextTime is how it writes instants (org.apache.hadoop.mapreduce.jobhistory.HumanReadableHistoryViewerPrinter).
const jobTextTime = "2-Jan-2006 15:04:05"

var jobTextInstant = regexp.MustCompile(`\d{1,2}-[A-Z][a-z]{2}-\d{4} \d\d:\d\d:\d\d`)

// readJobText reads what `mapred job -history all FILE|ID` prints of one job or, put together, of several.
func readJobText(in *input, o *Options, e emit) error {
	in.report.never(historyLacks...)
	in.report.never("parts of seconds", "bytes of tasks", "container sizes: tasks have the default", "racks")
	var jobs []gathered
	p := jobText{}
	finish := func() error {
		if p.job == nil {
			return nil
		}
		if p.summary && p.list == "" {
			return in.at(p.line, 0, "job %s: lists no attempts: print it by 'mapred job -history all'", p.job.ID)
		}
		if why := p.lacks(); why != "" {
			return in.at(p.last, 0, "job %s: %s: print it again by 'mapred job -history all'", p.job.ID, why)
		}
		spec, err := o.past(p.job, &Report{}, int64(len(jobs)+1))
		if err != nil {
			return in.at(p.line, 0, "%w", err)
		}
		for i := range p.job.Tasks {
			in.report.host(p.job.Tasks[i].Attempts[0].Host)
		}
		if p.job.Finish > p.job.Submit {
			in.report.took(p.job.Finish - p.job.Submit)
		}
		jobs = append(jobs, gathered{spec, p.line})
		return nil
	}
	err := in.lines(func(number int, line string) error {
		if strings.HasPrefix(line, jobTextMark) {
			if err := finish(); err != nil {
				return err
			}
			if len(jobs) == maxGathered {
				return in.at(number, 0, "more than %d jobs: part the text", maxGathered)
			}
			p = jobText{job: &jobhistory.Job{ID: strings.TrimPrefix(line, "Hadoop job: ")}, line: number, last: number}
			return nil
		}
		if p.job == nil {
			return nil // what the command logs before
		}
		p.last = number
		if err := p.add(line); err != nil {
			return in.at(number, 0, "%w", err)
		}
		return nil
	})
	if err == nil {
		err = finish()
	}
	if err != nil {
		return err
	}
	return release(in, jobs, e)
}

// A jobText is what was read of a job.
type jobText struct {
	job     *jobhistory.Job
	line    int             // where the job begins
	last    int             // the last line so far that is not blank
	summary bool            // it has a summary of tasks
	least   map[string]int  // by "Map" and "Reduce" of the summary: so many attempts that succeeded are listed, or more
	list    string          // the list of attempts that the text is in; "": none so far
	kind    jobhistory.Kind // of that list; "": it has no tasks that the reader wants
	whole   bool            // the list that comes last has begun
}

// lacks says what is missing in the text of a job; "": nothing. Hadoop prints the attempts of the job's clean-up last
// of those that succeeded, as an empty list in most jobs.
func (p *jobText) lacks() string {
	switch {
	case !p.summary:
		return "the text is cut off before the task summary"
	case !p.whole:
		return "the text is cut off in the lists of attempts"
	case p.job.State != "SUCCEEDED":
		return "" // what its summary counts as successful differs between versions of Hadoop
	}
	listed := map[string]int{}
	for i := range p.job.Tasks {
		switch p.job.Tasks[i].Kind {
		case jobhistory.Map:
			listed["Map"]++
		case jobhistory.Reduce:
			listed["Reduce"]++
		}
	}
	for _, kind := range []string{"Map", "Reduce"} {
		if listed[kind] < p.least[kind] {
			return fmt.Sprintf("by the task summary %s of kind %s succeeded, and %d are listed",
				spelling.Count(p.least[kind], "attempt"), kind, listed[kind])
		}
	}
	return ""
}

// add takes in the next line: of the job's head ("User: ana"), of the task summary, or of a list of attempts, which
// begins with "MAP task list for". Other lines are passed over. The caller adds to an error where the line is.
func (p *jobText) add(line string) (err error) {
	j := p.job
	name, value, _ := strings.Cut(line, ": ")
	switch {
	case name == "User" && j.User == "":
		j.User = value
	case name == "JobName" && j.Name == "":
		j.Name = value
	case name == "Status" && j.State == "":
		j.State = value
	case name == "Submitted At":
		j.Submit, err = instant(value)
	case name == "Launched At":
		j.Launch, err = instant(value)
	case name == "Finished At":
		j.Finish, err = instant(value)
	case line == "Task Summary":
		p.summary = true
	case p.summary && p.list == "" && (strings.HasPrefix(line, "Map\t") || strings.HasPrefix(line, "Reduce\t")):
		return p.count(strings.Split(line, "\t"))
	case strings.Contains(line, " task list for "):
		p.kind = ""
		switch kind, _, _ := strings.Cut(line, " task list for "); kind {
		case "MAP":
			p.kind, p.list = jobhistory.Map, kind
		case "REDUCE":
			p.kind, p.list = jobhistory.Reduce, kind
		case "JOB_SETUP", jobTextLast:
			p.list = kind
		} // others, such as "SUCCEEDED MAP", list tasks; the lists of attempts say more
	case p.list == jobTextLast && strings.HasPrefix(line, "===="):
		p.whole = true
	case p.kind != "" && strings.HasPrefix(line, "attempt_"):
		return p.attempt(strings.Split(line, "\t"))
	}
	return err
}

// count takes in a line of the task summary: kind, tasks, successful ones, nothing, and attempts that failed and were
// killed. Some versions of Hadoop count tasks that failed or were killed as successful.
func (p *jobText) count(f []string) error {
	if len(f) < 6 {
		return fmt.Errorf("task summary: %s: has %s, must have 8", f[0], spelling.Count(len(f), "field"))
	}
	var n [3]int
	for i, column := range []int{2, 4, 5} {
		var err error
		if n[i], err = strconv.Atoi(f[column]); err != nil || n[i] < 0 {
			return fmt.Errorf("task summary: %s: field %d: %.20q, must be a number, 0 or more", f[0], column+1,
				f[column])
		}
	}
	if p.least == nil {
		p.least = map[string]int{}
	}
	p.least[f[0]] = n[0] - n[1] - n[2]
	return nil
}

// attempt takes in an attempt: its ID, start, of a reduce the ends of its shuffle and its sort, finish, host, and the
// error of one that failed, which is passed over. After the host of one that succeeded comes the address of its log, or
// n/a. Hadoop writes no tab between the last two times of a reduce.
func (p *jobText) attempt(f []string) error {
	times, last := 2, 2
	if p.kind == jobhistory.Reduce {
		times, last = 4, 3
	}
	if len(f) < last+2 {
		return fmt.Errorf("attempt %.80s: has %s, must have %d", f[0], spelling.Count(len(f), "field"), last+2)
	}
	if len(f) > last+2 && !strings.HasPrefix(f[last+2], "http") && f[last+2] != "n/a" {
		return nil
	}
	texts := jobTextInstant.FindAllString(strings.Join(f[1:last+1], "\t"), times+1)
	if len(texts) != times {
		return fmt.Errorf("attempt %.80s: has %s, must have %d", f[0], spelling.Count(len(texts), "time"), times)
	}
	at := make([]time.Duration, times)
	for i := range at {
		var err error
		if at[i], err = instant(texts[i]); err != nil {
			return fmt.Errorf("attempt %.80s: %w", f[0], err)
		}
	}
	a := jobhistory.Attempt{ID: f[0], State: jobhistory.Succeeded, Start: at[0], Finish: at[times-1], Host: f[last+1]}
	if times == 4 {
		a.Fetched, a.Sorted = at[1], at[2]
	}
	if a.Finish < a.Start {
		return fmt.Errorf("attempt %.80s: finishes before it starts", a.ID)
	}
	if len(p.job.Tasks) == MaxList {
		return fmt.Errorf("more than %d tasks", MaxList)
	}
	p.job.Tasks = append(p.job.Tasks, jobhistory.Task{ID: f[0], Kind: p.kind, Attempts: []jobhistory.Attempt{a}})
	return nil
}

// instant reads the first instant of a text, since 1970 as if the time zone were UTC.
func instant(text string) (time.Duration, error) {
	t, err := time.Parse(jobTextTime, jobTextInstant.FindString(text))
	if err != nil || t.Year() < 1970 || t.Year() > 2200 {
		return 0, fmt.Errorf("%.60q, must be a time such as 31-Dec-2024 23:59:59", text)
	}
	return time.Duration(t.Unix()) * time.Second, nil
}
