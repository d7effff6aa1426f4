package web_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/sojourn-sched/sojourn/cli"
	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/web"
	"github.com/sojourn-sched/sojourn/internal/yarn/load"
	"github.com/sojourn-sched/sojourn/sched"
)

var (
	rewrite = flag.Bool("rewrite", false, "write the pictures anew that the page is compared with")
	pageAt  = flag.String("page", "", "address of a ResourceManager's page, for TestStockHadoopInBrowser")
)

// A browser is a headless Chromium with one page, which collects what goes wrong in it.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string
}

// newBrowser starts a browser, or skips the test where there is none.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium is installed: Debian's package chromium has one")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("hide-scrollbars", true), chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(patience))
	allocated, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(allocated)
	t.Cleanup(end)
	b := &browser{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, func(e any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := e.(type) {
		case *runtime.EventExceptionThrown:
			b.problems = append(b.problems, e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
				for _, a := range e.Args {
					b.problems = append(b.problems, fmt.Sprintf("console: %s %s", a.Value, a.Description))
				}
			}
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError {
				b.problems = append(b.problems, e.Entry.Text+" "+e.Entry.URL)
			}
		}
	})
	// The first run starts the browser, which ends with the context of that run.
	watch := chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(sumShifts).Do(ctx)
		return err
	})
	if err := chromedp.Run(ctx, log.Enable(), watch, b.size(1280, 860, false)); err != nil {
		t.Fatal(err)
	}
	return b
}

// sumShifts adds up how far what a reader saw has moved by itself, in the units of Chromium's layout-shift entries: the
// part of the screen that moved, times how far, as a part of the screen.
const sumShifts = `window.shifts = 0; window.moved = [];
new PerformanceObserver((list) => {
	for (const e of list.getEntries()) if (!e.hadRecentInput) {
		window.shifts += e.value;
		for (const s of e.sources) {
			const n = s.node;
			window.moved.push((n && (n.className || n.id || n.nodeName)) + " " + e.value.toFixed(4));
		}
	}
}).observe({ type: "layout-shift", buffered: true });`

// mostShift bounds what may move by itself when a view is opened. From 0.1 on readers are disturbed (web.dev, CLS).
const mostShift = 0.02

// still fails the test where too much has moved.
func (b *browser) still(what string) {
	b.t.Helper()
	var sum float64
	var moved []string
	b.do(chromedp.Evaluate(`window.shifts`, &sum), chromedp.Evaluate(`window.moved`, &moved))
	if sum > mostShift {
		b.t.Errorf("%s: layout shifts of %.3f, more than %g: %q", what, sum, mostShift, moved)
	}
}

func (b *browser) size(width, height int64, phone bool) chromedp.Action {
	return emulation.SetDeviceMetricsOverride(width, height, 1, phone)
}

// patience is how long the slowest machine may take for what a test waits for.
const patience = 2 * time.Minute

// do runs actions, and fails the test where one fails.
func (b *browser) do(actions ...chromedp.Action) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.t.Fatalf("%v; problems of the page: %q", err, b.problems)
	}
}

// open shows an address, and waits until the page is complete.
func (b *browser) open(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(url), b.ready())
}

func (b *browser) ready() chromedp.Action {
	return chromedp.WaitReady(`body[data-ready="yes"]`, chromedp.ByQuery)
}

// until waits until an expression is true in the page.
func (b *browser) until(expression string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		for ok := false; !ok; {
			if err := chromedp.Evaluate("Boolean("+expression+")", &ok).Do(ctx); err != nil {
				return fmt.Errorf("wait until %s: %w", expression, err)
			}
			if err := chromedp.Sleep(20 * time.Millisecond).Do(ctx); err != nil {
				return fmt.Errorf("wait until %s: %w", expression, err)
			}
		}
		return nil
	})
}

// text returns what a reader sees of the page.
func (b *browser) text() (s string) {
	b.t.Helper()
	b.do(chromedp.Evaluate(`document.getElementById("main").innerText`, &s))
	return s
}

// refused forgets that requests were refused, which every browser tells as a problem.
func (b *browser) refused() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = slices.DeleteFunc(b.problems, func(p string) bool { return strings.Contains(p, "status of 4") })
}

// clean fails the test where something went wrong in the page.
func (b *browser) clean(what string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.problems {
		b.t.Errorf("%s: %s", what, p)
	}
	b.problems = nil
}

// sojourn runs a command line, which must succeed.
func sojourn(t *testing.T, args ...string) {
	t.Helper()
	var problems bytes.Buffer
	streams := cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &problems}
	if status := cli.Run(t.Context(), streams, args); status != 0 {
		t.Fatalf("sojourn %s: status %d: %s", strings.Join(args, " "), status, problems.String())
	}
}

// records are the records that several tests look at, by name: each is made once. No test runs beside another.
var records = map[string][]byte{}

