package yarn

import (
	"context"
	"fmt"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/kerberos"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// A mechanism authenticates callers by their Kerberos tickets. It is an rpc.Mechanism.
type mechanism struct {
	acceptor *kerberos.Acceptor
	names    *kerberos.Rules
}

// A session is the security context that a mechanism has established with a caller, and the caller's local user. It is
// an rpc.Session.
type session struct {
	*kerberos.Context
	user string
}

func (s session) Peer() (principal, user string) { return s.Client().String(), s.user }

func (m *mechanism) Service() (protocol, host string) {
	n := m.acceptor.Name()
	return n.First, n.Host
}

func (m *mechanism) Accept(token []byte) (rpc.Session, []byte, error) {
	c, reply, err := m.acceptor.Accept(token)
	if err != nil {
		return nil, nil, err
	}
	user, err := m.names.Local(c.Client())
	if err != nil {
		return nil, nil, fmt.Errorf("illegal principal name: %w", err)
	}
	return session{c, user}, reply, nil
}

func (m *mechanism) Local(name string) (string, error) {
	n, err := kerberos.ParseName(name)
	if err != nil {
		return "", err
	}
	return m.names.Local(n)
}

// mechanism returns the mechanism for principal n, whose key is in the file keytab.
func (k *Kerberos) mechanism(n kerberos.Name, keytab string) (*mechanism, error) {
	a, err := kerberos.NewAcceptor(n, keytab)
	return &mechanism{a, k.Names}, err
}

// bareName returns a user's name without host and realm.
func bareName(user string) string {
	if i := strings.IndexAny(user, "/@"); i >= 0 {
		return user[:i]
	}
	return user
}

// short returns a user's short name: with Kerberos the local user of a principal, else the name without host and realm.
// With Kerberos a name that is no principal, or that no rule maps, is returned as it is. Owners and renewers of tokens,
// and superusers, are known by their short names.
func (s *Security) short(user string) string {
	if s.Kerberos == nil {
		return bareName(user)
	}
	if n, err := kerberos.ParseName(user); err == nil {
		if local, err := s.Kerberos.Names.Local(n); err == nil {
			return local
		}
	}
	return user
}

// secure sets how server s authenticates callers, as the configuration says.
func (f *front) secure(s *rpc.Server) {
	f.guard(s)
	s.Protections = f.config.Security.Protections
	if f.kerberos == nil || s.Protocol == wire.ApplicationMaster { // ApplicationMasters have tokens instead
		return
	}
	s.Kerberos = f.kerberos
	if s.Protocol == wire.ApplicationClient {
		s.Password = f.delegationPassword
	}
}

// delegationPassword returns the password of a delegation token, if the token is known and has not expired.
func (f *front) delegationPassword(identifier []byte) (password []byte, err error) {
	_, err = f.ask(func(m *manager) (answer, error) {
		one := m.keys.delegations.good[string(identifier)]
		if one == nil || !m.now.Before(one.expires) {
			return nil, rpc.Errorf(classInvalidToken, "token can't be found in cache")
		}
		password = one.password
		return nil, nil
	})
	return password, err
}

// recognize sets the user of a call that was authenticated by a delegation token to the token's owner, and refuses
// calls of the NodeManagers' protocol by other principals than NodeManagers. Hadoop does the latter only if
// hadoop.security.authorization is on. Here it is always done, because that protocol hands out the keys of tokens.
func (f *front) recognize(protocol string, c *rpc.Call) error {
	if f.kerberos == nil {
		return nil
	}
	switch protocol {
	case wire.ApplicationClient:
		if c.Token == nil {
			return nil
		}
		var id token.Delegation
		if err := id.Decode(c.Token); err != nil {
			return err
		}
		c.User = f.config.Security.short(id.Owner)
	case wire.ResourceTracker:
		n := f.config.Security.Kerberos.Nodes
		if n.Host == anyHost {
			n.Host = strings.ToLower(hostName(rpc.HostOf(c.Remote)))
		}
		if c.Principal != n.String() || c.Real != "" {
			return rpc.Errorf(classAuthorization, "User %s is not authorized for protocol interface %s: this service "+
				"is only accessible by %s", callerShown(c), protocol, n)
		}
	}
	return nil
}

// kerberized returns method, restricted on a Kerberos cluster to callers with a ticket: a caller with a delegation
// token must not get further tokens. done says in the error what cannot be done with a token.
func kerberized(f *front, done string, method rpc.Method) rpc.Method {
	return func(ctx context.Context, c *rpc.Call) (proto.Message, error) {
		if f.kerberos != nil && c.Principal == "" {
			return nil, rpc.Errorf("java.io.IOException",
				"Delegation Token can be %s only with kerberos authentication", done)
		}
		return method(ctx, c)
	}
}

// clientKeyBytes is the length of the secret from which the keys of attempts are made.
const clientKeyBytes = 32

// clientKey returns the key that signs the tokens by which clients authenticate to the ApplicationMaster of an attempt;
// nil: there is no Kerberos. It is the same after a restart.
func (m *manager) clientKey(id wire.AttemptID) []byte {
	if m.config.Security.Kerberos == nil {
		return nil
	}
	if a := m.attempt(id); a != nil && a.clientKey != nil {
		return a.clientKey
	}
	return clientKey(m.keys.clients, id)
}

// clientKey makes the key of clients' tokens for an attempt from the secret for all attempts.
func clientKey(secret []byte, id wire.AttemptID) []byte {
	return token.Sign(secret, []byte(id.String()))
}

// clientToken returns the token by which a user authenticates to the ApplicationMaster of an attempt; nil: none is
// needed, or the user is unknown.
func (m *manager) clientToken(id wire.AttemptID, user string) *wire.Token {
	key := m.clientKey(id)
	if key == nil || user == "" {
		return nil
	}
	identifier := (&token.Client{Attempt: id, User: user}).Append(nil)
	return &wire.Token{Identifier: identifier, Password: token.Sign(key, identifier), Kind: token.KindClient}
}

// mechanisms returns the mechanisms of RPC and of REST, and reads their keytabs; nil: callers are trusted.
func (s *Security) mechanisms() (rpcs, web *mechanism, err error) {
	k := s.Kerberos
	if k == nil {
		return nil, nil, nil
	}
	if rpcs, err = k.mechanism(k.Principal, k.Keytab); err == nil && k.Web != (kerberos.Name{}) {
		web, err = k.mechanism(k.Web, k.WebKeytab)
	}
	return rpcs, web, err
}

// authentication describes how callers authenticate, for the log.
func (s *Security) authentication() string {
	if s.Kerberos != nil {
		return "kerberos: callers need a ticket for " + s.Kerberos.Principal.String()
	}
	return "simple: callers are believed to be who they say they are"
}
