package mr

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/sojourn-sched/sojourn/mr/input"
)

// local runs a job as plainly as can be: all maps, then all reduces, a few at a time, maps again whose output is lost.
type local struct {
	workers int
	reduces int
	memory  int64 // of the pool, bytes
	split   int64 // bytes at most; 0: as the engine cuts
	output  string
	ctx     context.Context // nil: none
	// lose says of a map's first attempt whether its output is given up before the reduces.
	lose func(task int) bool
}

func (l local) run(j *Job, files ...string) (*Counters, error) {
	memory, err := newMemory(l.memory, l.workers)
	if err != nil {
		return nil, err
	}
	defer memory.Close()
	work, err := OpenWorkspace(l.output, false)
	if err != nil {
		return nil, err
	}
	defer work.Close()
	r, counters, err := l.round(j, files, memory, work)
	if memory.InUse() != 0 {
		err = errors.Join(err, errors.New("memory is still in use when the job is done"))
	}
	if left, _ := filepath.Glob(filepath.Join(work.Dir(), "0-*")); len(left) > 0 {
		err = errors.Join(err, fmt.Errorf("temporary files are left: %v", left))
	}
	if err != nil {
		return nil, err
	}
	return counters, r.CommitJob()
}

func (l local) round(j *Job, paths []string, memory *Memory, work *Workspace) (*Run, *Counters, error) {
	config := input.Config{
		RecordLength: j.Record,
		OnlyLF:       true,
		Cores:        l.workers,
		MaxSplit:     l.split,
		MinSplit:     min(l.split, 1<<20),
	}
	files, err := input.Expand(paths, config)
	if err != nil {
		return nil, nil, err
	}
	splits, _ := input.Plan(files, config)
	parts := l.reduces
	if j.Reduces != 0 {
		parts = j.Reduces
	}
	if j.Reduces == MapOnly {
		parts = max(len(splits), 1)
	}
	r, err := NewRun(j, parts, memory, work)
	if err != nil {
		return nil, nil, err
	}
	ctx := l.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	if err := r.Cut(ctx, splits); err != nil {
		return nil, nil, err
	}
	total := &Counters{}
	var mu sync.Mutex
	done := func(a *Attempt) {
		mu.Lock()
		defer mu.Unlock()
		total.Add(&a.Report().Counters)
	}
	maps := make([]*MapOutput, len(splits))
	defer func() {
		for _, m := range maps {
			if m != nil {
				m.Release()
			}
		}
	}()
	runMap := func(i, number int) (err error) {
		a := NewAttempt(ctx, i, number)
		if maps[i], err = r.Map(a, splits[i]); err != nil {
			return err
		}
		done(a)
		if j.Reduces == MapOnly {
			return r.CommitTask(a)
		}
		if number == 0 && l.lose != nil && l.lose(i) {
			maps[i].Release()
		}
		return nil
	}
	if err := l.each(len(splits), func(i int) error { return runMap(i, 0) }); err != nil || j.Reduces == MapOnly {
		return r, total, err
	}
	var again sync.Mutex
	err = l.each(parts, func(part int) error {
		for number := 0; ; number++ {
			again.Lock()
			inputs := append([]*MapOutput{}, maps...)
			again.Unlock()
			a := NewAttempt(ctx, part, number)
			err := r.Reduce(a, inputs)
			var lost *LostOutput
			if errors.As(err, &lost) && number < 1000 {
				again.Lock()
				if m := maps[lost.Map]; m.Attempt == lost.Attempt {
					m.Release()
					err = runMap(lost.Map, lost.Attempt+1)
				} else {
					err = nil
				}
				again.Unlock()
				if err == nil {
					continue
				}
			}
			if err != nil {
				return err
			}
			done(a)
			return r.CommitTask(a)
		}
	})
	return r, total, err
}

func (l local) each(n int, f func(int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	next := make(chan int)
	for range l.workers {
		wg.Go(func() {
			for i := range next {
				errs[i] = f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return errors.Join(errs...)
}

// readParts gives the parts of an output, and fails the test unless the output is complete and nothing else was left
// behind.
func readParts(t testing.TB, dir string) []string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, successFile)); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), ".*")); len(left) > 0 {
		t.Fatalf("left behind: %v", left)
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "part-*"))
	var parts []string
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, string(b))
	}
	return parts
}

func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wordCount counts words in a table.
func wordCount() *Job {
	return &Job{Name: "wordcount", Fold: Sum(1), Map: mapWords(One)}
}

func mapWords(value []byte) Func[*Batches] {
	return func(_ *Task, in *Batches, out *Emitter) error {
		var words [512]Span
		for in.Next() {
			text := in.Data()
			for at := 0; at < len(text); {
				n, next := Words(words[:], text, at)
				out.EmitEach(text, words[:n], value)
				at = next
			}
		}
		return nil
	}
}

// teraSort sorts records of 100 bytes by their first 10.
func teraSort() *Job {
	return &Job{
		Name:       "terasort",
		Record:     100,
		TotalOrder: true,
		Output:     Plain,
		Map: func(_ *Task, in *Batches, out *Emitter) error {
			for in.Next() {
				for b := in.Data(); len(b) > 0; b = b[100:] {
					out.Emit(b[:10], b[10:100])
				}
			}
			return nil
		},
	}
}

var cores = runtime.GOMAXPROCS(0)
