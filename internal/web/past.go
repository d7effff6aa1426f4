package web

import "github.com/sojourn-sched/sojourn/sched"

// pastNodes is the use of the nodes at an earlier instant, as far as the log of attempts goes back. Without rows it
// changes nothing: the snapshot has the use of now.
type pastNodes struct {
	rows      []nodeRow // of each node: used, running, done, failed and capacity are set
	forgotten bool      // the log no longer has all attempts that ran then
}

// nodesAt looks up which attempts ran on each node at an instant, with the resources that tasks of their stages ask
// for. Its cost is linear in the attempts that the log has.
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

// put sets the figures of a row to those of the instant. The resources that are used are set by fill.
func (p *pastNodes) put(n *Node) {
	if i := int(n.ID) - 1; i < len(p.rows) {
		r := &p.rows[i]
		n.Busy, n.Running, n.Done, n.Failed = r.used.DominantShare(r.capacity), r.running, r.done, r.failed
	}
}

// fill sets the used resources of a row to those of the instant. It is called for the rows of the shown page only.
func (p *pastNodes) fill(n *Node) {
	if i := int(n.ID) - 1; i < len(p.rows) {
		n.Used = amounts(p.rows[i].used)
	}
}
