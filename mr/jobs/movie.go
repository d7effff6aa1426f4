package jobs

import (
	"bytes"
	"math"

	"github.com/sojourn-sched/sojourn/mr"
)

// movie is a line of ratings.
type movie struct {
	id    uint64
	users []uint32
	stars []uint8 // 1 to 5, of each user
}

// parse reads movie:user_rating,user_rating,…; false: the line has another form.
func (m *movie) parse(line []byte) bool {
	m.users, m.stars = m.users[:0], m.stars[:0]
	id, at, ok := parseID(line, 20)
	if !ok || at == len(line) || line[at] != ':' {
		return false
	}
	m.id = id
	for {
		at++
		user := uint64(0)
		first := at
		for at < len(line) && line[at]-'0' < 10 {
			user = user*10 + uint64(line[at]-'0')
			at++
		}
		// No more than ten digits, so user did not overflow on the way. What follows is _, one digit, and a comma or
		// the end.
		if digits := at - first; digits == 0 || digits > 10 || user > math.MaxUint32 || at+1 >= len(line) ||
			line[at] != '_' {
			return false
		}
		star := line[at+1] - '0'
		if star-1 > 4 {
			return false
		}
		m.users = append(m.users, uint32(user))
		m.stars = append(m.stars, star)
		if at += 2; at == len(line) {
			return true
		}
		if line[at] != ',' {
			return false
		}
	}
}

// parseID reads the decimal number that line begins with, of at most the given number of digits, and tells where it
// ends.
func parseID(line []byte, digits int) (id uint64, end int, ok bool) {
	for end < len(line) && line[end]-'0' < 10 {
		d := uint64(line[end] - '0')
		if end == digits || id > (math.MaxUint64-d)/10 {
			return 0, 0, false
		}
		id = id*10 + d
		end++
	}
	return id, end, end > 0
}

// eachMovie calls do with every well-formed movie of the input and its line, and counts the malformed ones. Both are
// lent.
func eachMovie(t *mr.Task, in *mr.Batches, do func(*movie, []byte)) {
	var m movie
	bad := int64(0)
	for in.Next() {
		for text := in.Data(); len(text) > 0; {
			n := lineLength(text)
			if m.parse(text[:n]) {
				do(&m, text[:n])
			} else {
				bad++
			}
			text = text[min(n+1, len(text)):]
		}
	}
	malformed(t, bad)
}

// afterTab returns what follows the last TAB of a line.
func afterTab(line []byte) []byte { return line[bytes.LastIndexByte(line, '\t')+1:] }
