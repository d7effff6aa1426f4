package yarn

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// What is changed by REST: applications are submitted, moved, given another priority or lifetime, and killed. The user
// is the one that visitor returns. A request that names no user changes nothing.

// restChanges are the PUT and POST requests below /ws/v1/cluster that say in their body what to change. Each function
// decodes the body, before the turn, and returns what to do within the turn.
var restChanges = map[string]func(text []byte) (func(rest) (body, error), error){
	"PUT /apps/{app}/state":    readKill,
	"PUT /apps/{app}/queue":    readMove,
	"PUT /apps/{app}/priority": readPriority,
	"PUT /apps/{app}/timeout":  readTimeout,
	"POST /apps":               readSubmission,
}

// restOrders are the PUT and POST requests below /ws/v1/cluster whose body is not read.
var restOrders = map[string]func(rest) (body, error){
	"POST /apps/new-application":        rest.newApplication,
	"PUT /scheduler-conf":               rest.schedulerConf,
	"POST /scheduler-conf/validate":     rest.schedulerConf,
	"POST /delegation-token":            rest.noToken,
	"POST /delegation-token/expiration": rest.noToken,
}

// Limits on the body of a request, and of a submission, in bytes; and on the commas of a body. An element of a list may
// be three bytes of text, and takes a hundred bytes of memory when it is decoded.
const (
	restBody       = 64 << 10
	mostSubmission = 4 << 20
	mostCommas     = 64 << 10
)

// changeREST serves the requests of restChanges and restOrders.
func changeREST(mux *http.ServeMux, f *front, cluster string) {
	for pattern, do := range restOrders {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+cluster+path, func(w http.ResponseWriter, r *http.Request) {
			b, err := f.inTurn(r, do)
			f.answerREST(w, r, func() (body, error) { return b, err })
		})
	}
	for pattern, read := range restChanges {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+cluster+path, func(w http.ResponseWriter, r *http.Request) {
			most := int64(restBody)
			if path == "/apps" {
				most = mostSubmission
			}
			share := f.shareOf(r)
			defer share.Hold(0)
			if !share.Hold(int(most)) {
				http.Error(w, rpc.ErrNoRoom.Error(), http.StatusServiceUnavailable)
				return
			}
			r.Body = http.MaxBytesReader(w, r.Body, most)
			var b body
			do, err := f.readBody(r, read)
			if err == nil {
				b, err = f.inTurn(r, do) // which waits until the change is stored: other replies must not
			}
			f.auditREST(pattern, r, err)
			f.answerREST(w, r, func() (body, error) { return b, err })
		})
	}
}

// readBody reads the body of a request, and decodes it by read. It does not read the body of a request that names no
// user, or of one that does not say that it is JSON: for a page of any site, browsers send other bodies to this server
// without asking it first. Bodies are decoded a few at a time, as replies are made, because a body takes several times
// its length meanwhile.
func (f *front) readBody(
	r *http.Request, read func(text []byte) (func(rest) (body, error), error),
) (func(rest) (body, error), error) {
	if visitor(r) == staticUser {
		return nil, errUnnamed
	}
	kind := r.Header.Get("Content-Type")
	if media, _, _ := mime.ParseMediaType(kind); media != "application/json" && r.ContentLength != 0 {
		return nil, &restError{http.StatusUnsupportedMediaType, "WebApplicationException",
			fmt.Sprintf("the body must be JSON: the Content-Type must be application/json, not %q", kind)}
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, badRequest("the body cannot be read: " + err.Error())
	}
	if n := bytes.Count(text, []byte(",")); n > mostCommas {
		return nil, badRequest(fmt.Sprintf("the body has %d commas, and may have %d: shorten its lists", n, mostCommas))
	}
	f.making <- struct{}{}
	defer func() { <-f.making }()
	return read(text)
}

// readJSON decodes a body. what, in the error, is what the body must be.
func readJSON(text []byte, to any, what string) error {
	if err := json.Unmarshal(text, to); err != nil {
		return badRequest("the body must be " + what + " in JSON: " + err.Error())
	}
	return nil
}

// readKill reads the only change of a state that may be asked for: that the application is killed.
func readKill(text []byte) (func(rest) (body, error), error) {
	var said struct{ State string }
	if err := json.Unmarshal(text, &said); err != nil || strings.ToUpper(said.State) != "KILLED" {
		return nil, badRequest(`the body must be {"state":"KILLED"}`)
	}
	return rest.kill, nil
}

