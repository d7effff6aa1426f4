// Package recording reads recorded conversations of Hadoop's peers, so that tests can compare what this project writes
// with what Hadoop wrote. The files and their format are described in yarn/testdata/transcripts/README.md.
package recording

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

// A Connection is what went over one TCP connection, in order of arrival.
type Connection struct {
	Port   string // of the server
	Frames []Frame
}

// A Frame is one line of a recording: a frame with its length, or a preamble.
type Frame struct {
	Where  string // file and line
	Client bool   // sent by the side that opened the connection
	Bytes  []byte
}

// An Exchange is a call and its answer.
type Exchange struct {
	Where             string // of the request
	Method            string
	Call              int32
	Request, Response []byte // the messages alone; Response is nil if the answer was an exception or never came
}

// Read reads one file.
func Read(path string) ([]Connection, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []Connection
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		where := fmt.Sprintf("%s:%d", filepath.Base(path), n)
		if rest, ok := strings.CutPrefix(line, "# connection "); ok {
			if _, port, ok := strings.Cut(rest, "server port "); ok {
				list = append(list, Connection{Port: port})
			}
			continue
		}
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		part := strings.Fields(line)
		if len(part) != 3 || len(list) == 0 {
			return nil, fmt.Errorf(
				"%s: a line of data has direction, seconds and hex, after a connection's begin",
				where,
			)
		}
		b, err := hex.DecodeString(part[2])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		c := &list[len(list)-1]
		c.Frames = append(c.Frames, Frame{where, part[0] == ">", b})
	}
	return list, lines.Err()
}

// ReadAll reads all recordings in a folder.
func ReadAll(dir string) ([]Connection, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []Connection
	for _, path := range paths {
		list, err := Read(path)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no recordings in %s", dir)
	}
	return all, nil
}

// Exchanges pairs the calls of a connection with their answers.
func (c *Connection) Exchanges() ([]Exchange, error) {
	var list []Exchange
	at := map[int32]int{}
	for _, f := range c.Frames {
		if len(f.Bytes) == 7 {
			continue // the preamble
		}
		parts, err := split(f.Bytes[4:])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Where, err)
		}
		call, failed := number(parts[0], f.Client)
		switch {
		case call < 0:
		case f.Client:
			at[call] = len(list)
			list = append(list, Exchange{Where: f.Where, Call: call, Method: method(parts[1]), Request: parts[2]})
		case failed:
		default:
			if i, ok := at[call]; ok {
				list[i].Response = parts[1]
			}
		}
	}
	return list, nil
}

// split cuts a frame into its messages.
func split(b []byte) (parts [][]byte, err error) {
	for len(b) > 0 {
		var m []byte
		if m, b, err = proto.Delimited(b); err != nil {
			return nil, err
		}
		parts = append(parts, m)
	}
	return parts, nil
}

// number returns the call that a header is of, and whether it reports an exception.
func number(header []byte, client bool) (call int32, failed bool) {
	r := proto.Read(header)
	for r.Next() {
		switch {
		case client && r.Num() == 3:
			call = r.Sint32()
		case !client && r.Num() == 1:
			call = r.Int32()
		case !client && r.Num() == 2:
			failed = r.Int32() != 0
		}
	}
	return call, failed
}

// method returns the method that the header of a call names.
func method(header []byte) string {
	r := proto.Read(header)
	for r.Next() {
		if r.Num() == 1 {
			return r.String()
		}
	}
	return ""
}
