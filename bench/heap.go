package main

import "github.com/sojourn-sched/sojourn/sched"

// An ending is an attempt that ends: what a bare loop knows of it.
type ending struct {
	at sched.Time
	id uint64
}

// A heap is the smallest calendar there is, with four children a node: what is put in comes out in order of time.
type heap []ending

func (h *heap) push(e ending) {
	*h = append(*h, e)
	list := *h
	i := len(list) - 1
	for ; i > 0 && e.at < list[(i-1)>>2].at; i = (i - 1) >> 2 {
		list[i] = list[(i-1)>>2]
	}
	list[i] = e
}

// pop takes the earliest out; there must be one.
func (h *heap) pop() ending {
	list := *h
	first, last := list[0], list[len(list)-1]
	list = list[:len(list)-1]
	*h = list
	for i := 0; len(list) > 0; {
		least := 4*i + 1
		for k := least + 1; k < min(4*i+5, len(list)); k++ {
			if list[k].at < list[least].at {
				least = k
			}
		}
		if least >= len(list) || last.at <= list[least].at {
			list[i] = last
			break
		}
		list[i] = list[least]
		i = least
	}
	return first
}
