// Package snapshots measures reads of a key-value store from a snapshot, and what snapshots cost.
package snapshots

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/mr/ycsb"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/mr/store"
)

// The store of the measurements. Memory for blocks is small, so that reads look into files.
const (
	storeRecords = 30_000
	valueBytes   = 500
	runOps       = 10_000
	growthRuns   = 10
)

// Paper makes the page of reads from snapshots.
func Paper() *paper.Paper {
	p := &paper.Paper{
		Name: "snapshots", Title: "Snapshotted reads of a key-value store",
		Source: "J. Polo, Multi-constraint scheduling of MapReduce workloads, PhD thesis, UPC 2014, 5.2; " +
			"[docs/decisions/store-snapshots.md](../decisions/store-snapshots.md) has what was built instead of a " +
			"change to Cassandra.",
		About: "A job reads a key-value store as it was when the job began, while transactions go on. The thesis " +
			"built snapshots into Cassandra and claims that regular reads do not suffer, that reads from a " +
			"snapshot are " +
			"somewhat slower on a store that is only read and faster on one that is updated much, and that each " +
			"snapshot adds files.\n\n" +
			"Here the store is pebble, in one process on one machine. That the output of a job equals the " +
			"data at the " +
			"snapshot byte for byte, whatever is written meanwhile, is a test (`mr/store`).",
	}
	p.Left = []paper.Left{
		{Where: "5.2", Says: "read latency at 1,000 to 9,000 operations a second, and the most that the store serves",
			Why: "an embedded store answers in the caller's process, so nothing queues as the load grows"},
		{Where: "5.2",
			Says: "regular reads get slower where files are made 2, 4 or 8 times as often; reads from a snapshot do " +
				"not",
			Why: "in pebble both look into the same files: a snapshot is a number, and no set of files"},
		{Where: "5.2", Says: "reads get slower by 26 % in ten runs, with a snapshot before each that is kept",
			Why: "it follows from the number of files, which grows there and is merged by pebble: see the growth of " +
				"the store"},
	}
	for _, w := range ycsb.Workloads {
		p.Parts = append(p.Parts, latencyPart(w))
	}
	p.Parts = append(p.Parts, growthPart())
	return p
}

// publishedLatency are the read latencies at full speed in ms (tables of 5.2): without a snapshot, with one present (0:
// not printed), and from the snapshot.
var publishedLatency = map[string][3]float64{
	"A": {18.59, 18.97, 18.17}, "B": {18.66, 0, 18.75}, "C": {19.08, 0, 20.04}, "D": {18.47, 18.60, 19.39},
	"E": {12.07, 0, 12.73},
}

// openStore makes a store in a new folder below scratch. End removes it.
func openStore(lab paper.Lab) (db *pebble.DB, end func() error, err error) {
	if lab.Scratch == "" {
		return nil, nil, paper.Missing{What: "a folder for the data of real jobs is needed (`--scratch`)"}
	}
	dir, err := os.MkdirTemp(lab.Scratch, "pebble")
	if err != nil {
		return nil, nil, err
	}
	cache := pebble.NewCache(4 << 20)
	defer cache.Unref()
	db, err = pebble.Open(filepath.Join(dir, "db"), &pebble.Options{Cache: cache, MemTableSize: 4 << 20,
		Logger: quiet{}})
	if err != nil {
		return nil, nil, err
	}
	end = func() error {
		db.Close()
		return os.RemoveAll(dir)
	}
	if err := ycsb.NewLoad(ycsb.Workloads[0], storeRecords, valueBytes, 1).Fill(db); err != nil {
		return nil, nil, err
	}
	return db, end, db.Compact(context.Background(), ycsb.Key(0)[:4], []byte("v"), true)
}

