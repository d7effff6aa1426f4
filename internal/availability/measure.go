package availability

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// A Meter measures which part of this machine's processors other programs use. Processes in the session of this program
// are its own, and do not count. It reads Linux's proc file system.
type Meter struct {
	proc  string // folder of the file system
	self  int    // process ID of this program
	busy  uint64 // ticks of all processors, since the machine started
	all   uint64
	own   map[int]ran // by process of the session
	part  float64     // of the processors that others used, smoothed
	begun bool
}

// A ran is what a process ran, in ticks.
type ran struct {
	self   uint64
	waited uint64 // what its children that have ended, and were waited for, ran, and theirs
}

// NewMeter returns a meter of this machine. An error says why it cannot be measured.
func NewMeter() (*Meter, error) {
	m := &Meter{proc: "/proc", self: os.Getpid()}
	if err := m.Look(); err != nil {
		return nil, fmt.Errorf("measure availability: %w (Linux's proc file system is needed)", err)
	}
	return m, nil
}

// Look measures which part others have used since the last look, and smooths it: the new measurement counts for a half.
func (m *Meter) Look() error {
	text, err := os.ReadFile(filepath.Join(m.proc, "stat"))
	if err != nil {
		return err
	}
	busy, all, err := processors(text)
	if err != nil {
		return err
	}
	own, err := m.session()
	if err != nil {
		return err
	}
	if m.begun && all > m.all {
		others := (float64(busy-m.busy) - used(m.own, own)) / float64(all-m.all)
		m.part += (max(0, min(1, others)) - m.part) / 2
	}
	m.busy, m.all, m.own, m.begun = busy, all, own, true
	return nil
}

// used returns how many ticks the processes of a session ran between two looks at them. Those that have ended count
// too, also if they began after the first look: a parent that waited for them has their ticks, and what they had at the
// first look is taken off. The ticks of a process whose parent did not wait for it are lost.
func used(before, now map[int]ran) float64 {
	self, ended := 0.0, 0.0
	for id, r := range now { // the order does not matter to a sum
		b := before[id]
		self += max(0, float64(r.self)-float64(b.self))
		ended += max(0, float64(r.waited)-float64(b.waited))
	}
	for id, b := range before {
		if _, lives := now[id]; !lives {
			ended -= float64(b.self) + float64(b.waited)
		}
	}
	return self + max(0, ended)
}

// session returns what the processes of this program's session ran, by process.
func (m *Meter) session() (map[int]ran, error) {
	text, err := os.ReadFile(filepath.Join(m.proc, strconv.Itoa(m.self), "stat"))
	if err != nil {
		return nil, err
	}
	session, _, err := process(text)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(m.proc)
	if err != nil {
		return nil, err
	}
	own := map[int]ran{}
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.proc, e.Name(), "stat"))
		if err != nil {
			continue // it has ended meanwhile
		}
		if of, r, err := process(text); err == nil && of == session {
			own[id] = r
		}
	}
	return own, nil
}

// processors reads the first line of /proc/stat: the ticks in which processors were busy, and all ticks (proc(5)).
func processors(text []byte) (busy, all uint64, err error) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	words := bytes.Fields(line)
	if len(words) < 5 || string(words[0]) != "cpu" {
		return 0, 0, errors.New("stat: the first line is not of all processors")
	}
	for i, w := range words[1:min(len(words), 9)] { // guest time is in user time already
		n, err := strconv.ParseUint(string(w), 10, 62)
		if err != nil {
			return 0, 0, fmt.Errorf("stat: %q is no number of ticks", w)
		}
		all += n
		if i != 3 && i != 4 { // idle, and waiting for a disk
			busy += n
		}
	}
	return busy, all, nil
}

// process reads /proc/PID/stat: the session of a process and what it ran (proc(5), fields 6 and 14 to 17). The name of
// the program, in brackets, may hold any byte.
func process(text []byte) (session int, r ran, err error) {
	i := bytes.LastIndexByte(text, ')')
	if i < 0 {
		return 0, ran{}, errors.New("stat of a process: there is no name in brackets")
	}
	words := bytes.Fields(text[i+1:]) // from field 3 on
	if len(words) < 15 {
		return 0, ran{}, errors.New("stat of a process: fields are missing")
	}
	if session, err = strconv.Atoi(string(words[3])); err != nil {
		return 0, ran{}, fmt.Errorf("stat of a process: session %q is no number", words[3])
	}
	for i, w := range words[11:15] {
		n, err := strconv.ParseUint(string(w), 10, 62)
		if err != nil {
			return 0, ran{}, fmt.Errorf("stat of a process: %q is no number of ticks", w)
		}
		if i < 2 {
			r.self += n
		} else {
			r.waited += n
		}
	}
	return session, r, nil
}

// lookEvery is how often a machine is measured.
const lookEvery = time.Second

// leastPart is what is left of a node however busy others are, so that jobs end; a change of part that is smaller than
// leastChange is not told.
const (
	leastPart   = 0.05
	leastChange = 0.05
)

// Measure tells what nodes offer of their capacity, while others use processors of this machine, until ctx is done. All
// kinds but memory shrink by the part that others use, rounded up to whole units, but none below one unit.
func (m *Meter) Measure(ctx context.Context, nodes []sched.NodeSpec, tell Tell) {
	last, told := make([]sched.Resources, len(nodes)), 1.0
	for i := range nodes {
		last[i] = nodes[i].Capacity
	}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if m.Look() != nil {
			continue // what was measured last holds
		}
		part := max(leastPart, 1-m.part)
		moved := math.Abs(part-told) >= leastChange
		if moved {
			told = part
		}
		for i := range nodes {
			if r := left(nodes[i].Capacity, m.part); moved || r != last[i] {
				last[i] = r
				tell(sched.NodeID(i+1), r, told)
			}
		}
	}
}

// left returns what is left of a node if others use a part of it.
func left(r sched.Resources, others float64) sched.Resources {
	for k := range r {
		if k != int(sched.Memory) && r[k] > 0 {
			r[k] = max(1, int64(math.Round(float64(r[k])*(1-others))))
		}
	}
	return r
}
