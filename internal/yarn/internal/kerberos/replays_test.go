package kerberos

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// flood lets r accept n requests of a principal. It returns the first error.
func flood(r *replays, client Name, n int, now time.Time) error {
	request := []byte(client.String() + "12345678")
	for i := range n {
		binary.BigEndian.PutUint64(request[len(request)-8:], uint64(i))
		if err := r.accept(client, request, now, now); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
	}
	return nil
}

// A principal that floods is refused when it has its part, and others are let in. Later it is let in again.
func TestReplaysOfOne(t *testing.T) {
	var r replays
	now := time.Unix(1_000_000, 0)
	mallory, ana := Name{First: "mallory"}, Name{First: "ana"}
	err := flood(&r, mallory, mostOfOne+1, now)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("request %d: mallory", mostOfOne)) {
		t.Fatalf("mallory floods: %v", err)
	}
	if err := r.accept(ana, []byte("a"), now, now); err != nil {
		t.Errorf("ana: %v", err)
	}
	for _, after := range []time.Duration{remembered - 1, remembered, 2*remembered - 1} {
		now := now.Add(after)
		if err := r.accept(mallory, []byte("m"), now, now); err == nil {
			t.Errorf("mallory is let in after %v", after)
		}
		if err := r.accept(ana, []byte(after.String()), now, now); err != nil {
			t.Errorf("ana after %v: %v", after, err)
		}
	}
	now = now.Add(2 * remembered)
	if err := r.accept(mallory, []byte("m"), now, now); err != nil {
		t.Errorf("mallory after %v: %v", 2*remembered, err)
	}
}

// All principals together have no more than mostReplays.
func TestReplaysOfAll(t *testing.T) {
	var r replays
	now := time.Unix(1_000_000, 0)
	for i := range mostReplays / mostOfOne {
		if err := flood(&r, Name{First: fmt.Sprint("u", i)}, mostOfOne, now); err != nil {
			t.Fatal(err)
		}
	}
	if err := flood(&r, Name{First: "ana"}, 1, now); err == nil || !strings.Contains(err.Error(), "try again later") {
		t.Errorf("one more: %v", err)
	}
}

// A request is refused for as long as its time could be accepted, however its clock and this one differ; and after it
// is dropped, even if the clock here was set back.
func TestReplaysAreRefused(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	ana := Name{First: "ana"}
	for _, ahead := range []time.Duration{-skew, 0, skew} {
		for at := time.Duration(0); at < 2*remembered; at += remembered / 4 {
			var r replays
			ticks := 0
			tick := func(now time.Time) {
				ticks++
				if err := r.accept(ana, fmt.Append(nil, "tick ", ticks), now, now); err != nil {
					t.Fatal(err)
				}
			}
			tick(start)
			now := start.Add(at)
			sent := now.Add(ahead)
			if err := r.accept(ana, []byte("a"), sent, now); err != nil {
				t.Fatalf("ahead by %v: %v", ahead, err)
			}
			for later := time.Minute; later <= skew+ahead; later += time.Minute {
				tick(now.Add(later))
				if err := r.accept(ana, []byte("a"), sent, now.Add(later)); !errors.Is(err, errReplay) {
					t.Errorf("ahead by %v, after %v: %v", ahead, later, err)
				}
			}
			for i := range 5 {
				tick(now.Add(2*skew + time.Duration(i)*remembered))
			}
			err := r.accept(ana, []byte("a"), sent, now)
			if err == nil || !strings.Contains(err.Error(), "a clock was set back") {
				t.Errorf("ahead by %v, after the clock was set back: %v", ahead, err)
			}
		}
	}
}

// Where clocks were an hour ahead and are set right, callers are let in, and what came with the wrong time is refused
// for as long as it could be accepted.
func TestReplaysAfterClocksWereAhead(t *testing.T) {
	var r replays
	start := time.Unix(1_000_000, 0)
	ana := Name{First: "ana"}
	ahead := start.Add(time.Hour)
	if err := r.accept(ana, []byte("ahead"), ahead, ahead); err != nil {
		t.Fatal(err)
	}
	for minute := range 90 {
		now := start.Add(time.Duration(minute) * time.Minute)
		if err := r.accept(ana, fmt.Append(nil, minute), now, now); err != nil {
			t.Errorf("minute %d: %v", minute, err)
		}
		if err := r.accept(ana, []byte("ahead"), ahead, now); minute <= 65 && err == nil {
			t.Errorf("minute %d: a replay is let in", minute)
		}
	}
}
