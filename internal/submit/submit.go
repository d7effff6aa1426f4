package submit

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/mr/jobs"
	"github.com/sojourn-sched/sojourn/sched"
)

// A Submitter submits a workload to a cluster.
type Submitter struct {
	Client  *Client
	Cluster *Cluster
	Jobs    map[string]jobs.Entry // the built-in jobs, by name
	// Binary is this project's program, which containers of built-in jobs run: a file of this machine, or a URI.
	Binary   string
	Sampling Sampling
	Sizes    *Sizes                   // predicts sizes from samples; nil: no job is sampled
	AsUsers  bool                     // each job is submitted as its user; of no effect on clusters with Kerberos
	Clients  int                      // jobs that have a client at a time, a Java process each; zero: no limit
	Notes    func(job, remark string) // is told remarks about jobs, by name; nil: no remarks are made
	// Watch is told how far a job is, by its number from 0: as a part from 0 to 1 of all its tasks, and in words.
	// Several goroutines call it. nil: it is not called.
	Watch func(job int, part float64, says string)
}

// pollEvery is how often the ResourceManager is asked how a job is.
const pollEvery = time.Second

// A Done is the result of a job. Instants count from the beginning of the run by this machine's clock.
type Done struct {
	ID          string // of the application; "": it was not submitted
	User, Queue string // by the ResourceManager; "": it did not tell
	Outcome     sched.Outcome
	Err         error            // nil: it succeeded
	Submit      sched.Time       // the job's arrival: starting the client and the sample come after it
	FirstLaunch sched.Time       // of the ApplicationMaster; -1: not known
	Finish      sched.Time       // by the ResourceManager where it tells, else of the client
	Counters    map[string]int64 // Hadoop's, by name
	Sample      *Sampled         // nil: none
}

// Sojourn returns the time from the job's arrival to its end.
func (d *Done) Sojourn() sched.Time { return d.Finish - d.Submit }

// Serve submits jobs at their times, and returns when all have ended what became of each, in their order. Where Clients
// jobs have a client already, the next one waits until one of these has ended: jobs begin in the order of their
// arrivals, and in that of list where these are equal. When ctx ends Serve kills what runs, and returns with the error
// of ctx.
func (s *Submitter) Serve(ctx context.Context, list []Job) ([]Done, error) {
	begun := time.Now()
	done := make([]Done, len(list))
	order := make([]int, len(list))
	for i := range list {
		order[i] = i
		at := list[i].Spec.Submit
		done[i] = Done{Submit: at, FirstLaunch: -1, Finish: at, Outcome: sched.Killed}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(done[a].Submit, done[b].Submit) })
	free := make(chan struct{}, cmp.Or(max(0, s.Clients), len(list)))
	var all sync.WaitGroup
	waited := false
	for _, i := range order {
		j := &list[i]
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(begun.Add(j.Spec.Submit))):
		}
		if len(free) == cap(free) && ctx.Err() == nil && !waited && s.Notes != nil {
			waited = true
			s.Notes(j.Spec.Name, fmt.Sprintf("waits until one of %d clients has ended, as later jobs may", s.Clients))
		}
		select {
		case <-ctx.Done():
		case free <- struct{}{}:
		}
		if ctx.Err() != nil {
			done[i].Err = context.Cause(ctx)
			continue
		}
		all.Go(func() {
			defer func() { <-free }()
			s.serve(ctx, &work{job: j, index: i, begun: begun, done: &done[i]})
		})
	}
	all.Wait()
	return done, context.Cause(ctx)
}

// A work is a job that Serve works on.
type work struct {
	job   *Job
	index int
	begun time.Time // of the run
	done  *Done
}

