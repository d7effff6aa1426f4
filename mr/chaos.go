package mr

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/sojourn-sched/sojourn/sched"
)

// Chaos loses attempts, with the processes they run, and finished map outputs at random, to show that results do not
// depend on luck. What happens to an attempt is a function of the seed, its task and its number, and not of time: the
// same seed loses the same attempts of the same job.
type Chaos struct {
	Rate float64 // probability for each attempt, from 0 to below 1
	Seed uint64
}

var errChaos = errors.New("lost by the chaos option")

// fate is what happens to an attempt.
type fate struct {
	loseAt     int64 // the sign of life at which the attempt is lost, from 1; 0: it is not
	loseOutput bool  // the output is lost once the attempt has ended well
}

// latest is the exponent, base 2, of the last sign of life at which an attempt is lost. An attempt that ends before is
// spared.
const latest = 7

// fate draws what happens to attempt number, from 0, at a task. Half of the attempts that are hit lose their output.
// The others are lost after 1 to 128 signs of life, uniform in the logarithm: many attempts are short.
func (c Chaos) fate(stage sched.StageID, task int32, number int) fate {
	if c.Rate <= 0 {
		return fate{}
	}
	var b [32]byte
	binary.LittleEndian.PutUint64(b[:], c.Seed)
	binary.LittleEndian.PutUint64(b[8:], uint64(stage.Job)<<32|uint64(uint32(stage.Index)))
	binary.LittleEndian.PutUint64(b[16:], uint64(task))
	binary.LittleEndian.PutUint64(b[24:], uint64(number))
	sum := sha256.Sum256(b[:])
	draw := func(i int) uint64 { return binary.LittleEndian.Uint64(sum[8*i:]) >> 11 }
	switch {
	case float64(draw(0))/(1<<53) >= c.Rate:
		return fate{}
	case draw(1)&1 == 0:
		return fate{loseOutput: true}
	}
	return fate{loseAt: 1 + int64(draw(2)%(1<<(draw(3)%(latest+1))))}
}
