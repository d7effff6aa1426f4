package theory

import "slices"

// A onePass divides the capacity of several resources in one pass over the jobs, smallest bound in the first resource
// first, and gives each job a fraction of its bound:
//
//	fair = rest ÷ (jobs left),  fraction = min(1, min_k fair[k] ÷ bound[k]),  rest −= bound × fraction
//
// This is the virtual resource allocation of FSPY (its Algorithm 2, with the componentwise minimum for vectors). With
// one resource it is max-min fair; with more it may leave room that a job could still use, which dominant resource
// fairness does not.
type onePass struct {
	rest, fair []float64 // of each resource; fair: rest ÷ jobs
	jobs       int
}

func newOnePass(capacity []float64, jobs int) onePass {
	p := onePass{slices.Clone(capacity), make([]float64, len(capacity)), jobs}
	for k, rest := range p.rest {
		p.fair[k] = rest / float64(jobs)
	}
	return p
}

// share sets what the next job has, and returns which fraction of its bound that is.
//
// Where a resource limits the fraction, the job has exactly its fair share of that resource, and the fair share of the
// jobs after it stays the same. Computing both by division would round them differently, and equal jobs would get
// unequal amounts.
func (p *onePass) share(bound, has []float64) (fraction float64) {
	fraction = 1
	limits := 0 // a bit for each resource that limits the fraction
	for k, most := range bound {
		if most == 0 {
			continue
		}
		switch part := p.fair[k] / most; {
		case part < fraction:
			fraction, limits = part, 1<<k
		case part == fraction:
			limits |= 1 << k
		}
	}
	p.jobs--
	for k, most := range bound {
		if limits&(1<<k) != 0 {
			has[k] = p.fair[k]
			p.rest[k] = max(0, p.rest[k]-has[k])
			continue
		}
		has[k] = most * fraction
		p.rest[k] = max(0, p.rest[k]-has[k])
		p.fair[k] = p.rest[k] / float64(p.jobs)
	}
	return fraction
}