// medianRead does operations of a workload, and returns the median time of its reads in µs.
func medianRead(db *pebble.DB, from pebble.Reader, w ycsb.Workload, seed uint64) (float64, error) {
	load := ycsb.NewLoad(w, storeRecords, valueBytes, seed)
	var times []float64
	for range runOps {
		_, err := load.Do(db, func(key []byte) error {
			start := time.Now()
			err := ycsb.Get(from, key)
			times = append(times, float64(time.Since(start).Nanoseconds())/1e3)
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

func latencyPart(w ycsb.Workload) paper.Part {
	published := publishedLatency[w.Name]
	ratio := published[2] / published[0]
	p := paper.Part{
		Title: "Workload " + w.Name, Trials: 3, Alone: true,
		How: fmt.Sprintf("%.0f %% reads. %d records of %d bytes, keys by a Zipf law; %d operations of one "+
			"client for "+
			"each figure: without a snapshot, with one present, and with the reads from the snapshot. Each has a "+
			"store of its own. The thesis has means, at the full speed of a cluster of 20 nodes; the median is shown, "+
			"as other work on the machine makes the mean.",
			100*w.Reads, storeRecords, valueBytes, runOps),
		Trial: func(_ context.Context, lab paper.Lab, seed uint64) (paper.Sample, error) {
			s := paper.Sample{}
			for _, how := range []string{"without", "present", "from"} {
				db, end, err := openStore(lab)
				if err != nil {
					return nil, err
				}
				median, err := func() (float64, error) {
					if how == "without" {
						return medianRead(db, db, w, seed)
					}
					snapshot := db.NewSnapshot()
					defer snapshot.Close()
					if how == "present" {
						return medianRead(db, db, w, seed)
					}
					return medianRead(db, snapshot, w, seed)
				}()
				if err != nil {
					return nil, err
				}
				if err := end(); err != nil {
					return nil, err
				}
				s.Set(how, median)
			}
			s.Set("present ÷ without", s.Of("present")/s.Of("without"))
			s.Set("from ÷ without", s.Of("from")/s.Of("without"))
			return s, nil
		},
		Claims: []paper.Claim{
			{Where: "5.2", Says: "read without a snapshot, median", Unit: "µs",
				Published: paper.Exactly(1000 * published[0]),
				Figure:    "without", Own: true},
			{Where: "5.2", Says: "with a snapshot present", Unit: "µs", Published: paper.Exactly(1000 * published[1]),
				Figure: "present", Own: true},
			{Where: "5.2", Says: "from the snapshot", Unit: "µs", Published: paper.Exactly(1000 * published[2]),
				Figure: "from", Own: true},
			{Where: "5.2", Says: "regular reads with a snapshot present ÷ without", Unit: "×",
				Published: paper.Between(1, 1.04),
				Figure:    "present ÷ without", Agrees: paper.Between(0.9, 1.1)},
		},
	}
	c := paper.Claim{Where: "5.2", Says: "reads from the snapshot ÷ regular reads", Unit: "×",
		Published: paper.Exactly(ratio),
		Figure:    "from ÷ without", Agrees: paper.Between(ratio-0.1, ratio+0.1),
		Why: "a read of the present finds keys that were just written in memory, and a read from the " +
			"snapshot looks into files"}
	p.Claims = append(p.Claims, c)
	return p
}

func growthPart() paper.Part {
	return paper.Part{
		Title: "Growth of the store", Trials: 2, Alone: true,
		How: fmt.Sprintf("Workload A, %d runs of %d operations, and a compaction after each: with a snapshot before "+
			"each run that is kept. The same without snapshots. Then all are closed, and one more run follows.",
			growthRuns, runOps),
		Reading: "Each snapshot keeps what was overwritten since the one before. When it is closed, " +
			"the next writes to the same range of keys free that room: their compaction drops the old versions.",
		Trial: func(ctx context.Context, lab paper.Lab, seed uint64) (paper.Sample, error) {
			s := paper.Sample{}
			for _, how := range []string{"none", "snapshots"} {
				if err := (storeGrowth{how, seed}).run(ctx, lab, s); err != nil {
					return nil, err
				}
			}
			s.Set("growth", s.Of("snapshots after")/s.Of("none after"))
			s.Set("left", s.Of("snapshots end")/s.Of("none end"))
			return s, nil
		},
		Claims: []paper.Claim{
			{Where: "5.2", Says: "files after ten runs with ten snapshots ÷ without: 532 ÷ 193", Unit: "×",
				Published: paper.Exactly(532.0 / 193), Figure: "growth", Agrees: paper.Above(1.1),
				Why: "bytes are compared, not files: pebble merges files that different snapshots need"},
			{Where: "measured", Says: "store after ten runs, none", Unit: "MB", Figure: "none after", Own: true},
			{Where: "measured", Says: "store after ten runs, a snapshot each", Unit: "MB", Figure: "snapshots after",
				Own: true},
			{Where: "measured", Says: "after another run, all snapshots closed ÷ a store without", Unit: "×",
				Figure: "left",
				Own:    true, Agrees: paper.Between(0.9, 1.1)},
		},
		Charts: []paper.Picture{{File: "snapshots-growth", Caption: "Size of the store after each run",
			Draw: func(l []paper.Sample) chart.Chart {
				c := chart.Chart{X: chart.Axis{Label: "run"}, Y: chart.Axis{Label: "MB"}}
				for _, how := range []string{"none", "snapshots"} {
					line := chart.Line{Name: how}
					for i, y := range l[0][how+" sizes"] {
						line.Points = append(line.Points, chart.Point{X: float64(i), Y: y, Low: y, High: y})
					}
					c.Lines = append(c.Lines, line)
				}
				return c
			}}},
	}
}

// A storeGrowth is runs on one store.
type storeGrowth struct {
	how  string // snapshots: with one before each run, which is kept; else without
	seed uint64
}

// run writes to a store, and puts its sizes in MB into s: after each run, and after one more without snapshots.
func (g storeGrowth) run(ctx context.Context, lab paper.Lab, s paper.Sample) error {
	db, end, err := openStore(lab)
	if err != nil {
		return err
	}
	var held []interface{ Close() error }
	compact := func() (float64, error) {
		if err := db.Compact(ctx, ycsb.Key(0)[:4], []byte("v"), true); err != nil {
			return 0, err
		}
		size, err := db.EstimateDiskUsage(ycsb.Key(0)[:4], []byte("v"))
		return float64(size) / 1e6, err
	}
	once := func(k int) (float64, error) {
		if _, err := medianRead(db, db, ycsb.Workloads[0], g.seed*100+uint64(k)); err != nil {
			return 0, err
		}
		return compact()
	}
	var sizes []float64
	for k := range growthRuns {
		if g.how == "snapshots" {
			held = append(held, store.Of(db))
		}
		size, err := once(k)
		if err != nil {
			return err
		}
		sizes = append(sizes, size)
	}
	for _, h := range held {
		if err := h.Close(); err != nil {
			return err
		}
	}
	size, err := once(growthRuns)
	if err != nil {
		return err
	}
	s.Set(g.how+" sizes", sizes...)
	s.Set(g.how+" after", sizes[len(sizes)-1])
	s.Set(g.how+" end", size)
	return end()
}

// quiet drops what pebble logs.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf("pebble: "+format, args...))
}
