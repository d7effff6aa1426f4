package jobs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/mr/generate"
	"github.com/sojourn-sched/sojourn/mr"
)

// benchPatterns are those of docs/decisions/regular-expressions.md.
var benchPatterns = []string{
	"needle",              // a string that hardly occurs
	"the",                 // one that is everywhere
	`[a-z]+nee[dt]le`,     // literals within
	`(tion|ness|ment)\b`,  // any of some literals
	`[a-z]+q[a-z]x\b`,     // none of three bytes
	`^(t|a)\w+ [a-m]+z`,   // none, and many candidates
	`[aeiou]{4}[^aeiou]$`, // none, at the end of the line
	`[a-z]+ing`,           // every line has candidates, many match
}

// BenchmarkPattern runs grep's first round on 16 MiB of text, with one worker, in three ways: by package regexp on
// every line; by package regexp on the lines that have a literal of the pattern; and as grep does it, by literals and
// the automaton.
func BenchmarkPattern(b *testing.B) {
	const size = 16 << 20
	path := filepath.Join(b.TempDir(), "text")
	if err := os.WriteFile(path, []byte(made(generate.Text{Bytes: size, Seed: 1})), 0o600); err != nil {
		b.Fatal(err)
	}
	for _, expr := range benchPatterns {
		for _, way := range []string{"regexp", "literals and regexp", "literals and automaton"} {
			build := func(conf mr.Conf) (*mr.Job, error) {
				p, err := newPattern(conf)
				if err != nil {
					return nil, err
				}
				switch way {
				case "regexp":
					p.auto, p.literals, p.whole = nil, nil, false
				case "literals and regexp":
					p.auto = nil
				}
				return &mr.Job{Name: "search", Conf: conf, Fold: mr.Sum(1), Map: p.count}, nil
			}
			b.Run(expr+" "+way, func(b *testing.B) {
				s := setup{name: "grep", split: size, reduces: 1, memory: enough}
				b.SetBytes(size)
				before := processorTime(syscall.RUSAGE_SELF)
				for b.Loop() {
					s.run(b, build, mr.Conf{"pattern": expr}, []string{path})
				}
				perProcessor(b, size, syscall.RUSAGE_SELF, before)
			})
		}
	}
}
