package yarn

import (
	"crypto/hmac"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// How long a delegation token is good, by Hadoop's defaults: for a day, renewed for a week at most; and how many there
// may be.
const (
	tokenRenewal    = 24 * time.Hour
	tokenLife       = 7 * 24 * time.Hour
	mostDelegations = 100_000
)

// delegations are the delegation tokens that are good. In simple mode nobody needs one; programs that ask for them, as
// Oozie does, get them.
type delegations struct {
	keys *token.Keys // of one key for ever: what is good is what is listed
	last int32
	good map[string]*delegation // by identifier
}

type delegation struct {
	id       token.Delegation
	password []byte
	expires  time.Time
	alarm    *alarm // to forget it
}

func newDelegations() delegations {
	return delegations{keys: token.NewKeys(token.RandomKey()), good: map[string]*delegation{}}
}

// short is a user's name without realm and host, as renewers are compared.
func short(user string) string {
	if i := strings.IndexAny(user, "/@"); i >= 0 {
		return user[:i]
	}
	return user
}

func (m *manager) giveToken(user string, q *wire.TokenWanted) (answer, error) {
	d := &m.keys.delegations
	if user == "" || len(d.good) >= mostDelegations {
		return nil, rpc.Errorf(
			classYARN,
			"no delegation token: there are %d for known users, and may be %d",
			len(d.good),
			mostDelegations,
		)
	}
	d.last++
	one := &delegation{
		id: token.Delegation{
			Owner:    user,
			Renewer:  short(q.Renewer),
			Issued:   m.millis(),
			Most:     m.now.Add(tokenLife).UnixMilli(),
			Sequence: d.last,
			Key:      d.keys.Current().ID,
		},
		expires: m.now.Add(tokenRenewal),
	}
	identifier := one.id.Append(nil)
	one.password = d.keys.Sign(identifier)
	d.good[string(identifier)] = one
	m.forgetToken(string(identifier), one)
	return reply(
		&wire.TokenGiven{Token: wire.Token{Identifier: identifier, Password: one.password, Kind: token.KindDelegation}},
	)
}

// forgetToken forgets a token when its time is over, unless it has been renewed until then.
func (m *manager) forgetToken(identifier string, one *delegation) {
	one.alarm = m.live.at(one.expires, func() {
		if m.now.Before(one.expires) {
			m.forgetToken(identifier, one)
		} else {
			delete(m.keys.delegations.good, identifier)
		}
	})
}

// goodToken finds a token, or refuses it.
func (m *manager) goodToken(q *wire.TokenGiven) (*delegation, error) {
	one := m.keys.delegations.good[string(q.Token.Identifier)]
	if one == nil || !m.now.Before(one.expires) || !hmac.Equal(one.password, q.Token.Password) {
		m.log.refused("delegation token refused")
		return nil, rpc.Errorf(
			classInvalidToken,
			"delegation token can't be found: it was not given here, has expired or was cancelled",
		)
	}
	return one, nil
}

func (m *manager) renewToken(user string, q *wire.TokenGiven) (answer, error) {
	one, err := m.goodToken(q)
	if err != nil {
		return nil, err
	}
	if short(user) != one.id.Renewer || one.id.Renewer == "" {
		return nil, rpc.Errorf(
			classAccess,
			"%s tries to renew a token of %s whose renewer is %q",
			user,
			one.id.Owner,
			one.id.Renewer,
		)
	}
	one.expires = m.now.Add(tokenRenewal)
	if most := time.UnixMilli(one.id.Most); most.Before(one.expires) {
		one.expires = most
	}
	return reply(&wire.TokenRenewed{Expires: one.expires.UnixMilli()})
}

func (m *manager) cancelToken(user string, q *wire.TokenGiven) (answer, error) {
	one, err := m.goodToken(q)
	if err != nil {
		return nil, err
	}
	if user != one.id.Owner && short(user) != one.id.Renewer {
		return nil, rpc.Errorf(classAccess, "%s is not authorized to cancel the token of %s", user, one.id.Owner)
	}
	m.live.off(one.alarm)
	delete(m.keys.delegations.good, string(q.Token.Identifier))
	return nil, nil
}
