package jobs

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"fmt"

	"github.com/sojourn-sched/sojourn/mr"
)

// Crypt counts the AES-CMAC tags of lines: docs/spec/jobs.md, 2.8. On nodes of the class accelerator it uses the AES
// instructions of the processor, which package crypto/aes does where there are any, and elsewhere portable code.
func Crypt(conf mr.Conf) (*mr.Job, error) {
	text := conf.String("key", "000102030405060708090a0b0c0d0e0f")
	key, err := hex.DecodeString(text)
	if err != nil || len(key) != aes.BlockSize {
		return nil, fmt.Errorf("configuration key=%q: want 32 hexadecimal digits", text)
	}
	passes, err := conf.Int("passes", 1, 1, 1_000_000)
	if err != nil {
		return nil, err
	}
	native, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return &mr.Job{
		Name: "crypt",
		Conf: conf,
		Fold: mr.Sum(1),
		Map:  tagLines(newPortableAES([16]byte(key)), int(passes), "portable"),
		Accelerated: map[string]mr.Func[*mr.Batches]{
			conf.String("accelerator", "aes"): tagLines(native, int(passes), "accelerated"),
		},
	}, nil
}

// tagLines returns a map function that emits the tag of each line by a cipher. The counters tell by the word how which
// implementation ran.
func tagLines(block cipher.Block, passes int, how string) mr.Func[*mr.Batches] {
	return func(t *mr.Task, in *mr.Batches, out *mr.Emitter) error {
		c, lines := newCMAC(block), int64(0)
		var digits [2 * aes.BlockSize]byte
		for in.Next() {
			for text := in.Data(); len(text) > 0; lines++ {
				n := lineLength(text)
				tag := c.tag(text[:n])
				for range passes - 1 {
					tag = c.tag(tag[:])
				}
				hex.Encode(digits[:], tag[:])
				out.Emit(digits[:], mr.One)
				text = text[min(n+1, len(text)):]
			}
		}
		t.Count("Crypt", "Lines tagged by "+how+" code", lines)
		return nil
	}
}

// A cmac computes AES-CMAC tags (RFC 4493, 2.4), one at a time: each goroutine needs its own.
type cmac struct {
	block  cipher.Block
	k1, k2 [aes.BlockSize]byte // subkeys: for a last block that is whole, and for one that is padded
	state  [aes.BlockSize]byte
}

func newCMAC(block cipher.Block) *cmac {
	c := &cmac{block: block}
	var zero [aes.BlockSize]byte
	block.Encrypt(c.k1[:], zero[:])
	c.k1 = doubled(c.k1)
	c.k2 = doubled(c.k1)
	return c
}

// doubled multiplies an element of GF(2¹²⁸) by x (RFC 4493, 2.3).
func doubled(b [aes.BlockSize]byte) (d [aes.BlockSize]byte) {
	for i := range b {
		d[i] = b[i] << 1
		if i+1 < len(b) {
			d[i] |= b[i+1] >> 7
		}
	}
	if b[0]&0x80 != 0 {
		d[aes.BlockSize-1] ^= 0x87
	}
	return d
}

// tag returns the tag of a message, which may be empty and is not changed.
func (c *cmac) tag(message []byte) [aes.BlockSize]byte {
	c.state = [aes.BlockSize]byte{}
	for ; len(message) > aes.BlockSize; message = message[aes.BlockSize:] {
		c.mix(message[:aes.BlockSize])
		c.block.Encrypt(c.state[:], c.state[:])
	}
	if c.mix(message); len(message) == aes.BlockSize {
		c.mix(c.k1[:])
	} else {
		c.state[len(message)] ^= 0x80
		c.mix(c.k2[:])
	}
	c.block.Encrypt(c.state[:], c.state[:])
	return c.state
}

// mix adds a block, or a part of one, to the state.
func (c *cmac) mix(block []byte) {
	for i, b := range block {
		c.state[i] ^= b
	}
}
