package experiment

import (
	"bytes"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/sojourn-sched/sojourn/internal/record"
)

// Jobs that were killed or did not finish have columns where there are any.
func TestCountsOfJobs(t *testing.T) {
	of := func(c record.JobCounts) Row { return Row{Result: record.Result{JobCounts: c}} }
	rows := []Row{of(record.JobCounts{Jobs: 3, Failed: 1}), of(record.JobCounts{Jobs: 3, Killed: 2, Unfinished: 4})}
	for _, c := range []struct {
		rows  []Row
		names string // of the columns, as CSV
		last  string // row of these columns
	}{
		{rows, "jobs,failed,killed,unfinished,tasks", "3,0,2,4,0"},
		{rows[:1], "jobs,failed,tasks", "3,1,0"},
	} {
		var csv, columns bytes.Buffer
		if err := writeCSV(&csv, c.rows); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(csv.String()), "\n")
		if !strings.Contains(lines[0], ","+c.names+",") || !strings.Contains(lines[len(lines)-1], ","+c.last+",") {
			t.Errorf("want %s with %s:\n%s", c.names, c.last, &csv)
		}
		if err := writeParquet(&columns, c.rows); err != nil {
			t.Fatal(err)
		}
		f, err := parquet.OpenFile(bytes.NewReader(columns.Bytes()), int64(columns.Len()))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range strings.Split(c.names, ",") {
			if _, ok := f.Schema().Lookup(name); !ok {
				t.Errorf("the Parquet file has no column %s", name)
			}
		}
	}
}
