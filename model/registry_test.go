package model

import (
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

func noTruth(*sched.JobSpec) (JobTruth, bool) { return nil, false }

// Each value that is offered makes an estimator, as it is and where tasks run without containers. An estimator that
// keeps what it learned is a Keeper. One that is told the truth is refused where the truth is not known, and one
// without parameters refuses them.
func TestRegistry(t *testing.T) {
	for _, spec := range All.Examples() {
		var made sched.Estimator
		for _, s := range []string{spec, All.WithoutContainers(spec)} {
			var err error
			if made, _, err = All.Parse(s, noTruth); err != nil {
				t.Errorf("%s: %v", s, err)
			}
		}
		card, err := All.Find(spec)
		if err != nil {
			t.Fatal(err)
		}
		if _, can := made.(Keeper); can != (card.Keeps != "") {
			t.Errorf("%s: the card says that it keeps %q, and it is a Keeper: %v", spec, card.Keeps, can)
		}
		if _, _, err = All.Parse(spec, nil); (err != nil) != card.Truth {
			t.Errorf("%s where the truth is not known: %v", spec, err)
		}
		name, _, _ := strings.Cut(spec, ":")
		if _, _, err = All.Parse(name+":bogus=1", noTruth); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s:bogus=1: %v", name, err)
		}
	}
}

func TestRegistryWithoutContainers(t *testing.T) {
	for spec, want := range map[string]string{
		"fspy":           "fspy:least=1ms",
		"fspy:fit=equal": "fspy:fit=equal,least=1ms",
		"fspy:least=2s":  "fspy:least=2s",
		"mean":           "mean",
		"wrong":          "wrong",
	} {
		if got := All.WithoutContainers(spec); got != want {
			t.Errorf("%s without containers is %s, want %s", spec, got, want)
		}
	}
}

// Parameters reach the estimators, and what is wrong is told with what would be right.
func TestRegistryParameters(t *testing.T) {
	e, _, err := All.Parse("fspy:fit=relative,window=7,least=2s", nil)
	if err != nil {
		t.Fatal(err)
	}
	if f := e.(*FSPY).Fit; f.Weighting != Relative || f.Window != 7 || f.Least != 2 || f.Ridge != DefaultFit.Ridge {
		t.Errorf("fspy is made with %+v", f)
	}
	e, _, err = All.Parse("fspy", nil)
	if err != nil || e.(*FSPY).Fit != DefaultFit {
		t.Errorf("fspy without parameters is made with %+v, %v", e.(*FSPY).Fit, err)
	}
	e, _, err = All.Parse("noisy:sigma=0.5,seed=18446744073709551615", noTruth)
	if n, ok := e.(*Noisy); err != nil || !ok || n.Sigma != 0.5 || n.Seed != 1<<64-1 {
		t.Errorf("noisy is made as %+v, %v", e, err)
	}
	for spec, want := range map[string]string{
		"wrong":           `"wrong": must be fspy, history, mean, model, noisy or oracle`,
		"meen":            "did you mean mean?",
		"fspy:fit=bad":    "fspy:fit=bad: must be equal or relative",
		"fspy:window=0":   "fspy:window=0: must be a whole number from 1 to 100000",
		"fspy:least=-1s":  "fspy:least=-1s: must be a time, such as 1s or 1ms",
		"noisy:sigma=NaN": "noisy:sigma=NaN: must be a number from 0 to 100",
		"noisy:seed=-1":   "noisy:seed=-1: must be a whole number, 0 or more",
		"noisy:sed=1":     `noisy: parameter "sed": there are sigma and seed`,
		"mean:x=1":        "mean:x=1: parameters are for fspy, model or noisy",
	} {
		if _, _, err := All.Parse(spec, noTruth); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", spec, err, want)
		}
	}
}