// recorded leaves a record in a folder of the test, and returns its path. args are those of the `sojourn sim` that
// makes a record of that name.
func recorded(t *testing.T, name string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".rec")
	if _, ok := records[name]; !ok {
		sojourn(t, append(append([]string{"sim"}, args...), "--record", path)...)
		made, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		records[name] = made
	} else if err := os.WriteFile(path, records[name], 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// bursty leaves the records of README.md's comparison, and returns their names.
func bursty(t *testing.T, policies ...string) (list []string) {
	t.Helper()
	for _, p := range policies {
		list = append(list, recorded(t, p, "--trace", "../../examples/bursty.tsv", "--cluster",
			"nodes=20,map-slots=3,reduce-slots=1", "--policy", p))
	}
	return list
}

// siteOf returns a site of recorded runs, named after their policies.
func siteOf(t *testing.T, records ...string) *web.Site {
	t.Helper()
	site := web.NewSite(nil)
	for _, path := range records {
		r, err := record.Open(path, run.Payload)
		if err != nil {
			t.Fatal(err)
		}
		h := r.Header
		board := web.NewBoard(web.About{Name: h.Policy, Engine: h.Engine, Policy: h.Policy, Estimator: h.Estimator,
			Workload: h.Trace, Seed: h.Seed, Explain: explainer(path)})
		options, err := run.Recorded(h)
		if err != nil {
			t.Fatal(err)
		}
		board.Figure(options)
		_, estimator, err := run.BuiltIn.Deciders(h)
		if err != nil {
			t.Fatal(err)
		}
		if err := record.PlayWith(r, estimator, board); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		board.Finish("")
		site.Add(board)
	}
	return site
}

// explainer answers questions about a record. It asks the record once about each job and instant: explaining a job of
// 300 takes half a second, and most pages ask the same.
func explainer(path string) func(sched.JobID, sched.Time) (*record.Explanation, error) {
	var mu sync.Mutex
	told := map[record.Question]*record.Explanation{}
	return func(job sched.JobID, at sched.Time) (*record.Explanation, error) {
		mu.Lock()
		defer mu.Unlock()
		q := record.Question{Job: job, At: at}
		if e, ok := told[q]; ok {
			return e, nil
		}
		r, err := record.Open(path, run.Payload)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		e, err := record.Explain(r, q, run.BuiltIn.Deciders)
		if err == nil {
			told[q] = e
		}
		return e, err
	}
}

// serve serves a site until the test ends. Browsers keep a connection open for live updates.
func serve(t *testing.T, site *web.Site) *httptest.Server {
	s := httptest.NewServer(site.Handler())
	t.Cleanup(func() {
		_ = s.Config.Close() // or the browser would connect again in between
		s.Close()
	})
	return s
}

// views are all views of a run, with words that must be there.
var views = map[string][]string{
	"cluster":  {"map-slots", "Utilisation", "mean sojourn time", "Nodes over time"},
	"queues":   {"default", "balance", "Over time"},
	"jobs":     {"job1", "sojourn", "1–50 of 300", "✓"},
	"jobs/150": {"Why does it wait?", "no node fits", "Stages", "Attempts by node", "estimated"},
	"nodes":    {"node-20", "1–20 of 20", "What ran there"},
	"nodes/7":  {"Node 7 node-7", "capacity", "tasks done"},
	"users":    {"received", "mean sojourn", "1–1 of 1", "300"},
	"policies": {"fifo", "hfsp", "jobs faster", "Job by job"},
}

func TestViewsInBrowser(t *testing.T) {
	b := newBrowser(t)
	server := serve(t, siteOf(t, bursty(t, "fifo", "fair", "hfsp")...))
	for view, words := range views {
		b.open(server.URL + "/#/0/" + view)
		if view == "jobs/150" { // the record is read in a request of its own
			b.do(chromedp.WaitVisible(`.why .reason`, chromedp.ByQuery))
		}
		text := b.text()
		for _, w := range words {
			if !strings.Contains(text, w) && w != "✓" {
				t.Errorf("view %s lacks %q: %.400s", view, w, text)
			}
		}
		b.clean("view " + view)
		b.still("view " + view)
	}
	t.Run("keys", func(t *testing.T) {
		b.open(server.URL + "/#/0/cluster")
		b.do(chromedp.KeyEvent("3"), b.until(`document.querySelector("input[type=search]") !== null`),
			b.ready())
		b.do(chromedp.KeyEvent("/"), b.until(`document.activeElement.type === "search"`),
			chromedp.Evaluate(`document.activeElement.value = "job15"
				document.activeElement.dispatchEvent(new Event("input"))`, nil),
			b.until(`document.querySelectorAll("tbody tr").length === 11`))
		b.do(
			chromedp.KeyEvent("\x1b"), chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent("\r"),
			b.until(`location.hash === "#/0/jobs/150"`))
		b.do(chromedp.WaitVisible(`.why .reason`, chromedp.ByQuery),
			chromedp.Evaluate(`document.querySelector("form input").value = "1m1s"
				document.querySelector("form input").focus()`, nil),
			chromedp.KeyEvent("\r"),
			b.until(`document.querySelector(".why").textContent.includes("1m1s")`))
		b.clean("keys")
	})
	t.Run("values of a chart by keyboard", func(t *testing.T) {
		b.open(server.URL + "/#/0/cluster")
		tip := func() (text string) {
			b.do(chromedp.Evaluate(`document.getElementById("tip").hidden ? "" : `+
				`document.getElementById("tip").textContent`, &text))
			return text
		}
		const util, running = `canvas[aria-label=Utilisation]`,
			`canvas[aria-label="Running attempts"], canvas[aria-label=Attempts]`
		tells := func(chart, key, what, not string) (text string) { // again, if the chart was drawn anew meanwhile
			for range 100 {
				b.do(chromedp.Evaluate(fmt.Sprintf("document.querySelector(%q).focus()", chart), nil),
					chromedp.KeyEvent(key))
				if text = tip(); strings.Contains(text, what) && text != not {
					return text
				}
			}
			t.Fatalf("%s: %q is told after a key, must have %s", chart, text, what)
			return text
		}
		first := tells(util, kb.Home, "map-slots  ", "")
		tells(util, kb.ArrowRight, "map-slots  ", first)
		b.do(chromedp.Evaluate(`document.activeElement.blur()`, nil))
		if left := tip(); left != "" {
			t.Errorf("%q is still shown of a chart that was left", left)
		}
		tells(running, kb.ArrowDown, "node-", "")
		b.do(chromedp.KeyEvent("+"), b.until(`document.querySelector("#main h2 button") !== null`),
			b.until(`document.activeElement.tagName === "CANVAS"`))
		b.clean("values of a chart by keyboard")
	})
	t.Run("unknown", func(t *testing.T) {
		for _, c := range []struct{ at, says, link string }{
			{"7/jobs", "There is no run 7: runs are numbered from 0 to 2.", "#/0"},
			{"x", "There is no run x", "#/0"},
			{"1/jobs/9999", "job 9999 is not in this run", "#/1/jobs"},
			{"1/jobs/last", "The view jobs has no row last.", "#/1/jobs"},
			{"0/nodes/21", "node 21 is not in this run: there are nodes 1 to 20", "#/0/nodes"},
			{"0/weather", "The page has no view weather.", "#/0"},
		} {
			b.open(server.URL + "/#/" + c.at)
			var link string
			b.do(chromedp.AttributeValue(`#main a`, "href", &link, nil, chromedp.ByQuery))
			if text := b.text(); !strings.Contains(text, c.says) || link != c.link {
				t.Errorf("%s: %q with a link to %s; must say %q and lead to %s", c.at, text, link, c.says, c.link)
			}
		}
		b.refused()
		b.clean("unknown")
	})
	t.Run("instant", func(t *testing.T) {
		b.open(server.URL + "/#/1/nodes")
		busy := `[...document.querySelectorAll("table[aria-label=nodes] tbody tr")].filter(` +
			`(r) => r.cells[4].textContent !== "0 %").length`
		b.do(b.until(busy + ` === 0`)) // the run is over
		b.do(chromedp.Evaluate(`document.getElementById("at").value = "5m20s"
			document.getElementById("at").dispatchEvent(new Event("change"))`, nil),
			b.until(busy+` > 0 && location.hash === "#/1/nodes?at=5m20s"`))
		b.do(chromedp.KeyEvent("2"), b.until(`document.querySelector("table[aria-label=queues]") !== null`), b.ready())
		used := `parseFloat(document.querySelector("table[aria-label=queues] tbody tr").cells[1].textContent)`
		var field string
		b.do(b.until(used+` > 0`), chromedp.Value("#at", &field, chromedp.ByQuery)) // it follows the same instant
		if field != "5m20s" {
			t.Errorf("the queues are of %q, the nodes of 5m20s", field)
		}
		b.do(chromedp.Evaluate(`document.getElementById("at").value = "noon"
			document.getElementById("at").dispatchEvent(new Event("change"))`, nil),
			b.until(`document.getElementById("main").innerText.includes("An instant is such as 12h")`))
		b.do(chromedp.Evaluate(`document.getElementById("slide").value = 1000
			document.getElementById("slide").dispatchEvent(new Event("input"))`, nil),
			b.until(used+` === 0 && location.hash === "#/1/queues" && document.getElementById("at").value === ""`))
		b.clean("instant")
	})
	t.Run("opens at an instant", func(t *testing.T) {
		site := siteOf(t, bursty(t, "fifo")...)
		if over := site.OpenAt(1080500 * time.Millisecond); len(over) > 0 {
			t.Errorf("%+v are over at 18m0.5s", over)
		}
		server := serve(t, site)
		b.open(server.URL)
		var field string
		b.do(chromedp.Value("#at", &field, chromedp.ByQuery))
		if text := b.text(); field != "18m1s" || !strings.Contains(text, "around 18m1s") {
			t.Errorf("the page opens at %q: %.300s", field, text)
		}
		asked := `document.querySelector(".why .soft")?.textContent`
		var instant float64
		for _, c := range []struct {
			view, at string
			exact    float64
		}{{"jobs/150", "18m1s", 1080.5}, {"jobs/150?at=1m5s", "1m5s", 65}, {"jobs/1", "", 0}} {
			b.open(server.URL + "/#/0/" + c.view)
			b.do(b.until(asked+`?.startsWith("At ") || `+asked+`?.startsWith("It had ended")`),
				chromedp.Value("#main form input", &field, chromedp.ByQuery),
				chromedp.Evaluate(`+new URL(performance.getEntriesByType("resource").map((e) => e.name)`+
					`.filter((n) => n.includes("/why")).at(-1)).searchParams.get("at")`, &instant))
			if c.at != "" && (field != c.at || instant != c.exact) || c.at == "" && instant > 300 {
				t.Errorf("%s asks at %q, %g s; want %q, %g s", c.view, field, instant, c.at, c.exact)
			}
		}
		b.clean("opens at an instant")
		b.do(chromedp.Navigate("about:blank")) // before the server closes its connections
	})
	t.Run("words", func(t *testing.T) {
		for view, words := range map[string]string{ // every legend opens by the keyboard, and stays open
			"cluster": "sojourn time|wait", "queues": "used|share|demand|lent|owed", "nodes": "idle",
			"jobs": "sojourn time|wait|idle|slowdown|received", "jobs/150": "sojourn time|wait|idle|slowdown|received",
			"users": "received|sojourn time|wait", "policies": "sojourn time|wait|slowdown",
		} {
			b.open(server.URL + "/#/0/" + view)
			const said = `[...document.querySelectorAll("#main .words dt")].map((e) => e.innerText).join("|")`
			b.do(chromedp.Evaluate(`document.querySelector("#main .words summary").focus()`, nil),
				chromedp.KeyEvent("\r"), b.until(`document.querySelector("#main .words").open`),
				b.until(fmt.Sprintf(`%s === %q`, said, words)))
		}
		b.open(server.URL + "/#/0/jobs")
		b.do(chromedp.KeyEvent("?"), b.until(`document.getElementById("dialog").open`),
			b.until(`["wait", "owed", "t"].every((w) => `+
				`[...document.querySelectorAll("#dialog dt")].some((e) => e.innerText === w))`),
			chromedp.KeyEvent(kb.Escape), b.until(`!document.getElementById("dialog").open`),
			b.until(`document.querySelector("th:has(button[data-sort=wait])").title.includes("first attempt")`))
		b.clean("words")
	})
	t.Run("instant of the figures", func(t *testing.T) {
		for _, view := range []string{"cluster", "queues", "users", "nodes", "nodes/7"} {
			b.open(server.URL + "/#/0/" + view)
			b.do(b.until(`/at the end, \d+m/.test(document.getElementById("main").innerText)`))
		}
		live := web.NewSite(nil)
		live.Add(web.NewBoard(web.About{Name: "live"}))
		b.open(serve(t, live).URL + "/#/0/cluster")
		b.do(b.until(`document.querySelector("h1").innerText === "Cluster now, 0s"`))
		b.clean("instant of the figures")
		b.do(chromedp.Navigate("about:blank")) // before the server closes its connections
	})
	t.Run("the instant of a question is in the address", func(t *testing.T) {
		b.open(server.URL + "/#/0/jobs/150")
		told := `document.querySelector(".why .soft")?.textContent`
		answers := func(at string) chromedp.Action { return b.until(fmt.Sprintf(`%s?.startsWith("At %s:")`, told, at)) }
		b.do(b.until(told + `?.startsWith("At ")`))
		var first string
		b.do(chromedp.Evaluate(`document.querySelector("#main form input").value`, &first))
		for _, at := range []string{"1m1s", "64.5"} {
			b.do(chromedp.Evaluate(fmt.Sprintf(`document.querySelector("#main form input").value = %q
				document.querySelector("#main form input").focus()`, at), nil), chromedp.KeyEvent("\r"))
			if at == "1m1s" {
				b.do(answers(at), b.until(`location.hash === "#/0/jobs/150?at=1m1s"`))
			}
		}
		b.do(answers("1m5s"), b.until(`location.hash === "#/0/jobs/150?at=1m4.5s"`))
		b.do(chromedp.Evaluate(`history.back()`, nil), b.until(`location.hash === "#/0/jobs/150?at=1m1s"`), b.ready(),
			answers("1m1s"), chromedp.Evaluate(`history.back()`, nil), b.ready(), answers(first))
		b.do(chromedp.Evaluate(`history.forward()`, nil), b.ready(), answers("1m1s"), chromedp.Reload(), b.ready(),
			answers("1m1s"))
		b.clean("the instant of a question is in the address")
	})
	t.Run("shades", func(t *testing.T) {
		b.open(server.URL + "/#/0/cluster")
		const lane = `window.contrasts = null;
		import("/static/draw.js").then(({ lanes }) => {
			const name = "shades of a lane";
			document.querySelector("canvas[aria-label='" + name + "']")?.closest("figure").remove();
			const f = lanes({ title: name, data: { lanes: [{ node: 1, name: "", nodes: 1 }], from_s: 0, until_s: 4,
				busy: [[0, 1, 50, 100]], most: 1 } });
			document.getElementById("main").prepend(f);
			const light = ([r, g, b]) => [[r, 0.2126], [g, 0.7152], [b, 0.0722]].reduce((sum, [c, w]) =>
				sum + w * (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4), 0.05);
			const read = () => {
				const c = f.querySelector("canvas"), x0 = 92, x1 = c.width - 10, w = (x1 - x0) / 4;
				const of = (k) => [...c.getContext("2d").getImageData(x0 + (k + 0.5) * w, 10, 1, 1).data];
				const ground = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
				const over = ([r, g, b, a]) => [r, g, b].map((v, i) => v * a / 255 + ground[i] * (1 - a / 255));
				const all = [0, 1, 2, 3].map((k) => light(over(of(k))));
				if (all[3] === all[0]) return setTimeout(read, 20); // it is not drawn yet
				window.contrasts = all.slice(1).map((v, k) => Math.max(v, all[k]) / Math.min(v, all[k]));
			};
			read();
		})`
		for _, theme := range []string{"light", "dark"} {
			b.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme",
				Value: theme}}))
			var contrasts []float64
			b.do(chromedp.Evaluate(lane, nil), b.until(`window.contrasts !== null`),
				chromedp.Evaluate(`window.contrasts`, &contrasts))
			for k, least := range []float64{1.4, 1.2, 1.2} { // the least beside none, the half beside the least, ...
				if contrasts[k] < least {
					t.Errorf("%s: contrasts of shades %.2f; number %d must be %g at least", theme, contrasts, k, least)
				}
			}
		}
		b.do(emulation.SetEmulatedMedia().WithFeatures(nil))
		b.clean("shades")
	})
	t.Run("signed differences", func(t *testing.T) {
		b.open(server.URL + "/#/0/policies")
		column := `[...document.querySelectorAll("table[aria-label='job by job'] th button")].at(-1)`
		for _, down := range []bool{true, false} { // of the last run: longer first, then shorter first
			b.do(chromedp.Evaluate(column+`.click()`, nil), b.until(fmt.Sprintf(`%s.textContent.endsWith(%q)`, column,
				map[bool]string{true: "▾", false: "▴"}[down])))
			var first string
			b.do(chromedp.Evaluate(`document.querySelector("table[aria-label='job by job'] tbody tr td:last-child")`+
				`.textContent`, &first))
			if longer := strings.Contains(first, "×"); longer != down {
				t.Errorf("the first of the last run is %q; must be longer: %v", first, down)
			}
		}
		b.clean("signed differences")
	})
	t.Run("jobs of an instant", func(t *testing.T) {
		b.open(server.URL + "/#/0/jobs")
		var all, some int
		const rows = `parseInt(document.getElementById("totals").textContent)`
		b.do(b.until(rows+` > 0`), chromedp.Evaluate(rows, &all))
		b.do(chromedp.Evaluate(`document.getElementById("there").value = "10m"
			document.getElementById("there").dispatchEvent(new Event("change"))`, nil),
			b.until(fmt.Sprintf(`%s < %d && location.hash === "#/0/jobs?at=10m"`, rows, all)),
			chromedp.Evaluate(rows, &some))
		if some == 0 {
			t.Error("no job is there after ten minutes")
		}
		b.open(server.URL + "/#/0/queues?at=10m")
		b.do(b.until(`document.querySelector("table[aria-label=queues] tbody a").hash === "#/0/jobs?queue=&at=10m"`))
		b.clean("jobs of an instant")
	})
	t.Run("a drag is no click", func(t *testing.T) {
		b.open(server.URL + "/#/0/nodes/1")
		const chart = `canvas[aria-label="Running attempts"], canvas[aria-label=Attempts]`
		var before, after string
		drag := func(to float64) string { // browsers end it with a click
			return fmt.Sprintf(`(() => {
				const c = document.querySelector(%q), r = c.getBoundingClientRect(), y = r.top + r.height / 3;
				const say = (kind, part) => c.dispatchEvent(new PointerEvent(kind,
					{ clientX: r.left + r.width * part, clientY: y, bubbles: true }));
				say("pointerdown", 0.25); say("pointerup", %g); say("click", %[2]g);
				return location.hash;
			})()`, chart, to)
		}
		b.do(chromedp.Evaluate(`location.hash`, &before), chromedp.Evaluate(drag(0.36), &after))
		if after != before {
			t.Errorf("a drag on the attempts of a node leads from %s to %s", before, after)
		}
		b.do(b.ready(), b.until(`document.querySelector("#main h2 button") !== null`)) // back to all of the time
		b.clean("a drag is no click")
	})
	t.Run("phone", func(t *testing.T) {
		b.do(b.size(390, 800, true))
		for view := range views {
			b.open(server.URL + "/#/0/" + view)
			var over bool
			b.do(chromedp.Evaluate(`document.documentElement.scrollWidth > innerWidth + 1`, &over))
			if over {
				t.Errorf("view %s is wider than a phone", view)
			}
		}
		b.clean("phone")
	})
}

