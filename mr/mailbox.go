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
	last []mailItem // read after list
}

func newMailbox() mailbox { return mailbox{make(chan struct{}, 1), new(mailSlice)} }

func (m mailbox) send(item mailItem) { m.sendTo(&m.box.list, item) }

// sendLast sends an item that take returns after all items of send.
func (m mailbox) sendLast(item mailItem) { m.sendTo(&m.box.last, item) }

func (m mailbox) sendTo(list *[]mailItem, item mailItem) {
	m.box.Lock()
	*list = append(*list, item)
	m.box.Unlock()
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

func (m mailbox) take() []mailItem {
	m.box.Lock()
	defer m.box.Unlock()
	list := append(m.box.list, m.box.last...)
	m.box.list, m.box.last = nil, nil
	return list
}
