package yarn

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

func TestCut(t *testing.T) {
	for _, c := range []struct {
		s    string
		most int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"aöb", 2, "a"}, {"aöb", 3, "aö"}, {"\xff\xff", 1, "\xff"},
		{"\x80\x80", 1, ""}} {
		if got := cut(c.s, c.most); got != c.want {
			t.Errorf("%q cut to %d: %q, want %q", c.s, c.most, got, c.want)
		}
	}
}

// Who is refused, and what peers write at length, does not fill the log.
func TestStrangersFillNoLog(t *testing.T) {
	var out bytes.Buffer
	c := start(t, func(config *Config) { config.Log = slog.New(slog.NewTextHandler(&out, nil)) })
	logged := func() (n int) {
		c.look(func(*manager) { n = out.Len() })
		return n
	}
	id := c.submit(func(s *wire.Submission) {
		s.Unmanaged, s.Name, s.Type = true, strings.Repeat("ö", mostTitle), strings.Repeat("T", 100)
		for i := range mostTags {
			s.Tags = append(s.Tags, fmt.Sprint("sojourn.x", i))
		}
	})
	if n := logged(); n > 8<<10 {
		t.Errorf("one submission logs %d bytes", n)
	}
	r := c.report(id)
	if len(r.Name) != mostTitle || len(r.Type) != mostType {
		t.Errorf("a name of %d bytes, a type of %d", len(r.Name), len(r.Type))
	}
	before, mallory := logged(), c.as("mallory")
	for range 500 {
		if err := mallory.Call(t.Context(), "forceKillApplication", &wire.KillRequest{ID: id}, nil); err == nil {
			t.Fatal("anybody kills")
		}
	}
	if n := logged() - before; n > 30*600 { // two lines take less than 600 bytes, 500 kills less than 30 s
		t.Errorf("500 refused kills log %d bytes", n)
	}
	// A flood of one kind hides no other.
	if err := mallory.Call(t.Context(), "moveApplicationAcrossQueues", &wire.Move{ID: id, Queue: "default"},
		nil); err == nil {
		t.Fatal("anybody moves")
	}
	if err := c.operator("mallory").Call(t.Context(), "refreshQueues", &wire.Empty{}, nil); err == nil {
		t.Fatal("anybody administers")
	}
	c.look(func(*manager) {
		if !strings.Contains(out.String(), "administration refused") {
			t.Error("500 refused kills hide a refused administration")
		}
	})
	before = logged()
	invoke[wire.KillResponse](
		c,
		c.client,
		"forceKillApplication",
		&wire.KillRequest{ID: id, Diagnostics: strings.Repeat("ö", 1<<20)},
	)
	if n := logged() - before; n > 8<<10 {
		t.Errorf("a kill logs %d bytes", n)
	}
	if d := c.report(id).Diagnostics; len(d) > mostDiagnostics+200 || len(d) < mostDiagnostics || !utf8.ValidString(d) {
		t.Errorf("diagnostics of %d bytes", len(d))
	}
	for _, tags := range [][]string{make([]string, mostTags+1), {strings.Repeat("t", mostTag+1)}} {
		named := invoke[wire.NewApplication](c, c.client, "getNewApplication", &wire.Empty{})
		q := &wire.SubmitRequest{Submission: wire.Submission{ID: named.ID, Unmanaged: true, Tags: tags}}
		if err := c.client.Call(t.Context(), "submitApplication", q, nil); err == nil ||
			!strings.Contains(err.Error(), "tags") {
			t.Errorf("%d tags: %v", len(tags), err)
		}
	}
}
