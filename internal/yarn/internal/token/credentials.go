package token

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// The blob of credentials that a container starts with is, in Java's Writable form,
//
//	"HDTS" 0  count of tokens, each: alias, identifier, password, kind, service
//	          count of secrets, each: alias, bytes
//
// where everything is bytes after their length, and lengths and counts are Hadoop's own kind of variable-length
// integers. Version 1 is a delimited protocol buffer instead.
const (
	blobMagic    = "HDTS"
	blobWritable = 0
	blobProto    = 1
)

// AddCredential returns a blob of credentials with one token more, under the empty alias. The content of the blob stays
// as it is, and is not read; nor are trailing bytes, which some clients send. The empty blob has no tokens.
func AddCredential(blob []byte, t wire.Token) ([]byte, error) {
	if len(blob) == 0 {
		blob = []byte(blobMagic + "\x00\x00\x00")
	}
	if len(blob) < 6 || string(blob[:4]) != blobMagic {
		return nil, fmt.Errorf("read credentials: %d bytes that do not begin with %s", len(blob), blobMagic)
	}
	out := append([]byte(nil), blob[:5]...)
	switch rest := blob[5:]; blob[4] {
	case blobWritable:
		count, n, err := ReadVInt(rest)
		if err != nil || count < 0 {
			return nil, fmt.Errorf("read credentials: count of tokens %d: %w", count, errors.Join(err, errCount))
		}
		out = AppendVInt(out, count+1)
		for _, b := range [][]byte{nil, t.Identifier, t.Password, []byte(t.Kind), []byte(t.Service)} {
			out = append(AppendVInt(out, int64(len(b))), b...)
		}
		return append(out, rest[n:]...), nil
	case blobProto:
		m, trailing, err := proto.Delimited(rest)
		if err != nil {
			return nil, fmt.Errorf("read credentials: %w", err)
		}
		entry := proto.AppendMessage(proto.AppendString(nil, 1, ""), 2, &t)
		out = proto.AppendDelimited(out, proto.Raw(proto.AppendBytes(append([]byte(nil), m...), 1, entry)))
		return append(out, trailing...), nil
	}
	return nil, fmt.Errorf("read credentials: version %d, known are 0 and 1", blob[4])
}

var errCount = errors.New("must be a count")

// AppendVInt appends one of Hadoop's variable-length integers (WritableUtils.writeVLong): -112 to 127 in one byte; else
// a byte that has sign and length, and the magnitude, big-endian.
func AppendVInt(b []byte, v int64) []byte {
	if v >= -112 && v <= 127 {
		return append(b, byte(v))
	}
	marker := -112
	if v < 0 {
		v, marker = ^v, -120
	}
	n := (bits.Len64(uint64(v)) + 7) / 8
	var be [8]byte
	binary.BigEndian.PutUint64(be[:], uint64(v))
	return append(append(b, byte(marker-n)), be[8-n:]...)
}

// ReadVInt reads one of Hadoop's variable-length integers, and returns how many bytes it takes.
func ReadVInt(b []byte) (v int64, n int, err error) {
	if len(b) == 0 {
		return 0, 0, errors.New("ends where a number must be")
	}
	first := int8(b[0])
	if first >= -112 {
		return int64(first), 1, nil
	}
	n, negative := -112-int(first), false
	if first < -120 {
		n, negative = -120-int(first), true
	}
	if len(b) < 1+n {
		return 0, 0, errors.New("ends inside a number")
	}
	for _, c := range b[1 : 1+n] {
		v = v<<8 | int64(c)
	}
	if negative {
		v = ^v
	}
	return v, 1 + n, nil
}

// Secrets returns a blob without tokens and with secrets by alias, in order of the aliases.
func Secrets(secrets map[string][]byte) []byte { return Blob(nil, secrets) }

// CheckToken returns an error unless b is a token as Java writes it: identifier, password, kind and service.
func CheckToken(b []byte) error {
	r := blobReader{rest: b}
	for range 4 {
		r.bytes()
	}
	if r.err == nil && len(r.rest) > 0 {
		return fmt.Errorf("read token: %d bytes follow its service", len(r.rest))
	}
	return r.err
}

// Blob returns a blob of tokens, as Java writes them, and of secrets, each by alias and in order of the aliases.
func Blob(tokens, secrets map[string][]byte) []byte {
	b := AppendVInt(append([]byte(blobMagic), blobWritable), int64(len(tokens)))
	for _, alias := range slices.Sorted(maps.Keys(tokens)) {
		b = append(append(AppendVInt(b, int64(len(alias))), alias...), tokens[alias]...)
	}
	b = AppendVInt(b, int64(len(secrets)))
	for _, alias := range slices.Sorted(maps.Keys(secrets)) {
		b = append(AppendVInt(b, int64(len(alias))), alias...)
		b = append(AppendVInt(b, int64(len(secrets[alias]))), secrets[alias]...)
	}
	return b
}

// ReadCredentials returns the tokens in a blob of credentials of version 0, and the secrets by alias. The empty blob
// has none.
func ReadCredentials(blob []byte) (tokens []wire.Token, secrets map[string][]byte, err error) {
	if len(blob) == 0 {
		return nil, nil, nil
	}
	if len(blob) < 5 || string(blob[:4]) != blobMagic || blob[4] != blobWritable {
		return nil, nil, fmt.Errorf("read credentials: %d bytes that do not begin with %s and version %d", len(blob),
			blobMagic, blobWritable)
	}
	r := blobReader{rest: blob[5:]}
	for range r.count() {
		r.bytes() // its alias
		tokens = append(tokens, wire.Token{Identifier: slices.Clone(r.bytes()), Password: slices.Clone(r.bytes()),
			Kind: string(r.bytes()), Service: string(r.bytes())})
	}
	secrets = map[string][]byte{}
	for range r.count() {
		alias := string(r.bytes())
		secrets[alias] = slices.Clone(r.bytes())
	}
	return tokens, secrets, r.err
}

// A blobReader reads what is left of a blob. After an error all that it reads is empty.
type blobReader struct {
	rest []byte
	err  error
}

// count reads a count of elements. Each element takes a byte at least.
func (r *blobReader) count() int {
	v, n, err := ReadVInt(r.rest)
	if err == nil && (v < 0 || v > int64(len(r.rest)-n)) {
		err = fmt.Errorf("a count of %d, and %d bytes follow", v, len(r.rest)-n)
	}
	if err != nil {
		r.rest, r.err = nil, cmp.Or(r.err, fmt.Errorf("read credentials: %w", err))
		return 0
	}
	r.rest = r.rest[n:]
	return int(v)
}

// bytes reads bytes after their length.
func (r *blobReader) bytes() []byte {
	n := r.count()
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}
