package cli

import (
	"bytes"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/sojourn-sched/sojourn/record"
)

// A blame says of a policy that panicked while it decided which it was, when, and how that can be seen again.
type blame struct {
	policy  string
	verbose bool
	to      io.Writer // where the stack goes
	again   string
	tally   *record.Tally // of the run
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
	*err = failuref("policy %s panicked when it decided after event %d, at %v: %v: a defect of the policy; %s, and --verbose shows where", b.policy, b.tally.Result().Events, b.tally.Now(), why, b.again)
}
