package mr

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/sojourn-sched/sojourn/mr/input"
	"github.com/sojourn-sched/sojourn/sched"
)

// A Site is where jobs run: the memory that all attempts share, and the resources that each task holds.
type Site struct {
	Memory *Memory
	Map    sched.Resources // of one map task
	Reduce sched.Resources // of one reduce task
	Cores  int             // splits are cut so that as many workers are busy
}

// Slots returns how many tasks run at once on a cluster of this capacity: its slots where it has any, else its cores.
func Slots(capacity sched.Resources) int {
	if slots := capacity[sched.MapSlots] + capacity[sched.ReduceSlots]; slots > 0 {
		return int(slots)
	}
	return int(max(1, capacity[sched.VCores]))
}

// SiteOf returns the site of a cluster of this capacity. A task holds a slot where the cluster has slots, else a core
// and its part of the memory.
func SiteOf(capacity sched.Resources, memory *Memory) Site {
	slots := Slots(capacity)
	s := Site{Memory: memory, Cores: min(slots, runtime.GOMAXPROCS(0))}
	if capacity[sched.MapSlots] > 0 {
		s.Map[sched.MapSlots], s.Reduce[sched.ReduceSlots] = 1, 1
		return s
	}
	s.Map[sched.VCores] = 1
	if mib := capacity[sched.Memory]; mib > 0 {
		s.Map[sched.Memory] = max(1, mib/int64(2*slots)) // as many again may be suspended
	}
	s.Reduce = s.Map
	return s
}

// Order is a job that a user wants run: what, on which files, to which directory.
type Order struct {
	Job       *Job
	Input     []string // files, directories, globs; Job.Input, where given, comes first
	Output    string   // a directory that must not exist, unless Overwrite
	Reduces   int      // parts of the output, where the job leaves it open; zero: one
	Overwrite bool
	// Stores open key-value stores by the word before the colon of an input, as in pebble:DIR, which they are given
	// without it. A store is held until the job has ended. nil: all inputs are files.
	Stores map[string]func(path string) (input.Store, error)
	// Notes is told what the user may want to know, such as input that cannot be split. nil: notes are dropped.
	Notes func(sentence string)
}

// jobWork is a job at work on files: it plans rounds of stages, runs their attempts, and commits the output.
type jobWork struct {
	order Order
	site  Site
	files *Workspace

	// planning is held while a round is planned or the job is committed, and while the work is closed: a user may end
	// the run at any instant.
	planning sync.Mutex
	closed   bool // planning guards it

	mu       sync.Mutex // guards what follows and the rounds' maps and counts: attempts of all stages use them
	rounds   []*round
	first    []int                  // index of each round's first stage
	counters Counters               // of tasks whose output cannot be lost
	probes   int                    // asked for
	stores   map[string]input.Store // opened, by input; only the goroutine that plans
}

// A round is a Run with its input and the outputs of its maps: a map stage, and a reduce stage where the job has one.
// (A Round is what Job.Next is told of a round that has ended.)
type round struct {
	run    *Run
	splits []input.Split
	maps   []*MapOutput        // by task; nil: not there (yet)
	counts []*Counters         // by task, of the attempt that made the output last; nil: none yet
	over   bool                // released
	pipes  map[int]*pipeReader // by task that reads a pipe: the attempt that does now
}

// A pipeReader is the attempt that may read the pipe of its task, which only one attempt can.
type pipeReader struct {
	attempt *Attempt
	left    chan struct{} // closed when it has ended
}

// Open claims the output directory of an order and returns the work to do. Close, which the engine calls, gives it
// back.
func Open(order Order, site Site) (Work, error) {
	if order.Job == nil {
		return nil, errors.New("no job")
	}
	files, err := OpenWorkspace(order.Output, order.Overwrite)
	if err != nil {
		return nil, err
	}
	return &jobWork{order: order, site: site, files: files}, nil
}

// CountersOf returns the counts of all tasks of work that was opened here, so far. A map that ran again because its
// output was lost counts once.
func CountersOf(w Work) Counters {
	j := w.(*jobWork)
	j.mu.Lock()
	defer j.mu.Unlock()
	var c Counters
	c.Add(&j.counters)
	for _, r := range j.rounds {
		for _, n := range r.counts {
			if n != nil {
				c.Add(n)
			}
		}
	}
	return c
}

