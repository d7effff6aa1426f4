package token

import (
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// KindClient is the kind of tokens by which clients prove to an ApplicationMaster who they are.
const KindClient = "YARN_CLIENT_TOKEN"

// A Client identifies a user to the ApplicationMaster of an attempt, on a cluster with Kerberos.
type Client struct {
	Attempt wire.AttemptID
	User    string
}

func (m *Client) Fields(f *proto.Fields) {
	f.Message(1, &m.Attempt)
	f.String(2, &m.User)
}

func (m *Client) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *Client) Decode(b []byte) error  { return proto.Decode(b, m) }
