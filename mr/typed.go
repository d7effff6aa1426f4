package mr

import (
	"fmt"
	"iter"
	"strconv"
)

// Scalar is what a [Typed] job may have for keys and values.
type Scalar interface{ string | int64 | float64 }

// Typed is a job over lines in Go values: for comfort. It costs a call and, for strings, an allocation a pair. Output
// is text, strings as they are, numbers in decimal.
type Typed[K, V Scalar] struct {
	Name string
	// Map is called for each line, without its end.
	Map func(line string, emit func(K, V))
	// Reduce is called for each key, keys in the order of their values; nil: the pairs are output.
	Reduce func(key K, values iter.Seq[V], emit func(K, V))
	// Combine says that Reduce may run on parts of a group first, and on what it emitted again.
	Combine bool
}

// Job returns the job over bytes that does what t says.
func (t Typed[K, V]) Job() *Job {
	j := &Job{Name: t.Name, Map: t.mapLines, Reduce: t.reduce(appendText[K], appendText[V])}
	if t.Combine && t.Reduce != nil {
		j.Combine = t.reduce(appendScalar[K], appendScalar[V])
	}
	return j
}

func (t Typed[K, V]) mapLines(_ *Task, in *Batches, out *Emitter) error {
	var k, v []byte
	emit := func(key K, value V) {
		k, v = appendScalar(k[:0], key), appendScalar(v[:0], value)
		out.Emit(k, v)
	}
	for in.Next() {
		for line := range Lines(in.Data()) {
			t.Map(string(line), emit)
		}
	}
	return nil
}

func (t Typed[K, V]) reduce(key func([]byte, K) []byte, value func([]byte, V) []byte) Func[*Groups] {
	return func(_ *Task, in *Groups, out *Emitter) error {
		var kb, vb []byte
		var failed error
		emit := func(k K, v V) {
			kb, vb = key(kb[:0], k), value(vb[:0], v)
			out.Emit(kb, vb)
		}
		values := func(yield func(V) bool) {
			for in.NextValue() {
				v, err := readScalar[V](in.Value())
				if err != nil {
					failed = err
					return
				}
				if !yield(v) {
					return
				}
			}
		}
		for in.Next() && failed == nil {
			k, err := readScalar[K](in.Key())
			switch {
			case err != nil:
				return err
			case t.Reduce != nil:
				t.Reduce(k, values, emit)
			default:
				for v := range values {
					emit(k, v)
				}
			}
		}
		return failed
	}
}

// appendScalar appends the form that pairs have on their way: numbers as 8 bytes in order of their values.
func appendScalar[T Scalar](dst []byte, v T) []byte {
	switch v := any(&v).(type) {
	case *string:
		return append(dst, *v...)
	case *int64:
		return AppendInt64(dst, *v)
	default:
		return AppendFloat64(dst, *v.(*float64))
	}
}

// appendText appends v as text: the form that values have in output files.
func appendText[T Scalar](dst []byte, v T) []byte {
	switch v := any(&v).(type) {
	case *string:
		return append(dst, *v...)
	case *int64:
		return strconv.AppendInt(dst, *v, 10)
	default:
		return strconv.AppendFloat(dst, *v.(*float64), 'g', -1, 64)
	}
}

// readScalar reads what appendScalar wrote.
func readScalar[T Scalar](b []byte) (v T, err error) {
	if s, ok := any(&v).(*string); ok {
		*s = string(b)
		return v, nil
	}
	if len(b) != 8 {
		return v, fmt.Errorf("read number: %d bytes, want 8", len(b))
	}
	switch p := any(&v).(type) {
	case *int64:
		*p = OrderedInt64(b)
	case *float64:
		*p = OrderedFloat64(b)
	}
	return v, nil
}
