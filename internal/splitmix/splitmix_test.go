package splitmix

import "testing"

// The first numbers of the generator of seed 1234567, as other implementations return them.
func TestMix(t *testing.T) {
	seed := uint64(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431,
		16408922859458223821} {
		if seed += Increment; Mix(seed) != want {
			t.Errorf("number %d is %d, want %d", i+1, Mix(seed), want)
		}
	}
}
