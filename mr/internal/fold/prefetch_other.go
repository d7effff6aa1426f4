//go:build !amd64 && !arm64

package fold

// prefetch and prefetchEach do nothing where nobody has written them.
func prefetch(*slot, *probe, int) {}

func prefetchEach(*uintptr, int) {}
