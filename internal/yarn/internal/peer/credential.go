package peer

import (
	"slices"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// credential finds the first token of a kind in a blob of version 0.
func credential(blob []byte, kind string) (t wire.Token, ok bool) {
	tokens, _, err := token.ReadCredentials(blob)
	at := slices.IndexFunc(tokens, func(t wire.Token) bool { return t.Kind == kind })
	if err != nil || at < 0 {
		return t, false
	}
	return tokens[at], true
}
