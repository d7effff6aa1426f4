package spelling

import "fmt"

// Count returns a number of things in words, such as "1 job" and "2 jobs". one names a single thing. several names none
// or more than one of them; where it is left out, it is one with an s: Count(n, "task waits", "tasks wait").
func Count[N ~int | ~int32 | ~int64](n N, one string, several ...string) string {
	switch {
	case n == 1:
		return "1 " + one
	case len(several) > 0:
		return fmt.Sprintf("%d %s", n, several[0])
	default:
		return fmt.Sprintf("%d %ss", n, one)
	}
}
