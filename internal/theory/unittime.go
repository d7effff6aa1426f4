package theory

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strings"
)

// A UnitTime is an exact amount of a resource times the time for which it was held: a signed 128-bit count of
// unit·nanoseconds. A nanosecond count of an int64 does not suffice: 10,000 nodes of 128 GiB, in MiB, overflow one in
// seven seconds. In 128 bits the same cluster fits for 4·10¹² years, and any amount below 2⁶³ for 584 years, the
// longest time that an int64 of nanoseconds can say.
//
// Sums of UnitTimes are exact, so that the order of adding does not matter and accounts balance to the nanosecond. The
// zero UnitTime is nothing. As text, and in JSON, it is a decimal number of unit·seconds with up to nine digits after
// the point.
type UnitTime struct {
	Hi int64
	Lo uint64
}

// Held returns units held for a number of nanoseconds; both may be negative.
func Held(units, nanoseconds int64) UnitTime {
	hi, lo := bits.Mul64(magnitude(units), magnitude(nanoseconds))
	u := UnitTime{int64(hi), lo}
	if (units < 0) != (nanoseconds < 0) {
		return u.Neg()
	}
	return u
}

// magnitude returns the absolute value of x, also of the least int64.
func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// Add returns u + o.
func (u UnitTime) Add(o UnitTime) UnitTime {
	lo, carry := bits.Add64(u.Lo, o.Lo, 0)
	hi, _ := bits.Add64(uint64(u.Hi), uint64(o.Hi), carry)
	return UnitTime{int64(hi), lo}
}

// Sub returns u − o.
func (u UnitTime) Sub(o UnitTime) UnitTime {
	lo, borrow := bits.Sub64(u.Lo, o.Lo, 0)
	hi, _ := bits.Sub64(uint64(u.Hi), uint64(o.Hi), borrow)
	return UnitTime{int64(hi), lo}
}

// Neg returns −u.
func (u UnitTime) Neg() UnitTime { return UnitTime{}.Sub(u) }

// Compare returns −1, 0 or 1 where u is less than, equal to, or more than o.
func (u UnitTime) Compare(o UnitTime) int {
	switch {
	case u.Hi < o.Hi || u.Hi == o.Hi && u.Lo < o.Lo:
		return -1
	case u == o:
		return 0
	}
	return 1
}

// Scale returns u × part ÷ whole, rounded towards minus infinity; whole > 0, part >= 0, and the result is in range. It
// multiplies to 192 bits, and divides these by whole, 64 bits at a time from the highest.
func (u UnitTime) Scale(part, whole int64) UnitTime {
	a, by := u.abs(), uint64(whole)
	carried, low := bits.Mul64(a.Lo, uint64(part))
	high, middle := bits.Mul64(uint64(a.Hi), uint64(part))
	middle, carry := bits.Add64(middle, carried, 0)
	hi, rest := bits.Div64((high+carry)%by, middle, by)
	lo, rest := bits.Div64(rest, low, by)
	scaled := UnitTime{int64(hi), lo}
	if u.Hi >= 0 {
		return scaled
	}
	if rest > 0 {
		scaled = scaled.Add(UnitTime{Lo: 1})
	}
	return scaled.Neg()
}

// Float returns u in unit·nanoseconds as the nearest float64, or next to it.
func (u UnitTime) Float() float64 {
	if u.Hi < 0 {
		return -u.Neg().Float()
	}
	return float64(u.Hi)*(1<<64) + float64(u.Lo)
}

// Seconds returns u in unit·seconds as a float64.
func (u UnitTime) Seconds() float64 { return u.Float() / 1e9 }

func (u UnitTime) big() *big.Int {
	x := new(big.Int).Lsh(big.NewInt(u.Hi), 64)
	return x.Add(x, new(big.Int).SetUint64(u.Lo))
}

// fromBig returns the UnitTime of x, which fits.
func fromBig(x *big.Int) UnitTime {
	low := new(big.Int).And(x, new(big.Int).SetUint64(math.MaxUint64))
	return UnitTime{new(big.Int).Rsh(x, 64).Int64(), low.Uint64()}
}

// String returns u in unit·seconds, exactly.
func (u UnitTime) String() string {
	sign, x := "", u.big()
	if x.Sign() < 0 {
		sign = "-"
		x.Neg(x)
	}
	whole, rest := new(big.Int).QuoRem(x, big.NewInt(1e9), new(big.Int))
	text := sign + whole.String()
	if rest.Sign() != 0 {
		text += strings.TrimRight(fmt.Sprintf(".%09d", rest), "0")
	}
	return text
}

// MarshalText implements encoding.TextMarshaler.
func (u UnitTime) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. An error says what is not a number of unit·seconds in range.
func (u *UnitTime) UnmarshalText(b []byte) error {
	text := string(b)
	whole, rest, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	bad := len(rest) > 9 || whole == "" || strings.Trim(whole+rest, "0123456789") != ""
	x, ok := new(big.Int).SetString(whole+rest+strings.Repeat("0", max(0, 9-len(rest))), 10)
	if bad || !ok || x.BitLen() > 126 {
		return fmt.Errorf("%q: want a number of unit·seconds below 10²⁸ with at most nine digits after the point", text)
	}
	if strings.HasPrefix(text, "-") {
		x.Neg(x)
	}
	*u = fromBig(x)
	return nil
}

// Times returns n × u, which must be in range.
func (u UnitTime) Times(n int64) UnitTime {
	if (u.Hi < 0) != (n < 0) {
		return u.abs().timesMagnitude(magnitude(n)).Neg()
	}
	return u.abs().timesMagnitude(magnitude(n))
}

func (u UnitTime) abs() UnitTime {
	if u.Hi < 0 {
		return u.Neg()
	}
	return u
}

func (u UnitTime) timesMagnitude(n uint64) UnitTime {
	hi, lo := bits.Mul64(u.Lo, n)
	return UnitTime{int64(hi + uint64(u.Hi)*n), lo}
}
