package cli

import (
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// Each value that is offered makes an estimator, as it is and for an engine without containers; one that keeps a
// history can; one that is told the truth is refused where nobody knows it; and one that takes no parameters refuses
// them.
func TestEstimatorKinds(t *testing.T) {
	truth := simTruth
	for _, value := range estimatorValues() {
		k, _, err := estimatorOf(value)
		if err != nil {
			t.Fatal(err)
		}
		var made sched.Estimator
		for _, v := range []string{value, withoutContainers(value)} {
			if made, _, err = (&policyFlags{estimator: v}).newEstimator(&truth); err != nil {
				t.Errorf("--estimator %s: %v", v, err)
			}
		}
		if _, can := made.(keeper); can != keepsHistory(k) {
			t.Errorf(
				"--estimator %s: the table says that it keeps a history: %v, and it can: %v",
				value,
				keepsHistory(k),
				can,
			)
		}
		if _, _, err = (&policyFlags{estimator: value}).newEstimator(nil); (err != nil) != k.knows {
			t.Errorf("--estimator %s where nobody knows the truth: %v", value, err)
		}
		if _, _, err = (&policyFlags{estimator: k.name + ":bogus=1"}).newEstimator(&truth); err == nil ||
			!strings.Contains(err.Error(), k.name) {
			t.Errorf("--estimator %s:bogus=1: %v", k.name, err)
		}
	}
	for value, want := range map[string]string{"fspy": "fspy:least=1ms", "fspy:fit=equal": "fspy:fit=equal,least=1ms", "fspy:least=2s": "fspy:least=2s", "mean": "mean", "wrong": "wrong"} {
		if got := withoutContainers(value); got != want {
			t.Errorf("--estimator %s without containers is %s, want %s", value, got, want)
		}
	}
	_, _, err := (&policyFlags{estimator: "wrong"}).newEstimator(nil)
	if err == nil || !strings.Contains(err.Error(), "must be oracle, noisy, mean, history or fspy") {
		t.Errorf("--estimator wrong: %v", err)
	}
}
