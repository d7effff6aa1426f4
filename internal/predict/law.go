package predict

import "math"

// Moments are the mean, in seconds, and the variance of a time.
type Moments struct{ Mean, Variance float64 }

func (m Moments) plus(o Moments) Moments { return Moments{m.Mean + o.Mean, m.Variance + o.Variance} }

// A law is a mixture of at most two Erlang distributions: an Erlang for times that vary little, a hyperexponential
// for times that vary much. It is what times of given moments are taken to follow (spec 9.2).
type law struct {
	parts [2]erlang
	n     int // of parts in use
}

// An erlang is the sum of some exponential stages of one rate.
type erlang struct {
	weight float64 // of this part in its mixture
	stages int
	rate   float64 // of each stage, per second
}

// mostStages bounds an Erlang: a time with a smaller coefficient of variation than 1/10 is taken to have that one.
const mostStages = 100

// fit returns a law with the mean of m. Up to a coefficient of variation of 1 it is an Erlang, with the whole number of
// stages whose variance is nearest to that of m. Beyond 1 it is a hyperexponential with balanced means and exactly the
// variance of m. A mean of 0 gives the law that is always 0.
func fit(m Moments) law {
	if m.Mean <= 0 {
		return law{}
	}
	squared := m.Variance / (m.Mean * m.Mean) // coefficient of variation
	if squared <= 1 {
		stages := mostStages
		if squared > 0.01 {
			stages = min(max(int(1/squared+0.5), 1), mostStages)
		}
		return law{[2]erlang{{1, stages, float64(stages) / m.Mean}}, 1}
	}
	p := 0.5 * (1 + math.Sqrt((squared-1)/(squared+1)))
	return law{[2]erlang{{p, 1, 2 * p / m.Mean}, {1 - p, 1, 2 * (1 - p) / m.Mean}}, 2}
}

// raw returns the first two moments about zero.
func (l law) raw() (first, second float64) {
	for _, e := range l.parts[:l.n] {
		k := float64(e.stages)
		first += e.weight * k / e.rate
		second += e.weight * k * (k + 1) / (e.rate * e.rate)
	}
	return first, second
}

// minimum returns the first two moments about zero of the smaller of two independent times (spec 9.3). Let two Erlangs
// race stage by stage: the next stage to end is the first one's with probability p. The sum runs over the numbers of
// stages (i, j) that are done before either is through. It costs the product of the numbers of stages.
func minimum(x, y law) (first, second float64) {
	for _, a := range x.parts[:x.n] {
		for _, b := range y.parts[:y.n] {
			rate := a.rate + b.rate
			p, q := a.rate/rate, b.rate/rate
			var visits [mostStages]float64 // probability that the race passes (i, j), for the present i, by j
			visits[0] = 1
			one, two := 0.0, 0.0
			for i := range a.stages {
				if i > 0 {
					visits[0] *= p
				}
				for j := range b.stages {
					switch {
					case j == 0:
					case i == 0:
						visits[j] = q * visits[j-1]
					default:
						visits[j] = p*visits[j] + q*visits[j-1]
					}
					one += visits[j]
					two += float64(i+j+1) * visits[j]
				}
			}
			w := a.weight * b.weight
			first += w * one / rate
			second += w * 2 * two / (rate * rate)
		}
	}
	return first, second
}

// larger returns the moments of the larger of two independent times that follow the laws fitted to x and y.
func larger(x, y Moments) Moments {
	switch {
	case x.Mean <= 0:
		return y
	case y.Mean <= 0:
		return x
	}
	a, b := fit(x), fit(y)
	ax, ax2 := a.raw()
	bx, bx2 := b.raw()
	lx, lx2 := minimum(a, b)
	mean := ax + bx - lx
	return Moments{mean, max(0, ax2+bx2-lx2-mean*mean)}
}

// Quantile returns the time that a law with these moments stays below with probability p, in (0, 1).
func (m Moments) Quantile(p float64) float64 {
	l := fit(m)
	if l.n == 0 {
		return 0
	}
	low, high := 0.0, m.Mean
	for l.below(high) < p {
		high *= 2
	}
	for range 60 {
		if middle := (low + high) / 2; l.below(middle) < p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// below returns the probability of a time of at most t.
func (l law) below(t float64) float64 {
	p := 0.0
	for _, e := range l.parts[:l.n] {
		term, tail := math.Exp(-e.rate*t), 0.0
		for k := range e.stages {
			if k > 0 {
				term *= e.rate * t / float64(k)
			}
			tail += term
		}
		p += e.weight * (1 - tail)
	}
	return p
}
