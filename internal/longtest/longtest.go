// Package longtest says how long tests may take. `make test-long` sets SOJOURN_LONG=1: then tests that take long run
// too, and others look at more random cases.
package longtest

import "os"

// On reports whether tests may take long: SOJOURN_LONG=1 is in the environment.
func On() bool { return os.Getenv("SOJOURN_LONG") == "1" }

// Few returns few, or many if tests may take long. It is for counts: of seeds, of random cases, of bytes.
func Few[N int | uint64](few, many N) N {
	if On() {
		return many
	}
	return few
}
