//go:build amd64 || arm64

package fold

// prefetch asks the cache for the slots of n probes. It takes an instruction of its own: a load that misses holds up
// all that is behind it, and the table would be half as fast.
//
//go:noescape
func prefetch(slots *slot, todo *probe, n int)

// prefetchEach asks the cache for the bytes at n addresses.
//
//go:noescape
func prefetchEach(at *uintptr, n int)