// kill kills an application.
func (q rest) kill() (body, error) {
	return q.change(func(u client, app *application) error {
		return asREST(u.kill(nil, &wire.KillRequest{ID: app.id}))
	}, rest.state)
}

// errUnnamed refuses a change by a request that names no user.
var errUnnamed = forbidden("The default static user cannot carry out this operation.")

// caller returns the client of the user that the request names, or an error if it names none.
func (q rest) caller() (client, error) {
	if q.user == staticUser {
		return client{}, errUnnamed
	}
	return as(q.m, q.user), nil
}

func readMove(text []byte) (func(rest) (body, error), error) {
	var said struct{ Queue string }
	err := readJSON(text, &said, `{"queue": name}`)
	return func(q rest) (body, error) {
		return q.change(func(u client, app *application) error {
			return asREST(u.move(&wire.Move{ID: app.id, Queue: said.Queue}))
		}, rest.queueOf)
	}, err
}

func readPriority(text []byte) (func(rest) (body, error), error) {
	var said struct{ Priority *int32 }
	err := readJSON(text, &said, `{"priority": number}`)
	if err == nil && said.Priority == nil {
		err = badRequest(`the body must be {"priority": number}`)
	}
	return func(q rest) (body, error) {
		return q.change(func(u client, app *application) error {
			to := wire.Priority(*said.Priority)
			return asREST(u.changePriority(&wire.PriorityChange{ID: app.id, Priority: to}))
		}, rest.priority)
	}, err
}

func readTimeout(text []byte) (func(rest) (body, error), error) {
	var said struct {
		Type, ExpiryTime string
		Timeout          *struct{ Type, ExpiryTime string }
	}
	err := readJSON(text, &said, `{"timeout": {"type": "LIFETIME", "expiryTime": instant}}`)
	if said.Timeout != nil {
		said.Type, said.ExpiryTime = said.Timeout.Type, said.Timeout.ExpiryTime
	}
	if err == nil && strings.ToUpper(said.Type) != lifetimeName {
		err = badRequest("Invalid timeout type " + said.Type)
	}
	return func(q rest) (body, error) {
		return q.change(func(u client, app *application) error {
			one := wire.Timeout{Kind: wire.TimeoutLifetime, Expires: said.ExpiryTime}
			return asREST(u.changeTimeouts(&wire.TimeoutChange{ID: app.id, Timeouts: []wire.Timeout{one}}))
		}, rest.timeout)
	}, err
}

// change applies do, as the caller, to the application that the path names. It answers with what read returns
// afterwards.
func (q rest) change(do func(client, *application) error, read func(rest) (body, error)) (body, error) {
	u, err := q.caller()
	if err != nil {
		return body{}, err
	}
	app, err := q.named()
	if err != nil {
		return body{}, err
	}
	if err := do(u, app); err != nil {
		return body{}, err
	}
	return read(q)
}

// lifetimeName is the only timeout that there is.
const lifetimeName = "LIFETIME"

type timeoutInfo struct {
	Type   string `json:"type" xml:"type"`
	Expiry string `json:"expiryTime" xml:"expiryTime"`
	Left   int64  `json:"remainingTimeInSeconds" xml:"remainingTimeInSeconds"`
}

type timeoutList struct {
	Timeout []timeoutInfo `json:"timeout" xml:"timeout"`
}

// lifetime returns the lifetime of the application that the path names.
func (q rest) lifetime() (timeoutInfo, error) {
	app, err := q.named()
	if err != nil {
		return timeoutInfo{}, err
	}
	return lifetimeOf(app), nil
}

// lifetimeOf says when an application will be killed. An application that is over has 0 s left.
func lifetimeOf(app *application) timeoutInfo {
	t := timeoutInfo{lifetimeName, app.expiry(), -1}
	if ends := app.lifetime.ends; !ends.IsZero() {
		t.Left = 0
		if !app.over {
			t.Left = max(0, ends.Unix()-app.m.now.Unix())
		}
	}
	return t
}

func (q rest) timeouts() (body, error) {
	t, err := q.lifetime()
	return body{"timeouts", timeoutList{[]timeoutInfo{t}}}, err
}

func (q rest) timeout() (body, error) {
	if kind := q.r.PathValue("kind"); kind != "" && strings.ToUpper(kind) != lifetimeName {
		return body{}, badRequest("Invalid application-state " + kind + " specified. It should be one of [LIFETIME]")
	}
	t, err := q.lifetime()
	return body{"timeout", t}, err
}

