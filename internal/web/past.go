package web

import "github.com/sojourn-sched/sojourn/sched"

// pastNodes has the use of the nodes at an earlier instant, as far as the log of attempts goes back. Without rows it
// changes nothing: then the page shows the use of now, from the boardCopy.
type pastNodes struct {
	rows      []nodeRow // a row a node; of its fields only used, running, done, failed and capacity are set
	forgotten bool      // the log no longer has all attempts that ran at that instant
}

// nodesAt returns the use of the nodes at an instant. An attempt that ran then counts with the resources that a task of
// its stage asks for. O(attempts in the log).
func (b *Board) nodesAt(at sched.Time) *pastNodes {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &pastNodes{rows: make([]nodeRow, len(b.nodes))}
	if oldest := b.log.oldest(); oldest > 0 {
		p.forgotten = at < b.log.at(oldest).start
	}
	for i := range b.nodes {
		now, then := &b.nodes[i], &p.rows[i]
		then.capacity, then.done, then.failed = now.capacity, now.done, now.failed
		b.log.chain(now.tail, true, func(a *attempt) bool {
			switch {
			case a.end > at && a.outcome == sched.OK:
				then.done--
			case a.end > at && a.outcome == sched.Failed:
				then.failed--
			}
			if a.start > at || a.end >= 0 && a.end <= at {
				return true
			}
			then.running++
			if r := b.row(a.job); r != nil && int(a.stage) < len(r.stages) {
				then.used = then.used.Add(r.stages[a.stage].perTask)
			} else {
				p.forgotten = true
			}
			return true
		})
	}
	return p
}

// put sets the figures of row n to those of the instant, but for the used resources, which fill sets.
func (p *pastNodes) put(n *Node) {
	if i := int(n.ID) - 1; i < len(p.rows) {
		r := &p.rows[i]
		n.Busy, n.Running, n.Done, n.Failed = r.used.DominantShare(r.capacity), r.running, r.done, r.failed
	}
}

// fill sets the used resources of row n to those of the instant. It is called only for the rows that the page shows.
func (p *pastNodes) fill(n *Node) {
	if i := int(n.ID) - 1; i < len(p.rows) {
		n.Used = amounts(p.rows[i].used)
	}
}