// manager starts `sojourn rm` whose administrator is boss, under the load of nodes and applications that speak Hadoop's
// protocols, and returns where its page is.
func manager(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	site := "<configuration><property><name>yarn.admin.acl</name><value>boss</value></property>" +
		"<property><name>yarn.cluster.max-application-priority</name><value>10</value></property>"
	for _, name := range []string{"resource-tracker.", "scheduler.", "", "admin.", "webapp."} {
		site += "<property><name>yarn.resourcemanager." + name + "address</name><value>127.0.0.1:0</value></property>"
	}
	if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(site+"</configuration>"), 0o600); err != nil {
		t.Fatal(err)
	}
	queues := filepath.Join(dir, "queues.yaml")
	if err := os.WriteFile(queues, []byte("queues: [{name: default}, {name: other}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	t.Cleanup(stop)
	lines, out := io.Pipe()
	running.Go(func() {
		args := []string{"rm", "--conf", dir, "--policy", "fair", "--queues", queues, "--record",
			filepath.Join(dir, "rm.rec")}
		cli.Run(ctx, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: out}, args)
		out.Close()
	})
	at := map[string]string{}
	said := bufio.NewScanner(lines)
	for said.Scan() && said.Text() != "ready" {
		if door, address, ok := strings.Cut(said.Text(), " on "); ok {
			at[strings.TrimPrefix(door, "sojourn: ")] = address
		}
	}
	running.Go(func() { _, _ = io.Copy(io.Discard, lines) })
	addresses := load.Addresses{Tracker: at["NodeManagers"], Master: at["ApplicationMasters"], Client: at["clients"]}
	running.Go(func() { // ends with an error when one of its applications is killed
		_, _ = load.Run(ctx, load.Options{Addresses: addresses, Nodes: 5, Apps: 4, Slots: 4,
			Beat: 100 * time.Millisecond, Measure: time.Hour})
	})
	return "http://" + at["REST"]
}

