package predict

import "math"

// A Network is a closed queueing network with several classes of customers.
type Network struct {
	Demands [][]float64 // service demand of each class at each single-server queueing centre, in seconds
	Think   []float64   // delay of each class outside the centres, in seconds; nil: none
}

// A Solution describes a network in its steady state.
type Solution struct {
	Response   []float64 // of each class, in seconds, think time left out
	Throughput []float64 // of each class, customers a second
	Queue      []float64 // mean number of customers at each centre
	Iterations int       // of an iterative solver; 0 for the exact one
}

// think returns the delay of a class outside the centres, in seconds.
func (n Network) think(class int) float64 {
	if n.Think == nil {
		return 0
	}
	return n.Think[class]
}

func (n Network) centres() int { return len(n.Demands[0]) }

// Exact solves the network by mean value analysis (Reiser and Lavenberg, 1980; spec 12). It walks all populations
// from zero to the given one, so time and memory grow with the product of the populations plus one.
func (n Network) Exact(population []int) Solution {
	classes, centres := len(n.Demands), n.centres()
	// at numbers population vectors in mixed radix; stride[c] is how far apart vectors lie that differ by one in c.
	stride, total := make([]int, classes), 1
	for c, most := range population {
		stride[c] = total
		total *= most + 1
	}
	queues := make([]float64, total*centres)
	s := Solution{Response: make([]float64, classes), Throughput: make([]float64, classes)}
	residence := make([]float64, centres)
	for at := 1; at < total; at++ {
		here := queues[at*centres : (at+1)*centres]
		for c := range n.Demands {
			customers := at / stride[c] % (population[c] + 1)
			s.Response[c], s.Throughput[c] = 0, 0
			if customers == 0 {
				continue
			}
			without := queues[(at-stride[c])*centres:]
			for k, d := range n.Demands[c] {
				residence[k] = d * (1 + without[k])
				s.Response[c] += residence[k]
			}
			s.Throughput[c] = float64(customers) / (n.think(c) + s.Response[c])
			for k, r := range residence {
				here[k] += s.Throughput[c] * r
			}
		}
	}
	s.Queue = queues[(total-1)*centres:]
	return s
}

// BardSchweitzer solves the network approximately (spec 12): the queue that a customer of a class finds is estimated
// from the queues with that customer, until no queue changes by more than tolerance, relatively.
func (n Network) BardSchweitzer(population []int, tolerance float64) Solution {
	classes, centres := len(n.Demands), n.centres()
	queue := make([][]float64, classes)
	next := make([][]float64, classes)
	for c := range queue {
		queue[c], next[c] = make([]float64, centres), make([]float64, centres)
		for k := range queue[c] {
			queue[c][k] = float64(population[c]) / float64(centres)
		}
	}
	s := Solution{
		Response:   make([]float64, classes),
		Throughput: make([]float64, classes),
		Queue:      make([]float64, centres),
	}
	for change := math.Inf(1); change >= tolerance; s.Iterations++ {
		change = 0
		clear(s.Queue)
		for _, q := range queue {
			for k, x := range q {
				s.Queue[k] += x
			}
		}
		for c, demands := range n.Demands {
			customers := float64(population[c])
			if customers == 0 {
				continue
			}
			s.Response[c] = 0
			for k, d := range demands {
				next[c][k] = d * (1 + s.Queue[k] - queue[c][k]/customers)
				s.Response[c] += next[c][k]
			}
			s.Throughput[c] = customers / (n.think(c) + s.Response[c])
			for k := range next[c] {
				next[c][k] *= s.Throughput[c]
				if next[c][k] > 0 {
					change = max(change, math.Abs(next[c][k]-queue[c][k])/next[c][k])
				}
			}
		}
		queue, next = next, queue
	}
	clear(s.Queue)
	for _, q := range queue {
		for k, x := range q {
			s.Queue[k] += x
		}
	}
	return s
}

// ModifiedMVA returns the response time of each of some equal jobs by the modified mean value analysis alone, without
// timeline and tree, and the number of iterations (spec 12). start is the residence time at each centre that the
// iteration begins with: the thesis's program used 0.01.
func ModifiedMVA(demands []float64, jobs int, start, tolerance float64) (response float64, iterations int) {
	residence := make([]float64, len(demands))
	for k := range residence {
		residence[k] = start
	}
	without := make([]float64, len(demands))
	for change := math.Inf(1); change >= tolerance; iterations++ {
		total, rest := sum(residence), 0.0
		for k, r := range residence {
			without[k] = r - demands[k]*r/total
			rest += without[k]
		}
		change = 0
		for k, d := range demands {
			found := 0.0
			if jobs > 1 {
				found = float64(jobs-1) * without[k] / rest
			}
			r := d * (1 + found)
			if r > 0 {
				change = max(change, math.Abs(r-residence[k])/r)
			}
			residence[k] = r
		}
	}
	return sum(residence), iterations
}

func sum(list []float64) (s float64) {
	for _, x := range list {
		s += x
	}
	return s
}
