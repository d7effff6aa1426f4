package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"sync"
)

// secret signs tokens. It is made when the first one is asked for and lasts as long as the program.
var secret = sync.OnceValue(func() []byte {
	b := make([]byte, sha256.Size)
	_, _ = rand.Read(b) // never fails
	return b
})

// token returns the token that this site's page must send with each request that changes something. Pages of other
// sites cannot read it, so they cannot make a user's browser change anything.
func token(user string) string {
	sign := hmac.New(sha256.New, secret())
	sign.Write([]byte(user))
	return hex.EncodeToString(sign.Sum(nil))
}

// genuine reports whether a token is the user's.
func genuine(said, user string) bool { return hmac.Equal([]byte(said), []byte(token(user))) }