// newIDInfo stands alone in its reply, as Hadoop's does.
type newIDInfo struct {
	ID      string     `json:"application-id" xml:"application-id"`
	Maximum amountInfo `json:"maximum-resource-capability" xml:"maximum-resource-capability"`
}

func (q rest) newApplication() (body, error) {
	u, err := q.caller()
	if err != nil {
		return body{}, err
	}
	later, err := u.newID(nil)
	if err != nil {
		return body{}, asREST(nil, err)
	}
	r := later().(*wire.NewApplication)
	return body{alone + "NewApplication", newIDInfo{r.ID.String(), q.m.config.Sizes.info(r.Maximum)}}, nil
}

// submissionInfo is an application as it is submitted by REST.
type submissionInfo struct {
	ID          string                         `json:"application-id"`
	Name        string                         `json:"application-name"`
	Queue       string                         `json:"queue"`
	Priority    int32                          `json:"priority"`
	Launch      launchInfo                     `json:"am-container-spec"`
	Unmanaged   bool                           `json:"unmanaged-AM"`
	MaxAttempts int32                          `json:"max-app-attempts"`
	Resource    *amountInfo                    `json:"resource"`
	Type        string                         `json:"application-type"`
	Keep        bool                           `json:"keep-containers-across-application-attempts"`
	Tags        listOf[string]                 `json:"application-tags"`
	Label       string                         `json:"app-node-label-expression"`
	MasterLabel string                         `json:"am-container-node-label-expression"`
	Timeouts    map[string]listOf[timeoutWish] `json:"application-timeouts"`
	Validity    int64                          `json:"attempt-failures-validity-interval"`
	Logs        *logsInfo                      `json:"log-aggregation-context"`
	Reservation string                         `json:"reservation-id"`
}

// logsInfo says which logs are aggregated, and how. What is not there is left to the NodeManagers' defaults.
type logsInfo struct {
	Include       *string `json:"log-include-pattern"`
	Exclude       *string `json:"log-exclude-pattern"`
	RolledInclude *string `json:"rolled-log-include-pattern"`
	RolledExclude *string `json:"rolled-log-exclude-pattern"`
	Policy        *string `json:"log-aggregation-policy-class-name"`
	Parameters    *string `json:"log-aggregation-policy-parameters"`
}

// context makes the message, whose fields have the order of logsInfo's (LogAggregationContextProto).
func (i *logsInfo) context() proto.Raw {
	raw := proto.Raw{}
	for n, text := range []*string{i.Include, i.Exclude, i.RolledInclude, i.RolledExclude, i.Policy, i.Parameters} {
		if text != nil {
			raw = proto.AppendString(raw, int32(n+1), *text)
		}
	}
	return raw
}

type timeoutWish struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// listOf is a list that clients give as a list, as one value, or within an object of one member.
type listOf[T any] []T

// UnmarshalJSON reads the three forms. Objects within the object are not looked into: each would be read again for
// every one around it.
func (l *listOf[T]) UnmarshalJSON(b []byte) error {
	var within map[string]json.RawMessage
	if json.Unmarshal(b, &within) == nil && len(within) == 1 {
		for name, inner := range within {
			if name != "key" && name != "value" {
				b = inner
			}
		}
	}
	var list []T
	if json.Unmarshal(b, &list) == nil {
		*l = list
		return nil
	}
	var one T
	if err := json.Unmarshal(b, &one); err != nil {
		return err
	}
	*l = []T{one}
	return nil
}

// An entryOf is one entry of a map, as Hadoop's bodies have them.
type entryOf[T any] struct {
	Key   string `json:"key"`
	Value T      `json:"value"`
}

type entriesOf[T any] struct {
	Entry listOf[entryOf[T]] `json:"entry"`
}

type fileInfo struct {
	Resource   string `json:"resource"`
	Type       string `json:"type"`
	Visibility string `json:"visibility"`
	Size       int64  `json:"size"`
	Timestamp  int64  `json:"timestamp"`
}

// launchInfo is what the ApplicationMaster's container runs.
type launchInfo struct {
	Files       entriesOf[fileInfo] `json:"local-resources"`
	Environment entriesOf[string]   `json:"environment"`
	Commands    struct {
		Command listOf[string] `json:"command"`
	} `json:"commands"`
	Services    entriesOf[string] `json:"service-data"`
	Credentials struct {
		Tokens  entriesOf[string] `json:"tokens"`
		Secrets entriesOf[string] `json:"secrets"`
	} `json:"credentials"`
	Access entriesOf[string] `json:"application-acls"`
}

