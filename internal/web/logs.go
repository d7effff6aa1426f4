package web

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/joblog"
)

// logsOf lists the logs of the job that a request names. It is an error if the user may not look at the job.
func (c *call) logsOf() ([]joblog.Log, error) {
	b, _, err := c.board()
	if err != nil {
		return nil, err
	}
	id, err := c.job()
	if err == nil {
		err = c.shows(b, id)
	}
	if err != nil || b.about.Logs == "" {
		return nil, err
	}
	all, err := joblog.List(b.about.Logs)
	if errors.Is(err, fs.ErrNotExist) { // no program has written anything
		return nil, nil
	}
	var list []joblog.Log
	for _, l := range all {
		if l.Job == id {
			list = append(list, l)
		}
	}
	return list, err
}

func (c *call) logs() (any, error) {
	list, err := c.logsOf()
	if err != nil {
		return nil, err
	}
	answer := JobLogs{Logs: []LogEntry{}}
	for _, l := range list {
		answer.Logs = append(answer.Logs, LogEntry{l.Attempt, l.Bytes})
	}
	return answer, nil
}

func (c *call) log() (any, error) {
	list, err := c.logsOf()
	if err != nil {
		return nil, err
	}
	attempt := c.r.PathValue("attempt")
	for _, l := range list {
		if l.Attempt == attempt { // so that no path but one of the list is opened
			text, err := os.ReadFile(l.Path)
			return Log{LogEntry{l.Attempt, int64(len(text))}, strings.ToValidUTF8(string(text), "\uFFFD")}, err
		}
	}
	return nil, missing("attempt %q of this job has no log", attempt)
}