// Stages plans the first round, or ends the last round and plans the next. After the last round it commits the job,
// unless ctx is done. A commit that has begun is not interrupted.
func (w *jobWork) Stages(ctx context.Context) ([]sched.StageSpec, error) {
	w.planning.Lock()
	defer w.planning.Unlock()
	if w.closed {
		return nil, errClosed
	}
	if len(w.rounds) == 0 {
		return w.plan(ctx, w.order.Job)
	}
	r := w.rounds[len(w.rounds)-1]
	w.mu.Lock()
	r.release()
	w.mu.Unlock()
	if n := len(w.rounds); n > 1 {
		if err := w.rounds[n-2].run.DropOutputs(); err != nil {
			return nil, err
		}
	}
	next, err := w.next(r)
	if err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if next == nil {
		return nil, r.run.CommitJob()
	}
	return w.plan(ctx, next)
}

// next returns the job of the round after r; nil: there is none.
func (w *jobWork) next(r *round) (*Job, error) {
	if r.run.Job.Next == nil {
		return nil, nil
	}
	parts, err := r.run.Outputs()
	if err != nil {
		return nil, err
	}
	counters := CountersOf(w)
	next, err := r.run.Job.Next(&Round{Index: r.run.Round, Parts: parts, Counters: &counters})
	if err != nil {
		return nil, fmt.Errorf("job %s, after round %d: %w", r.run.Job.Name, r.run.Round, err)
	}
	return next, nil
}

