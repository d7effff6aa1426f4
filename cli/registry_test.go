package cli

import (
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/model"
)

// An estimator of a program's own is one for --estimator, is offered there, and its name cannot be taken.
func TestOwnEstimator(t *testing.T) {
	own := With(Estimator{"mean-too", model.All["mean"]})
	status, out, errs := with(t, "", []Option{own}, "sim", "--trace", generated(t), "--cluster", smallCluster,
		"--policy", "srpt", "--estimator", "mean-too")
	if status != statusOK || !strings.Contains(out, "srpt") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	if _, out, _ := with(t, "", []Option{own}, "sim", "--help"); !strings.Contains(out, "mean, mean-too, ") {
		t.Errorf("the help does not offer the estimator:\n%s", out)
	}
	defer func() {
		if recover() == nil {
			t.Error("a name that is taken is given again")
		}
	}()
	with(t, "", []Option{With(Estimator{"mean", model.All["mean"]})}, "version")
}
