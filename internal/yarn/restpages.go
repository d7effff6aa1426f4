package yarn

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// withOptions answers OPTIONS for every path: Hadoop's own clients begin with it.
func withOptions(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodOptions {
			w.Header().Set("Allow", "OPTIONS,GET,HEAD,PUT,POST")
			return
		}
		h.ServeHTTP(w, r)
	})
}

// withoutSlash serves each path below another one in the same way with a slash at its end and without, as Hadoop does.
func withoutSlash(h http.Handler, below string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, below) && strings.HasSuffix(r.URL.Path, "/") {
			q, u := *r, *r.URL
			u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(u.RawPath, "/")
			q.URL = &u
			r = &q
		}
		h.ServeHTTP(w, r)
	})
}

// servePages serves what programs look for beside /ws: /cluster and /isActive, by which they find out whether this is
// the active ResourceManager, /conf and /jmx.
func servePages(mux *http.ServeMux, f *front) {
	overview := func(w http.ResponseWriter, r *http.Request) {
		var text string
		f.look(func(m *manager) { text = overviewOf(m) })
		page(w, http.StatusOK, "Cluster", text)
	}
	mux.HandleFunc("GET /cluster", overview)
	mux.HandleFunc("GET /cluster/cluster", overview)
	mux.HandleFunc("GET /isActive", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain;charset=utf-8")
		io.WriteString(w, "I am Active!")
	})
	forAdmins := func(page http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if user := visitor(r); f.config.Shown.AdminsOnly && admit(f, user) != nil {
				http.Error(w, "User "+user+" is unauthorized to access this page.", http.StatusForbidden)
				return
			}
			page(w, r)
		}
	}
	mux.HandleFunc("GET /conf", forAdmins(func(w http.ResponseWriter, r *http.Request) {
		confPage(f.config.Shown.Properties, w, r)
	}))
	mux.HandleFunc("GET /jmx", forAdmins(func(w http.ResponseWriter, r *http.Request) {
		var beans []any
		f.look(func(m *manager) { beans = beansOf(m) })
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		heap := map[string]any{"used": memory.HeapAlloc, "committed": memory.HeapSys}
		beans = append(beans, map[string]any{"name": "java.lang:type=Memory", "HeapMemoryUsage": heap})
		jmxPage(beans, w, r)
	}))
}

// overviewOf says what there is, a line each.
func overviewOf(m *manager) string {
	root := m.core.Queues[0]
	const form = "nodes         %d\nmemory        %d of %d MiB\ncores         %d of %d\ncontainers    %d\n" +
		"applications  %d, %d live"
	all := m.core.Capacity
	return fmt.Sprintf(form, m.nodes.up, root.Used[sched.Memory], all[sched.Memory], root.Used[sched.VCores],
		m.core.Capacity[sched.VCores], m.leases.count, len(m.apps.list), m.apps.unfinished())
}

// confPage serves the properties of the configuration files, or the one that parameter name asks for, in XML or, if the
// request asks for it, in JSON.
func confPage(said []Property, w http.ResponseWriter, r *http.Request) {
	if name := r.FormValue("name"); name != "" {
		var one []Property
		for _, p := range said {
			if p.Name == name {
				one = append(one, p)
			}
		}
		if len(one) == 0 {
			http.Error(w, "Property "+name+" not found", http.StatusNotFound)
			return
		}
		said = one
		if wantsJSON(r) {
			w.Header().Set("Content-Type", "application/json;charset=utf-8")
			json.NewEncoder(w).Encode(map[string]any{"property": one[0]})
			return
		}
	}
	if wantsJSON(r) {
		w.Header().Set("Content-Type", "application/json;charset=utf-8")
		json.NewEncoder(w).Encode(map[string]any{"properties": append([]Property{}, said...)})
		return
	}
	w.Header().Set("Content-Type", "text/xml;charset=utf-8")
	type configuration struct {
		XMLName  xml.Name   `xml:"configuration"`
		Property []Property `xml:"property"`
	}
	xml.NewEncoder(w).Encode(configuration{Property: said})
}

// wantsJSON reports whether a request for the configuration asks for JSON.
func wantsJSON(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "json") || r.FormValue("format") == "json"
}

// jmxPage serves the beans whose names begin with parameter qry.
func jmxPage(beans []any, w http.ResponseWriter, r *http.Request) {
	if want := strings.TrimSuffix(r.FormValue("qry"), "*"); want != "" {
		var some []any
		for _, b := range beans {
			if name, _ := b.(map[string]any)["name"].(string); strings.HasPrefix(name, want) {
				some = append(some, b)
			}
		}
		beans = some
	}
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	json.NewEncoder(w).Encode(map[string]any{"beans": append([]any{}, beans...)})
}

// beansOf are the figures that monitoring programs read of a ResourceManager, by Hadoop's names.
func beansOf(m *manager) []any {
	nodes := map[wire.NodeState]int{}
	for _, n := range m.nodes.list {
		nodes[n.state]++
	}
	apps := m.apps.tallies()[""]
	root, all := m.core.Queues[0], m.core.Capacity
	waits := root.Demand.Sub(root.Used)
	return []any{
		map[string]any{
			"name": "Hadoop:service=ResourceManager,name=ClusterMetrics", "NumActiveNMs": nodes[wire.NodeRunning],
			"NumDecommissioningNMs": nodes[wire.NodeDecommissioning],
			"NumDecommissionedNMs":  nodes[wire.NodeDecommissioned], "NumLostNMs": nodes[wire.NodeLost],
			"NumUnhealthyNMs": nodes[wire.NodeUnhealthy], "NumRebootedNMs": 0,
			"NumShutdownNMs": nodes[wire.NodeShutdown],
		},
		map[string]any{
			"name":      "Hadoop:service=ResourceManager,name=QueueMetrics,q0=root",
			"tag.Queue": "root", "AppsSubmitted": apps.submitted, "AppsRunning": apps.running,
			"AppsPending": apps.pending, "AppsCompleted": apps.completed,
			"AppsKilled": apps.killed, "AppsFailed": apps.failed,
			"AllocatedMB": root.Used[sched.Memory], "AllocatedVCores": root.Used[sched.VCores],
			"AllocatedContainers": m.leases.count, "AvailableMB": all[sched.Memory] - root.Used[sched.Memory],
			"AvailableVCores": all[sched.VCores] - root.Used[sched.VCores], "PendingMB": waits[sched.Memory],
			"PendingVCores": waits[sched.VCores], "PendingContainers": root.Pending(), "ReservedMB": 0,
			"ReservedVCores": 0, "ReservedContainers": 0,
		},
	}
}
