package theory

import "slices"

// A KarmaUser is one of those who share slices of a resource by credits.
type KarmaUser struct {
	Share   int64 // slices that are its own by what it pays; > 0
	Demand  int64 // slices that it asks for in this quantum; >= 0
	Credits int64
}

// Karma divides slices by credits, as Vuppalapati, Fikioris, Agarwal, Cidon, Khandelwal and Tardos describe it (Karma:
// Resource Allocation for Dynamic Demands, OSDI 2023, algorithm 1), written from the published description.
//
// In each quantum a user has a guaranteed part of its share for nothing. What it does not ask for of that is donated.
// The other part of all shares is common: each user is given its part of it as credits. A user that asks for more than
// its guaranteed part pays a credit for each slice: borrowers with most credits for their shares come first. Slices
// that are donated are used before common ones, and each earns its donor a credit: donors with least credits come
// first.
type Karma struct {
	Guaranteed int64 // part of a share that is guaranteed, in millionths (α): 0 to WholeShare
	// Strict keeps users without credits from borrowing, as it is published. Else they come last, and no slice stays
	// idle while a user asks for it.
	Strict bool
}

// KarmaGrant is what a user gets in a quantum.
type KarmaGrant struct {
	Slices  int64 // in all
	Paid    int64 // of them, those for which it paid a credit
	Earned  int64 // credits for slices that it donated and others used
	Credits int64 // after the quantum
}

// Divide gives the slices of one quantum away and returns what each user gets. Ties are for the first. O(slices ×
// users).
func (k Karma) Divide(users []KarmaUser) []KarmaGrant {
	n := len(users)
	grants, donated := make([]KarmaGrant, n), make([]int64, n)
	common := int64(0)
	for i, u := range users {
		own := u.Share * k.Guaranteed / WholeShare
		common += u.Share - own
		grants[i].Credits = u.Credits + u.Share - own
		grants[i].Slices = min(u.Demand, own)
		donated[i] = own - grants[i].Slices
	}
	for {
		b := k.best(users, func(i int) bool {
			return grants[i].Slices < users[i].Demand && (!k.Strict || grants[i].Credits > 0)
		}, func(i, j int) bool {
			return lessOver(grants[j].Credits, users[j].Share, grants[i].Credits, users[i].Share)
		})
		d := k.best(users, func(i int) bool { return donated[i] > 0 },
			func(i, j int) bool {
				return lessOver(grants[i].Credits, users[i].Share, grants[j].Credits, users[j].Share)
			})
		switch {
		case b < 0 || d < 0 && common == 0:
			return grants
		case d >= 0:
			donated[d]--
			grants[d].Credits++
			grants[d].Earned++
		default:
			common--
		}
		grants[b].Slices++
		grants[b].Paid++
		grants[b].Credits--
	}
}

// best returns the first user before all others among those that may; -1: none may.
func (k Karma) best(users []KarmaUser, may func(int) bool, before func(i, j int) bool) int {
	best := -1
	for i := range users {
		if may(i) && (best < 0 || before(i, best)) {
			best = i
		}
	}
	return best
}

// Play runs quanta: demands[t][i] is what user i asks for in quantum t, which is not carried over. It returns what each
// user got in each quantum.
func (k Karma) Play(shares []int64, credits int64, demands [][]int64) [][]int64 {
	users := make([]KarmaUser, len(shares))
	for i, s := range shares {
		users[i] = KarmaUser{Share: s, Credits: credits}
	}
	got := make([][]int64, len(demands))
	for t, asked := range demands {
		for i := range users {
			users[i].Demand = asked[i]
		}
		for i, g := range k.Divide(users) {
			users[i].Credits = g.Credits
			got[t] = append(got[t], g.Slices)
		}
	}
	return got
}

// Useful sums what each user got up to what it really had use for, quantum by quantum.
func Useful(got, real [][]int64) []int64 {
	if len(got) == 0 {
		return nil
	}
	sums := make([]int64, len(got[0]))
	for t := range got {
		for i, g := range got[t] {
			sums[i] += min(g, real[t][i])
		}
	}
	return sums
}

// PlayLongTerm returns what each user gets in each quantum if demands are divided by rule r, which goes by what users
// have used so far. Demand that is not met in a quantum is dropped.
func (r LongTermRule) PlayLongTerm(weights []int64, demands [][]int64) [][]int64 {
	users := make([]LongTermUser, len(weights))
	for i, w := range weights {
		users[i].Weight = w
	}
	got := make([][]int64, len(demands))
	for t, asked := range demands {
		for i := range users {
			users[i].Demand = asked[i]
		}
		got[t] = r.Divide(users)
		for i := range users {
			users[i].Used += r.count(users, i, got[t][i])
		}
	}
	return slices.Clip(got)
}
