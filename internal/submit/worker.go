package submit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/input"
	"github.com/sojourn-sched/sojourn/mr/jobs"
)

// A Worker is the mapper or the reducer of a built-in job by Hadoop Streaming's contract: lines in, lines out. It runs
// the job's functions on the embedded engine, whose combining and sorting it uses, within one container.
type Worker struct {
	Job    *mr.Job
	Parts  int    // reduces of the job; without meaning for a job of maps only
	File   string // the file of a mapper's split, for jobs that name documents
	Cuts   string // file with a job's cut points, an escaped key a line; "": the job has none
	Memory int64  // bytes to use
	Dir    string // folder for temporary files
	In     io.Reader
	Out    io.Writer
	Err    io.Writer // is told counters and signs of life, as Hadoop Streaming reads them
}

// aliveEvery is the interval at which a Worker tells Hadoop that it lives.
const aliveEvery = 20 * time.Second

// Map reads the lines of a split and writes pairs for the reducers. Of a job without reduces it writes the output.
func (w *Worker) Map(ctx context.Context) error {
	job := *w.Job
	job.Next, job.Accelerated = nil, nil
	if job.Reduces == mr.MapOnly {
		return w.run(ctx, &job, func(r *mr.Run, split input.Split) error {
			a := mr.NewAttempt(ctx, 0, 0)
			if _, err := r.Map(a, split); err != nil {
				return err
			}
			return errors.Join(w.tellCounters(a), r.CommitTask(a), w.copyOutput(r))
		})
	}
	if err := jobs.CheckReduces(job.Name, &job, w.Parts); err != nil {
		return err
	}
	if w.Parts > mostParts {
		return fmt.Errorf("%d reduces: must be at most %d", w.Parts, mostParts)
	}
	job.Reduces, job.Output, job.SameGroup = w.Parts, mr.Plain, nil
	if job.TotalOrder {
		cuts, err := w.cuts()
		if err != nil {
			return err
		}
		job.TotalOrder, job.Partition = false, partByCuts(cuts)
	}
	out := bufio.NewWriterSize(w.Out, 1<<16)
	job.Reduce = func(t *mr.Task, in *mr.Groups, _ *mr.Emitter) error { return writePairs(out, t, in) }
	err := w.run(ctx, &job, func(r *mr.Run, split input.Split) error {
		first := mr.NewAttempt(ctx, 0, 0)
		m, err := r.Map(first, split)
		if err != nil {
			return err
		}
		defer m.Release()
		if err := w.tellCounters(first); err != nil {
			return err
		}
		for part := range w.Parts {
			a := mr.NewAttempt(ctx, part, 0)
			if err := errors.Join(r.Reduce(a, []*mr.MapOutput{m}), r.DropTask(a)); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, out.Flush())
}

// writePairs writes the pairs of a part as lines.
func writePairs(out *bufio.Writer, t *mr.Task, in *mr.Groups) error {
	name := namePart(t.Index, t.Parts)
	var line []byte
	for in.Next() {
		for in.NextValue() {
			line = appendEscaped(append(line[:0], name[:]...), in.Key())
			line = appendEscaped(append(line, '\t'), in.Value())
			if _, err := out.Write(append(line, '\n')); err != nil {
				return err
			}
		}
	}
	return nil
}

// Reduce reads pairs and writes the output of their part.
func (w *Worker) Reduce(ctx context.Context) error {
	job := *w.Job
	job.Next, job.Accelerated, job.Partition, job.TotalOrder, job.Record = nil, nil, nil, false, 0
	job.Reduces, job.Combine = 1, nil
	job.Map = readPairs
	return w.run(ctx, &job, func(r *mr.Run, split input.Split) error {
		m, err := r.Map(mr.NewAttempt(ctx, 0, 0), split)
		if err != nil {
			return err
		}
		defer m.Release()
		a := mr.NewAttempt(ctx, 0, 0)
		if err := r.Reduce(a, []*mr.MapOutput{m}); err != nil {
			return err
		}
		return errors.Join(w.tellCounters(a), r.CommitTask(a), w.copyOutput(r))
	})
}

// readPairs is the map function of a reducer: its lines are pairs.
func readPairs(_ *mr.Task, in *mr.Batches, out *mr.Emitter) error {
	var p pairLine
	for in.Next() {
		for line := range mr.Lines(in.Data()) {
			if err := p.parse(line); err != nil {
				return mr.Permanent(err)
			}
			out.Emit(p.key, p.value)
		}
	}
	return nil
}

// run prepares the engine for one attempt of a job on standard input, and cleans up after it.
func (w *Worker) run(ctx context.Context, job *mr.Job, do func(*mr.Run, input.Split) error) (err error) {
	memory, err := mr.NewMemory(w.Memory, 1)
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	files, err := mr.OpenWorkspace(filepath.Join(w.Dir, fmt.Sprintf("sojourn-%d", os.Getpid())), false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	r, err := mr.NewRun(job, max(1, job.Reduces), memory, files)
	if err != nil {
		return err
	}
	stop := w.signs(ctx)
	defer stop()
	return do(r, input.Stream(w.File, func() (io.ReadCloser, error) { return io.NopCloser(w.In), nil }))
}

// signs starts to tell Hadoop, every aliveEvery, that the worker lives, until stop is called.
func (w *Worker) signs(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(aliveEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				// If Hadoop does not read it, the task is over.
				_, _ = fmt.Fprintf(w.Err, "reporter:status:%s\n", w.Job.Name)
			}
		}
	}()
	return func() { cancel(); <-over }
}

// tellCounters tells Hadoop the job's own counters.
func (w *Worker) tellCounters(a *mr.Attempt) error {
	own := a.Report().Counters.User
	names := make([]mr.UserCounter, 0, len(own))
	for name := range own {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b mr.UserCounter) int {
		return bytes.Compare([]byte(a.Group+"\x00"+a.Name), []byte(b.Group+"\x00"+b.Name))
	})
	for _, name := range names {
		if _, err := fmt.Fprintf(w.Err, "reporter:counter:%s,%s,%d\n", name.Group, name.Name, own[name]); err != nil {
			return err
		}
	}
	return nil
}

var errReturn = errors.New("a line of output contains a carriage return, which Hadoop Streaming takes for the end " +
	"of a line: run the job by 'sojourn run'")

// copyOutput writes the committed parts of a run to the worker's output.
func (w *Worker) copyOutput(r *mr.Run) error {
	paths, err := r.Outputs()
	if err != nil {
		return err
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		_, err = io.Copy(noReturns{w.Out}, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// noReturns is a writer that refuses carriage returns.
type noReturns struct{ to io.Writer }

func (n noReturns) Write(b []byte) (int, error) {
	if bytes.IndexByte(b, '\r') >= 0 {
		return 0, errReturn
	}
	return n.to.Write(b)
}
