package mr

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// Chaos loses attempts, with the processes they run, and finished map outputs at random, to show that results do not
// depend on luck. The same seed loses the same ones of the same run.
type Chaos struct {
	Rate float64 // probability for each attempt, from 0 to below 1
	Seed uint64
}

var errChaos = errors.New("lost by the chaos option")

type misfortune uint8

const (
	spared misfortune = iota
	loseAttempt
	loseOutput
)

// A fate is what happens to an attempt.
type fate struct {
	what  misfortune
	after time.Duration // its start
}

// latest is how long after its start an attempt is lost at most: most attempts of interest last longer.
const latest = 50 * time.Millisecond

// fate draws what happens to an attempt.
func (c Chaos) fate(a sched.Action) fate {
	if c.Rate <= 0 {
		return fate{}
	}
	var b [32]byte
	binary.LittleEndian.PutUint64(b[:], c.Seed)
	binary.LittleEndian.PutUint64(b[8:], uint64(a.Stage.Job)<<32|uint64(uint32(a.Stage.Index)))
	binary.LittleEndian.PutUint64(b[16:], uint64(a.Task))
	binary.LittleEndian.PutUint64(b[24:], a.Attempt.Serial())
	sum := sha256.Sum256(b[:])
	draw := func(i int) uint64 { return binary.LittleEndian.Uint64(sum[8*i:]) >> 11 }
	if float64(draw(0))/(1<<53) >= c.Rate {
		return fate{}
	}
	if draw(1)&1 == 0 {
		return fate{loseAttempt, time.Duration(draw(2) % uint64(latest))}
	}
	return fate{what: loseOutput}
}
