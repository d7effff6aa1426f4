package theory

import "slices"

// WholeShare is the factor of a discount that counts everything: one million millionths.
const WholeShare = 1_000_000

// A LongTermUser is one of those who share a capacity over time.
type LongTermUser struct {
	Weight int64 // > 0; what the user pays
	Demand int64 // units that it could use now, running and pending; >= 0
	Used   int64 // what it has been counted for so far, in millionths of a unit
}

// A LongTermRule says how a capacity is divided in one step of time.
type LongTermRule struct {
	Capacity   int64 // units
	Memoryless bool  // MLRF: what was used before does not count
	Discount   int64 // in millionths, 0 to WholeShare: how much a unit above the own share counts (η)
}

// Divide gives the units of one step away, one by one, each to the user that has been counted for least for its weight,
// and returns what each user gets. A user gets at most its demand; of equals the first is served. It is algorithm 10 of
// LTYARN with unit tasks: water-filling on accumulated totals. It does not change the users' Used. O(units × users).
//
// Source: S. Tang's thesis, chapter 5, algorithm 10, formulas 5.7 and 5.11.
func (r LongTermRule) Divide(users []LongTermUser) []int64 {
	got, counted := make([]int64, len(users)), make([]int64, len(users))
	for i, u := range users {
		if !r.Memoryless {
			counted[i] = u.Used
		}
	}
	for range r.Capacity {
		best := -1
		for i, u := range users {
			if got[i] < u.Demand && (best < 0 || lessOver(counted[i], u.Weight, counted[best], users[best].Weight)) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		got[best]++
		counted[best] += r.count(users, best, got[best]) - r.count(users, best, got[best]-1)
	}
	return got
}

// lessOver reports whether a/v < b/w.
func lessOver(a, v, b, w int64) bool { return a*w < b*v }

// count returns what user i is charged for units that it holds, in millionths of a unit. Units above its share are
// charged at the discount (formula 5.7).
func (r LongTermRule) count(users []LongTermUser, i int, units int64) int64 {
	sum := int64(0)
	for _, u := range users {
		sum += u.Weight
	}
	share := WholeShare * r.Capacity * users[i].Weight / sum
	held := WholeShare * units
	if r.Memoryless {
		return held
	}
	return min(held, share) + max(0, held-share)/WholeShare*r.Discount +
		max(0, held-share)%WholeShare*r.Discount/WholeShare
}

// A LongTermStep is what happened in one step of time, by user.
type LongTermStep struct {
	Demand  []int64 // total: new, and what was not served before
	Got     []int64
	Total   []int64   // of Got, so far
	Counted []int64   // so far, in millionths of a unit; since the round began where there are rounds
	Benefit []float64 // β: what was got so far over what a partition of one's own would have given
}

// LongTermSteps plays steps of time in which each user brings new demand and waits with what was not served. round > 0
// forgets what was counted after so many steps (S-LTMM); zero never does. newDemand[t][i] is of user i at step t.
func (r LongTermRule) LongTermSteps(weights []int64, newDemand [][]int64, round int) []LongTermStep {
	users := make([]LongTermUser, len(weights))
	total, rest := make([]int64, len(weights)), make([]int64, len(weights))
	alone := make([]float64, len(weights))
	sum := int64(0)
	for i, w := range weights {
		users[i].Weight = w
		sum += w
	}
	steps := make([]LongTermStep, len(newDemand))
	for t, fresh := range newDemand {
		if round > 0 && t%round == 0 {
			for i := range users {
				users[i].Used = 0
			}
		}
		s := LongTermStep{Counted: make([]int64, len(weights)), Benefit: make([]float64, len(weights))}
		for i := range users {
			users[i].Demand = rest[i] + fresh[i]
			s.Demand = append(s.Demand, users[i].Demand)
		}
		s.Got = r.Divide(users)
		for i := range users {
			users[i].Used += r.count(users, i, s.Got[i])
			total[i] += s.Got[i]
			rest[i] = users[i].Demand - s.Got[i]
			alone[i] += min(float64(users[i].Demand), float64(r.Capacity*weights[i])/float64(sum))
			s.Counted[i], s.Benefit[i] = users[i].Used, Benefit(float64(total[i]), alone[i])
		}
		s.Total = slices.Clone(total)
		steps[t] = s
	}
	return steps
}

// Benefit returns β = got ÷ alone: what a user got by sharing over what it would have got of a partition of its own
// (formula 5.3); 1 while alone is 0.
func Benefit(got, alone float64) float64 {
	if alone == 0 {
		return 1
	}
	return got / alone
}

// SharingBenefit returns Ψ = Σ max(β − 1, 0) >= 0 (formula 5.4).
func SharingBenefit(betas []float64) (sum float64) {
	for _, b := range betas {
		sum += max(b-1, 0)
	}
	return sum
}

// SharingLoss returns Ω = Σ min(β − 1, 0) <= 0 (formula 5.5).
func SharingLoss(betas []float64) (sum float64) {
	for _, b := range betas {
		sum += min(b-1, 0)
	}
	return sum
}
