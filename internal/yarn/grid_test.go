package yarn

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/jobhistory"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// The grid of real jobs that `sojourn model` is validated with.
const (
	gridSplit = 4 << 20 // bytes of one map's input
	gridSlots = 2       // tasks that a node runs at once
	gridRoom  = 2048    // MiB of a node for tasks; masters' come on top
	gridTask  = gridRoom / gridSlots
	gridAM    = 256 // MiB of an ApplicationMaster
)

var gridMaps = []int{2, 4, 6}

// A gridCell is some equal jobs, submitted at once, of one kind and number of maps.
type gridCell struct {
	kind              string
	maps, nodes, jobs int
}

func (c gridCell) String() string { return fmt.Sprintf("%s %d %d %d", c.kind, c.maps, c.nodes, c.jobs) }

// gridCells are the cells on so many nodes: word count in each size, by one to four jobs, and the two other kinds in
// the middle size.
func gridCells(nodes int) (cells []gridCell) {
	for jobs := 1; jobs <= 4; jobs++ {
		for _, maps := range gridMaps {
			cells = append(cells, gridCell{"wordcount", maps, nodes, jobs})
		}
		if jobs%2 == 1 {
			cells = append(cells, gridCell{"grep", 4, nodes, jobs}, gridCell{"sort", 4, nodes, jobs})
		}
	}
	return cells
}

// TestModelGrid measures the grid on stock Hadoop, under `sojourn rm --policy fifo` and, in part, under Hadoop's own
// ResourceManager, and adds a line for each job and each of its tasks to the file that SOJOURN_GRID names. Cells that
// the file has already are kept, and not run. SOJOURN_GRID_CELLS picks cells, as "wordcount 2 1 1,sort 4 2 3"; no cell
// begins later than SOJOURN_GRID_FOR after the start. `make validate-model` runs it.
func TestModelGrid(t *testing.T) {
	path := os.Getenv("SOJOURN_GRID")
	if path == "" {
		t.Skip("SOJOURN_GRID names no file: make validate-model sets it")
	}
	within := 24 * time.Hour
	if text := os.Getenv("SOJOURN_GRID_FOR"); text != "" {
		var err error
		if within, err = time.ParseDuration(text); err != nil {
			t.Fatalf("SOJOURN_GRID_FOR: %v", err)
		}
	}
	had, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	g := &grid{to: path, lines: cmp.Or(string(had), gridHeader), last: time.Now().Add(within)}
	for _, rm := range []string{"hadoop", "sojourn"} {
		if g.most(rm) > 0 {
			if g.stock == nil {
				g.prepare(newStock(t))
			}
			g.under(rm)
		}
	}
}

const gridHeader = `# Real MapReduce jobs, made by make validate-model. Times in ms from the job's submission.
# cell RM KIND MAPS NODES JOBS, then for each job: job LAUNCHED END; for each of its tasks:
# map START END CPU, or reduce START FETCHED SORTED END CPU.
`

// A grid runs cells and keeps what came out.
type grid struct {
	*stock
	submit io.Writer
	heard  *bufio.Scanner
	runs   int
	to     string // file
	lines  string // of it
	last   time.Time
}

// prepare configures nodes and makes the input.
func (g *grid) prepare(s *stock) {
	g.stock = s
	g.choosePorts()
	for k, v := range map[string]string{
		"yarn.nodemanager.resource.memory-mb":                     fmt.Sprint(gridRoom + 4*gridAM),
		"yarn.nodemanager.resource.cpu-vcores":                    "16", // memory decides
		"yarn.app.mapreduce.am.resource.mb":                       fmt.Sprint(gridAM),
		"mapreduce.map.memory.mb":                                 fmt.Sprint(gridTask),
		"mapreduce.reduce.memory.mb":                              fmt.Sprint(gridTask),
		"mapreduce.job.reduce.slowstart.completedmaps":            "1",
		"yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms":   "500",
		"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "500",
		"mapreduce.client.submit.file.replication":                "1",
	} {
		g.site[k] = v
	}
	g.writeConf("conf", nil)
	g.input()
	g.writeScheduler("1") // all masters run at once
}

// under runs the cells that are wanted under one ResourceManager.
func (g *grid) under(rm string) {
	var serving *daemon
	if rm == "sojourn" {
		serving = g.serveVerb("fifo")
	} else {
		serving = g.serveJava()
	}
	var stop func()
	g.submit, g.heard, stop = g.submitter()
	for nodes := 1; nodes <= g.most(rm); nodes++ {
		g.nodes = append(g.nodes, nil)
		g.startNode(nodes - 1)
		g.untilNodes(nodes)
		for _, c := range gridCells(nodes) {
			if g.wanted(rm, c) && time.Now().Before(g.last) {
				g.cell(rm, c)
			}
		}
	}
	stop()
	for i, node := range g.nodes {
		node.kill()
		g.endContainers(i)
	}
	g.nodes = nil
	serving.kill()
}

