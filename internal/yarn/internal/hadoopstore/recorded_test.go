package hadoopstore

import (
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// testdata has what Hadoop 3.4.2's ResourceManager had stored when it was killed in the middle of TestStockTakeOver: a
// job that is over, one that runs, and a delegation token. Its own authority for the proxy is left out.
func TestRecordedStore(t *testing.T) {
	s, err := Read("testdata")
	if err != nil {
		t.Fatal(err)
	}
	if s.Epoch != 1 || len(s.Apps) != 2 || s.Keys.Current == nil || len(s.Keys.Current.Key) != 8 || s.Keys.Next != nil {
		t.Fatalf("epoch %d, keys %+v, %d applications", s.Epoch, s.Keys, len(s.Apps))
	}
	over, runs := s.Apps[0], s.Apps[1]
	if over.State != AppFinished || over.User != "root" || over.Submission.Name != "Sleep job" ||
		over.Submission.Queue != "default" || over.Submission.Type != "MAPREDUCE" ||
		over.Finished <= over.Launched || over.Launched <= over.Started || over.Started < over.Submitted {
		t.Errorf("what is over: %+v", over.Application)
	}
	a := over.Attempts[0]
	if a.State != AttemptFinished || a.Final != wire.Succeeded || a.Finished <= a.Started ||
		a.Tracking != "http://localhost:22598/jobhistory/job/job_1795682685249_0001" {
		t.Errorf("its attempt: %+v", a)
	}
	used := map[string]int64{}
	for _, u := range a.Used {
		used[u.Kind] = u.Amount
	}
	if len(used) != 2 || used[Memory] <= used[VCores] || used[VCores] <= 0 {
		t.Errorf("it has used %v", used)
	}
	if size, ok := runs.Submission.MasterResource(); !ok || size.Memory != 512 || runs.State != 0 ||
		len(runs.Submission.Launch.Tokens()) == 0 {
		t.Errorf("what runs: %+v", runs.Application)
	}
	b := runs.Attempts[0]
	if b.State != 0 || b.Final != wire.Undefined || b.Exit != wire.ExitInvalid || b.Master == nil ||
		b.Master.ID.String() != "container_1795682685249_0002_01_000001" ||
		b.Master.Node.String() != "localhost:22603" || b.Master.HTTPAddress != "localhost:22605" ||
		b.Master.Resource.Memory != 512 {
		t.Errorf("its attempt: %+v with %+v", b, b.Master)
	}
	if _, _, err := token.ReadCredentials(b.Credentials); err != nil {
		t.Error(err)
	}
	if len(s.Users) != 2 || s.Users[0].ID != 1 || len(s.Users[0].Key) != 8 || len(s.Tokens) != 1 || s.Last != 1 {
		t.Fatalf("keys %+v, tokens %+v, the last is %d", s.Users, s.Tokens, s.Last)
	}
	id, err := s.Tokens[0].ID()
	if err != nil || id.Owner != "root" || id.Renewer != "root" || id.Sequence != 1 || id.Key != 2 ||
		s.Tokens[0].Expires <= id.Issued {
		t.Errorf("the token is %+v, good until %d: %v", id, s.Tokens[0].Expires, err)
	}
}
