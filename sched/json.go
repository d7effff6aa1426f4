package sched

import (
	"encoding/json"
	"fmt"
	"strings"
)

// MarshalJSON writes the kinds that are not zero, by name, in the order of the kinds.
func (r Resources) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for k, a := range r {
		if a == 0 {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%d", ResourceKind(k), a)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Resources) UnmarshalJSON(b []byte) error {
	var amounts map[string]int64
	if err := json.Unmarshal(b, &amounts); err != nil {
		return err
	}
	*r = Resources{}
	for name, a := range amounts {
		k, ok := ResourceNamed(name)
		if !ok {
			return fmt.Errorf("resource %q: must be one of %s", name, strings.Join(resourceNames[:], ", "))
		}
		r[k] = a
	}
	return nil
}