// TestManagerInBrowser looks at a live ResourceManager. A stranger is refused, and the administrator moves an
// application, raises its priority, and kills it, each after a question.
func TestManagerInBrowser(t *testing.T) {
	b := newBrowser(t)
	at := manager(t)
	b.open(at + "/#/0/nodes")
	b.do(b.until(`document.querySelectorAll("table[aria-label=nodes] tbody tr").length === 5`))
	b.open(at + "/#/0/jobs")
	b.clean("jobs of a live ResourceManager")
	b.do(b.until(`(() => { // the list may be drawn anew at any time
			const running = document.querySelector(".state.running");
			running?.closest("tr").querySelector("a").click();
			return running;
		})()`), b.until(`document.getElementById("kill") !== null`))
	for _, c := range []struct{ button, field, value, asks, then string }{
		{"move", "queue to move to", "nowhere", "to queue nowhere?", ""},
		{"move", "queue to move to", "other", "to queue other?", "queue other"},
		{"set priority", "priority", "7", "priority 7?", "priority 7"},
	} {
		b.do(chromedp.SetValue("#user", "boss", chromedp.ByQuery),
			chromedp.Evaluate(`document.getElementById("user").dispatchEvent(new Event("change"))`, nil), b.ready(),
			b.until(`document.getElementById("kill") !== null`),
			chromedp.Evaluate(fmt.Sprintf(`document.querySelector("#main input[aria-label='%s']").value = %q;
				[...document.querySelectorAll("#main button")].find((e) => e.textContent === %q).click()`,
				c.field, c.value, c.button), nil),
			chromedp.WaitVisible("#yes", chromedp.ByQuery))
		var question string
		b.do(chromedp.Text("#dialog", &question, chromedp.ByQuery), chromedp.Click("#yes", chromedp.ByQuery))
		if !strings.Contains(question, c.asks) {
			t.Errorf("the question is %q, must have %q", question, c.asks)
		}
		if c.then != "" {
			b.do(b.until(fmt.Sprintf(`document.getElementById("main").innerText.includes(%q)`, c.then)))
			continue
		}
		b.do(b.until(`document.querySelector("#dialog [role=alert]").textContent.includes("nowhere")`),
			chromedp.Evaluate(`document.getElementById("dialog").close()`, nil))
		b.refused()
	}
	b.clean("moving and raising on a live ResourceManager")
	for _, c := range []struct{ user, says string }{{"guest", "cannot perform operation MODIFY_APP"}, {"boss", ""}} {
		b.do(chromedp.SetValue("#user", c.user, chromedp.ByQuery),
			chromedp.Evaluate(`document.getElementById("user").dispatchEvent(new Event("change"))`, nil),
			b.ready(), b.until(`document.getElementById("kill") !== null`),
			chromedp.Evaluate(`document.getElementById("kill").click()`, nil), // wherever it is by now
			chromedp.WaitVisible("#yes", chromedp.ByQuery))
		var question string
		b.do(chromedp.Text("#dialog", &question, chromedp.ByQuery))
		if !strings.Contains(question, "Kill job") {
			t.Errorf("the question is %q", question)
		}
		b.do(chromedp.Click("#yes", chromedp.ByQuery))
		if c.says != "" {
			b.do(b.until(fmt.Sprintf(`document.getElementById("dialog").innerText.includes(%q)`, c.says)),
				chromedp.Evaluate(`document.getElementById("dialog").close()`, nil))
			b.refused()
		}
	}
	b.do(b.until(`document.querySelector(".state.killed") !== null`))
	b.clean("killing on a live ResourceManager")
}

