package sched

import "strings"

// Likeness names the stages that are taken to be alike, in this run and in others: of the same kind, and of jobs of the
// same user, name and type. Names count as the same if they differ only in runs of digits, because dates and numbers
// change from run to run. The parts of a Likeness are separated by a byte that no name has.
func (s *JobSpec) Likeness(kind StageKind) string {
	return strings.Join([]string{s.User, withoutDigits(s.Name), s.Type, kind.String()}, "\x00")
}

// withoutDigits puts one # in the place of each run of digits.
func withoutDigits(name string) string {
	b := make([]byte, 0, len(name))
	for i := range len(name) {
		switch c := name[i]; {
		case c < '0' || c > '9':
			b = append(b, c)
		case i == 0 || name[i-1] < '0' || name[i-1] > '9':
			b = append(b, '#')
		}
	}
	return string(b)
}
