// Package token makes and checks the tokens by which the parts of a YARN cluster know each other where nobody's word is
// taken: the ApplicationMaster at the ResourceManager, whoever starts containers at a NodeManager, and each container's
// lease.
//
// A token is an identifier, which says what it is for, and a password, which is the HMAC-SHA1 of the identifier's bytes
// under a key that the ResourceManager shares with the NodeManagers. NodeManagers compute it again over the identifier
// as Java writes it: fields in ascending order, in the shortest form. Here passwords are computed over the bytes that
// travel.
//
// Delegation tokens and client-to-ApplicationMaster tokens are used on secure clusters only, and are not made.
package token

// Kinds of tokens, as Java names them.
const (
	KindMaster    = "YARN_AM_RM_TOKEN"
	KindNode      = "NMToken"
	KindContainer = "ContainerToken"
)
