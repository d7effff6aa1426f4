package sched

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Key returns the name of a kind as a key of JSON documents: map_slots for map-slots.
func (k ResourceKind) Key() string { return strings.ReplaceAll(k.String(), "-", "_") }

// MarshalJSON writes the kinds that are not zero, by their keys, in the order of the kinds.
func (r Resources) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for k, a := range r {
		if a == 0 {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%d", ResourceKind(k).Key(), a)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON writes, and kinds by the names that files and the command line use.
func (r *Resources) UnmarshalJSON(b []byte) error {
	var amounts map[string]int64
	if err := json.Unmarshal(b, &amounts); err != nil {
		return err
	}
	*r = Resources{}
	for name, a := range amounts {
		k, ok := ResourceNamed(strings.ReplaceAll(name, "_", "-"))
		if !ok {
			return fmt.Errorf("resource %q: must be one of %s", name, strings.Join(resourceNames[:], ", "))
		}
		r[k] = a
	}
	return nil
}
