package cli

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/sched"
)

const (
	usualWidth = 80                     // columns of what is no terminal
	redrawn    = 200 * time.Millisecond // how often a line on a terminal is drawn at most
	repeated   = 10 * time.Second       // how often a line that stays is written at most
	gauge      = 20                     // columns of the bar itself, on a wide terminal
)

// A bar shows how far long work is, in one line on standard error; the zero bar shows nothing. On a terminal the line
// is drawn again in its place, cut to the width that the terminal has at that moment, so that it never wraps. Elsewhere
// each line stays, and there are few.
type bar struct {
	out   io.Writer // nil: nothing is shown
	file  *os.File  // a terminal; nil: it is none
	what  string
	begun time.Time

	mu    sync.Mutex
	part  float64 // done, of 1
	says  string  // what else there is to say: pieces after ", ", the most important one first
	total int64
	drawn time.Time
}

// newBar starts a bar. total 0: how much there is in all is not known yet.
func newBar(o *output, w io.Writer, what string, total int64) *bar {
	if !o.bar(w) {
		return &bar{}
	}
	b := &bar{out: w, what: what, total: total, begun: time.Now()}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		b.file = f
	}
	return b
}

// set says how much is done, and what else there is to say. The rate stands after the first piece of the message.
func (b *bar) set(n int64, message string) {
	if b.out == nil {
		return
	}
	if took := time.Since(b.begun); n > 0 && took > time.Second {
		first, rest, more := strings.Cut(message, ", ")
		if message = first + ", " + rate(float64(n)/took.Seconds()); more {
			message += ", " + rest
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	part := 0.0
	if b.total > 0 {
		part = float64(n) / float64(b.total)
	}
	b.show(part, message)
}

// of says how much there is in all, once that is known.
func (b *bar) of(total int64) {
	if b.out != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.total = total
	}
}

// show draws the line, unless that was done a moment ago.
func (b *bar) show(part float64, says string) {
	b.part, b.says = min(1, part), says
	every := redrawn
	if b.file == nil {
		every = repeated
	}
	last := b.drawn
	if last.IsZero() {
		last = b.begun
	}
	if time.Since(last) >= every {
		b.draw()
	}
}

func (b *bar) draw() {
	b.drawn = time.Now()
	if b.file == nil {
		fmt.Fprintln(b.out, b.line(usualWidth, time.Since(b.begun)))
		return
	}
	width := usualWidth
	if n, _, err := term.GetSize(int(b.file.Fd())); err == nil && n > 0 {
		width = n
	}
	fmt.Fprint(b.out, "\r"+b.line(width-1, time.Since(b.begun))+"\x1b[K")
}

// line returns what there is to say in at most width columns when the work has taken so long: the name, a bar where
// there is room, percent, words, and the time left. The less important words are left out first.
func (b *bar) line(width int, took time.Duration) string {
	percent, left := "", ""
	if b.part > 0 {
		percent = fmt.Sprintf(" %3.0f %%", math.Floor(100*b.part))
		if b.part < 1 && took > time.Second {
			left = roughly(time.Duration(float64(took)*(1-b.part)/b.part)) + " left"
		}
	}
	pieces := strings.Split(b.says, ", ")
	for {
		words := "  " + strings.TrimPrefix(strings.Join(append(pieces[:len(pieces):len(pieces)], left), ", "), ", ")
		words = strings.TrimRight(words, ", ")
		long := text.StringWidthWithoutEscSequences(b.what + percent + words)
		switch room := width - long - 3; {
		case b.part > 0 && room >= 5:
			wide := min(gauge, room)
			full := int(b.part * float64(wide))
			return b.what + " [" + strings.Repeat("#", full) + strings.Repeat(".", wide-full) + "]" + percent + words
		case long <= width:
			return b.what + percent + words
		case len(pieces) > 0:
			pieces = pieces[:len(pieces)-1]
		case left != "":
			left = ""
		default:
			return text.Snip(b.what+percent, width, "…")
		}
	}
}

// rate writes how many there are in a second, or in a minute.
func rate(perSecond float64) string {
	if perSecond < 0.95 {
		return twoFigures(60*perSecond) + "/min"
	}
	return twoFigures(perSecond) + "/s"
}

// twoFigures writes a number with two figures that matter, and all before the point.
func twoFigures(x float64) string {
	if x >= 99.5 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.2g", x)
}

// roughly writes a time with one or two figures that matter.
func roughly(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return d.Round(time.Minute).String()
}

// stop draws the last state, which stays.
func (b *bar) stop() {
	if b.out == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file != nil {
		b.draw()
		fmt.Fprintln(b.out)
	}
	b.out = nil
}

// jobBars show how far the jobs of a run are, in one line: maps and reduces in percent, as Hadoop does, and jobs.
type jobBars struct {
	*bar
	jobs  int // in all
	ended int
	tasks [2]counted // of the jobs that have ended: maps, reduces
	bytes int64      // of input, of maps that have ended
}

// A counted is how many tasks there are, and how many are done. A running task counts as far as it is.
type counted struct{ done, total float64 }

func newJobBars(o *output, w io.Writer, policy string, jobs int) *jobBars {
	return &jobBars{bar: newBar(o, w, policy, 0), jobs: jobs}
}

// watch is called after every Step. It counts what has ended, and draws the line anew if the last one is old enough.
func (b *jobBars) watch(c *sched.Core) {
	if b.out == nil {
		return
	}
	for _, e := range c.Events {
		switch e.Kind {
		case sched.JobEnded:
			if j := c.Job(e.Job); j != nil && j.Spec.Probes == 0 {
				b.ended++
				b.add(c, j, &b.tasks)
			}
		case sched.AttemptDone:
			n, counted := e.Body.(*sched.Counters)
			if a := c.Attempt(e.Attempt); counted && n != nil && a != nil && a.Stage.Kind == sched.Map {
				b.bytes += n.InputBytes
			}
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.drawn) < redrawn && b.ended < b.jobs { // the last state is what stays
		return
	}
	sums := b.tasks
	for j := range c.Jobs() {
		if !j.Ended && j.Spec.Probes == 0 {
			b.add(c, j, &sums)
		}
	}
	maps, reduces := sums[0], sums[1]
	says := "map " + maps.percent()
	if reduces.total > 0 {
		says += ", reduce " + reduces.percent()
	}
	if b.jobs > 1 {
		says += fmt.Sprintf(", %d of %s", b.ended, spelling.Count(b.jobs, "job"))
	}
	if took := time.Since(b.begun); b.bytes > 0 && took > time.Second {
		says += ", " + twoFigures(float64(b.bytes)/1e6/took.Seconds()) + " MB/s"
	}
	// Jobs that have not come yet count as large as the others.
	part, known := 0.0, b.ended+c.LiveJobs()
	if total := maps.total + reduces.total; total > 0 {
		part = (maps.done + reduces.done) / total * min(1, float64(known)/float64(b.jobs))
	}
	b.show(part, says)
}

// add adds the tasks of a job.
func (b *jobBars) add(c *sched.Core, j *sched.Job, to *[2]counted) {
	for _, st := range j.Stages {
		sum := &to[0]
		if st.Kind == sched.Reduce {
			sum = &to[1]
		}
		if st.Total > 0 {
			sum.total += float64(st.Total)
			sum.done += float64(st.Done)
		}
		for a := range c.Attempts(st) {
			if a.Progress > 0 && a.State == sched.Running && c.Twins(a) == 1 {
				sum.done += float64(min(1, a.Progress))
			}
		}
	}
}

func (n counted) percent() string {
	if n.total == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.0f %%", math.Floor(100*min(1, n.done/n.total)))
}