func readSubmission(text []byte) (func(rest) (body, error), error) {
	var said submissionInfo
	if err := readJSON(text, &said, "an application submission context"); err != nil {
		return nil, err
	}
	s, err := said.submission()
	return func(q rest) (body, error) {
		u, err := q.caller()
		if err != nil {
			return body{}, err
		}
		if !q.m.config.Apps.TagsKeepCase {
			for i, tag := range s.Tags {
				s.Tags[i] = lowerTag(tag)
			}
		}
		if err := asREST(u.submit(&wire.SubmitRequest{Submission: *s})); err != nil {
			return body{}, err
		}
		return body{accepted, s.ID.String()}, nil
	}, err
}

// submission makes the message that a client would have sent.
func (i *submissionInfo) submission() (*wire.Submission, error) {
	id, err := wire.ParseApplicationID(i.ID)
	if err != nil {
		return nil, badRequest("Could not create ApplicationId: " + err.Error())
	}
	if i.Reservation != "" {
		return nil, badRequest("reservations are not supported")
	}
	launch, err := i.Launch.context()
	if err != nil {
		return nil, err
	}
	s := &wire.Submission{
		ID: id, Name: i.Name, Queue: i.Queue, Priority: wire.Priority(i.Priority), Launch: *launch,
		Unmanaged: i.Unmanaged, MaxAttempts: i.MaxAttempts, Type: i.Type, KeepContainers: i.Keep,
		Validity: i.Validity, Tags: i.Tags, Label: i.Label,
	}
	if i.Logs != nil {
		s.LogAggregation = i.Logs.context()
	}
	if i.MasterLabel != "" {
		s.Label = i.MasterLabel
	}
	if i.Resource != nil {
		s.Resource = i.Resource.resource()
	}
	for _, list := range i.Timeouts {
		for _, t := range list {
			seconds, err := strconv.ParseInt(t.Value, 10, 64)
			if strings.ToUpper(t.Key) != lifetimeName || err != nil || seconds <= 0 {
				return nil, badRequest("application-timeouts: must be " + lifetimeName + " and seconds, not " +
					t.Key + " " + t.Value)
			}
			s.Lifetime = seconds
		}
	}
	return s, nil
}

// The numbers, in Hadoop's messages, of what a container's file is, of who may share it, and of what a list allows.
var (
	fileKinds   = map[string]int32{"ARCHIVE": 1, "FILE": 2, "PATTERN": 3}
	fileShares  = map[string]int32{"PUBLIC": 1, "PRIVATE": 2, "APPLICATION": 3}
	accessKinds = map[string]int32{"VIEW_APP": wire.ViewApp, "MODIFY_APP": wire.ModifyApp}
)

// context makes the message of the launch context, with the numbers of Hadoop's fields (ContainerLaunchContextProto).
func (i *launchInfo) context() (*wire.LaunchContext, error) {
	var b []byte
	for _, e := range i.Files.Entry {
		file := e.Value
		u, err := url.Parse(file.Resource)
		kind, share := fileKinds[strings.ToUpper(file.Type)], fileShares[strings.ToUpper(file.Visibility)]
		if err != nil || kind == 0 || share == 0 {
			return nil, badRequest("local-resources: " + e.Key + " must have a URL, a type and a visibility")
		}
		where := proto.AppendString(nil, 1, u.Scheme)
		if u.Hostname() != "" {
			where = proto.AppendString(where, 2, u.Hostname())
			port, _ := strconv.Atoi(u.Port())
			where = proto.AppendInt32(where, 3, int32(port))
		}
		where = proto.AppendString(where, 4, u.Path)
		if u.User != nil { // the container of an abfs URL
			where = proto.AppendString(where, 5, inURL(u.User))
		}
		one := proto.AppendBytes(nil, 1, where)
		one = proto.AppendInt64(one, 2, file.Size)
		one = proto.AppendInt64(one, 3, file.Timestamp)
		one = proto.AppendInt32(proto.AppendInt32(one, 4, kind), 5, share)
		b = proto.AppendBytes(b, 1, proto.AppendBytes(proto.AppendString(nil, 1, e.Key), 2, one))
	}
	blob, err := i.credentials()
	if err != nil {
		return nil, err
	}
	if blob != nil {
		b = proto.AppendBytes(b, 2, blob)
	}
	for _, e := range i.Services.Entry {
		data, err := decode64(e.Value)
		if err != nil {
			return nil, badRequest("service-data: " + e.Key + " must be Base64")
		}
		b = proto.AppendBytes(b, 3, proto.AppendBytes(proto.AppendString(nil, 1, e.Key), 2, data))
	}
	for _, e := range i.Environment.Entry {
		b = proto.AppendBytes(b, 4, proto.AppendString(proto.AppendString(nil, 1, e.Key), 2, e.Value))
	}
	b = proto.AppendStrings(b, 5, i.Commands.Command)
	for _, e := range i.Access.Entry {
		kind, ok := accessKinds[strings.ToUpper(e.Key)]
		if !ok {
			return nil, badRequest("application-acls: " + e.Key + " must be one of " +
				strings.Join(slices.Sorted(maps.Keys(accessKinds)), ", "))
		}
		b = proto.AppendBytes(b, 6, proto.AppendString(proto.AppendInt32(nil, 1, kind), 2, e.Value))
	}
	var c wire.LaunchContext
	if err := proto.Decode(b, &c); err != nil {
		return nil, badRequest("am-container-spec: " + err.Error())
	}
	return &c, nil
}

