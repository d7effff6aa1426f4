package yarn

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha1"
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

// Kerberos says how callers prove who they are on a secured cluster (hadoop.security.authentication=kerberos).
type Kerberos struct {
	Principal kerberos.Name // of the ResourceManager, which callers need a ticket for
	Keytab    string
	Names     *kerberos.Rules // tell the local user of a principal
	// Nodes is the principal of NodeManagers. Its host may be _HOST: the name of the host that calls.
	Nodes kerberos.Name
	// Web is the principal that callers of REST need a ticket for (SPNEGO). The zero Name: callers prove nothing, and
	// REST changes nothing.
	Web       kerberos.Name
	WebKeytab string
}

// anyHost stands for the name of a host in principals.
const anyHost = "_HOST"

// Properties of a secured cluster.
const (
	authentication = "hadoop.security.authentication"
	webType        = "hadoop.http.authentication.type"
	authToLocal    = "hadoop.security.auth_to_local"
	rpcProtection  = "hadoop.rpc.protection"
)

// kerberos reads how callers prove who they are; nil: they do not. All that is missing is refused.
func (p *properties) kerberos(host string) *Kerberos {
	const rm, web, common = "yarn.resourcemanager.", "yarn.resourcemanager.webapp.spnego-",
		"hadoop.http.authentication.kerberos."
	for _, name := range []string{rm + "principal", rm + "keytab", web + "principal", web + "keytab-file"} {
		p.used[name] = true // they count where Kerberos is on
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

// needed returns a property that must say something where Kerberos is on.
func (p *properties) needed(name string) string {
	s := p.text(name, "")
	if s == "" {
		p.wrong = append(p.wrong, fmt.Errorf("%s: property %s is absent: must be said, as %s is kerberos",
			p.values[authentication].file, name, authentication))
	}
	return s
}

// principal reads a property that is a principal, with the name of a host in the place of _HOST.
func (p *properties) principal(property, text, realm, host string) kerberos.Name {
	if text == "" {
		return kerberos.Name{} // which is said already
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

// defaultRealm is that of this machine's krb5.conf; "": it says none.
func defaultRealm() string {
	c, err := krb5.Load(cmp.Or(os.Getenv("KRB5_CONFIG"), "/etc/krb5.conf"))
	if c == nil || err != nil && c.LibDefaults.DefaultRealm == "" {
		return ""
	}
	return c.LibDefaults.DefaultRealm
}

// lookupTime is how long a name server may take to answer.
const lookupTime = 5 * time.Second

// hostName returns the name of a host that is named or an address: this machine's where it is no address of a machine.
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

// protectionsOf reads what callers who prove who they are may choose from, the best first as they stand.
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

// A mechanism lets callers in by their tickets. It is an rpc.Mechanism.
type mechanism struct {
	acceptor *kerberos.Acceptor
	names    *kerberos.Rules
}

// A session is what a mechanism has agreed on with a caller.
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

// mechanism reads a keytab.
func (k *Kerberos) mechanism(n kerberos.Name, keytab string) (*mechanism, error) {
	a, err := kerberos.NewAcceptor(n, keytab)
	return &mechanism{a, k.Names}, err
}

// bareName is a user's name without realm and host, as renewers are compared.
func bareName(user string) string {
	if i := strings.IndexAny(user, "/@"); i >= 0 {
		return user[:i]
	}
	return user
}

// short is a user's name without realm and host, as renewers are compared: the local user of a principal where Kerberos
// is on.
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

// secure makes a server ask callers who they are, as the configuration says.
func (f *front) secure(s *rpc.Server) {
	f.guard(s)
	s.Protections = f.config.Security.Protections
	if f.kerberos == nil || s.Protocol == wire.ApplicationMaster { // its callers have tokens
		return
	}
	s.Kerberos = f.kerberos
	if s.Protocol == wire.ApplicationClient {
		s.Password = f.delegationPassword
	}
}

// delegationPassword returns the password of a delegation token that is good.
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

// recognize names the owner of a delegation token as the caller, and refuses callers of the protocol of NodeManagers
// that are none. Hadoop looks at the latter only where hadoop.security.authorization is on; here keys of tokens are
// never given to others.
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

// kerberized makes a Method of one that only callers may call who have proved who they are by Kerberos, where that is
// on: a token must not be good for more tokens. done says what becomes of a token.
func kerberized(f *front, done string, method rpc.Method) rpc.Method {
	return func(ctx context.Context, c *rpc.Call) (proto.Message, error) {
		if f.kerberos != nil && c.Principal == "" {
			return nil, rpc.Errorf("java.io.IOException",
				"Delegation Token can be %s only with kerberos authentication", done)
		}
		return method(ctx, c)
	}
}

// clientKeyBytes is how long the secret is that keys of attempts are made from.
const clientKeyBytes = 32

// clientKey is the key by which clients prove to the ApplicationMaster of an attempt who they are, where Kerberos is
// on; nil: it is not. It is the same in each life.
func (m *manager) clientKey(id wire.AttemptID) []byte {
	if m.config.Security.Kerberos == nil {
		return nil
	}
	mac := hmac.New(sha1.New, m.keys.clients)
	mac.Write([]byte(id.String()))
	return mac.Sum(nil)
}

// clientToken returns the token by which a user proves to the ApplicationMaster of an attempt who it is; nil: there is
// none.
func (m *manager) clientToken(id wire.AttemptID, user string) *wire.Token {
	key := m.clientKey(id)
	if key == nil || user == "" {
		return nil
	}
	identifier := (&token.Client{Attempt: id, User: user}).Append(nil)
	mac := hmac.New(sha1.New, key)
	mac.Write(identifier)
	return &wire.Token{Identifier: identifier, Password: mac.Sum(nil), Kind: token.KindClient}
}

// A Protection is how messages are protected whose senders prove who they are.
type Protection = rpc.Protection

// mechanisms reads the keytabs of RPC and of REST; nil: callers are believed.
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

// authentication says how callers prove who they are, for the log.
func (s *Security) authentication() string {
	if s.Kerberos != nil {
		return "kerberos: callers need a ticket for " + s.Kerberos.Principal.String()
	}
	return "simple: callers are believed to be who they say they are"
}