// serve samples a job where that is asked for, and submits it.
func (s *Submitter) serve(ctx context.Context, w *work) {
	var z sizing
	inputs, err := s.look(ctx, w)
	if err == nil {
		var clean func()
		z, clean, err = s.prepare(ctx, w, inputs)
		defer clean()
	}
	switch {
	case errors.Is(err, errLeft):
		w.done.Err = err
		return
	case ctx.Err() != nil:
		w.done.Err = context.Cause(ctx)
		return
	case err != nil:
		w.done.Err, w.done.Outcome = err, sched.Failed
		return
	}
	r, err := s.run(ctx, w, w.job, z)
	d := w.done
	d.ID, d.User, d.Queue, d.Counters, d.Err = r.app.ID, r.app.User, r.app.Queue, r.counters, err
	d.Finish = r.ended.Sub(w.begun)
	if r.seen && r.app.FinishedTime > 0 {
		d.Finish = instant(r.app.FinishedTime).Add(r.shift).Sub(w.begun)
	}
	if r.seen && r.app.LaunchTime > 0 {
		d.FirstLaunch = max(d.Submit, instant(r.app.LaunchTime).Add(r.shift).Sub(w.begun))
	}
	d.Finish = max(d.Finish, d.Submit)
	switch {
	case err == nil:
		d.Outcome = sched.OK
	case r.seen && r.app.over():
		d.Outcome = r.app.outcome()
	case ctx.Err() == nil:
		d.Outcome = sched.Failed
	}
	if d.Outcome == sched.OK && d.Sample != nil && s.Sizes != nil {
		s.Sizes.learn(w.index, d.Sample.of, d.Counters)
	}
}

// A ran is the result of an application that was submitted and has ended.
type ran struct {
	app      App
	seen     bool          // app is the ResourceManager's report, not only a name
	shift    time.Duration // of this machine's clock against the ResourceManager's
	ended    time.Time     // of the client, by this machine's clock
	counters map[string]int64
}

// clientOf returns the client for a job: with the job's user, if AsUsers is set.
func (s *Submitter) clientOf(j *Job) *Client {
	c := *s.Client
	if s.AsUsers {
		c.User = j.Spec.User
	}
	return &c
}

// run submits a job and waits until it has ended. The error is that of the job, or says why it was not submitted. When
// ctx ends the application is killed, and the error is that of ctx, or says that it could not be killed.
func (s *Submitter) run(ctx context.Context, w *work, j *Job, z sizing) (r ran, err error) {
	sub, err := s.submission(j, z)
	if err != nil {
		return ran{ended: time.Now()}, err
	}
	client := s.clientOf(j)
	f := &following{s: s, w: w, sample: j != w.job, tag: sub.tag, counters: map[string]int64{}, shift: unknownShift}
	said := &tail{Line: f.line}
	cmd := client.command(ctx, sub.program, sub.args...)
	words := client.listening(said)
	cmd.Stdout, cmd.Stderr = words, words // the same, so that no two write at once
	watching, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() { f.follow(watching) })
	failed := cmd.Run()
	r.ended = time.Now()
	sweep(cmd)
	stop()
	watcher.Wait()
	rest := context.WithoutCancel(ctx)
	f.ask(rest)
	command := sub.program + " " + sub.args[0]
	switch {
	case ctx.Err() != nil:
		if err = f.kill(client); err == nil {
			err = context.Cause(ctx)
		}
	case failed != nil:
		err = fmt.Errorf("%s: %w%s", command, failed, said)
	case j.Jar == nil && f.id == "" && f.absent:
		err = fmt.Errorf("%s ended well, and the ResourceManager has no application of it: mapred-site.xml in %s must "+
			"say mapreduce.framework.name=yarn%s", command, client.Conf, said)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r.app, r.seen, r.counters = f.app, f.app.State != "", f.counters
	if r.shift = f.shift; r.shift == unknownShift {
		r.shift = 0
	}
	if r.app.ID == "" {
		r.app.ID = f.id
	}
	return r, err
}

// token returns a random word, so that names made of it are unique.
func (s *Submitter) token() string { return strings.ToLower(rand.Text()[:12]) }