// inURL returns what stands before the @ of a URL, decoded, as java.net.URI does.
func inURL(u *url.Userinfo) string {
	if password, said := u.Password(); said {
		return u.Username() + ":" + password
	}
	return u.Username()
}

// credentials makes the blob of tokens and secrets; nil: there are none.
func (i *launchInfo) credentials() ([]byte, error) {
	tokens, secrets := map[string][]byte{}, map[string][]byte{}
	for _, e := range i.Credentials.Tokens.Entry {
		text, err := decode64(e.Value)
		if err == nil {
			err = token.CheckToken(text)
		}
		if err != nil {
			return nil, badRequest("credentials: token " + e.Key + " must be one that encodeToUrlString has written")
		}
		tokens[e.Key] = text
	}
	for _, e := range i.Credentials.Secrets.Entry {
		secret, err := decode64(e.Value)
		if err != nil {
			return nil, badRequest("credentials: secret " + e.Key + " must be Base64")
		}
		secrets[e.Key] = secret
	}
	if len(tokens)+len(secrets) == 0 {
		return nil, nil
	}
	return token.Blob(tokens, secrets), nil
}

// decode64 reads Base64 as it is in URLs or elsewhere.
func decode64(s string) ([]byte, error) {
	s = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	return base64.RawStdEncoding.DecodeString(s)
}

// schedulerConf refuses to show or to change the queues, as Hadoop does if the queues are in a file.
func (q rest) schedulerConf() (body, error) {
	return body{}, badRequest("This API only supports to retrieve scheduler configuration from a mutable-conf " +
		"scheduler, underneath scheduler CapacityScheduler is not an instance of MutableConfScheduler")
}

// noToken refuses to give delegation tokens, as Hadoop does without Kerberos. With Kerberos they are given by RPC only.
func (q rest) noToken() (body, error) {
	if q.m.config.Security.Kerberos != nil {
		return body{}, forbidden("Delegation tokens are not given by REST: ask for one by getDelegationToken")
	}
	return body{}, forbidden("Delegation token operations can only be carried out on a Kerberos authenticated " +
		"channel. Expected auth type is kerberos, got type simple")
}

type activityInfo struct {
	Application string `json:"applicationId,omitempty" xml:"applicationId,omitempty"`
	Diagnostic  string `json:"diagnostic" xml:"diagnostic"`
	Time        string `json:"dateTime" xml:"dateTime"`
}

// activities says, as Hadoop does at first, that none are recorded. `sojourn record explain` says why a job waits.
func (q rest) activities() (body, error) {
	at := q.m.now.UTC().Format("Mon Jan 02 15:04:05 UTC 2006")
	if id := q.r.PathValue("app"); id != "" {
		app, err := q.seen()
		if err != nil {
			return body{}, err
		}
		return body{"appActivities", activityInfo{app.id.String(), noActivities, at}}, nil
	}
	return body{"activities", activityInfo{"", noActivities, at}}, nil
}

const noActivities = "activities are not kept: sojourn record explain tells why a job waits"

type userInfo struct {
	Login     string `json:"rmLoginUser" xml:"rmLoginUser"`
	Requested string `json:"requestedUser" xml:"requestedUser"`
}

func (q rest) userInfo() (body, error) {
	return body{alone + "clusterUserInfo", userInfo{q.m.config.Shown.User, q.user}}, nil
}
