package yarn

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	krb5 "github.com/jcmturner/gokrb5/v8/config"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/kerberos"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
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
