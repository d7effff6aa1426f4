package workload

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/sched"
)

// The columns of a SWIM line. The gap repeats what the submissions say, and is not looked at; further columns, such as
// paths of input, are passed over.
const (
	swimName = iota
	swimSubmit
	swimGap
	swimInput
	swimShuffle
	swimOutput
	swimColumns
)

var swimFields = [swimColumns]string{"job", "submit", "gap", "input bytes", "shuffle bytes", "output bytes"}

// readSWIM reads jobs, one a line (Chen, Ganapathi, Griffith and Katz: The Case for Evaluating MapReduce Performance
// Using Workload Suites, MASCOTS 2011; https://github.com/SWIMProjectUCB/SWIM/wiki).
func readSWIM(in *input, o *Options, e emit) error {
	jobs := int64(0)
	for number := 1; ; number++ {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return in.at(number, 0, "is longer than %d bytes: not a line of a SWIM file", lineMax)
		case err == io.EOF && len(line) == 0:
			if jobs == 0 {
				return in.at(0, 0, "holds no job")
			}
			return nil
		case err != nil && err != io.EOF:
			return in.broken(err)
		}
		line = bytes.TrimRight(line, "\r\n")
		if text := bytes.TrimLeft(line, " \t"); len(text) == 0 || text[0] == '#' {
			continue
		}
		jobs++
		spec, err := swimJob(in, o, jobs, swimLine{number, line})
		if err != nil {
			return err
		}
		if !e(spec, number) {
			return nil
		}
	}
}

// A swimLine is a line and its number.
type swimLine struct {
	number int
	text   []byte
}

// swimJob reads one line.
func swimJob(in *input, o *Options, ordinal int64, line swimLine) (*sched.JobSpec, error) {
	var spec sched.JobSpec
	var bytesOf [swimColumns]int64
	start := 0
	for c := range swimColumns {
		end := len(line.text)
		if i := bytes.IndexByte(line.text[start:], '\t'); i >= 0 {
			end = start + i
		} else if c < swimColumns-1 {
			return nil, in.at(line.number, end+1, "has %s, must have %d, separated by tabs: %s",
				spelling.Count(c+1, "field"), swimColumns, strings.Join(swimFields[:], ", "))
		}
		field := line.text[start:end]
		var err error
		switch c {
		case swimName:
			switch spec.Name = string(field); {
			case spec.Name == "":
				err = errors.New("must not be empty")
			case !utf8.Valid(field):
				err = errors.New("must be UTF-8")
			}
		case swimSubmit:
			spec.Submit, err = swimSeconds(field)
		case swimInput, swimShuffle, swimOutput:
			bytesOf[c], err = swimBytes(field)
		}
		if err != nil {
			return nil, in.at(line.number, start+1, "%s: %w", swimFields[c], err)
		}
		start = end + 1
	}
	job, err := o.fromBytes(spec, ordinal, traffic{bytesOf[swimInput], bytesOf[swimShuffle], bytesOf[swimOutput]})
	if err != nil {
		return nil, in.at(line.number, 0, "%w", err)
	}
	return job, nil
}

// digits returns the value of plain digits, few enough not to overflow.
func digits(text []byte) (n int64, ok bool) {
	if len(text) == 0 || len(text) > 18 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}

// swimBytes reads a number of bytes: whole in traces, perhaps not in what scaling tools write.
func swimBytes(text []byte) (int64, error) {
	if n, ok := digits(text); ok && n <= MaxBytes {
		return n, nil
	}
	x, err := parseNumber(string(text))
	switch {
	case err != nil:
		return 0, err
	case x < 0:
		return 0, fmt.Errorf("%s must not be negative", text)
	case x > MaxBytes:
		return 0, fmt.Errorf("%s must be at most 2^60", text)
	}
	return int64(math.Round(x)), nil
}

// swimSeconds reads seconds, exactly to the nanosecond.
func swimSeconds(text []byte) (sched.Time, error) {
	if n, ok := digits(text); ok && n <= MaxTime/1e9 {
		return sched.Time(n) * time.Second, nil
	}
	x, err := parseNumber(string(text))
	switch {
	case err != nil:
		return 0, err
	case x < 0:
		return 0, fmt.Errorf("%s s must not be negative", text)
	case x > MaxTime/1e9:
		return 0, fmt.Errorf("%s s must be at most ten years", text)
	}
	if d, err := time.ParseDuration(string(text) + "s"); err == nil {
		return d, nil
	}
	return sched.Time(math.Round(x * 1e9)), nil
}

// appendSWIM appends a job's line to b. The gap is that to the job before.
func appendSWIM(b []byte, job *sched.JobSpec, gap sched.Time) ([]byte, error) {
	t, ok := job.Payload.(*Truth)
	if !ok {
		return nil, errors.New("runs a program: SWIM holds jobs known by their bytes")
	}
	if strings.ContainsAny(job.Name, "\t\r\n") || job.Name == "" || strings.TrimLeft(job.Name, " ") != job.Name ||
		job.Name[0] == '#' {
		return nil, fmt.Errorf("name %q: must not be empty, begin with space or #, or contain tabs "+
			"or line ends", job.Name)
	}
	in, shuffle, out := t.Bytes()
	if in+shuffle+out == 0 && !t.sizeless() {
		return nil, errors.New("has task times but no bytes, and SWIM has only bytes: convert to yaml or sls")
	}
	b = append(append(b, job.Name...), '\t')
	b = append(appendSeconds(b, job.Submit), '\t')
	b = appendSeconds(b, gap)
	for _, n := range [...]int64{in, shuffle, out} {
		b = strconv.AppendInt(append(b, '\t'), n, 10)
	}
	return append(b, '\n'), nil
}

// sizeless reports whether a job without bytes came from a trace of bytes: SWIM has jobs of size zero.
func (t *Truth) sizeless() bool {
	return len(t.Stages) == 1 && t.Stages[0].Tasks == 1 && t.Stages[0].Rate > 0
}

// appendSeconds appends d in seconds, with as many decimals as it has.
func appendSeconds(b []byte, d sched.Time) []byte {
	b = strconv.AppendInt(b, int64(d/time.Second), 10)
	if ns := d % time.Second; ns != 0 {
		b = append(b, strings.TrimRight(fmt.Sprintf(".%09d", ns), "0")...)
	}
	return b
}