// most returns the most nodes of a cell that is wanted; 0: none is.
func (g *grid) most(rm string) (most int) {
	for nodes := 1; nodes <= 3; nodes++ {
		if slices.ContainsFunc(gridCells(nodes), func(c gridCell) bool { return g.wanted(rm, c) }) {
			most = nodes
		}
	}
	return most
}

// wanted reports whether a cell is to be run: all cells under our ResourceManager, word count of the middle size under
// Hadoop's, without those that were measured.
func (g *grid) wanted(rm string, c gridCell) bool {
	if strings.Contains(g.lines, fmt.Sprintf("cell %s %v\n", rm, c)) {
		return false
	}
	if pick := os.Getenv("SOJOURN_GRID_CELLS"); pick != "" && !slices.Contains(strings.Split(pick, ","), c.String()) {
		return false
	}
	return rm == "sojourn" || c.kind == "wordcount" && c.maps == 4 && c.jobs%2 == 1
}

// input writes the text of each number of maps: words of a vocabulary that repeats.
func (g *grid) input() {
	word, next := make([]byte, 0, 12), uint64(1)
	for _, maps := range gridMaps {
		var b strings.Builder
		for b.Len() < maps*gridSplit {
			next = next*6364136223846793005 + 1442695040888963407
			word = strconv.AppendUint(word[:0], (next>>40)%20_000+100_000, 26)
			for i, c := range word {
				if c <= '9' {
					word[i] = c - '0' + 'q'
				}
			}
			b.Write(word)
			b.WriteByte(" \n"[min(1, (next>>60)%10/9)])
		}
		g.write(fmt.Sprintf("%s/input-%d/words", g.dir, maps), b.String()[:maps*gridSplit])
	}
}

// cell runs one cell and keeps its measurements.
func (g *grid) cell(rm string, c gridCell) {
	g.t.Helper()
	g.runs++
	order := fmt.Sprintf("%s file:%s/input-%d %d", c.kind, g.dir, c.maps, gridSplit)
	for j := range c.jobs {
		order += fmt.Sprintf(" file:%s/output-%d-%d", g.dir, g.runs, j)
	}
	began := time.Now()
	fmt.Fprintln(g.submit, order)
	if !g.heard.Scan() {
		g.t.Fatal("the client ended")
	}
	ids := strings.Fields(g.heard.Text())[1:]
	if len(ids) != c.jobs {
		g.t.Fatalf("%v: the client says %q", c, g.heard.Text())
	}
	g.until(fmt.Sprintf("the jobs of %v have ended", c), commandTime, func() bool {
		var r wire.ApplicationsResponse
		if g.call("getApplications", &wire.ApplicationsRequest{}, &r) != nil {
			return false
		}
		return len(r.Reports) >= c.jobs &&
			!slices.ContainsFunc(r.Reports, func(a wire.ApplicationReport) bool { return a.State < wire.AppFinished })
	})
	text := fmt.Sprintf("cell %s %v\n", rm, c)
	for _, id := range ids {
		text += g.job(c, id)
	}
	g.lines += text
	g.write(g.to, g.lines)
	g.t.Logf("%s %v: %.1f s", rm, c, time.Since(began).Seconds())
	os.RemoveAll(g.dir + "/staging")
	for j := range c.jobs {
		os.RemoveAll(fmt.Sprintf("%s/output-%d-%d", g.dir, g.runs, j))
	}
}

// job returns the lines of one job, from its history.
func (g *grid) job(c gridCell, id string) string {
	g.t.Helper()
	var found []string
	g.until("the history of "+id+" is there", time.Minute, func() bool {
		found, _ = filepath.Glob(g.dir + "/done-soon/*/" + id + "-*.jhist")
		return len(found) == 1
	})
	file, err := os.Open(found[0])
	if err != nil {
		g.t.Fatal(err)
	}
	defer file.Close()
	h, err := jobhistory.Read(found[0], file)
	if err != nil {
		g.t.Fatal(err)
	}
	ms := func(at time.Duration) int64 { return (at - h.Submit).Milliseconds() }
	text := fmt.Sprintln("job", ms(h.Launch), ms(h.Finish))
	if h.State != "SUCCEEDED" || len(h.Tasks) != c.maps+1 {
		g.t.Fatalf("%v: job %s is %s with %d tasks", c, id, h.State, len(h.Tasks))
	}
	for i := range h.Tasks {
		a := h.Tasks[i].Success()
		if h.Tasks[i].Kind == jobhistory.Map {
			text += fmt.Sprintln("map", ms(a.Start), ms(a.Finish), a.Counters.CPU.Milliseconds())
		} else {
			text += fmt.Sprintln("reduce", ms(a.Start), ms(a.Fetched), ms(a.Sorted), ms(a.Finish),
				a.Counters.CPU.Milliseconds())
		}
	}
	return text
}
