package yarn

import (
	"crypto/hmac"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// How long a delegation token is good, by Hadoop's defaults: for a day, renewed for a week at most; and how many there
// may be.
const (
	tokenRenewal    = 24 * time.Hour
	tokenLifetime   = 7 * 24 * time.Hour
	mostDelegations = 100_000
	mostOfOwner     = 20_000 // of one user
)

// add adds a token.
func (d *delegations) add(identifier string, one *delegation) {
	d.good[identifier] = one
	d.of[one.id.Owner]++
}

// remove removes a token.
func (d *delegations) remove(identifier string) {
	one := d.good[identifier]
	delete(d.good, identifier)
	if d.of[one.id.Owner]--; d.of[one.id.Owner] == 0 {
		delete(d.of, one.id.Owner)
	}
}

// giveToken makes a delegation token of the user.
func (u client) giveToken(q *wire.TokenWanted) (answer, error) {
	d := &u.m.keys.delegations
	if u.user == "" || len(d.good) >= mostDelegations {
		return nil, rpc.Errorf(
			classYARN,
			"no delegation token: there are %d for known users, and may be %d",
			len(d.good),
			mostDelegations,
		)
	}
	if n := d.of[u.user]; n >= mostOfOwner {
		return nil, rpc.Errorf(classYARN, "no delegation token: %s has %d, and may have %d: cancel those that are not "+
			"needed any more, or wait until they expire", cut(u.user, mostName), n, mostOfOwner)
	}
	if len(q.Renewer) > mostName {
		return nil, rpc.Errorf(classYARN, "no delegation token: its renewer has %d bytes, may have %d",
			len(q.Renewer), mostName)
	}
	d.last++
	one := &delegation{
		id: token.Delegation{
			Owner:    u.user,
			Renewer:  u.m.config.Security.short(q.Renewer),
			Issued:   u.m.millis(),
			Most:     u.m.now.Add(tokenLifetime).UnixMilli(),
			Sequence: d.last,
			Key:      d.keys.Current().ID,
		},
		expires: u.m.now.Add(tokenRenewal),
	}
	identifier := one.id.Append(nil)
	one.password = d.keys.Sign(identifier)
	d.add(string(identifier), one)
	one.save(u.m, identifier)
	u.m.expireLater(string(identifier), one)
	return reply(
		&wire.TokenGiven{Token: wire.Token{Identifier: identifier, Password: one.password, Kind: token.KindDelegation}},
	)
}

// expireLater sets the alarm of a token, which was just added to the good ones, to the time at which it expires. The
// alarm removes the token, from the stored state too. If the token was renewed by then, the alarm is set again instead.
// Code that removes the token earlier must cancel the alarm, which panics if the token is gone.
func (m *manager) expireLater(identifier string, one *delegation) {
	one.alarm = m.live.at(one.expires, func() {
		if m.now.Before(one.expires) {
			m.expireLater(identifier, one)
		} else {
			m.keys.delegations.remove(identifier)
			m.saves.put(nameToken+identifier, nil)
		}
	})
}

// goodToken finds the token that a call shows, or returns the exception that says that it is not valid.
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

// renewToken makes a token valid for tokenRenewal from now, within its lifetime. Only its renewer may renew it.
func (u client) renewToken(q *wire.TokenGiven) (answer, error) {
	one, err := u.m.goodToken(q)
	if err != nil {
		return nil, err
	}
	if u.m.config.Security.short(u.user) != one.id.Renewer || one.id.Renewer == "" {
		return nil, rpc.Errorf(
			classAccess,
			"%s tries to renew a token of %s whose renewer is %q",
			u.user,
			one.id.Owner,
			one.id.Renewer,
		)
	}
	one.expires = u.m.now.Add(tokenRenewal)
	if most := time.UnixMilli(one.id.Most); most.Before(one.expires) {
		one.expires = most
	}
	one.save(u.m, q.Token.Identifier)
	return reply(&wire.TokenRenewed{Expires: one.expires.UnixMilli()})
}

// mayCancel reports whether a user is the owner or the renewer of a token. With Kerberos a token of Hadoop's
// ResourceManager, whose state was taken over, has the owner's principal where ours have the local user.
func (s *Security) mayCancel(user string, id *token.Delegation) bool {
	return user == id.Owner || user == s.short(id.Owner) || id.Renewer != "" && s.short(user) == id.Renewer
}

// cancelToken ends a token. Its owner and its renewer may cancel it.
func (u client) cancelToken(q *wire.TokenGiven) (answer, error) {
	one, err := u.m.goodToken(q)
	if err != nil {
		return nil, err
	}
	if !u.m.config.Security.mayCancel(u.user, &one.id) {
		return nil, rpc.Errorf(classAccess, "%s is not authorized to cancel the token of %s", u.user, one.id.Owner)
	}
	u.m.live.off(one.alarm)
	u.m.keys.delegations.remove(string(q.Token.Identifier))
	u.m.saves.put(nameToken+string(q.Token.Identifier), nil)
	return nil, nil
}
