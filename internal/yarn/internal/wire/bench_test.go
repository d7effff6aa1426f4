package wire

import (
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/recording"
)

// BenchmarkRecorded reads and writes the largest recorded messages of the calls that come most.
func BenchmarkRecorded(b *testing.B) {
	list, err := recording.ReadAll("../../testdata/transcripts")
	if err != nil {
		b.Fatal(err)
	}
	largest := map[string][]byte{}
	for _, c := range list {
		exchanges, err := c.Exchanges()
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range exchanges {
			for name, m := range map[string][]byte{"ask-" + e.Method: e.Request, "answer-" + e.Method: e.Response} {
				if len(m) > len(largest[name]) {
					largest[name] = m
				}
			}
		}
	}
	beat, ask := &HeartbeatRequest{}, &AllocateRequest{}
	beaten, answer := &HeartbeatResponse{}, &AllocateResponse{}
	for _, c := range []struct {
		name  string
		m     message
		empty func()
	}{
		{"ask-nodeHeartbeat", beat, func() { beat.Reset() }},
		{"answer-nodeHeartbeat", beaten, func() { *beaten = HeartbeatResponse{} }},
		{"ask-allocate", ask, func() { *ask = AllocateRequest{} }},
		{"answer-allocate", answer, func() { *answer = AllocateResponse{} }},
	} {
		b.Run(c.name+"/read", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.empty()
				if err := c.m.Decode(largest[c.name]); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/write", func(b *testing.B) {
			b.ReportAllocs()
			c.empty()
			if err := c.m.Decode(largest[c.name]); err != nil {
				b.Fatal(err)
			}
			out := make([]byte, 0, 1<<16)
			for b.Loop() {
				out = c.m.Append(out[:0])
			}
		})
	}
}
