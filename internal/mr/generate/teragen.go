package generate

import (
	"fmt"
	"io"
	"math/bits"
)

// recordBytes is the length of a terasort record.
const recordBytes = 100

// TeraGen writes the records of Hadoop's teragen and of gensort -b, byte for byte where Seed is 0: a key of 10 random
// bytes, 00 11, the record's number in 32 hexadecimal digits, 88 99 AA BB, 48 bytes of filler, CC DD EE FF. Record n
// has the generator's n-th number, reached without computing those before it.
type TeraGen struct {
	First int64 // number of the first record, ≥ 0
	Rows  int64 // ≥ 0
	Seed  uint64
}

// Write implements Writer.
func (t TeraGen) Write(w io.Writer) error {
	if t.First < 0 || t.Rows < 0 {
		return fmt.Errorf("generate terasort records: first is %d and rows is %d, and neither may be below 0",
			t.First, t.Rows)
	}
	random, n := wide{}.skip(wide{hi: t.Seed, lo: uint64(t.First)}), uint64(t.First)
	return newOutput(w, t.Rows*recordBytes).fill(func(b []byte) []byte {
		random = random.next()
		b = appendRecord(b, random, n)
		n++
		return b
	})
}

const hexDigits = "0123456789ABCDEF"

func appendRecord(b []byte, random wide, number uint64) []byte {
	var rec [recordBytes]byte
	for i := range 8 {
		rec[i] = byte(random.hi >> (56 - 8*i))
	}
	rec[8], rec[9] = byte(random.lo>>56), byte(random.lo>>48)
	rec[10], rec[11] = 0x00, 0x11
	for i := range 16 { // the number's high 64 bits are zero
		rec[12+i] = '0'
		rec[28+i] = hexDigits[number>>(60-4*i)&15]
	}
	rec[44], rec[45], rec[46], rec[47] = 0x88, 0x99, 0xAA, 0xBB
	for i := range 12 { // the random number's low 48 bits, each digit four times
		d := hexDigits[random.lo>>(44-4*i)&15]
		rec[48+4*i], rec[49+4*i], rec[50+4*i], rec[51+4*i] = d, d, d, d
	}
	rec[96], rec[97], rec[98], rec[99] = 0xCC, 0xDD, 0xEE, 0xFF
	return append(b, rec[:]...)
}

// wide is a 128-bit number modulo 2^128: the state of Nyberg's linear congruential generator (rand16.c of gensort).
type wide struct{ hi, lo uint64 }

// The generator is x → factor · x + increment. The increment's upper bytes spell "JimGrayRIP".
var (
	factor    = wide{0x2360ED051FC65DA4, 0x4385DF649FCCF645}
	increment = wide{0x4A696D4772617952, 0x4950202020202001}
)

func (x wide) times(y wide) wide {
	hi, lo := bits.Mul64(x.lo, y.lo)
	return wide{hi + x.hi*y.lo + x.lo*y.hi, lo}
}

func (x wide) plus(y wide) wide {
	lo, carry := bits.Add64(x.lo, y.lo, 0)
	return wide{x.hi + y.hi + carry, lo}
}

func (x wide) next() wide { return x.times(factor).plus(increment) }

// skip returns what n calls of next would. It composes the step with itself once for each bit of n.
func (x wide) skip(n wide) wide {
	a, c := factor, increment
	for n != (wide{}) {
		if n.lo&1 == 1 {
			x = x.times(a).plus(c)
		}
		c = c.times(a).plus(c) // a·(a·x + c) + c
		a = a.times(a)
		n = wide{n.hi >> 1, n.lo>>1 | n.hi<<63}
	}
	return x
}
