package main

import (
	"context"
	"fmt"
)

// runPairs compares jobs by what their maps emit: an inverted index and a self-join do about as much for a byte of that
// as word count does, which has the fewest distinct keys of the three.
func runPairs(ctx context.Context, b *bench) error {
	text, err := b.generated(ctx, "text", b.size)
	if err != nil {
		return err
	}
	documents, err := b.generated(ctx, "documents", b.size, "--files", "200")
	if err != nil {
		return err
	}
	associations, err := b.generated(ctx, "associations", b.size)
	if err != nil {
		return err
	}
	words := b.emitting("wordcount", text)
	for _, c := range []contestant{b.emitting("inverted-index", documents), b.emitting("self-join", associations)} {
		words.who, words.goal = "sojourn wordcount", 0.5
		if err := b.hold(ctx, contest{name: c.who, unit: "MB/s", contestants: []contestant{c, words}}); err != nil {
			return err
		}
	}
	return nil
}

// emitting runs a job, and its value is what its maps emit in a second.
func (b *bench) emitting(job string, in inputFile) contestant {
	return contestant{who: "sojourn " + job, run: func(ctx context.Context) (sample, error) {
		out, err := b.fresh("pairs")
		if err != nil {
			return sample{}, err
		}
		doc := runDocument{}
		s, err := measureJSON(ctx, b.command("run", job, "--json", "--input", in.path, "--output", out), &doc)
		if err != nil {
			return s, err
		}
		if len(doc.Results) != 1 || len(doc.Results[0].PerJob) != 1 {
			return s, fmt.Errorf("'sojourn run --json' has no results")
		}
		s.value = float64(doc.Results[0].PerJob[0].Counters["MAP_OUTPUT_BYTES"]) / 1e6 / s.wall
		return s, nil
	}}
}

// command is sojourn with arguments, without a bar and notes.
func (b *bench) command(verb string, args ...string) command {
	return command{path: b.sojourn, args: append([]string{verb, "--quiet", "--progress", "never"}, args...)}
}

// A runDocument is the part of what 'sojourn run --json' and 'sojourn sim --json' print that is needed here.
type runDocument struct {
	Results []struct {
		Policy  string `json:"policy"`
		Sojourn struct {
			Mean float64 `json:"mean"`
		} `json:"sojourn_s"`
		Events    float64 `json:"events"`
		EventRate float64 `json:"events_per_s"`
		Wall      float64 `json:"wall_s"`
		PerJob    []struct {
			Name     string           `json:"name"`
			Counters map[string]int64 `json:"counters"`
		} `json:"per_job"`
	} `json:"results"`
}
