package cli

import (
	"bytes"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/sojourn-sched/sojourn/sched"
)

// A blame says of a policy that panicked while it decided which it was, when, and how that can be seen again. Its methods are of the goroutine that decides.
type blame struct {
	policy  string
	verbose bool
	to      io.Writer // where the stack goes
	again   string

	sched.Recorder // that core had; nil: none
	now            sched.Time
	events         int64
}

// watch follows what core decides.
func (b *blame) watch(core *sched.Config) {
	b.Recorder = core.Recorder
	core.Recorder = b
}

// Attach has the recorder see what the core lends, where it wants to.
func (b *blame) Attach(v *sched.View) {
	if f, ok := b.Recorder.(interface{ Attach(*sched.View) }); ok {
		f.Attach(v)
	}
}

// Record implements sched.Recorder.
func (b *blame) Record(now sched.Time, events []sched.Event, actions []sched.Action) {
	b.now, b.events = now, b.events+int64(len(events))
	if b.Recorder != nil {
		b.Recorder.Record(now, events, actions)
	}
}

// caught is deferred: it makes an error of the panic of a policy that decides. Other panics are not a policy's, and go on.
func (b *blame) caught(err *error) {
	why := recover()
	if why == nil {
		return
	}
	stack := debug.Stack()
	if !bytes.Contains(stack, []byte(".Decide(")) {
		panic(why)
	}
	if b.verbose {
		fmt.Fprintf(b.to, "%s", stack)
	}
	*err = failuref("policy %s panicked when it decided after event %d, at %v or later: %v: a defect of the policy; %s, and --verbose shows where", b.policy, b.events, b.now, why, b.again)
}
