// Package pair is the form in which a key and its value lie in memory and in files: two unsigned varints, the lengths,
// then key and value; and the numbers that stand for a key: its prefix, for order, and its hash.
package pair

import (
	"encoding/binary"
	"math/bits"
)

// MaxHead is the most bytes that the two lengths take.
const MaxHead = 2 * binary.MaxVarintLen64

// Append appends a pair.
func Append(dst, key, value []byte) []byte {
	if len(key)|len(value) < 0x80 {
		dst = append(dst, byte(len(key)), byte(len(value)))
	} else {
		dst = binary.AppendUvarint(dst, uint64(len(key)))
		dst = binary.AppendUvarint(dst, uint64(len(value)))
	}
	return append(append(dst, key...), value...)
}

// Parse reads the pair at b[at:]; next is where the one after it begins, negative where there is no whole pair.
func Parse(b []byte, at int) (key, value []byte, next int) {
	k, v, p := Head(b, at)
	if p < 0 {
		return nil, nil, -1
	}
	return b[p : p+k], b[p+k : p+k+v], p + k + v
}

// Head reads the lengths of the pair at b[at:]; the key begins at p, which is negative where there is no whole pair.
func Head(b []byte, at int) (k, v, p int) {
	if at+1 < len(b) && b[at]|b[at+1] < 0x80 {
		k, v = int(b[at]), int(b[at+1])
		if at+2+k+v <= len(b) {
			return k, v, at + 2
		}
		return 0, 0, -1
	}
	return longHead(b, at)
}

func longHead(b []byte, at int) (k, v, p int) {
	ku, n := binary.Uvarint(b[at:])
	if n <= 0 {
		return 0, 0, -1
	}
	vu, m := binary.Uvarint(b[at+n:])
	room := uint64(len(b) - at - n - max(m, 0))
	if m <= 0 || ku > room || vu > room-ku {
		return 0, 0, -1
	}
	return int(ku), int(vu), at + n + m
}

// Prefix is a number in the order of the keys: the first 7 bytes, then how many bytes there are, at most 8. Where the
// prefixes of two keys differ, so do the keys, in the same sense; where they are the same and [Whole], so are the keys.
func Prefix(key []byte) uint64 {
	if n := len(key); n < 8 {
		if cap(key) >= 8 {
			return binary.BigEndian.Uint64(key[:8])>>(64-8*n)<<(64-8*n) | uint64(n)
		}
		var p uint64
		for i, c := range key {
			p |= uint64(c) << (56 - 8*i)
		}
		return p | uint64(n)
	}
	return binary.BigEndian.Uint64(key)&^0xff | 8
}

// Whole reports whether a prefix tells all of its key.
func Whole(prefix uint64) bool { return prefix&0xff < 8 }

const (
	mix0 = 0xa0761d6478bd642f // odd constants with as many ones as zeros, from Wang Yi's wyhash
	mix1 = 0xe7037ed1a0b428db
)

// Words gives the first 16 bytes of a key as two numbers in its order, zeros beyond its end; of a longer key b is a
// hash of all after the first 8.
func Words(key []byte) (a, b uint64) {
	n := len(key)
	if n > 16 {
		return binary.BigEndian.Uint64(key), rest(key[8:])
	}
	if cap(key) >= 16 {
		k := key[:16]
		return binary.BigEndian.Uint64(k) & MaskA[n], binary.BigEndian.Uint64(k[8:]) & MaskB[n]
	}
	var k [16]byte
	copy(k[:], key)
	return binary.BigEndian.Uint64(k[:]), binary.BigEndian.Uint64(k[8:])
}

// MaskA and MaskB keep of the first and second 8 bytes those that belong to a key of n bytes.
var (
	MaskA = masks(0)
	MaskB = masks(8)
)

func masks(from int) (m [17]uint64) {
	for n := range m {
		m[n] = ^(^uint64(0) >> (8 * min(8, max(0, n-from))))
	}
	return m
}

// rest hashes 9 bytes or more, as wyhash does: 16 at a time, the last 16 overlapping where they must.
func rest(key []byte) uint64 {
	h := uint64(len(key))
	for len(key) > 16 {
		h = mul(binary.LittleEndian.Uint64(key)^mix0, binary.LittleEndian.Uint64(key[8:])^h)
		key = key[16:]
	}
	if len(key) < 16 {
		var k [16]byte
		copy(k[:], key)
		key = k[:]
	}
	return mul(binary.LittleEndian.Uint64(key)^mix1, binary.LittleEndian.Uint64(key[8:])^h)
}

func mul(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return hi ^ lo
}

// Mix is the hash of a key of n bytes with these Words.
func Mix(a, b uint64, n int) uint64 { return mul(a^mix0^uint64(n)<<32, b^mix1) }

// Hash is the hash of a key.
func Hash(key []byte) uint64 {
	a, b := Words(key)
	return Mix(a, b, len(key))
}

// Part is the part of a hash: its low half, scaled, because hash tables go by the high bits.
func Part(hash uint64, parts int) int { return int(uint64(uint32(hash)) * uint64(parts) >> 32) }
