package spelling

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"weight", "width", "mapreduce.job.reduces"}
	for _, c := range []struct {
		word, want string
		wrong      int
	}{
		{"wieght", "weight", 2}, // two letters changed
		{"widt", "width", 1},    // one left out
		{"mapreduce.job.reduce", "mapreduce.job.reduces", 1},
		{"weight", "weight", 0},
		{"zzzz", "", 3}, // nothing is within two
		{"", "", 1},
	} {
		if got, wrong := Nearest(c.word, names); got != c.want || wrong != c.wrong {
			t.Errorf("nearest to %q: %q, %d wrong, want %q, %d", c.word, got, wrong, c.want, c.wrong)
		}
	}
	if got := Suggest("wdth", names); got != " (did you mean width?)" {
		t.Errorf("suggested: %q", got)
	}
	if got := Suggest("zzzz", names); got != "" {
		t.Errorf("suggested: %q", got)
	}
}
