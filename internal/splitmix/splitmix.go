// Package splitmix is the generator SplitMix64 (Steele, Lea and Flood: Fast Splittable Pseudorandom Number Generators,
// OOPSLA 2014) as a hash: in simulations and in workloads a random number is a hash of a seed and of what it is for.
package splitmix

const (
	// Increment is 2^64 ÷ golden ratio, made odd. The generator of a seed returns Mix of seed + Increment, of
	// seed + 2·Increment, and so on.
	Increment = 0x9e3779b97f4a7c15
	// Multiplier is the first of Mix's two. An odd factor loses no bit of what it multiplies.
	Multiplier = 0xbf58476d1ce4e5b9
)

// Mix returns a hash of x. Different numbers have different hashes, and that of 0 is 0.
func Mix(x uint64) uint64 {
	x = (x ^ x>>30) * Multiplier
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
