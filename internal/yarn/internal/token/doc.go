// Package token makes and checks the tokens by which the parts of a YARN cluster authenticate each other: the
// ApplicationMaster to the ResourceManager, the client that starts containers to a NodeManager, and the lease of each
// container.
//
// A token is an identifier, which says what it is for, and a password, which is the HMAC-SHA1 of the identifier's bytes
// under a key of the ResourceManager. The ResourceManager shares the keys of NodeManagers' and containers' tokens with
// the NodeManagers. They compute the password again over the identifier as Java writes it: fields in ascending order,
// in the shortest form. Here passwords are computed over the bytes that travel.
//
// Delegation tokens are made and renewed as Hadoop does, for clients that ask for them. Client-to-ApplicationMaster
// tokens are made on clusters with Kerberos only: each attempt has a key of its own for them.
package token

// Kinds of tokens, as Java names them.
const (
	KindMaster    = "YARN_AM_RM_TOKEN"
	KindNode      = "NMToken"
	KindContainer = "ContainerToken"
)
