package workload

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// sizeUnits are the units of sizes, longest first where one ends another.
var sizeUnits = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"PiB", 1 << 50},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}, {"B", 1}, {"", 1},
}

// ParseSize reads a number of bytes: 4096, 128MiB, 1.5GB; KiB to PiB are powers of 1024, kB to PB of 1000.
func ParseSize(text string) (int64, error) {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		x, err := parseNumber(strings.TrimSpace(digits))
		if err != nil {
			break
		}
		switch x = math.Round(x * u.bytes); {
		case x < 0:
			return 0, fmt.Errorf("%q must not be negative", text)
		case x > MaxBytes:
			return 0, fmt.Errorf("%q must be at most 2^60 bytes", text)
		}
		return int64(x), nil
	}
	return 0, fmt.Errorf("%q is not a size; write 4096, 128MiB or 1.5GB", text)
}

// ParseRate reads a bandwidth and returns bytes a second: 1Gbit, 100Mbit, or a size, such as 125MB, with or without /s.
func ParseRate(text string) (int64, error) {
	t := strings.TrimSuffix(text, "/s")
	if b, ok := strings.CutSuffix(t, "bit"); ok {
		for _, u := range []struct {
			name string
			bits float64
		}{{"G", 1e9}, {"M", 1e6}, {"k", 1e3}, {"", 1}} {
			if digits, ok := strings.CutSuffix(b, u.name); ok {
				x, err := parseNumber(digits)
				if x = math.Round(x * u.bits / 8); err != nil || x < 1 || x > MaxBytes {
					break
				}
				return int64(x), nil
			}
		}
	} else if n, err := ParseSize(t); err == nil && n > 0 {
		return n, nil
	}
	return 0, fmt.Errorf("%q is not a bandwidth; write 1Gbit, 100Mbit or 125MB/s", text)
}

// ParseTime reads a Go duration that is not negative: 0s, 90s, 1h30m. A bare 0 is one too.
func ParseTime(text string) (sched.Time, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a time; write 90s, 5m or 1h30m", text)
	case d < 0:
		return 0, fmt.Errorf("%q must not be negative", text)
	case d > MaxTime:
		return 0, fmt.Errorf("%q must be at most ten years", text)
	}
	return d, nil
}

// parseNumber reads a finite decimal number.
func parseNumber(text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return x, nil
}

// parseCount reads a whole number from 1 to most.
func parseCount(text string, most int32) (int32, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > int64(most) {
		return 0, fmt.Errorf("%q must be a whole number from 1 to %d", text, most)
	}
	return int32(n), nil
}

// maxAmount bounds the amount of one resource that a node has: enough for any, and a million nodes' sum is no overflow.
const maxAmount = 1 << 40

// ParseAmount reads an amount of a kind of resource: a size for memory, which is returned in MiB and must be whole,
// else a whole number.
func ParseAmount(k sched.ResourceKind, text string) (int64, error) {
	if k == sched.Memory {
		n, err := ParseSize(text)
		if err != nil {
			return 0, err
		}
		if n%(1<<20) != 0 {
			return 0, fmt.Errorf("%q must be a whole number of MiB", text)
		}
		return n >> 20, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > maxAmount {
		return 0, fmt.Errorf("%q must be a whole number from 0 to %d", text, int64(maxAmount))
	}
	return n, nil
}

// sigmaMax bounds the spread of task times: at 5 the largest of a million tasks is some ten thousand times the mean.
const sigmaMax = 5

// parseSigma reads the sigma of a lognormal distribution.
func parseSigma(text string) (float64, error) {
	x, err := parseNumber(text)
	if err != nil || x < 0 || x > sigmaMax {
		return 0, fmt.Errorf("%q must be a number from 0 to %d", text, sigmaMax)
	}
	return x, nil
}

// parseBytesASecond reads a rate that need not be whole: 50e6, 50MB, 50MB/s.
func parseBytesASecond(text string) (float64, error) {
	if x, err := parseNumber(text); err == nil && x > 0 {
		return x, nil
	}
	n, err := ParseRate(text)
	return float64(n), err
}