// plan adds a round that runs job, and returns its stages. The round reads job.Input, or, if job names no input, the
// inputs of the order, in later rounds too. plan finds the files, cuts them into splits, and reads a sample if the
// output is in total order: this may take long. A folder without files is no error: in the first round the order's
// Notes hear of it. The caller holds w.planning. After an error no round was added.
func (w *jobWork) plan(ctx context.Context, job *Job) ([]sched.StageSpec, error) {
	config, err := input.Configure(job.Conf)
	if err != nil {
		return nil, err
	}
	config.RecordLength, config.Cores = job.Record, w.site.Cores
	paths := w.order.Input
	if len(job.Input) > 0 {
		paths, config.KeepMark = job.Input, len(w.rounds) > 0
	}
	files, err := w.expand(paths, config)
	if err != nil {
		return nil, err
	}
	splits, notes := input.Plan(files, config)
	if len(files) == 0 && len(w.rounds) == 0 {
		notes = append(notes, fmt.Sprintf("no file is in %s, so the output is empty; names that begin with . or _ are "+
			"passed over", strings.Join(paths, ", ")))
	}
	if w.order.Notes != nil {
		for _, n := range notes {
			w.order.Notes(n)
		}
	}
	parts := max(1, w.order.Reduces)
	switch {
	case job.Reduces == MapOnly:
		parts = max(1, len(splits))
	case job.Reduces > 0:
		parts = job.Reduces
	}
	run, err := NewRun(job, parts, w.site.Memory, w.files)
	if err != nil {
		return nil, err
	}
	run.Round = len(w.rounds)
	if err := run.Cut(ctx, splits); err != nil {
		return nil, err
	}
	if pipe := pipeIn(splits); pipe != nil && run.ranged() && w.order.Notes != nil {
		w.order.Notes(pipe.Path + ": a pipe is read once, so no sample of it says where the parts of the output " +
			"begin: they may differ much in size")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	at := 0
	if n := len(w.rounds); n > 0 {
		at = w.first[n-1] + w.rounds[n-1].stages()
	}
	r := &round{run: run, splits: splits, maps: make([]*MapOutput, len(splits)), counts: make([]*Counters, len(splits))}
	w.rounds = append(w.rounds, r)
	w.first = append(w.first, at)
	return w.specs(r, at), nil
}

// expand finds the files of inputs, and opens the stores that inputs name. A store that an earlier round has opened is
// used again, so that all rounds see the same instant.
func (w *jobWork) expand(paths []string, config input.Config) (files []input.File, err error) {
	for _, path := range paths {
		scheme, rest, named := strings.Cut(path, ":")
		open := w.order.Stores[scheme]
		var more []input.File
		if open == nil || !named {
			more, err = input.Expand([]string{path}, config)
		} else {
			s := w.stores[path]
			if s == nil {
				if s, err = open(rest); err != nil {
					return nil, fmt.Errorf("input %s: %w", path, err)
				}
				if w.stores == nil {
					w.stores = map[string]input.Store{}
				}
				w.stores[path] = s
			}
			more, err = input.FilesOf(path, s, config)
		}
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

// stages returns how many stages the round has: 1 for a map-only job, else 2.
func (r *round) stages() int {
	if r.run.Job.Reduces == MapOnly {
		return 1
	}
	return 2
}

// specs describes the stages of a round to the core. Reduces wait for all maps: within one process there is nothing to
// fetch before.
func (w *jobWork) specs(r *round, at int) []sched.StageSpec {
	bytes := int64(0)
	for _, s := range r.splits {
		bytes += s.Bytes()
	}
	maps := sched.StageSpec{
		Kind:        sched.Map,
		PerTask:     w.site.Map,
		Tasks:       int32(len(r.splits)),
		MaxAttempts: sched.DefaultMaxAttempts,
		InputBytes:  bytes,
	}
	if at > 0 {
		maps.After = []sched.Dep{{Stage: int32(at - 1), Part: 1}}
	}
	if r.stages() == 1 {
		return []sched.StageSpec{maps}
	}
	return []sched.StageSpec{
		maps,
		{Kind: sched.Reduce, PerTask: w.site.Reduce, Tasks: int32(r.run.Parts), MaxAttempts: sched.DefaultMaxAttempts,
			After: []sched.Dep{{Stage: int32(at), Part: 1}}},
	}
}

// roundOf returns the round that a stage belongs to, and whether the stage is the round's map stage.
func (w *jobWork) roundOf(stage int) (r *round, isMap bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, ok := slices.BinarySearch(w.first, stage)
	if !ok {
		i--
	}
	return w.rounds[i], ok
}

// Run runs a map or a reduce attempt.
func (w *jobWork) Run(l *Launch) error {
	r, isMap := w.roundOf(l.Stage)
	var err error
	if isMap {
		err = w.runMap(r, l)
	} else {
		err = w.runReduce(r, l)
	}
	if err != nil {
		for _, lasting := range []error{
			input.ErrChanged, input.ErrCorrupt, input.ErrTooLong, input.ErrReadOnce, errPairTooLong,
		} {
			if errors.Is(err, lasting) {
				return Permanent(err)
			}
		}
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if counters := &l.Attempt.Report().Counters; isMap && r.stages() == 2 {
		r.counts[l.Task] = counters
	} else {
		w.counters.Add(counters)
	}
	return nil
}

// runMap runs a map attempt. If its task reads a pipe, it first waits until no other attempt reads the pipe, and an
// error after the pipe was opened is permanent.
func (w *jobWork) runMap(r *round, l *Launch) error {
	pipe := r.splits[l.Task].Pipe()
	if pipe == nil {
		return w.mapSplit(r, l)
	}
	leave, err := w.pipeTurn(r, l, pipe)
	if err != nil {
		return err
	}
	defer leave()
	if pipe.Opened() && w.mapped(r, l) {
		return ErrCommitted
	}
	err = w.mapSplit(r, l)
	if err != nil && pipe.Opened() && !errors.Is(err, ErrCommitted) && !errors.Is(err, input.ErrReadOnce) {
		return Permanent(fmt.Errorf("%w; %s is a pipe, which cannot be read again, so the task is not tried again", err,
			pipe.Path))
	}
	return err
}

// pipeTurn waits until no other attempt at the task of l reads its pipe. The caller calls leave when its attempt has
// ended. It does not wait for an attempt that was told to end, which may never do so: what that attempt has read is
// lost.
func (w *jobWork) pipeTurn(r *round, l *Launch, pipe *input.File) (leave func(), err error) {
	for {
		w.mu.Lock()
		other := r.pipes[l.Task]
		if other == nil {
			if r.pipes == nil {
				r.pipes = map[int]*pipeReader{}
			}
			me := &pipeReader{l.Attempt, make(chan struct{})}
			r.pipes[l.Task] = me
			w.mu.Unlock()
			return func() {
				w.mu.Lock()
				delete(r.pipes, l.Task)
				w.mu.Unlock()
				close(me.left)
			}, nil
		}
		w.mu.Unlock()
		if err := l.Attempt.standBy(other.left, other.attempt.ctx.Done()); err != nil {
			return nil, err
		}
		select {
		case <-other.left:
			continue
		default:
		}
		if pipe.Opened() {
			return nil, Permanent(fmt.Errorf("input %s: %w", pipe.Path, input.ErrReadOnce))
		}
		if err := l.Attempt.standBy(other.left, nil); err != nil {
			return nil, err
		}
	}
}

// mapped reports whether the output of a map task is there.
func (w *jobWork) mapped(r *round, l *Launch) bool {
	if r.stages() == 1 {
		return r.run.taskCommitted(l.Attempt)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return r.over || r.maps[l.Task] != nil
}

// mapSplit runs a map attempt and keeps its output.
func (w *jobWork) mapSplit(r *round, l *Launch) error {
	out, err := r.run.Map(l.Attempt, r.splits[l.Task])
	switch {
	case err != nil:
		return err
	case r.stages() == 1:
		return r.run.CommitTask(l.Attempt)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.over || r.maps[l.Task] != nil { // over: the engine has given the attempt up
		out.Release()
		return ErrCommitted
	}
	r.maps[l.Task] = out
	return nil
}

// runReduce runs a reduce attempt on the outputs that the maps have when it begins, and commits what it writes. It
// returns errNotYet if an output is missing then, and a LostOutput if one cannot be read: these maps run again first.
func (w *jobWork) runReduce(r *round, l *Launch) error {
	w.mu.Lock()
	maps := slices.Clone(r.maps)
	w.mu.Unlock()
	if slices.Contains(maps, nil) {
		return errNotYet // another reduce has found it lost, and it is about to run again
	}
	err := r.run.Reduce(l.Attempt, maps)
	lost := new(LostOutput)
	if errors.As(err, &lost) {
		return w.loseAll(r, lost, maps, err)
	}
	if err != nil {
		return err
	}
	return r.run.CommitTask(l.Attempt)
}

// loseAll forgets the output that a reduce found lost, and with it all others of maps that were given up: a reduce that
// found them one after the other would begin anew for each. It returns err, which then names them all, or errNotYet if
// all have run again already.
func (w *jobWork) loseAll(r *round, lost *LostOutput, maps []*MapOutput, err error) error {
	first := w.lose(r, lost.Map, maps[lost.Map])
	for i, m := range maps {
		if i != lost.Map && m.gone() && w.lose(r, i, m) {
			lost.Others = append(lost.Others, i)
		}
	}
	switch {
	case first:
		return err
	case len(lost.Others) == 0:
		return errNotYet
	}
	return &LostOutput{Map: lost.Others[0], Err: ErrReleased, Others: lost.Others[1:]}
}

// lose forgets the output of a map, and reports whether it was known. Another reduce may have lost it before.
func (w *jobWork) lose(r *round, task int, out *MapOutput) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.maps[task] != out {
		return false
	}
	out.Release()
	r.maps[task] = nil
	return true
}

// LoseOutput releases the output of a finished map, for the chaos option. The reduces notice when they want to read it.
func (w *jobWork) LoseOutput(stage, task int) {
	r, isMap := w.roundOf(stage)
	if !isMap || r.stages() == 1 {
		return
	}
	w.mu.Lock()
	out := r.maps[task]
	w.mu.Unlock()
	if out != nil {
		out.Release()
	}
}

// release gives up the outputs of all maps. Callers hold the work's mutex.
func (r *round) release() {
	r.over = true
	for i, m := range r.maps {
		if m != nil {
			m.Release()
			r.maps[i] = nil
		}
	}
}

// errClosed is the error of work that has been given up.
var errClosed = errors.New("the job has been given up")

// Close releases all outputs of maps and removes all temporary files. A commit that goes on ends first: of the output
// there is all or nothing.
func (w *jobWork) Close(bool) error {
	w.planning.Lock()
	defer w.planning.Unlock()
	w.closed = true
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.rounds {
		r.release()
	}
	w.site.Memory.Trim()
	err := w.files.Close()
	for _, path := range slices.Sorted(maps.Keys(w.stores)) {
		if failed := w.stores[path].Close(); failed != nil {
			err = errors.Join(err, fmt.Errorf("close %s: %w", path, failed))
		}
	}
	return err
}
