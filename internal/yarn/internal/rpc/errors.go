package rpc

import "fmt"

// A Detail is Hadoop's RpcErrorCodeProto: what kind of error a reply reports.
type Detail int32

// The kinds of errors. From FatalUnknown on, the connection ends with them.
const (
	Application        Detail = 1
	NoSuchMethod       Detail = 2
	NoSuchProtocol     Detail = 3
	FatalUnknown       Detail = 10
	FatalInvalidHeader Detail = 12
	FatalBadRequest    Detail = 13
	FatalVersion       Detail = 14
	FatalUnauthorized  Detail = 15
)

// The status of a reply: after a fatal one the client fails all its calls.
const (
	statusSuccess = iota
	statusError
	statusFatal
)

// The exceptions that the protocol itself raises.
const (
	classIO             = "java.io.IOException"
	classNoSuchMethod   = "org.apache.hadoop.ipc.RpcNoSuchMethodException"
	classNoSuchProtocol = "org.apache.hadoop.ipc.RpcNoSuchProtocolException"
	classVersion        = "org.apache.hadoop.ipc.RPC$VersionMismatch"
	classServer         = "org.apache.hadoop.ipc.RpcServerException"
	classInvalidToken   = "org.apache.hadoop.security.token.SecretManager$InvalidToken"
	classAccess         = "org.apache.hadoop.security.AccessControlException"
	classAuthorization  = "org.apache.hadoop.security.authorize.AuthorizationException"
	classSASL           = "javax.security.sasl.SaslException"
)

// An Error is an exception as it travels: Hadoop's peers act on the class, so the class is what a caller branches on.
type Error struct {
	Class   string // of the Java exception, with $ before a nested class
	Message string
	Detail  Detail // zero: Application
}

// Errorf returns an exception of a Java class.
func Errorf(class, format string, args ...any) *Error {
	return &Error{Class: class, Message: fmt.Sprintf(format, args...)}
}

// fatal returns an exception that ends the connection.
func fatal(detail Detail, class, format string, args ...any) *Error {
	return &Error{Class: class, Message: fmt.Sprintf(format, args...), Detail: detail}
}

func (e *Error) Error() string { return e.Class + ": " + e.Message }

// Fatal reports whether the connection ended with the error.
func (e *Error) Fatal() bool { return e.Detail >= FatalUnknown }
