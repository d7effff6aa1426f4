package yarn

import (
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
)

// A logbook is the log. Refusals of one kind take one line a second at most. Many goroutines may use it.
type logbook struct {
	*slog.Logger
	deeds *slog.Logger // of what users do
	brake rpc.Brake
}

// refused logs that something was refused to a peer. what names the kind of refusal, and contains nothing that the peer
// has sent.
func (l *logbook) refused(what string, args ...any) {
	if silent, ok := l.brake.Pass(what, time.Now()); ok {
		l.Warn(what, append(args, "more", silent)...)
	}
}

// Bounds of the texts of peers, in bytes. Tags, addresses and contexts of logs beyond them are refused. Hadoop takes 10
// tags at most, and does not bound addresses and contexts. Other texts are cut.
const (
	mostTags        = 100      // of an application; not bytes
	mostTag         = 100      // of one tag
	mostTitle       = 1 << 10  // of an application
	mostType        = 20       // of an application, as Hadoop cuts it
	mostDiagnostics = 64 << 10 // as yarn.app.attempt.diagnostics.limit.kc has it
	mostLogged      = 1 << 10  // of diagnostics, in the log
	mostAddress     = 4 << 10  // of an ApplicationMaster's host, and of the URL of its pages

	mostLogAggregation = 8 << 10 // of how an application's logs are collected: each token of a container has it
)

// cut returns the beginning of a text: whole characters of at most most bytes together. The result does not keep the
// rest in memory.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return strings.Clone(s[:most])
}
