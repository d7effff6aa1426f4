package theory

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Every operation agrees with integers without bounds.
func TestUnitTimeAgainstBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		c, d := rapid.Int64Range(-1<<40, 1<<40).Draw(t, "c"), rapid.Int64Range(0, 1<<60).Draw(t, "d")
		x, y := Held(a, b), Held(c, d)
		mul := func(a, b int64) *big.Int { return new(big.Int).Mul(big.NewInt(a), big.NewInt(b)) }
		same := func(what string, got UnitTime, want *big.Int) {
			if got.big().Cmp(want) != 0 {
				t.Fatalf("%s: %v, want %v", what, got.big(), want)
			}
		}
		same("held", x, mul(a, b))
		same("add", y.Add(y), new(big.Int).Add(mul(c, d), mul(c, d)))
		same("times", Held(c, 7).Times(a>>8), new(big.Int).Mul(mul(c, 7), big.NewInt(a>>8)))
		same("sub", y.Sub(Held(7, a)), new(big.Int).Sub(mul(c, d), mul(7, a)))
		same("neg", y.Neg(), new(big.Int).Neg(mul(c, d)))
		if got, want := x.Compare(y), mul(a, b).Cmp(mul(c, d)); got != want {
			t.Fatalf("compare: %d, want %d", got, want)
		}
		want := mul(c, d)
		want.Mul(want, big.NewInt(3))
		want.Div(want, big.NewInt(7))
		same("scale", y.Scale(3, 7), want)
		whole := rapid.Int64Range(1, math.MaxInt64).Draw(t, "whole")
		part := rapid.Int64Range(0, whole).Draw(t, "part")
		want = mul(a, b)
		want.Mul(want, big.NewInt(part))
		want.Div(want, big.NewInt(whole))
		same("scale a large one", x.Scale(part, whole), want)
		f, _ := new(big.Float).SetInt(mul(a, b)).Float64()
		if math.Abs(x.Float()-f) > 1e-12*math.Abs(f) {
			t.Fatalf("float: %v, want %v", x.Float(), f)
		}
		text, err := json.Marshal(y)
		var back UnitTime
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil || back != y {
			t.Fatalf("%s: %v, %v", text, back, err)
		}
	})
}

// The range that the type states: 10,000 nodes of 128 GiB in MiB, held for 292 years, and the largest amount there is
// for as long.
func TestUnitTimeRange(t *testing.T) {
	cluster := Held(10_000*128*1024, math.MaxInt64)
	if got := cluster.String(); got != "12089258196146291745.75104" {
		t.Errorf("a large cluster for 292 years: %s", got)
	}
	most := Held(math.MaxInt64, math.MaxInt64)
	if most.Hi <= 0 || most.Add(most).Hi <= 0 {
		t.Errorf("twice the largest amount for 292 years wraps around: %+v", most)
	}
	if Held(10_000*128*1024, 8e9).Float() < math.MaxInt64 {
		t.Error("an int64 would do")
	}
}

func TestUnitTimeText(t *testing.T) {
	for text, want := range map[string]UnitTime{
		"0": {}, "1.5": Held(3, 5e8), "-0.000000001": Held(-1, 1), "12": Held(12, 1e9), "-7.25": Held(-29, 25e7),
	} {
		var got UnitTime
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want || want.String() != text {
			t.Errorf("%s: %v %v, as text %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-", "1e3", "1.0000000001", "--1", ".5", "1.5.5", strings.Repeat("9", 40), "+1"} {
		var got UnitTime
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q gave %v", text, got)
		}
	}
}