// A following follows an application, by what its client writes and by asking the ResourceManager.
type following struct {
	s   *Submitter
	w   *work
	tag string

	sample bool // the application is a sample of the job, not the job itself

	mu       sync.Mutex // guards what follows: the client's output and the questions are read by two goroutines
	id       string     // by the client's output; "": not told yet
	app      App        // as last reported
	counters map[string]int64
	shift    time.Duration // the least seen: answers that took long make it larger
	tasks    string        // what the client said of maps and reduces
	unasked  bool          // a question has failed, and there was a remark about it
	absent   bool          // by the last answer there is no application
}

// unknownShift is following.shift before the first answer.
const unknownShift = time.Duration(1<<63 - 1)

// What a client writes: the name of the application, how far maps and reduces are, a counter.
var (
	submitted = regexp.MustCompile(`\b(?:application|job)_(\d+_\d+)\b`)
	progress  = regexp.MustCompile(`\bmap (\d+)% reduce (\d+)%`)
	counter   = regexp.MustCompile(`^\s+([^=]+)=(\d+)$`)
)

// line reads a line of the client's output.
func (f *following) line(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := submitted.FindStringSubmatch(line); m != nil && f.id == "" {
		f.id = "application_" + m[1]
	}
	if m := progress.FindStringSubmatch(line); m != nil {
		f.tasks = "map " + m[1] + " %, reduce " + m[2] + " %"
	}
	if m := counter.FindStringSubmatch(line); m != nil && len(f.counters) < mostCounters {
		if n, err := strconv.ParseInt(m[2], 10, 64); err == nil {
			f.counters[m[1]] = n
		}
	}
}

// mostCounters bounds what is kept of a job's counters. Hadoop's own limit is 120.
const mostCounters = 2000

// follow asks how the application is until ctx ends.
func (f *following) follow(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f.ask(ctx)
		}
	}
}

// ask asks how the application is. A ResourceManager that does not answer is remarked upon once: the client's own
// output says when the job has ended.
func (f *following) ask(ctx context.Context) {
	f.mu.Lock()
	id := f.id
	f.mu.Unlock()
	var app App
	var err error
	found := true
	if id != "" {
		app, err = f.s.Cluster.app(ctx, id)
	} else {
		app, found, err = f.s.Cluster.tagged(ctx, f.tag)
	}
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		if !f.unasked && f.s.Notes != nil {
			f.s.Notes(f.w.job.Spec.Name, fmt.Sprintf("the ResourceManager does not tell how the job is: %v", err))
		}
		f.unasked = true
		return
	}
	if f.absent = !found; f.absent {
		return
	}
	f.app, f.id = app, app.ID
	if !app.over() && app.ElapsedTime > 0 {
		f.shift = min(f.shift, now.Sub(instant(app.StartedTime+app.ElapsedTime)))
	}
	if f.s.Watch == nil {
		return
	}
	says := f.tasks
	if says == "" || app.State != "RUNNING" {
		says = strings.ToLower(app.State)
	}
	if f.sample {
		f.s.Watch(f.w.index, 0, "sample: "+says)
		return
	}
	f.s.Watch(f.w.index, min(1, max(0, app.Progress/100)), says)
}

// errLeft is the error if an application could not be killed.
var errLeft = errors.New("may still run")

// kill kills the application if it may still run: by REST, and where that is refused, as behind Kerberos, by Hadoop's
// command. A client that was ended before it had submitted leaves none.
func (f *following) kill(c *Client) error {
	f.mu.Lock()
	id, over := f.id, f.app.over()
	f.mu.Unlock()
	if id == "" || over {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.killsWithin())
	defer cancel()
	refused := f.s.Cluster.kill(ctx, id, c.name())
	if refused == nil {
		return nil
	}
	if err := c.kill(context.Background(), id); err != nil {
		return fmt.Errorf("%s %w, kill it by 'yarn application -kill %s': %w; and by REST: %w", id, errLeft, id, err,
			refused)
	}
	return nil
}
