package unpack

import "bytes"

// A Codec is how bytes are compressed.
type Codec uint8

// The codecs that are decoded.
const (
	Plain Codec = iota
	Gzip
	Zstd
	Bzip2
)

// String returns the codec's usual name.
func (c Codec) String() string { return [...]string{"plain", "gzip", "zstd", "bzip2"}[c] }

// magic has by codec the bytes with which its data begins.
var magic = [...][]byte{Gzip: {0x1f, 0x8b}, Zstd: {0x28, 0xb5, 0x2f, 0xfd}, Bzip2: []byte("BZh")}

// unread are the first bytes of compressed formats that are not decoded.
var unread = map[string]string{"\xfd7zX": "xz", "\x04\x22\x4d\x18": "lz4"}

// headBytes is how many first bytes tell a codec.
const headBytes = 4

// zstdSkippable are the second to the fourth byte of a frame that has no data (RFC 8878, 3.1.2). The first byte is 0x50
// to 0x5f. Some tools put such a frame in front of the data.
var zstdSkippable = []byte{0x2a, 0x4d, 0x18}

// Sniff returns the codec that the first bytes of data tell. For a compressed format that is not decoded it returns
// Plain and the name of the format, which is "" otherwise.
func Sniff(head []byte) (c Codec, format string) {
	for c := Gzip; c <= Bzip2; c++ {
		if c.Begins(head) {
			return c, ""
		}
	}
	return Plain, unread[string(head[:min(headBytes, len(head))])]
}

// Begins reports whether data of codec c, which is not Plain, begins with head.
func (c Codec) Begins(head []byte) bool {
	if c == Zstd && len(head) >= headBytes && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:headBytes], zstdSkippable) {
		return true
	}
	return bytes.HasPrefix(head, magic[c])
}
