package mr

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/spelling"
)

// Conf is a job's configuration, as -D key=value gives it. Getters return the default where the key is missing, and an
// error that names the key where its value cannot be read.
type Conf map[string]string

// A format is how values of one type are written, in words too.
type format[T any] struct {
	want  string
	parse func(string) (T, error)
}

func get[T any](c Conf, key string, def T, f format[T]) (T, error) {
	s, ok := c[key]
	if !ok {
		return def, nil
	}
	v, err := f.parse(s)
	if err != nil {
		return def, fmt.Errorf("configuration %s=%q: want %s", key, s, f.want)
	}
	return v, nil
}

// String returns the value of key.
func (c Conf) String(key, def string) string {
	if s, ok := c[key]; ok {
		return s
	}
	return def
}

// Int returns the value of key as a decimal integer from least to most, both included.
func (c Conf) Int(key string, def, least, most int64) (int64, error) {
	parse := func(s string) (int64, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err == nil && (n < least || n > most) {
			err = strconv.ErrRange
		}
		return n, err
	}
	return get(c, key, def, format[int64]{fmt.Sprintf("a whole number from %d to %d", least, most), parse})
}

// Float returns the value of key as a decimal number. It refuses infinities and what is not a number.
func (c Conf) Float(key string, def float64) (float64, error) {
	parse := func(s string) (float64, error) {
		x, err := strconv.ParseFloat(s, 64)
		if err == nil && x-x != 0 {
			err = strconv.ErrRange
		}
		return x, err
	}
	return get(c, key, def, format[float64]{"a finite number, such as 0.5", parse})
}

// Bool returns the value of key: true or false.
func (c Conf) Bool(key string, def bool) (bool, error) {
	return get(c, key, def, format[bool]{"true or false", strconv.ParseBool})
}

// Duration returns the value of key, in Go's notation.
func (c Conf) Duration(key string, def time.Duration) (time.Duration, error) {
	return get(c, key, def, format[time.Duration]{"a duration, such as 90s or 5m", time.ParseDuration})
}

// Check returns an error for the first key, in order, that is none of known but seems meant to be: each one if all says
// so, else one that is at most two letters from a known key. It names the nearest.
func (c Conf) Check(known []string, all bool) error {
	for _, key := range slices.Sorted(maps.Keys(c)) {
		if slices.Contains(known, key) {
			continue
		}
		nearest, wrong := spelling.Nearest(key, known)
		switch {
		case nearest != "" && (all || wrong <= 2):
			return fmt.Errorf("configuration %s: there is no such key; did you mean %s?", key, nearest)
		case all && len(known) == 0:
			return fmt.Errorf("configuration %s: there is no such key; there are none", key)
		case all:
			return fmt.Errorf("configuration %s: there is no such key; there are %s", key, strings.Join(known, ", "))
		}
	}
	return nil
}
