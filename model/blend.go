package model

import (
	"cmp"
	"strings"

	"github.com/sojourn-sched/sojourn/sched"
)

var blendCard = Card{
	About: "jobs like it that ran before, else all jobs by their bytes, and the stage's own tasks as they end",
	Params: []Param{{
		Name: "weight", Default: "1", Example: "2", Takes: Numbers(0, 1000),
		About: "of a stage's own tasks, how many a prediction from other jobs counts for",
	}},
	Keeps: historyCard.Keeps,
}

func newBlend(a Args) sched.Estimator {
	return &Blend{
		Like:   *newHistory(a).(*History),
		Others: map[string]Line{},
		Weight: a.Number("weight"),
	}
}

// Blend estimates a stage before its first task has run, and again after each: a weighted mean of what other jobs say
// and of what the stage's own tasks took.
//
// Other jobs say the mean of past tasks of jobs like it, as History knows them. For a job that never ran, a straight
// line through the tasks of all jobs of its type and kind of stage gives a time for the bytes of its tasks; for a new
// type, the line of all types does. What other jobs say counts for Weight tasks of the stage beside those that have
// ended. So each task that ends moves the estimate, and no early task is all that is known.
type Blend struct {
	Like   History
	Others map[string]Line // time of a task by its bytes: by type and kind, and by kind alone
	Weight float64
}

// Attach shows the names of the classes of nodes.
func (b *Blend) Attach(v *sched.View) { b.Like.Attach(v) }

// Observe learns from an attempt that succeeded after it ran for the time took.
func (b *Blend) Observe(a *sched.Attempt, took sched.Time, c *sched.Counters) {
	b.Like.Observe(a, took, c)
	if b.Others == nil {
		b.Others = map[string]Line{}
	}
	for _, key := range othersKeys(a.Stage) {
		l := b.Others[key]
		l.add(taskBytes(a.Stage), took.Seconds())
		b.Others[key] = l
	}
}

// othersKeys name the lines of a stage, the nearest one first.
func othersKeys(st *sched.Stage) [2]string {
	kind := st.Kind.String()
	return [2]string{st.Job.Spec.Type + "\x00" + kind, "\x00" + kind}
}

// taskBytes returns the bytes of a stage's input for each of its tasks.
func taskBytes(st *sched.Stage) float64 {
	return float64(st.Spec.InputBytes) / float64(max(1, st.Total))
}

// Estimate returns what is expected and what was seen of st on a class of nodes (zero: on any), each by its weight.
func (b *Blend) Estimate(st *sched.Stage, class sched.ClassID) sched.Estimate {
	seen, ok := b.Like.Own.Seen.Has(st)
	if !ok || seen.N == 0 {
		return b.expected(st, class)
	}
	own := seen.on(class)
	expected := b.expected(st, class)
	if expected.Mean <= 0 || b.Weight == 0 {
		return own
	}
	n := float64(own.Samples)
	own.Mean = seconds((n*own.Mean.Seconds() + b.Weight*expected.Mean.Seconds()) / (n + b.Weight))
	own.StdDev = cmp.Or(own.StdDev, expected.StdDev)
	return own
}

// expected returns the estimate from other jobs.
func (b *Blend) expected(st *sched.Stage, class sched.ClassID) sched.Estimate {
	e := b.Like.past(st, class)
	if e.Mean > 0 {
		return e
	}
	for _, key := range othersKeys(st) {
		if l, ok := b.Others[key]; ok {
			return sched.Estimate{Mean: seconds(l.at(taskBytes(st)))}
		}
	}
	return sched.Estimate{Mean: st.Spec.Prior}
}

// Size returns the job's tasks at their stages' estimates.
func (b *Blend) Size(j *sched.Job) (sched.Work, bool) { return sizeOf(b, j) }

// Changes implements Keeper: an entry is one of History, and one file serves both.
func (b *Blend) Changes(a *sched.Attempt) string { return b.Like.Changes(a) }

// Entry implements Keeper.
func (b *Blend) Entry(key string) any { return b.Like.Entry(key) }

// Load implements Keeper. Bytes of past tasks are not kept: they count as tasks of any bytes.
func (b *Blend) Load(key string, value []byte) error {
	if err := b.Like.Load(key, value); err != nil {
		return err
	}
	parts := strings.Split(key, "\x00")
	if len(parts) < 2 {
		return nil
	}
	if b.Others == nil {
		b.Others = map[string]Line{}
	}
	kind := parts[len(parts)-1]
	for _, to := range [...]string{parts[len(parts)-2] + "\x00" + kind, "\x00" + kind} {
		l := b.Others[to]
		for _, t := range b.Like.Past[key] {
			l.addTime(t.Took.Seconds())
		}
		b.Others[to] = l
	}
	return nil
}

// A Line is a straight line through points, by least squares. It neither falls nor begins below zero.
type Line struct {
	N, X, Y, XX, XY float64 // number of points with both coordinates, and sums
	Times, Sum      float64 // number of all times, and their sum
}

// addTime adds a time in seconds. By itself it is for a task whose bytes are not known.
func (l *Line) addTime(y float64) { l.Times, l.Sum = l.Times+1, l.Sum+y }

// add adds the time y, in seconds, of a task of x bytes.
func (l *Line) add(x, y float64) {
	l.addTime(y)
	l.N, l.X, l.Y, l.XX, l.XY = l.N+1, l.X+x, l.Y+y, l.XX+x*x, l.XY+x*y
}

// at returns the line's value. Where all points have one x it is their mean.
func (l *Line) at(x float64) float64 {
	mean := l.Sum / l.Times
	spread := l.N*l.XX - l.X*l.X
	if l.N < 2 || spread <= 1e-9*l.XX*l.N {
		return mean
	}
	slope := (l.N*l.XY - l.X*l.Y) / spread
	base := (l.Y - slope*l.X) / l.N
	if base < 0 {
		base, slope = 0, l.XY/l.XX
	}
	if y := base + slope*x; slope > 0 && y > 0 {
		return y
	}
	return mean
}
