package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"golang.org/x/term"

	"github.com/sojourn-sched/sojourn/sched"
)

// A bar shows how far long work is, on standard error; the zero bar shows nothing.
type bar struct {
	writer  progress.Writer
	tracker *progress.Tracker
}

func newBar(o *output, w io.Writer, what string, total int64) *bar {
	if !o.bar(w) {
		return &bar{}
	}
	b := &bar{writer: newProgress(w), tracker: &progress.Tracker{Message: what, Total: total}}
	b.writer.AppendTracker(b.tracker)
	go b.writer.Render()
	return b
}

// usualWidth is the width in columns of what is no terminal.
const usualWidth = 80

// newProgress returns a writer of bars whose lines fit the terminal that w is. The library looks at standard output
// for the width, which may be a file while the bars are on standard error; a line that wraps would never be erased.
func newProgress(w io.Writer) progress.Writer {
	p := progress.NewWriter()
	width := usualWidth
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			width = n
		}
	}
	p.SetTerminalWidth(width)
	p.SetTrackerLength(min(20, max(5, width/8)))
	p.SetOutputWriter(w)
	p.SetAutoStop(false)
	p.SetUpdateFrequency(200 * time.Millisecond)
	p.SetMessageLength(min(48, max(10, width-55)))
	p.Style().Visibility.ETA = true
	p.Style().Visibility.Speed = true
	p.Style().Visibility.Value = true
	return p
}

func (b *bar) set(n int64, message string) {
	if b.writer == nil {
		return
	}
	b.tracker.SetValue(n)
	b.tracker.UpdateMessage(message)
}

// of says how much there is in all, once that is known.
func (b *bar) of(total int64) {
	if b.writer != nil {
		b.tracker.UpdateTotal(total)
	}
}

func (b *bar) stop() {
	if b.writer == nil {
		return
	}
	b.tracker.MarkAsDone()
	stopProgress(b.writer)
}

// stopProgress ends drawing and waits until the last state is on the screen.
func stopProgress(p progress.Writer) {
	p.Stop()
	for p.IsRenderInProgress() {
		time.Sleep(10 * time.Millisecond)
	}
}

// jobBars show a bar a job that runs, while jobs are few enough for a screen, and nothing where none is wanted.
type jobBars struct {
	writer progress.Writer
	policy string
	bars   map[sched.JobID]*progress.Tracker
	drawn  time.Time
}

const mostBars = 20

func newJobBars(o *output, w io.Writer, policy string) *jobBars {
	if !o.bar(w) {
		return &jobBars{}
	}
	b := &jobBars{writer: newProgress(w), policy: policy, bars: map[sched.JobID]*progress.Tracker{}}
	go b.writer.Render()
	return b
}

// watch looks at the core now and then.
func (b *jobBars) watch(c *sched.Core) {
	if b.writer == nil {
		return
	}
	for _, e := range c.Events {
		if e.Kind == sched.JobEnded && b.bars[e.Job] != nil {
			b.bars[e.Job].MarkAsDone()
			delete(b.bars, e.Job)
		}
	}
	if time.Since(b.drawn) < 100*time.Millisecond {
		return
	}
	b.drawn = time.Now()
	for j := range c.Jobs() {
		total, done := int64(0), int64(0)
		for _, st := range j.Stages {
			total += int64(max(0, st.Total))
			done += int64(st.Done)
		}
		t := b.bars[j.ID]
		if t == nil {
			if len(b.bars) >= mostBars {
				break
			}
			t = &progress.Tracker{Message: fmt.Sprintf("%s: %s", b.policy, j.Spec.Name), Total: max(1, total)}
			b.bars[j.ID] = t
			b.writer.AppendTracker(t)
		}
		t.UpdateTotal(max(1, total))
		t.SetValue(done)
	}
}

func (b *jobBars) stop() {
	if b.writer != nil {
		stopProgress(b.writer)
	}
}
