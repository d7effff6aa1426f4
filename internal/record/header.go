package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"

	"github.com/sojourn-sched/sojourn/sched"
)

// Format is the version of the format that this package writes. It reads all versions up to it: records of version 1
// have no snapshots.
const Format = 2

const (
	magic      = "sojourn-record "
	mostHeader = 32 << 20 // bytes: the memory of an estimator with a long history fits
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sentinels for what a reader of records may want to tell apart.
var (
	ErrCut     = errors.New("the record ends early: the run goes on, or was cut off") // all that came before is whole
	ErrDamaged = errors.New("the record is damaged")
	ErrFormat  = errors.New("not a record that this version reads")
)

// A Header is what a run was made from. It holds no clock, host or build, so that equal runs leave equal bytes.
type Header struct {
	Format    int             `json:"format"`
	Engine    string          `json:"engine"`
	Seed      uint64          `json:"seed"`
	Policy    string          `json:"policy"`
	Estimator string          `json:"estimator,omitempty"`
	Trace     string          `json:"trace,omitempty"`        // the workload's name, for the reader
	Cluster   json.RawMessage `json:"cluster,omitempty"`      // as the engine was told; opaque here
	Heartbeat sched.Time      `json:"heartbeat_ns,omitempty"` // a node's, where Core has them; zero: not said
	Core      CoreConfig      `json:"core"`
	Learned   json.RawMessage `json:"learned,omitempty"` // the estimator's memory at the start
	Memory    json.RawMessage `json:"memory,omitempty"`  // what the policy remembered of an earlier run at the start
	Payload   string          `json:"payload,omitempty"` // name of the codec of JobSpec.Payload; "": left out
}

// A CoreConfig is what of a core's configuration is data.
type CoreConfig struct {
	Queues     []*sched.QueueSpec `json:"queues,omitempty"`
	Can        Powers             `json:"can"`
	Heartbeats bool               `json:"heartbeats,omitempty"`
	Limit      int                `json:"limit,omitempty"`
	Forecast   *sched.Forecast    `json:"forecast,omitempty"`
	Spread     bool               `json:"spread,omitempty"`
}

// CoreConfigOf returns what of a core's configuration a header holds.
func CoreConfigOf(c sched.Config) CoreConfig {
	return CoreConfig{
		Queues:     c.Queues,
		Can:        Powers(c.Can),
		Heartbeats: c.Heartbeats,
		Limit:      c.Limit,
		Forecast:   c.Forecast,
		Spread:     c.Spread,
	}
}

// Config returns the configuration of a core under the same conditions, without policy, estimator and recorder.
func (c CoreConfig) Config() sched.Config {
	return sched.Config{
		Queues:     c.Queues,
		Can:        sched.Powers(c.Can),
		Heartbeats: c.Heartbeats,
		Limit:      c.Limit,
		Forecast:   c.Forecast,
		Spread:     c.Spread,
	}
}

// Powers are sched.Powers, written by name.
type Powers sched.Powers

// MarshalJSON writes the names of the powers. It fails for a power without a name, because a replay would lack it.
func (p Powers) MarshalJSON() ([]byte, error) {
	if unknown := sched.Powers(p) &^ sched.AllPowers; unknown != 0 {
		return nil, fmt.Errorf("powers %#b have no names", unknown)
	}
	return json.Marshal(append([]string{}, sched.Powers(p).Names()...))
}

// UnmarshalJSON reads names of powers.
func (p *Powers) UnmarshalJSON(b []byte) error {
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return err
	}
	named, err := sched.PowersNamed(names)
	*p = Powers(named)
	return err
}

// line returns the first line of a record.
func (h Header) line() ([]byte, error) {
	h.Format = Format
	doc, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("write header: %w", err)
	}
	b := fmt.Appendf(nil, "%s%08x ", magic, crc32.Checksum(doc, castagnoli))
	return append(append(b, doc...), '\n'), nil
}

// parseHeader reads the first line of a record, without its end.
func parseHeader(line []byte) (*Header, error) {
	rest, ok := bytes.CutPrefix(line, []byte(magic))
	if !ok || len(rest) < 9 || rest[8] != ' ' {
		return nil, fmt.Errorf("%w: the first line does not begin as a record's does", ErrFormat)
	}
	sum, err := strconv.ParseUint(string(rest[:8]), 16, 32)
	doc := rest[9:]
	if err != nil || uint32(sum) != crc32.Checksum(doc, castagnoli) {
		return nil, fmt.Errorf("%w: the checksum of the header does not match", ErrDamaged)
	}
	var version struct{ Format int }
	if err := json.Unmarshal(doc, &version); err != nil {
		return nil, fmt.Errorf("%w: header: %v", ErrFormat, err)
	}
	if version.Format < 1 || version.Format > Format {
		return nil, fmt.Errorf("%w: it has format %d, and this is a reader of formats up to %d", ErrFormat,
			version.Format, Format)
	}
	h := &Header{}
	if err := json.Unmarshal(doc, h); err != nil {
		return nil, fmt.Errorf("%w: header: %v", ErrFormat, err)
	}
	return h, nil
}
