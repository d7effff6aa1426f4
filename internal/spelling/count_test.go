package spelling

import "testing"

func TestCount(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Count(0, "job"), "0 jobs"},
		{Count(1, "job"), "1 job"},
		{Count(int32(2), "job"), "2 jobs"},
		{Count(int64(-1), "job"), "-1 jobs"},
		{Count(1, "policy", "policies"), "1 policy"},
		{Count(3, "task waits", "tasks wait"), "3 tasks wait"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
