package peer

import (
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// credential finds the first token of a kind in a blob of version 0.
func credential(blob []byte, kind string) (t wire.Token, ok bool) {
	if len(blob) < 6 || string(blob[:5]) != "HDTS\x00" {
		return t, false
	}
	count, n, err := token.ReadVInt(blob[5:])
	rest := blob[5+n:]
	var part [5][]byte // alias, identifier, password, kind, service
	for ; err == nil && count > 0; count-- {
		for i := range part {
			size, n, err := token.ReadVInt(rest)
			if err != nil || size < 0 || size > int64(len(rest)-n) {
				return t, false
			}
			part[i], rest = rest[n:n+int(size)], rest[n+int(size):]
		}
		if string(part[3]) == kind {
			return wire.Token{Identifier: part[1], Password: part[2], Kind: kind, Service: string(part[4])}, true
		}
	}
	return t, false
}