// TestNamesAreText holds the page to showing names as they are.
func TestNamesAreText(t *testing.T) {
	b := newBrowser(t)
	const evil = `<img src=x onerror="document.title='caught'"><script>document.title='caught'</script>&amp;`
	dir := t.TempDir()
	load := filepath.Join(dir, "evil.yaml")
	text := fmt.Sprintf("jobs:\n  - {name: %q, user: %q, maps: {count: 3, time: 2s}, submit: 0s}\n", evil, evil)
	if err := os.WriteFile(load, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	rec := filepath.Join(dir, "evil.rec")
	sojourn(t, "sim", "--trace", load, "--policy", "fifo", "--record", rec)
	site := siteOf(t, rec)
	server := serve(t, site)
	report := filepath.Join(dir, "report.html")
	f, err := os.Create(report)
	if err != nil {
		t.Fatal(err)
	}
	if err := site.WriteReport(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{server.URL + "/", "file://" + report} {
		for _, view := range []string{"jobs", "jobs/1", "nodes", "policies"} {
			b.open(at + "#/0/" + view)
			var title string
			var images int
			b.do(chromedp.Title(&title),
				chromedp.Evaluate(`document.querySelectorAll("main img, main script").length`, &images))
			if strings.Contains(title, "caught") || images > 0 {
				t.Errorf("%s %s: a name became markup", at, view)
			}
			if view != "nodes" && !strings.Contains(b.text(), evil[:20]) {
				t.Errorf("%s %s: the name is not there: %.300s", at, view, b.text())
			}
			b.clean(at + " " + view)
		}
	}
}

// TestReportInBrowser opens one file, without a server, in every view.
func TestReportInBrowser(t *testing.T) {
	b := newBrowser(t)
	records := bursty(t, "fifo", "hfsp")
	report := filepath.Join(t.TempDir(), "report.html")
	sojourn(t, append([]string{"record", "report", "-o", report}, records...)...)
	for view, words := range views {
		b.open("file://" + report + "#/0/" + view)
		text := b.text()
		for _, w := range words {
			if !strings.Contains(text, w) && w != "no node fits" && w != "Why does it wait?" && w != "✓" {
				t.Errorf("view %s lacks %q: %.400s", view, w, text)
			}
		}
		b.clean("report, view " + view)
	}
	b.open("file://" + report + "#/0/queues?at=5m20s")
	var used string
	b.do(chromedp.Evaluate(`document.querySelector("table[aria-label=queues] tbody tr").cells[1].textContent`, &used))
	if used == "0 %" || !strings.Contains(b.text(), "around 5m20s") {
		t.Errorf("at 5m20s %q is used: %.300s", used, b.text())
	}
	b.clean("report, queues at an instant")
}

// departments leaves the record of a run whose queues are a tree.
func departments(t *testing.T) string {
	t.Helper()
	return recorded(t, "departments", "--trace", "../../examples/queues.yaml", "--cluster",
		"../../examples/cluster.yaml", "--policy", "fair")
}

// TestQueuesAreSorted sorts the tree of queues by the keyboard, on a server and in a report: the queues below one queue
// change places and stay below it, and the address remembers the order. By weight reports has 2/3 of the cluster,
// research.interactive 1/4 and research.batch 1/12.
func TestQueuesAreSorted(t *testing.T) {
	b := newBrowser(t)
	record := departments(t)
	report := filepath.Join(t.TempDir(), "report.html")
	sojourn(t, "record", "report", "-o", report, record)
	const (
		names = `[...document.querySelectorAll("table[aria-label=queues] tbody tr")].map((r) => ` +
			`r.cells[0].textContent).join(" ")`
		marked = `[...document.querySelectorAll("table[aria-label=queues] th[aria-sort]")].map((h) => ` +
			`h.getAttribute("aria-sort") + " " + h.textContent).join(" ")`
		byName = "root reports research research.batch research.interactive"
		most   = "root reports research research.interactive research.batch"
		least  = "root research research.batch research.interactive reports"
	)
	for _, at := range []string{serve(t, siteOf(t, record)).URL + "/", "file://" + report} {
		shows := func(order, mark, address string) {
			t.Helper()
			var gotOrder, gotMark, gotAddress string
			b.do(b.until(fmt.Sprintf(`%s === %q`, names, order)), chromedp.Evaluate(names, &gotOrder),
				chromedp.Evaluate(marked, &gotMark), chromedp.Evaluate(`location.hash`, &gotAddress))
			if gotOrder != order || gotMark != mark || gotAddress != address {
				t.Errorf("%s: %s, marked %s, at %s; want %s, %s, %s", at, gotOrder, gotMark, gotAddress, order, mark,
					address)
			}
		}
		b.open(at + "#/0/queues")
		shows(byName, "ascending queue ▴", "#/0/queues")
		b.do(chromedp.Evaluate(`document.querySelector("button[data-sort=share]").focus()`, nil),
			chromedp.KeyEvent("\r"))
		shows(most, "descending share ▾", "#/0/queues?sort=-share")
		b.do(chromedp.KeyEvent(" ")) // the focus has stayed
		shows(least, "ascending share ▴", "#/0/queues?sort=share")
		b.do(chromedp.Evaluate(`document.getElementById("at").value = "5m"
				document.getElementById("at").dispatchEvent(new Event("change"))`, nil),
			b.until(`location.hash.includes("at=")`))
		shows(least, "ascending share ▴", "#/0/queues?sort=share&at=5m")
		b.open(at + "#/0/queues?sort=-share")
		shows(most, "descending share ▾", "#/0/queues?sort=-share")
		b.open(at + "#/0/queues?sort=weather")
		if text := b.text(); !strings.Contains(text, "sort=weather: must be one of asked, balance, demand") {
			t.Errorf("%s: an unknown column is shown as %.300s", at, text)
		}
		b.clean(at)
	}
}

// TestUsersInBrowser sorts users by the keyboard, on a server and in a report, which must show the same. Then it
// follows the link of a user to the user's jobs.
func TestUsersInBrowser(t *testing.T) {
	b := newBrowser(t)
	record := departments(t)
	report := filepath.Join(t.TempDir(), "report.html")
	sojourn(t, "record", "report", "-o", report, record)
	const (
		all     = `[...document.querySelectorAll("table[aria-label=users] tbody tr")]`
		rows    = all + `.map((r) => r.innerText).join("|")`
		names   = all + `.map((r) => r.cells[0].innerText).join(" ")`
		buttons = `[...document.querySelectorAll("table[aria-label=users] th button")]`
		marked  = `document.querySelector("table[aria-label=users] th[aria-sort]")?.textContent`
	)
	shown := map[string]string{} // by column, on the server
	for _, at := range []string{serve(t, siteOf(t, record)).URL + "/", "file://" + report} {
		b.open(at + "#/0/users")
		b.do(b.until(names + ` === "ana bo cy di eva"`))
		for _, column := range []string{"jobs", "received", "mean sojourn", "mean wait"} {
			b.do(chromedp.Evaluate(fmt.Sprintf(`%s.find((e) => e.textContent === %q).focus()`, buttons, column), nil),
				chromedp.KeyEvent("\r"), b.until(fmt.Sprintf(`%s === %q`, marked, column+" ▾")))
			var text string
			b.do(chromedp.Evaluate(rows, &text))
			if was, ok := shown[column]; ok && was != text || len(text) < 100 {
				t.Errorf("%s by %s: %q; the server shows %q", at, column, text, was)
			}
			shown[column] = text
		}
		if text := shown["jobs"]; !strings.HasPrefix(text, "cy\t3\t") {
			t.Errorf("cy has most jobs, three; the first rows are %.80s", text)
		}
		b.open(at + "#/0/users?q=AN")
		b.do(b.until(names+` === "ana"`), chromedp.KeyEvent("j"),
			b.until(`document.activeElement.textContent === "ana"`), chromedp.KeyEvent("\r"),
			b.until(`location.hash === "#/0/jobs?user=ana"`),
			b.until(`document.getElementById("totals")?.textContent.startsWith("2 jobs ")`))
		b.clean(at)
	}
}

// TestPictures holds every view to a picture, as far as fonts of other machines allow. Two of them are in README.md.
func TestPictures(t *testing.T) {
	b := newBrowser(t)
	three := serve(t, siteOf(t, bursty(t, "fifo", "fair", "hfsp")...)).URL + "/#/"
	tree := serve(t, siteOf(t, departments(t))).URL + "/#/"
	for _, p := range []struct{ file, at, theme string }{
		{"../../docs/page-policies.png", three + "0/policies", "light"},
		{"../../docs/page-cluster.png", three + "0/cluster", "dark"},
		{"testdata/queues.png", tree + "0/queues?at=5m&sort=-balance", "light"},
		{"testdata/jobs.png", tree + "0/jobs?sort=-slowdown", "dark"},
		{"testdata/job.png", three + "0/jobs/150", "light"},
		{"testdata/nodes.png", three + "1/nodes?sort=-idle", "light"},
		{"testdata/users.png", tree + "0/users?sort=-service", "light"},
		{"testdata/node.png", three + "1/nodes/7", "dark"},
		{"testdata/phone-cluster.png", three + "0/cluster", "light"},
		{"testdata/phone-jobs.png", tree + "0/jobs", "dark"},
	} {
		size := b.size(1280, 860, false)
		if strings.Contains(p.file, "phone") {
			size = b.size(390, 800, true)
		}
		theme := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: p.theme}}
		b.do(emulation.SetEmulatedMedia().WithFeatures(theme), size)
		b.open(p.at)
		if strings.Contains(p.at, "jobs/") { // the record is read in a request of its own
			b.do(chromedp.WaitVisible(`.why .reason`, chromedp.ByQuery))
		}
		b.looks(p.file)
	}
	b.clean("pictures")
}

