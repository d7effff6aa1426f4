package yarn

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	krb5 "github.com/jcmturner/gokrb5/v8/config"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/kerberos"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// anyHost stands for the name of the host in a principal.
const anyHost = "_HOST"

// Properties of a secured cluster.
const (
	authentication = "hadoop.security.authentication"
	webType        = "hadoop.http.authentication.type"
	authToLocal    = "hadoop.security.auth_to_local"
	rpcProtection  = "hadoop.rpc.protection"
)

// kerberos reads the properties of Kerberos; nil: it is off. host is that of the address that clients call. If a needed
// property is missing, p gets an error.
func (p *properties) kerberos(host string) *Kerberos {
	const rm, web, common = "yarn.resourcemanager.", "yarn.resourcemanager.webapp.spnego-",
		"hadoop.http.authentication.kerberos."
	for _, name := range []string{rm + "principal", rm + "keytab", web + "principal", web + "keytab-file"} {
		p.used[name] = true // they are read only with Kerberos
	}
	if !strings.EqualFold(p.text(authentication, ""), "kerberos") {
		return nil
	}
	realm := defaultRealm()
	k := &Kerberos{Keytab: p.text(rm+"keytab", "/etc/krb5.keytab")}
	k.Principal = p.principal(rm+"principal", p.needed(rm+"principal"), realm, host)
	realm = cmp.Or(realm, k.Principal.Realm)
	k.Nodes = p.principal("yarn.nodemanager.principal", p.needed("yarn.nodemanager.principal"), realm, anyHost)
	var err error
	mit := strings.EqualFold(p.text(authToLocal+".mechanism", "hadoop"), "mit")
	if k.Names, err = kerberos.ParseRules(p.text(authToLocal, "DEFAULT"), realm, mit); err != nil {
		p.fail(authToLocal, fmt.Sprintf("rules like RULE:[2:$1@$0](nm@EXAMPLE.COM)s/.*/yarn/ or DEFAULT: %v", err))
	}
	if strings.EqualFold(p.text(webType, "simple"), "kerberos") {
		name, keytab := web+"principal", web+"keytab-file"
		if !p.has(name) {
			name, keytab = common+"principal", common+"keytab"
		}
		k.Web, k.WebKeytab = p.principal(name, p.needed(name), realm, host), p.needed(keytab)
	}
	return k
}

// needed returns the value of a property that must be set with Kerberos.
func (p *properties) needed(name string) string {
	s := p.text(name, "")
	if s == "" {
		p.wrong = append(p.wrong, fmt.Errorf("%s: property %s is absent: must be said, as %s is kerberos",
			p.values[authentication].file, name, authentication))
	}
	return s
}

// principal parses text, the value of a property, as a principal. It replaces _HOST by the name of host.
func (p *properties) principal(property, text, realm, host string) kerberos.Name {
	if text == "" {
		return kerberos.Name{} // needed has noted the error
	}
	n, err := kerberos.ParseName(text)
	if n.Realm = cmp.Or(n.Realm, realm); err != nil || n.Host == "" || n.Realm == "" {
		p.fail(property, "a principal like name/_HOST@REALM")
	}
	if n.Host == anyHost && host != anyHost {
		n.Host = strings.ToLower(hostName(host))
	}
	return n
}

// defaultRealm returns the default realm of this machine's krb5.conf; "": there is none.
func defaultRealm() string {
	c, err := krb5.Load(cmp.Or(os.Getenv("KRB5_CONFIG"), "/etc/krb5.conf"))
	if c == nil || err != nil && c.LibDefaults.DefaultRealm == "" {
		return ""
	}
	return c.LibDefaults.DefaultRealm
}

// lookupTime is how long a name server may take to answer.
const lookupTime = 5 * time.Second

// hostName returns the name of host, which is a name or an address. For an unspecified address, such as 0.0.0.0, or for
// "" it is the name of this machine.
func hostName(host string) string {
	ip := net.ParseIP(host)
	if host == "" || ip != nil && ip.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			return name
		}
	}
	if ip == nil {
		return host
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTime)
	defer cancel()
	if names, err := net.DefaultResolver.LookupAddr(ctx, host); err == nil && len(names) > 0 {
		return strings.TrimSuffix(names[0], ".")
	}
	return host
}

// protectionsOf reads the protections from which authenticated callers may choose, in the order of the property.
func protectionsOf(p *properties) (list []rpc.Protection) {
	for one := range strings.SplitSeq(p.text(rpcProtection, "authentication"), ",") {
		switch strings.ToLower(strings.TrimSpace(one)) {
		case "authentication":
			list = append(list, rpc.Authentication)
		case "integrity":
			list = append(list, rpc.Integrity)
		case "privacy":
			list = append(list, rpc.Privacy)
		default:
			p.fail(rpcProtection, "authentication, integrity or privacy, or several of them between commas")
			return nil
		}
	}
	if slices.Equal(list, []rpc.Protection{rpc.Authentication}) {
		return nil
	}
	return list
}

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
