package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// runMR holds the built-in jobs against what people use in their place.
func runMR(ctx context.Context, b *bench) error {
	p := b.peers(ctx)
	for _, f := range []func(context.Context, *peers) error{wordCounts, greps, teraSorts} {
		if err := f(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// wordCounts counts words of three texts. All outputs have the same lines; ours are in two sorted parts, the others' in
// one.
func wordCounts(ctx context.Context, p *peers) error {
	zipf, err := p.generated(ctx, "text", p.size)
	if err != nil {
		return err
	}
	if err := p.wordCount(ctx, "word count, Zipf text", zipf, textGoals{loop: 0.8, duckdb: 2.5,
		rate: 500}); err != nil {
		return err
	}
	source, err := p.sourceText(ctx)
	if err != nil {
		return err
	}
	if err := p.wordCount(ctx, "word count, source code", source, textGoals{duckdb: 3, rate: 300}); err != nil {
		return err
	}
	wide, err := p.wideText(ctx)
	if err != nil {
		return err
	}
	return p.wordCount(ctx, "word count, many words", wide, textGoals{duckdb: 3, rate: 300})
}

// textGoals are of one text: the ratios to the loop and to DuckDB, and MB/s.
type textGoals struct{ loop, duckdb, rate float64 }

func (p *peers) wordCount(ctx context.Context, name string, in inputFile, goals textGoals) error {
	out := func(who string) string { return p.path("output", "words-"+who) }
	ours := p.ours(out("sojourn"), "wordcount", "--input", in.path)
	ours.goal = goals.rate
	loop, err := self("wordcount", in.path, out("loop"))
	if err != nil {
		return err
	}
	query := "words"
	if strings.Contains(name, "code") {
		query = "wordcount" // the only one of the texts with tabs in it
	}
	duck := p.duckdb(query, in, out("duckdb"))
	duck.goal = goals.duckdb
	contestants := []contestant{ours, {who: "Go loop", run: written(loop, out("loop")), goal: goals.loop}, duck}
	if goals.loop > 0 { // the others take minutes, and one text is enough
		contestants = append(contestants, p.hadoop("wordcount", in, out("hadoop")),
			p.spark("wordcount", in, out("spark")))
	}
	return p.hold(
		ctx,
		contest{
			name:        name,
			unit:        "MB/s",
			amount:      in.size / 1e6,
			contestants: contestants,
			check: func() (string, error) {
				d, err := agree(out("sojourn"), out("loop"), out("duckdb"), out("hadoop"), out("spark"))
				return fmt.Sprintf(" (%d MB, %d distinct)", int(in.size/1e6), d.lines), err
			},
		},
	)
}

// greps count the distinct matches of a pattern. Two of GNU grep's ways stand beside ours: the pipeline that does the
// same, and grep -c, which does less: it counts lines, and stops at the first match in each.
func greps(ctx context.Context, p *peers) error {
	in, err := p.generated(ctx, "text", p.size)
	if err != nil {
		return err
	}
	for _, g := range []struct {
		name, pattern string
		ratio, rate   float64
	}{
		{"fixed string, rare", "aeri", 1, 1500},
		{"fixed string, frequent", "ation", 1, 1500},
		{"regular expression with a literal", "[a-z]+nee[dt]", 1, 0},
		{"regular expression with literals", `(tion|ness|ment)\b`, 1, 0},
		{"regular expression without", `[a-z]+q[a-z]x\b`, 0.5, 0},
		{"regular expression without, at the end", "[aeiou]{4}[^aeiou]$", 0.5, 0},
	} {
		out := func(who string) string { return p.path("output", "grep-"+who) }
		ours := p.ours(out("sojourn"), "grep", "--input", in.path, "-D", "pattern="+g.pattern)
		ours.goal = g.rate
		kind := "-E"
		if regexp.QuoteMeta(g.pattern) == g.pattern {
			kind = "-F"
		}
		counting := p.tool("grep -c", `grep -c "$4" -e "$3" "$2" >"$1" || [ $? = 1 ]`, out("count"), in.path,
			g.pattern, kind)
		counting.goal = g.ratio
		same := p.tool("grep -o | sort | uniq -c", `grep -o "$4" -e "$3" "$2" | sort -S 1G | uniq -c | sort -k1,1nr `+
			`-k2 | sed 's/^ *\([0-9]*\) /\1\t/' >"$1"`, out("gnu"), in.path, g.pattern, kind)
		contestants := []contestant{ours, counting, same}
		others := []string{out("gnu")}
		if g.pattern == "ation" || g.pattern == "[a-z]+nee[dt]" {
			contestants = append(contestants, p.duckdb("grep", in, out("duckdb"), g.pattern))
			others = append(others, out("duckdb"))
		}
		if g.pattern == "ation" {
			contestants = append(contestants, p.hadoop("grep", in, out("hadoop"), g.pattern),
				p.spark("grep", in, out("spark"), g.pattern))
			others = append(others, out("hadoop"), out("spark"))
		}
		err := p.hold(
			ctx,
			contest{
				name:        "grep '" + g.pattern + "', " + g.name,
				unit:        "MB/s",
				amount:      in.size / 1e6,
				contestants: contestants,
				check: func() (string, error) {
					d, err := agree(out("sojourn"), others...)
					return fmt.Sprintf(" (%d distinct matches)", d.lines), err
				},
			},
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// teraSorts sort records of 100 bytes. GNU sort and DuckDB sort lines, so they are given records that are lines, with
// keys of ten characters; ours sorts those too, and the outputs must be equal. The true records, which have binary
// keys, are ours and Hadoop's only.
func teraSorts(ctx context.Context, p *peers) error {
	records, err := p.generated(ctx, "teragen", p.size)
	if err != nil {
		return err
	}
	lines, err := p.keyLines(ctx)
	if err != nil {
		return err
	}
	out := func(who string) string { return p.path("output", "sort-"+who) }
	millions := records.size / teraRecord / 1e6
	ours := p.ours(out("sojourn"), "terasort", "--input", records.path, "--memory", "4GB")
	ours.goal = 600
	err = p.hold(
		ctx,
		contest{name: fmt.Sprintf("terasort, %s M records", number(millions)), unit: "MB/s", amount: records.size / 1e6,
			contestants: []contestant{ours, p.hadoop("terasort", records, out("hadoop"))}},
	)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name   string
		memory int64
		goal   float64
		others bool
	}{
		{"in memory", 4 << 30, 3, true},
		{"in a fifth of its size", max(p.size/5, leastMemory), 1, false},
	} {
		ours := p.ours(out("sojourn"), "terasort", "--input", lines.path, "--memory", fmt.Sprint(c.memory))
		gnu := p.tool("sort", `sort -S "$3b" -T "$4" --parallel="$5" -o "$1" "$2"`, out("gnu"), lines.path,
			fmt.Sprint(c.memory), p.path("tmp"), fmt.Sprint(cores()))
		gnu.who, gnu.goal = "GNU sort", c.goal
		contestants := []contestant{ours, gnu}
		others := []string{out("gnu")}
		if c.others {
			contestants = append(contestants, p.duckdb("sort", lines, out("duckdb"), "4GB"),
				p.spark("sort", lines, out("spark")))
			others = append(others, out("duckdb"), out("spark"))
		}
		err := p.hold(
			ctx,
			contest{
				name:        fmt.Sprintf("sort of %s M lines of 100 bytes, %s", number(millions), c.name),
				unit:        "MB/s",
				amount:      lines.size / 1e6,
				contestants: contestants,
				check: func() (string, error) {
					if err := equalBytes(out("sojourn"), out("gnu")); err != nil {
						return "", err
					}
					_, err := agree(out("sojourn"), others...)
					return "", err
				},
			},
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// leastMemory is what sojourn needs to run at all, and some more.
const leastMemory = 64 << 20

// runStreaming runs cat as mapper and reducer. A pipeline of coreutils does the same.
func runStreaming(ctx context.Context, b *bench) error {
	in, err := b.generated(ctx, "text", b.size)
	if err != nil {
		return err
	}
	out := func(who string) string { return b.path("output", "streaming-"+who) }
	ours := b.ours(out("sojourn"), "--mapper", "cat", "--reducer", "cat", "--input", in.path, "--memory", "4GB")
	ours.goal = 200
	gnu := b.tool("sort", `cat "$2" | sort -S 4G -T "$3" --parallel="$4" | cat >"$1"`, out("gnu"), in.path,
		b.path("tmp"), fmt.Sprint(cores()))
	gnu.who = "cat | sort | cat"
	return b.hold(
		ctx,
		contest{
			name:        "cat and cat",
			unit:        "MB/s",
			amount:      in.size / 1e6,
			contestants: []contestant{ours, gnu},
			check: func() (string, error) {
				// Lines without a tab are keys with an empty value, and Hadoop's contract has them written with a tab.
				tabbed := b.path("tmp", "tabbed")
				if _, _, err := measure(ctx, shell(`sed 's/$/\t/' "$1" >"$2"`, out("gnu"), tabbed)); err != nil {
					return "", err
				}
				_, err := agree(out("sojourn"), tabbed)
				return "", err
			},
		},
	)
}