// looks compares what is shown with a picture, or writes the picture anew.
func (b *browser) looks(path string) {
	b.t.Helper()
	var picture []byte
	const drawn = `document.fonts.status === "loaded" && document.getAnimations().length === 0 &&
		[...document.querySelectorAll("canvas")].every((c) => c.width === Math.round(c.clientWidth * devicePixelRatio))`
	const painted = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`
	wait := func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
	b.do(b.until(drawn), chromedp.Evaluate(painted, nil, wait), chromedp.CaptureScreenshot(&picture))
	if *rewrite {
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err = errors.Join(err, os.WriteFile(path, picture, 0o644)); err != nil {
			b.t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	if d := difference(b.t, picture, golden); d > tolerance {
		left := filepath.Join(os.TempDir(), filepath.Base(path))
		_ = os.WriteFile(left, picture, 0o644)
		b.t.Errorf("%s differs by %.3f, more than %.3f: compare %s, and write it anew by -rewrite", path, d, tolerance,
			left)
	}
}

// TestIdleNodesInBrowser opens nodes on which nothing has run.
func TestIdleNodesInBrowser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "idle.rec")
	sojourn(t, "sim", "--trace", "../../examples/bursty.tsv", "--jobs", "1", "--cluster",
		"nodes=20,map-slots=30,reduce-slots=9", "--policy", "fifo", "--record", path)
	server, b := serve(t, siteOf(t, path)), newBrowser(t)
	b.open(server.URL + "/#/0/nodes/20")
	if text := b.text(); !strings.Contains(text, "Node 20") {
		t.Errorf("the page of node 20 is %.400s", text)
	}
	b.clean("a node on which nothing has run")
	b.do(chromedp.Navigate("about:blank"))
}

// TestStockHadoopInBrowser looks at the page of a ResourceManager while a job of stock Hadoop comes, runs and ends,
// and compares views with pictures where some are kept. TestStockPage of internal/yarn starts all of these.
func TestStockHadoopInBrowser(t *testing.T) {
	if *pageAt == "" {
		t.Skip("there is no ResourceManager at -page: go test ./internal/yarn -run TestStockPage starts one")
	}
	b := newBrowser(t)
	b.open(*pageAt + "/#/0/jobs")
	shows := func(state string) { // without being opened again
		for end := time.Now().Add(2 * time.Minute); ; {
			var there bool
			b.do(chromedp.Sleep(100*time.Millisecond), chromedp.Evaluate(fmt.Sprintf(
				`document.querySelector(".state.%s") !== null`, state), &there))
			if there {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("no job is %s: %s", state, b.text())
			}
		}
	}
	shows("running")
	views := []struct{ view, words string }{
		{"cluster", "memory|vcores|Utilisation"}, {"queues", "default"}, {"jobs/1", "word count|map|reduce"},
		{"nodes", "memory"}, {"nodes/1", "Node 1 "}, {"policies", "capacity"}, {"jobs", "word count"},
	}
	look := func(when string) {
		for _, v := range views {
			b.open(*pageAt + "/#/0/" + v.view)
			for w := range strings.SplitSeq(v.words, "|") {
				if text := b.text(); !strings.Contains(text, w) {
					t.Errorf("view %s %s lacks %q: %.400s", v.view, when, w, text)
				}
			}
			if when == "after the job" && v.view != "jobs/1" && v.view != "nodes/1" { // bars are as long as tasks took
				path := filepath.Join("testdata", "stock-"+v.view+".png")
				if _, err := os.Stat(path); err == nil || *rewrite {
					b.looks(path)
				} else {
					t.Logf("view %s is compared with no picture: -rewrite keeps %s", v.view, path)
				}
			}
			b.clean("view " + v.view + " " + when)
		}
	}
	look("while the job runs")
	shows("done")
	look("after the job")
}

// tolerance is how far two pictures may differ: the root mean square of the differences of cells of 16 by 16 pixels,
// where black and white differ by 1. Other fonts make about 0.01, a missing chart 0.05.
const tolerance = 0.03

func difference(t *testing.T, a, b []byte) float64 {
	t.Helper()
	x, y := cells(t, a), cells(t, b)
	if len(x) != len(y) {
		return 1
	}
	sum := 0.0
	for i := range x {
		sum += (x[i] - y[i]) * (x[i] - y[i])
	}
	return math.Sqrt(sum / float64(len(x)))
}

// cells returns the brightness of a picture in cells of 16 by 16 pixels.
func cells(t *testing.T, text []byte) (list []float64) {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	const cell = 16
	r := picture.Bounds()
	for y := r.Min.Y; y+cell <= r.Max.Y; y += cell {
		for x := r.Min.X; x+cell <= r.Max.X; x += cell {
			list = append(list, brightness(picture, image.Rect(x, y, x+cell, y+cell)))
		}
	}
	return list
}

func brightness(p image.Image, r image.Rectangle) float64 {
	sum := uint64(0)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			red, green, blue, _ := p.At(x, y).RGBA()
			sum += uint64(red + green + blue)
		}
	}
	return float64(sum) / float64(3*0xffff*r.Dx()*r.Dy())
}
