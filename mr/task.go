package mr

import (
	"context"
	"sync"
)

type attempt struct {
	ctx    context.Context
	mu     sync.Mutex
	counts Counters
	status string
}

// Context ends when the attempt is to end: for functions that wait for something else than their input, such as a child.
func (t *Task) Context() context.Context { return t.attempt.ctx }

// Count adds n to a count of the job's own. It takes a lock: count in a local variable what happens for every record.
func (t *Task) Count(group, name string, n int64) {
	t.attempt.mu.Lock()
	defer t.attempt.mu.Unlock()
	t.attempt.counts.addUser(UserCounter{group, name}, n)
}

// Status says in a few words what the attempt is doing, for whoever looks; it also counts as a sign of life.
func (t *Task) Status(s string) {
	t.attempt.mu.Lock()
	defer t.attempt.mu.Unlock()
	t.attempt.status = s
}
