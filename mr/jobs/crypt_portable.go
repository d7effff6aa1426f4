package jobs

import (
	"crypto/aes"
	"math/bits"
)

// A portableAES encrypts blocks by AES-128 (FIPS 197) without special instructions: the same operations byte by byte on
// any processor.
type portableAES struct{ rounds [11][16]byte }

// sBox is SubBytes of FIPS 197, 5.1.1.
var sBox = substitutions()

// substitutions computes the table: the inverse in GF(2⁸), then an affine map. The loop walks all elements but 0 as
// powers of 3, and their inverses as powers of its inverse, 0xf6.
func substitutions() (box [256]byte) {
	box[0] = 0x63
	for p, q := byte(1), byte(1); ; {
		p ^= timesTwo(p)
		q ^= q << 1
		q ^= q << 2
		q ^= q << 4
		if q&0x80 != 0 {
			q ^= 0x09
		}
		b := q
		for k := 1; k <= 4; k++ {
			b ^= bits.RotateLeft8(q, k)
		}
		if box[p] = b ^ 0x63; p == 1 {
			return box
		}
	}
}

// timesTwo multiplies an element of GF(2⁸) by x (FIPS 197, 4.2.1).
func timesTwo(b byte) byte {
	d := b << 1
	if b&0x80 != 0 {
		d ^= 0x1b
	}
	return d
}

// newPortableAES expands a key (FIPS 197, 5.2).
func newPortableAES(key [16]byte) *portableAES {
	a := &portableAES{}
	a.rounds[0] = key
	constant := byte(1)
	for r := 1; r < len(a.rounds); r++ {
		before, next := &a.rounds[r-1], &a.rounds[r]
		for i := range 4 {
			next[i] = before[i] ^ sBox[before[12+(i+1)%4]]
		}
		next[0] ^= constant
		for i := 4; i < 16; i++ {
			next[i] = before[i] ^ next[i-4]
		}
		constant = timesTwo(constant)
	}
	return a
}

// BlockSize returns the size of a block in bytes.
func (*portableAES) BlockSize() int { return aes.BlockSize }

// Encrypt encrypts one block (FIPS 197, 5.1). Both slices may be the same.
func (a *portableAES) Encrypt(dst, src []byte) {
	var s [16]byte
	for i := range s {
		s[i] = src[i] ^ a.rounds[0][i]
	}
	for r := 1; r < len(a.rounds); r++ {
		var t [16]byte
		for i := range t { // SubBytes and ShiftRows
			t[i] = sBox[s[(i+4*(i%4))%16]]
		}
		if s = t; r < len(a.rounds)-1 {
			for c := 0; c < 16; c += 4 { // MixColumns
				all := t[c] ^ t[c+1] ^ t[c+2] ^ t[c+3]
				for i := range 4 {
					s[c+i] = t[c+i] ^ all ^ timesTwo(t[c+i]^t[c+(i+1)%4])
				}
			}
		}
		for i := range s {
			s[i] ^= a.rounds[r][i]
		}
	}
	copy(dst, s[:])
}

// Decrypt panics. cipher.Block needs the method, but tags do not.
func (*portableAES) Decrypt(_, _ []byte) { panic("jobs: portable AES encrypts only") }
