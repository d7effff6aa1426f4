package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/internal/yarn"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// rmFlags say which cluster to be the ResourceManager of, and how.
type rmFlags struct {
	policies  policyFlags
	conf      string
	queues    string
	state     string
	record    string
	overwrite bool
	audit     string
	verbose   bool
	quiet     bool
	insecure  bool
	tls       yarn.KeySource // of --tls-cert and --tls-key
	pack      bool
	fairness  bool
	available string
	classes   string
	check     bool // say what is read, and start nothing
	named     bool // --policy was given
}

func rmCommand(a *app) *cobra.Command {
	var f rmFlags
	c := &cobra.Command{
		Use:   "rm --conf DIR --policy capacity",
		Short: "Be YARN's ResourceManager: stock programs run under a policy",
		Long: `Be the ResourceManager of a Hadoop cluster, on Hadoop's own ports and protocols. DIR holds core-site.xml,
yarn-site.xml and capacity-scheduler.xml or fair-scheduler.xml as the cluster has them; what is not understood in them
is listed at start. Simple authentication trusts the user that a client claims to be, as Hadoop does; Kerberos, TLS and
hadoop-policy.xml are used where the folder asks for them.

With --state, a restart loses nothing: applications and their containers go on. Without, they must be submitted again.
With yarn.resourcemanager.ha.enabled it is a standby until it may be active, and the state is kept in ZooKeeper.
There are no node labels. docs/hadoop.md has the rest.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.named = cmd.Flags().Changed("policy")
			return leaves(f.run(cmd.Context(), a), "what it had saved stays; the same command goes on with that")
		},
	}
	c.AddCommand(takeOverCommand(a), handOverCommand(a))
	f.policies.register(c, a.names, "history")
	fl := c.Flags()
	one := fl.Lookup("policy")
	one.DefValue, one.Usage = "[]", "policy with its parameters, such as capacity:preempt=kill; otherwise capacity, "+
		"fair or fifo, as yarn.resourcemanager.scheduler.class says"
	fl.StringVar(&f.conf, "conf", "", "folder with core-site.xml, yarn-site.xml and the scheduler's file")
	fl.StringVar(&f.queues, "queues", "", "YAML file with queues: [{name: etl, weight: 2, min: 20%}, ...], instead "+
		"of those of the folder")
	fl.StringVar(
		&f.state,
		"state",
		"",
		"folder for what outlives a restart: applications, keys and tokens (rm.db), what was learned of task times "+
			"(history.db), debts between queues or profiles of tasks (policy.json) and their statement (fairness.json)",
	)
	fl.StringVar(&f.record, "record", "", "leave a record of what happens in this file; where it exists, in a file "+
		"beside it with the next free number, so that each life has one")
	fl.BoolVar(
		&f.overwrite,
		"overwrite",
		false,
		"replace a record that exists",
	)
	fl.StringVar(&f.audit, "audit", "",
		"append what users do to this file, a line each: user, address, operation, target, result; "+
			"otherwise it is written to standard error, and with --quiet nowhere")
	fl.BoolVar(&f.insecure, "insecure", false,
		"start although the folder is a secured cluster's: every caller is believed to be who it says it is")
	fl.StringVar(&f.tls.Path, "tls-cert", "", "PEM file of certificates for REST, the server's own first, in the "+
		"place of ssl-server.xml's key store; yarn.http.policy must be HTTPS_ONLY")
	fl.StringVar(&f.tls.KeyPath, "tls-key", "", "PEM file of the private key that belongs to --tls-cert")
	fl.BoolVar(&f.fairness, "fairness", false,
		"keep a statement of what queues lend and borrow, for GET /ws/v1/cluster/fairness "+
			"(an event costs time for each queue)")
	fl.BoolVar(&f.pack, "pack", false,
		"fill one node before the next, so that others stay empty; otherwise containers are spread over the nodes")
	fl.StringVar(&f.classes, "classes", "", "classes of machines with other hardware, for policy hardware: a file "+
		"with a host and a class a line")
	fl.StringVar(&f.available, "availability", "", "what a service on the machines of NodeManagers leaves for "+
		"containers: a timetable, a file of lines as '6h 40%' counted from midnight, or 'measured', by their reports")
	fl.BoolVar(&f.check, "check", false, "say what of the folder is not understood, and start nothing")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "errors, and the line that says ready, only")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "more logs")
	return c
}

// settle returns the one policy of the ResourceManager, which it must be able to serve.
func (f *rmFlags) settle(a *app) (string, error) {
	policies, err := f.policies.parse(a.names, run.Manager)
	if err != nil {
		return "", err
	}
	if len(policies) != 1 {
		return "", usagef("--policy: a ResourceManager has one policy, got %s", strings.Join(policies, ", "))
	}
	return policies[0], f.policies.check(a, policies, run.Manager, nil)
}

func (f *rmFlags) run(ctx context.Context, a *app) (err error) {
	if f.conf == "" {
		return usagef("--conf is needed: a folder with yarn-site.xml")
	}
	policy := ""
	if f.named { // a policy that no configuration makes possible is refused before one is read
		if policy, err = f.settle(a); err != nil {
			return err
		}
	}
	config, notes, err := yarn.Site(f.conf)
	if err != nil {
		return err
	}
	if config.Security.Insecure = f.insecure; !f.named {
		f.policies.policies = []string{config.Policy} // what yarn.resourcemanager.scheduler.class says
		if policy, err = f.settle(a); err != nil {
			return err
		}
	}
	if err := f.ownQueues(&config); err != nil {
		return err
	}
	o := output{quiet: f.quiet, verbose: f.verbose}
	config.Log = o.logger(a.Err)
	if f.check {
		return f.tell(a, policy, &config, notes)
	}
	audit, shut, err := f.auditor(a.Err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shut()) }()
	config.Access.Audit = audit
	for _, n := range notes {
		a.remark("%s", n)
	}
	ahead, err := f.complete(&config)
	if err != nil {
		return err
	}
	f.hint(a)
	if err := f.policies.keepIn(f.state, a.names); err != nil {
		return err
	}
	setup := f.setup(a, policy, &config)
	setup.Forecast = ahead
	return f.serve(ctx, a, &setup, &config)
}

// ownQueues replaces the queues of the folder by those of --queues, now and whenever they are read again.
func (f *rmFlags) ownQueues(config *yarn.Config) (err error) {
	if f.queues == "" {
		return nil
	}
	folder := config.Reread
	config.Reread = func() (yarn.Queues, error) { return readQueues(f.queues, folder) }
	config.Queues, err = config.Reread()
	return err
}

// complete adds to the configuration what flags say of TLS and of the nodes, and checks it. It returns the forecast of
// what the nodes will offer; nil: there is none.
func (f *rmFlags) complete(config *yarn.Config) (ahead *sched.Forecast, err error) {
	if err := f.encrypt(config); err != nil {
		return nil, err
	}
	if config.Room, ahead, err = roomBy(f.available, time.Now()); err != nil {
		return nil, err
	}
	if config.Room.Pack = f.pack; f.classes != "" {
		if config.Room.Classes, err = yarn.ReadClasses(f.classes); err != nil {
			return nil, usageError{err}
		}
	}
	if err := config.Check(); err != nil {
		return nil, failuref("%w", err)
	}
	return ahead, nil
}

// tell does what --check asks for: it prints the notes on the folder, checks the rest, and starts nothing.
func (f *rmFlags) tell(a *app, policy string, config *yarn.Config, notes []string) error {
	for _, n := range notes {
		fmt.Fprintln(a.Out, n)
	}
	if _, err := f.complete(config); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "policy %s; %s of no effect\n", policy, spelling.Count(len(notes), "line is", "lines are"))
	return nil
}

// setup returns how the core runs under the policy. With --fairness the configuration gets the statement of loans.
func (f *rmFlags) setup(a *app, policy string, config *yarn.Config) run.Setup {
	setup := run.Setup{
		Engine:    run.Manager,
		Names:     a.names,
		Choice:    f.policies.choice(policy),
		History:   f.policies.history,
		State:     f.state,
		Cluster:   &workload.Cluster{},
		Queues:    config.Queues.Specs(),
		Spread:    !f.pack,
		Record:    ofThisLife(f.record, f.overwrite),
		Overwrite: f.overwrite,
		Complain:  func(err error) { config.Log.Error("the record ends here", "why", err) },
		Unsaved:   func(err error) { config.Log.Error("what was learned is not saved", "why", err) },
		Note:      func(note string) { config.Log.Warn("policy "+policy, "note", note) },
	}
	if f.fairness {
		loans := &record.Loans{}
		setup.Loans = loans
		config.Debts.Statement = func(now sched.Time) any { return loans.FairnessAt(now) }
	}
	return setup
}

// serve waits until the ResourceManager may be active, opens the core and the state, and serves until ctx ends.
func (f *rmFlags) serve(ctx context.Context, a *app, setup *run.Setup, config *yarn.Config) (err error) {
	if config.Kept.HA != nil {
		fmt.Fprintln(a.Err, "standby")
		if config.Kept.Active, err = yarn.Stand(ctx, *config); err != nil {
			return failuref("%w", err)
		}
		defer config.Kept.Active.Resign()
	}
	guard := pageOf(a, setup, config)
	opened, err := setup.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	config.Core, config.Debts.Keep = opened.Core, opened.Keep
	if f.state != "" {
		config.Kept.File = filepath.Join(f.state, stateFile)
	}
	rm, err := yarn.Listen(ctx, *config)
	if err != nil {
		return failuref("%w", err)
	}
	guard.rm = rm
	greet(a, config.Security.Kerberos, rm.Addresses())
	if err := rm.Serve(ctx); err != nil {
		return failuref("%w", err)
	}
	return nil
}

// greet prints how callers prove who they are, where each kind of caller is served, and that the ResourceManager is
// ready.
func greet(a *app, kerberos *yarn.Kerberos, at yarn.Addresses) {
	if kerberos != nil {
		a.remark("kerberos: callers need a ticket for %s", kerberos.Principal)
	} else {
		a.remark("simple authentication: a user is who the client says")
	}
	for _, p := range [][2]string{{"NodeManagers", at.Tracker}, {"ApplicationMasters", at.Master},
		{"clients", at.Client}, {"operators", at.Admin}, {"REST", at.Web}} {
		if p[1] != "" {
			a.remark("%s on %s", p[0], p[1])
		}
	}
	fmt.Fprintln(a.Err, "ready")
}

// hint says how what runs under Hadoop's ResourceManager goes on, where that keeps its state in a folder here and this
// one has none.
func (f *rmFlags) hint(a *app) {
	if f.state != "" {
		if _, err := os.Stat(filepath.Join(f.state, stateFile)); err == nil {
			return
		}
	}
	if at, err := yarn.SiteStore(f.conf); err == nil && at.HasState() {
		a.remark("Hadoop's ResourceManager has left a state in %s: what runs ends, unless sojourn rm take-over is run "+
			"before", at.Folder)
	}
}

// encrypt makes REST use the key and the certificates that flags name.
func (f *rmFlags) encrypt(config *yarn.Config) error {
	switch {
	case f.tls.Path == "" && f.tls.KeyPath == "":
		return nil
	case f.tls.Path == "" || f.tls.KeyPath == "":
		return usagef("--tls-cert and --tls-key: both are needed, or neither")
	case config.Security.TLS == nil:
		return usagef("--tls-cert: REST is served without TLS: set yarn.http.policy to HTTPS_ONLY in yarn-site.xml")
	}
	config.Security.TLS = &f.tls
	return nil
}

// ofThisLife returns the file for the record of a life: the named one, or, where that exists and may not be replaced,
// one with the next free number before its suffix.
func ofThisLife(named string, overwrite bool) string {
	suffix := filepath.Ext(named)
	path := named
	for i := 2; named != "" && !overwrite; i++ {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			break
		}
		path = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(named, suffix), i, suffix)
	}
	return path
}

// readQueues reads the queues of a YAML file. Such a file has no access lists; they come from the queues that folder
// returns, so that a file which changes the sizes of queues does not change who may use them.
func readQueues(path string, folder func() (yarn.Queues, error)) (q yarn.Queues, err error) {
	said, err := folder()
	if err != nil {
		return q, err
	}
	q.Access = said.Access
	file, err := os.Open(path)
	if err != nil {
		return q, fmt.Errorf("--queues: %w", err)
	}
	defer file.Close()
	if q.Tree, err = workload.ReadQueues(path, file); err != nil {
		return q, err
	}
	if err := policy.CheckQueues(q.Tree); err != nil {
		return q, fmt.Errorf("%s: %w", path, err)
	}
	return q, nil
}

// auditor returns the log of what users do, and what closes it.
func (f *rmFlags) auditor(w io.Writer) (log *slog.Logger, shut func() error, err error) {
	shut = func() error { return nil }
	if f.audit != "" {
		file, err := os.OpenFile(f.audit, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, failuref("--audit: %w", err)
		}
		w, shut = file, file.Close
	} else if f.quiet {
		return slog.New(slog.DiscardHandler), shut, nil
	}
	return slog.New(slog.NewTextHandler(w, nil)), shut, nil
}
