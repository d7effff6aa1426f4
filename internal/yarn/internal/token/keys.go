package token

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"encoding/binary"
	"hash"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// keyBytes is the length of Java's keys.
const keyBytes = 8

// Keys sign tokens of one kind. A new key is first offered to the programs that check tokens, then used. What was
// signed with the key before stays valid until the next new key is used. One goroutine owns it.
type Keys struct {
	current  key
	next     *key // offered, and not used yet; nil: none
	previous *key // not used any more, still good; nil: none
}

// A key is a MasterKey, ready to sign.
type key struct {
	wire.MasterKey
	mac hash.Hash
}

func newKey(k wire.MasterKey) key { return key{k, hmac.New(sha1.New, k.Key)} }

func (k *key) sign(b, identifier []byte) []byte {
	k.mac.Reset()
	k.mac.Write(identifier)
	return k.mac.Sum(b)
}

// Sign returns the signature of a text. That of a token's identifier is the token's password.
func Sign(secret, text []byte) []byte {
	k := newKey(wire.MasterKey{Key: secret})
	return k.sign(nil, text)
}

// NewKeys returns keys whose current one is first.
func NewKeys(first wire.MasterKey) *Keys { return &Keys{current: newKey(first)} }

// RandomKey returns a new secret key. The ID of the key is random too. If IDs began at 1 again after a ResourceManager
// lost its keys, NodeManagers would take the new key for the old one with that ID, and ignore it.
func RandomKey() wire.MasterKey {
	b := make([]byte, 4+keyBytes)
	rand.Read(b) // never fails
	return wire.MasterKey{ID: int32(binary.BigEndian.Uint32(b)), Key: b[4:]}
}

// Current returns the key that signs now.
func (k *Keys) Current() wire.MasterKey { return k.current.MasterKey }

// Offered returns the newest key, which the programs that check tokens should have.
func (k *Keys) Offered() wire.MasterKey {
	if k.next != nil {
		return k.next.MasterKey
	}
	return k.current.MasterKey
}

// Offer makes a new key, which signs only once it is used; a key offered before and not used is forgotten.
func (k *Keys) Offer() {
	n := RandomKey()
	n.ID = k.Offered().ID + 1 // as Java counts; it may wrap to the negative, as Java's does
	next := newKey(n)
	k.next = &next
}

// Use makes the offered key the current one, which signs from now on. It reports whether there was an offered key.
func (k *Keys) Use() bool {
	if k.next == nil {
		return false
	}
	old := k.current
	k.previous, k.current, k.next = &old, *k.next, nil
	return true
}

// Sign returns the password of an identifier that names the current key.
func (k *Keys) Sign(identifier []byte) []byte { return k.AppendSign(nil, identifier) }

// AppendSign appends the password of an identifier that names the current key.
func (k *Keys) AppendSign(b, identifier []byte) []byte { return k.current.sign(b, identifier) }

// Password returns the password of an identifier that names a key by its ID, and whether that key is known.
func (k *Keys) Password(id int32, identifier []byte) ([]byte, bool) {
	for _, one := range []*key{&k.current, k.previous, k.next} {
		if one != nil && one.ID == id {
			return one.sign(nil, identifier), true
		}
	}
	return nil, false
}

// Saved are Keys in the form in which they are stored.
type Saved struct {
	Current        wire.MasterKey
	Next, Previous *wire.MasterKey // nil: there is none
}

func (m *Saved) Fields(f *proto.Fields) {
	f.Message(1, &m.Current)
	proto.Optional(f, 2, &m.Next)
	proto.Optional(f, 3, &m.Previous)
}

// Save returns the keys, to be stored.
func (k *Keys) Save() Saved {
	s := Saved{Current: k.current.MasterKey}
	if k.next != nil {
		s.Next = &k.next.MasterKey
	}
	if k.previous != nil {
		s.Previous = &k.previous.MasterKey
	}
	return s
}

// Restore makes Keys again of what Save returned in an earlier process. They are in the same state, and no key is new:
// what was signed before stays valid, and an offered key is still not used.
func Restore(s *Saved) *Keys {
	k := NewKeys(s.Current)
	if s.Next != nil {
		next := newKey(*s.Next)
		k.next = &next
	}
	if s.Previous != nil {
		previous := newKey(*s.Previous)
		k.previous = &previous
	}
	return k
}
