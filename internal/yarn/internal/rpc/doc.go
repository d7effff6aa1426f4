// Package rpc speaks Hadoop's IPC, version 9, with its protobuf engine: the server that NodeManagers,
// ApplicationMasters and clients call, and the client that calls NodeManagers. Callers are believed to be who they say
// (auth byte 0, Hadoop's simple mode), or prove who they are by SASL (auth byte 0xDF): by DIGEST-MD5 that they hold a
// token, or by GSSAPI that they have a Kerberos ticket. SASL may also protect the messages that follow.
//
// On the wire a connection is
//
//	"hrpc" 9 0 auth        the preamble, once, from the client
//	length frame           then frames in both directions: four bytes of length, big-endian, and as many bytes, which
//	                       are messages that each stand after their own length as a varint
//
// A request frame is a request header, the name of the method and its protocol, and the request. A reply frame is a
// response header and the response; or a header with the class of a Java exception alone. Calls carry numbers, so that
// many may be outstanding. Negative numbers are the connection's own: its context, SASL, pings.
//
// Goroutines: a server has one for accepting and one for each connection, which reads a call, has it answered and
// writes the reply before it reads the next; all have ended when Serve returns. A Client has one, which reads replies;
// it has ended when Close returns. A Caller has none.
package rpc

import "time"

const (
	magic      = "hrpc"
	ipcVersion = 9
	kindProto  = 2 // RpcKindProto: the protobuf engine
)

// The auth byte of the preamble.
const (
	authNone = 0x00
	authSASL = 0xDF
)

// Numbers of frames that are not calls.
const (
	callUnauthorized = -1
	callContext      = -3
	callPing         = -4
	callSASL         = -33
)

// Hadoop's limits, and the times after which a peer is given up.
const (
	DefaultMaxFrame  = 32 << 20         // bytes; Hadoop's ipc.maximum.data.length is 128 MiB
	DefaultMaxConns  = 20_000           // open at once
	DefaultHandshake = 20 * time.Second // from accepting until the caller is known; pings do not prolong it
	DefaultTransfer  = 30 * time.Second // for the rest of a frame that has begun, and for a reply to be taken
	// between frames; Hadoop's clients connect again when they next have something to say
	DefaultIdle = 5 * time.Minute
)

const (
	mostHandshakeFrame = 64 << 10 // bytes, before the peer is known
	mostUser           = 255      // bytes of a user's name
)

// retryNone is the retry count of frames that are not calls.
const retryNone = -1
