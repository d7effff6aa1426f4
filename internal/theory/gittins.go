package theory

import (
	"math"
	"slices"
)

// GittinsRanks returns the rank of a job when no more is known than that its size is sizes[k] with a probability
// proportional to masses[k]: ranks[k] is that at the age of sizes[k-1], ranks[0] that at age 0, given that the job is
// not done then. It is the inverse of the Gittins index,
//
//	rank(a) = min over b > a of E[min(S, b) − a | S > a] ÷ P(S ≤ b | S > a)
//
// the least time that a job of age a costs for each time it is done, if it is given up at the best age b. Serving the
// job of the smallest rank makes the mean sojourn time smallest, where sizes are drawn independently and arrivals are
// Poisson or all at once (Gittins, Bandit Processes and Dynamic Allocation Indices, J. R. Statist. Soc. B 41(2), 1979;
// Aalto, Ayesta and Righter, On the Gittins Index in the M/G/1 Queue, Queueing Systems 63, 2009).
//
// sizes rise and are above 0; masses are 0 or more. A rank is +Inf where nothing is left to come. O(n): going down, a
// stretch joins the next one up while that lowers its cost for each job done.
func GittinsRanks(sizes, masses []float64) []float64 {
	type stretch struct{ cost, mass float64 }
	ranks := make([]float64, len(sizes))
	var stack []stretch // rising cost ÷ mass from the top on
	beyond := 0.0
	for k := len(sizes) - 1; k >= 0; k-- {
		from := 0.0
		if k > 0 {
			from = sizes[k-1]
		}
		beyond += masses[k]
		s := stretch{beyond * (sizes[k] - from), masses[k]}
		for n := len(stack); n > 0 && stack[n-1].cost*s.mass <= s.cost*stack[n-1].mass; n = len(stack) {
			s.cost += stack[n-1].cost
			s.mass += stack[n-1].mass
			stack = stack[:n-1]
		}
		stack = append(stack, s)
		if ranks[k] = math.Inf(1); s.mass > 0 {
			ranks[k] = s.cost / s.mass
		}
	}
	return ranks
}

// A SizeBelief is what finished jobs have taught: how large jobs are, and by how much estimates miss. Of a job that is
// not finished it tells, from its estimate, how likely it is to have which size. The zero value has learned nothing.
type SizeBelief struct {
	First  int       // block of Counts[0]
	Counts []float64 // finished jobs by size, in blocks
	N      int       // finished jobs that had an estimate
	Mean   float64   // of ln(estimate ÷ size)
	M2     float64   // sum of its squared deviations
}

// Sizes are told apart in cells, each 2^(1/16) times, four hundredths, above the one before: no rank is wrong by more
// than that. Finished jobs are counted in blocks of four cells; a few hundred jobs fill enough of them. As two is a
// power of the step, times in another unit give the same order.
const (
	cellsPerOctave = 16
	cellsPerBlock  = 4
	mostCell       = 60 * cellsPerOctave // 2^60 s is longer than anything
	// job more in each block, lest one in which none has been be taken for impossible (Laplace's rule)
	unseen     = 1
	mostSpread = 6.0 // of the error law: e^6 is a factor of 400
	tails      = 6   // standard deviations that are looked at
)

// cell returns the cell of a size or an estimate.
func cell(x float64) int {
	if !(x > 0) {
		return -mostCell
	}
	return min(max(int(math.Floor(math.Log2(x)*cellsPerOctave)), -mostCell), mostCell)
}

// cellMiddle returns the size in the middle of a cell.
func cellMiddle(c int) float64 { return math.Exp2((float64(c) + 0.5) / cellsPerOctave) }

// Learn takes into account that a job of a size was estimated at something. Both are above 0; a job of another size
// teaches nothing, and one without an estimate only how large jobs are.
func (b *SizeBelief) Learn(size, estimate float64) {
	if !(size > 0) || math.IsInf(size, 1) {
		return
	}
	block := floorDiv(cell(size), cellsPerBlock)
	if len(b.Counts) == 0 {
		b.First = block
	}
	if block < b.First {
		b.Counts = slices.Insert(b.Counts, 0, make([]float64, b.First-block)...)
		b.First = block
	}
	if over := block - b.First - len(b.Counts); over >= 0 {
		b.Counts = append(b.Counts, make([]float64, over+1)...)
	}
	b.Counts[block-b.First]++
	if !(estimate > 0) || math.IsInf(estimate, 1) {
		return
	}
	x := math.Log(estimate / size)
	b.N++
	d := x - b.Mean
	b.Mean += d / float64(b.N)
	b.M2 += d * (x - b.Mean)
}

func floorDiv(a, b int) int { return int(math.Floor(float64(a) / float64(b))) }

// Error returns the law of errors: ln(estimate ÷ size) is normal with a mean and a standard deviation. One job whose
// estimate missed by a factor of e stands for what was thought before any was finished.
func (b *SizeBelief) Error() (bias, spread float64) {
	n := float64(b.N + 1)
	return b.Mean * float64(b.N) / n, min(math.Sqrt((b.M2+1)/n), mostSpread)
}

