package generate

import (
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"strconv"
)

// Ratings writes movies with their ratings, movie:user_rating,user_rating,…; movies are numbered from 1 in the order
// of the lines. As in the Netflix data that the benchmark was published with, most movies have few ratings and some
// have thousands: the number is 2^k … 2^(k+1), every k from 3 to 12 equally likely. A movie has a quality and a taste
// group (one of Tastes), and users rate the films of their own group higher, so that there are clusters to be found.
type Ratings struct {
	Bytes  int64 // > 0
	Seed   uint64
	Users  int // 1 … 2^32-1; 0 is 480,189, as in the Netflix data
	Tastes int // 1 … 1000; 0 is 16
}

// Write implements Writer.
func (g Ratings) Write(w io.Writer) error {
	users, tastes := or(g.Users, 480_189), or(g.Tastes, 16)
	if users < 1 || int64(users) >= 1<<32 {
		return fmt.Errorf("generate ratings: users is %d, and must lie in 1 … 4,294,967,295", users)
	}
	if tastes < 1 || tastes > 1000 {
		return fmt.Errorf("generate ratings: tastes is %d, and must lie in 1 … 1000", tastes)
	}
	r := source(g.Seed, 'R')
	movie := uint64(0)
	return newOutput(w, g.Bytes).fill(func(b []byte) []byte {
		movie++
		b = append(strconv.AppendUint(b, movie, 10), ':')
		b = appendRatings(b, r, uint64(users), uint64(tastes))
		b[len(b)-1] = '\n'
		return b
	})
}

func appendRatings(b []byte, r *rand.PCG, users, tastes uint64) []byte {
	x := r.Uint64()
	k := 3 + x%10
	n := 1<<k + x>>8%(1<<k)
	quality := 2 + x>>32%3 // 2, 3 or 4
	taste := x >> 40 % tastes
	for range n {
		x := r.Uint64()
		hi, _ := bits.Mul64(x, users)
		rating := quality + x>>7%3 - 1 // one below to one above
		if hi%tastes == taste {
			rating++
		}
		b = append(strconv.AppendUint(b, hi, 10), '_', '0'+byte(min(rating, 5)), ',')
	}
	return b
}
