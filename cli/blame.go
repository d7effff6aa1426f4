package cli

import (
	"bytes"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/sojourn-sched/sojourn/internal/record"
)

// A blame says of a panic while a policy decided which policy that was, when, and how it can be seen again.
type blame struct {
	policy  string
	verbose bool
	to      io.Writer // where the stack goes
	again   string
	tally   *record.Tally // of the run
}

// caught is deferred: it makes an error of a panic while a policy decides, of the policy or of what it has called of
// the core: which of them, the stack shows. Other panics go on.
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
	*err = failuref(
		"policy %s, or what it called, panicked when it decided after event %d, at %v: %v: a defect of one of them; %s, and --verbose shows where",
		b.policy,
		b.tally.Result().Events,
		b.tally.Now(),
		why,
		b.again,
	)
}