// Posterior returns the sizes that a job of an estimate may have, and masses proportional to how likely each is:
//
//	P(size | estimate) ∝ P(size) × φ((ln(estimate ÷ size) − bias) ÷ spread)
//
// with P(size) as finished jobs had it.
func (b *SizeBelief) Posterior(estimate float64) (sizes, masses []float64) {
	first, masses := b.posterior(cell(estimate))
	sizes = make([]float64, len(masses))
	for i := range sizes {
		sizes[i] = cellMiddle(first + i)
	}
	return sizes, masses
}

// posterior returns the masses of the cells from first on, of an estimate in the middle of a cell.
func (b *SizeBelief) posterior(estimate int) (first int, masses []float64) {
	bias, spread := b.Error()
	const cellsPerE = cellsPerOctave / math.Ln2
	bias, spread = bias*cellsPerE, max(spread*cellsPerE, 0.25) // less than a quarter of a cell cannot be told from none
	low, high := int(math.Ceil(-bias-tails*spread)), int(math.Floor(-bias+tails*spread))
	first, masses = estimate+low, make([]float64, high-low+1)
	for i := range masses {
		z := (float64(low+i) + bias) / spread
		masses[i] = math.Exp(-z*z/2) * (unseen + b.count(floorDiv(first+i, cellsPerBlock)))
	}
	return first, masses
}

func (b *SizeBelief) count(block int) float64 {
	if i := block - b.First; i >= 0 && i < len(b.Counts) {
		return b.Counts[i]
	}
	return 0
}

// A RankTable looks up Gittins ranks by a belief, which it does not follow: make a new one when the belief has changed.
// A row is worked out when an estimate asks for it.
type RankTable struct {
	belief SizeBelief
	rows   map[int]rankRow // by cell of the estimate
}

// A rankRow has the ranks of the posterior of one estimate: ranks[i] at the age of the size before sizes[i].
type rankRow struct {
	first                int // cell of sizes[0]
	sizes, ranks, untils []float64
	mean                 float64 // of the sizes
}

// Table returns the ranks by what is believed now.
func (b *SizeBelief) Table() *RankTable {
	return &RankTable{b.Clone(), map[int]rankRow{}}
}

// Clone returns a belief of its own.
func (b *SizeBelief) Clone() SizeBelief {
	c := *b
	c.Counts = slices.Clone(b.Counts)
	return c
}

// row returns the ranks of an estimate's cell, and what sizes in it are multiplied by for this very estimate.
func (t *RankTable) row(estimate float64) (row rankRow, scale float64) {
	c := cell(estimate)
	row, ok := t.rows[c]
	if !ok {
		row = t.belief.rankRow(c)
		t.rows[c] = row
	}
	return row, max(estimate, cellMiddle(-mostCell)) / cellMiddle(c)
}

func (b *SizeBelief) rankRow(estimate int) (row rankRow) {
	first, masses := b.posterior(estimate)
	n := len(masses)
	row.first, row.sizes, row.untils = first, make([]float64, n), make([]float64, n)
	all := 0.0
	for i, m := range masses {
		row.sizes[i] = cellMiddle(first + i)
		row.mean += m * row.sizes[i]
		all += m
	}
	row.mean /= all
	row.ranks = GittinsRanks(row.sizes, masses)
	copy(row.untils, row.sizes)
	for i := n - 2; i >= 0; i-- {
		if row.ranks[i+1] <= row.ranks[i] {
			row.untils[i] = row.untils[i+1]
		}
	}
	return row
}

// Rank returns the Gittins rank of a job by its estimate and its age, both of 0 or more, and the age up to which it
// does not rise. Between two ages of the table a rank that falls does so evenly, as the sizes of a cell are spread over
// it, and one that rises does so at the end. A job older than any that was believed possible gets what a law of sizes
// without a scale would give it, its age.
func (t *RankTable) Rank(estimate, age float64) (rank, until float64) {
	row, scale := t.row(estimate)
	last := len(row.ranks) - 1
	i := 0
	if age > 0 {
		i = max(0, int(math.Floor(math.Log2(age/scale)*cellsPerOctave-0.5))+1-row.first)
		for i <= last && scale*row.sizes[i] <= age { // rounding of the logarithm
			i++
		}
	}
	if i > last {
		return max(scale*row.ranks[last], age), age * cellMiddle(0)
	}
	age /= scale
	rank = row.ranks[i]
	switch {
	case i == 0:
		rank -= age // no size ends before
	case i < last && row.ranks[i+1] < rank:
		rank += (row.ranks[i+1] - rank) * (age - row.sizes[i-1]) / (row.sizes[i] - row.sizes[i-1])
	}
	return scale * rank, scale * row.untils[i]
}

// Expect returns the mean of the sizes that a job of an estimate may have.
func (t *RankTable) Expect(estimate float64) float64 {
	row, scale := t.row(estimate)
	return scale * row.mean
}
