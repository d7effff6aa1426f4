package mr

import (
	"context"
	"sync"
)

// A mailbox holds what other goroutines want done on the engine's own goroutine. Sending never blocks.
type mailbox struct {
	ready chan struct{} // has one when there is mail
	box   *mailSlice
}

type mailItem = func(*engine, context.Context)

type mailSlice struct {
	sync.Mutex
	list []mailItem
}

func newMailbox() mailbox { return mailbox{make(chan struct{}, 1), new(mailSlice)} }

func (m mailbox) send(item mailItem) {
	m.box.Lock()
	m.box.list = append(m.box.list, item)
	m.box.Unlock()
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

func (m mailbox) take() []mailItem {
	m.box.Lock()
	defer m.box.Unlock()
	list := m.box.list
	m.box.list = nil
	return list
}
