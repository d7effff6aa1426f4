package submit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// A Cluster asks a ResourceManager by REST.
type Cluster struct {
	// Addresses are http://host:port of the ResourceManager, or of several where only one is active.
	Addresses []string
	client    http.Client

	mu sync.Mutex // guards the order of Addresses: jobs ask at the same time
}

// askTime is how long a question may take; mostAnswer bounds an answer.
const (
	askTime    = 10 * time.Second
	mostAnswer = 16 << 20
)

// get asks for a page below /ws/v1/cluster and reads its JSON. The first address that answers is the first one asked
// from then on.
func (c *Cluster) get(ctx context.Context, page string, into any) error {
	c.mu.Lock()
	list := slices.Clone(c.Addresses)
	c.mu.Unlock()
	var errs []error
	for _, at := range list {
		err := c.getFrom(ctx, strings.TrimRight(at, "/")+"/ws/v1/cluster/"+page, into)
		if err == nil {
			c.prefer(at)
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// prefer makes at the first of the addresses.
func (c *Cluster) prefer(at string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.Addresses, at); i > 0 {
		c.Addresses[0], c.Addresses[i] = c.Addresses[i], c.Addresses[0]
	}
}

func (c *Cluster) getFrom(ctx context.Context, address string, into any) error {
	_, err := c.call(ctx, request{http.MethodGet, address, ""}, into)
	return err
}

// A request is one of REST. Its body is JSON; "": it has none.
type request struct{ method, address, body string }

// call makes a request, reads the JSON of its answer, and returns its status. Every status is an error, except 200, and
// 202 for a request with a body: then there is no answer to read yet.
func (c *Cluster) call(ctx context.Context, r request, into any) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, r.method, r.address, strings.NewReader(r.body))
	if err != nil {
		return 0, err
	}
	q.Header.Set("Accept", "application/json")
	if r.body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	a, err := c.client.Do(q)
	if err != nil {
		return 0, err
	}
	defer a.Body.Close()
	switch {
	case r.body != "" && a.StatusCode == http.StatusAccepted:
		return a.StatusCode, nil
	case a.StatusCode != http.StatusOK:
		return a.StatusCode, fmt.Errorf("%s: %s", r.address, a.Status)
	}
	if err := json.NewDecoder(io.LimitReader(a.Body, mostAnswer)).Decode(into); err != nil {
		return a.StatusCode, fmt.Errorf("%s: %w", r.address, err)
	}
	return a.StatusCode, nil
}

// kill kills an application as a user, and returns when the application has ended. Until then Hadoop's ResourceManager
// answers 202, and is asked again.
func (c *Cluster) kill(ctx context.Context, id, user string) error {
	c.mu.Lock()
	list := slices.Clone(c.Addresses)
	c.mu.Unlock()
	var errs []error
	for _, at := range list {
		address := strings.TrimRight(at, "/") + "/ws/v1/cluster/apps/" + url.PathEscape(id) + "/state?user.name=" +
			url.QueryEscape(user)
		for {
			var doc struct{ State string }
			status, err := c.call(ctx, request{http.MethodPut, address, `{"state":"KILLED"}`}, &doc)
			if err == nil && status == http.StatusOK {
				c.prefer(at)
				return nil
			}
			if err != nil {
				errs = append(errs, err)
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s: accepted, and the application does not end", address)
			case <-time.After(pollEvery):
			}
		}
	}
	return errors.Join(errs...)
}

// An App is an application as the ResourceManager reports it.
type App struct {
	ID           string  `json:"id"`
	User         string  `json:"user"`
	Queue        string  `json:"queue"`
	State        string  `json:"state"`
	FinalStatus  string  `json:"finalStatus"`
	Progress     float64 `json:"progress"` // percent
	Diagnostics  string  `json:"diagnostics"`
	StartedTime  int64   `json:"startedTime"`  // ms since 1970, as the next two; of the submission
	LaunchTime   int64   `json:"launchTime"`   // of the ApplicationMaster; 0: not yet
	FinishedTime int64   `json:"finishedTime"` // 0: not yet
	ElapsedTime  int64   `json:"elapsedTime"`  // ms since StartedTime, to the end or to now
}

// app asks for an application.
func (c *Cluster) app(ctx context.Context, id string) (App, error) {
	var doc struct{ App App }
	err := c.get(ctx, "apps/"+url.PathEscape(id), &doc)
	return doc.App, err
}

// tagged asks for the application with a tag; ok is false where there is none.
func (c *Cluster) tagged(ctx context.Context, tag string) (app App, ok bool, err error) {
	var doc struct{ Apps struct{ App []App } }
	err = c.get(ctx, "apps?applicationTags="+url.QueryEscape(tag), &doc)
	if err != nil || len(doc.Apps.App) == 0 {
		return App{}, false, err
	}
	return doc.Apps.App[0], true, nil
}

// Scheduler returns the name of the ResourceManager's scheduler, such as capacityScheduler.
func (c *Cluster) Scheduler(ctx context.Context) (string, error) {
	var doc struct {
		Scheduler struct{ SchedulerInfo struct{ Type string } }
	}
	err := c.get(ctx, "scheduler", &doc)
	return doc.Scheduler.SchedulerInfo.Type, err
}

// over reports whether the application has ended.
func (a *App) over() bool { return a.State == "FINISHED" || a.State == "FAILED" || a.State == "KILLED" }

// outcome returns what became of an application that has ended.
func (a *App) outcome() sched.Outcome {
	switch {
	case a.FinalStatus == "SUCCEEDED":
		return sched.OK
	case a.State == "KILLED" || a.FinalStatus == "KILLED":
		return sched.Killed
	}
	return sched.Failed
}

// instant makes a time of ms since 1970.
func instant(ms int64) time.Time { return time.UnixMilli(ms) }
