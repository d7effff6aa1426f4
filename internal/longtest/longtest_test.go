package longtest

import "testing"

func TestFew(t *testing.T) {
	for _, c := range []struct {
		value string
		long  bool
	}{{"1", true}, {"", false}, {"0", false}, {"yes", false}} {
		t.Setenv("SOJOURN_LONG", c.value)
		want := 3
		if c.long {
			want = 70
		}
		if On() != c.long || Few(3, 70) != want {
			t.Errorf("SOJOURN_LONG=%q: On is %v, and Few(3, 70) is %d", c.value, On(), Few(3, 70))
		}
	}
}
