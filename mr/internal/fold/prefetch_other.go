//go:build !amd64 && !arm64

package fold

// prefetch and prefetchEach do nothing on processors without an assembly version.
func prefetch(*slot, *probe, int) {}

func prefetchEach(*uintptr, int) {}
