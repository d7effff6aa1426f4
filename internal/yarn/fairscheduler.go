package yarn

import (
	"encoding/xml"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/sched"
)

// fairFile is the Fair Scheduler's allocation file, unless yarn.scheduler.fair.allocation.file names another.
const fairFile = "fair-scheduler.xml"

// A fairElement is an element of the allocation file: its text, its attributes and the elements in it.
type fairElement struct {
	XMLName  xml.Name
	Attr     []xml.Attr    `xml:",any,attr"`
	Text     string        `xml:",chardata"`
	Children []fairElement `xml:",any"`
}

// attribute returns the value of an attribute; "": there is none.
func (e *fairElement) attribute(name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// allocationFile is the property with the path of the allocation file, or with a URL file:path.
const allocationFile = "yarn.scheduler.fair.allocation.file"

// fairPath returns the path of the allocation file. A path that is not absolute is one in folder dir. local: it is a
// path, or a URL of a file on this machine.
func fairPath(p *properties, dir string) (path string, local bool) {
	path, local = p.text(allocationFile, fairFile), true
	if u, err := url.Parse(path); err == nil && u.Scheme != "" {
		path, local = u.Path, u.Scheme == "file" && u.Host == "" && filepath.IsAbs(u.Path)
	}
	if filepath.IsAbs(path) {
		return path, local
	}
	return filepath.Join(dir, path), local
}

// fairQueues reads the Fair Scheduler's queues. If the file does not exist there are none, as in Hadoop, but a file
// that the properties name must exist: it may have the access lists. notes are elements that are not understood, a line
// each.
func (p *properties) fairQueues(dir string) (q Queues, notes []string) {
	path, local := fairPath(p, dir)
	if !local {
		p.fail(allocationFile, "the path of a file on this machine")
		return q, nil
	}
	undeclared := p.yes("yarn.scheduler.fair.allow-undeclared-pools", true)
	byUser := p.yes("yarn.scheduler.fair.user-as-default-queue", true)
	q.Rules = []Rule{{By: BySpecified, Create: undeclared}}
	if byUser {
		q.Rules = append(q.Rules, Rule{By: ByUser, Create: undeclared})
	}
	q.Rules = append(q.Rules, Rule{By: ByDefault, Queue: sched.DefaultQueue, Create: true})
	text, err := readBounded(path)
	if os.IsNotExist(err) && !p.has(allocationFile) {
		return q, []string{fmt.Sprintf("%s: there is no such file: no queues are configured", path)}
	}
	if err == nil {
		err = q.parseFair(path, text, kindsOf(p), &notes)
	}
	if err != nil {
		p.wrong = append(p.wrong, err)
	}
	return q, notes
}

// parseFair reads an allocation file:
//
//	<allocations>
//	  <queue name="etl">
//	    <minResources>10240 mb, 12 vcores</minResources>      or 20%, or memory-mb=10240, vcores=12
//	    <maxResources>40%</maxResources>
//	    <weight>2</weight>
//	    <maxAMShare>0.5</maxAMShare>                          part that ApplicationMasters may hold; -1.0: no limit
//	    <allowPreemptionFrom>false</allowPreemptionFrom>      nothing is taken back from it and what is below it
//	    <schedulingPolicy>fair</schedulingPolicy>             or fifo, or drf
//	    <aclSubmitApps>ana,bo etl</aclSubmitApps>             users, a space, groups; and <aclAdministerApps>
//	    <queue name="nightly"/>
//	  </queue>
//	</allocations>
func (q *Queues) parseFair(file string, text []byte, kinds []Kind, notes *[]string) error {
	var root fairElement
	if err := readXML(text, &root); err != nil {
		return fmt.Errorf("read %s: %w: must be <allocations> with a <queue> for each queue", file, err)
	}
	if root.XMLName.Local != "allocations" {
		return fmt.Errorf("read %s: <%s>: must be <allocations>", file, root.XMLName.Local)
	}
	f := fairReader{file: file, kinds: kinds, noted: map[string]bool{}, queues: q}
	for i := range root.Children {
		switch e := &root.Children[i]; e.XMLName.Local {
		case "defaultQueueSchedulingPolicy", "defaultQueueSchedulingMode":
			f.policy = f.schedulingPolicy("allocations", e)
		case "queueMaxResourcesDefault":
			f.max = f.most("allocations", e)
		case "queueMaxAMShareDefault":
			f.masters = f.part("allocations", e)
		}
	}
	for i := range root.Children {
		switch e := &root.Children[i]; e.XMLName.Local {
		case "queue", "pool":
			if name := strings.TrimSpace(e.attribute("name")); name == "root" {
				f.root(e)
				for k := range e.Children {
					switch c := &e.Children[k]; c.XMLName.Local {
					case "queue", "pool":
						f.add(&q.Tree, c, "root", 0)
					case aclSubmit, aclAdminister:
					default:
						f.note("root", c)
					}
				}
			} else {
				f.add(&q.Tree, e, "root", 0)
			}
		case "queuePlacementPolicy":
			q.Rules = f.rules(e)
		case "defaultQueueSchedulingPolicy",
			"defaultQueueSchedulingMode",
			"queueMaxResourcesDefault",
			"queueMaxAMShareDefault":
		default:
			f.note("allocations", e)
		}
	}
	*notes = append(*notes, f.notes...)
	return f.err
}

// A fairReader goes over an allocation file.
type fairReader struct {
	file    string
	queues  *Queues         // that are being read
	kinds   []Kind          // beyond memory and cores
	policy  string          // of queues that name none
	max     sched.Share     // of queues that name none
	masters float64         // of queues that name none
	rooted  bool            // the root was named
	noted   map[string]bool // names of elements that have a note
	notes   []string        // elements that are not understood
	err     error           // the first
}

// note lists an element that is not understood, once for all queues.
func (f *fairReader) note(where string, e *fairElement) {
	name := e.XMLName.Local
	if !f.noted[name] {
		f.noted[name] = true
		f.notes = append(f.notes, fmt.Sprintf("%s: <%s> of %s: not understood, and of no effect", f.file, name, where))
	}
}

// fail notes the error that an element of a queue must be want, unless there is an error already.
func (f *fairReader) fail(where string, e *fairElement, want string) {
	if f.err == nil {
		f.err = fmt.Errorf(
			"%s: <%s> of %s is %q: must be %s",
			f.file,
			e.XMLName.Local,
			where,
			strings.TrimSpace(e.Text),
			want,
		)
	}
}

// add reads a queue and those below it.
func (f *fairReader) add(list *[]*sched.QueueSpec, e *fairElement, above string, depth int) {
	name := strings.TrimSpace(e.attribute("name"))
	path := above + "." + name
	wrong := checkQueue(name, *list)
	if wrong == "" && depth == mostDepth {
		wrong = "names of queues"
	}
	if wrong != "" {
		if f.err == nil {
			f.err = fmt.Errorf(
				"%s: <%s name=%q> below %s: must have %s, nested at most %d deep",
				f.file,
				e.XMLName.Local,
				name,
				above,
				wrong,
				mostDepth,
			)
		}
		return
	}
	s := &sched.QueueSpec{Name: name, Policy: f.policy, Max: f.max, Masters: f.masters}
	*list = append(*list, s)
	f.access(strings.TrimPrefix(path, "root."), e)
	for i := range e.Children {
		switch c := &e.Children[i]; c.XMLName.Local {
		case "queue", "pool":
			f.add(&s.Queues, c, path, depth+1)
		case "minResources":
			s.Min = f.share(path, c)
		case "maxResources":
			s.Max = f.most(path, c)
		case "maxAMShare":
			s.Masters = f.part(path, c)
		case "allowPreemptionFrom":
			s.Spared = !strings.EqualFold(strings.TrimSpace(c.Text), "true") // as java.lang.Boolean reads it
		case "weight":
			w, err := strconv.ParseFloat(strings.TrimSpace(c.Text), 64)
			if err != nil || !(w > 0 && w <= 1e6) {
				f.fail(path, c, "a number above 0")
			}
			s.Weight = w
		case "schedulingPolicy", "schedulingMode":
			s.Policy = f.schedulingPolicy(path, c)
		case aclSubmit, aclAdminister:
		default:
			f.note(path, c)
		}
	}
	if e.attribute("type") == "parent" && len(s.Queues) == 0 && f.err == nil {
		f.err = fmt.Errorf("%s: <%s name=%q type=\"parent\"> below %s has no queues: give it one, or leave the type "+
			"out, so that it takes applications", f.file, e.XMLName.Local, name, above)
	}
	if aboveMax(s) && f.err == nil {
		f.err = fmt.Errorf(
			"%s: <minResources> of %s: must be at most its <maxResources>, or <queueMaxResourcesDefault> where it "+
				"has none",
			f.file,
			path,
		)
	}
}

// The elements with a queue's access lists.
const aclSubmit, aclAdminister = "aclSubmitApps", "aclAdministerApps"

// root reads the access lists of the root. A second element for the root is an error, because its lists would replace
// those of the first.
func (f *fairReader) root(e *fairElement) {
	if f.rooted && f.err == nil {
		f.err = fmt.Errorf(
			"%s: <%s name=\"root\"> is there twice: must be one, with all that is said of the root",
			f.file,
			e.XMLName.Local,
		)
	}
	f.rooted = true
	f.access("", e)
}

// access reads who may submit to a queue and administer it.
func (f *fairReader) access(path string, e *fairElement) {
	var a QueueAccess
	var which [2]bool
	for i := range e.Children {
		switch c := &e.Children[i]; c.XMLName.Local {
		case aclSubmit:
			a.Submit, which[0] = parseACL(strings.Trim(c.Text, "\r\n\t")), true
		case aclAdminister:
			a.Administer, which[1] = parseACL(strings.Trim(c.Text, "\r\n\t")), true
		}
	}
	f.queues.said(path, a, which)
}

// schedulingPolicy reads how a queue orders what is in it: fair, fifo or drf.
func (f *fairReader) schedulingPolicy(where string, e *fairElement) string {
	switch name := strings.ToLower(strings.TrimSpace(e.Text)); name {
	case "fair", "":
		return "fair"
	case "fifo", "drf":
		return name
	}
	f.fail(where, e, "fair, fifo or drf")
	return ""
}

// part reads what part of a queue's share ApplicationMasters may hold. As in Hadoop, more than all is all.
func (f *fairReader) part(where string, e *fairElement) float64 {
	x, err := strconv.ParseFloat(strings.TrimSpace(e.Text), 64)
	switch {
	case err == nil && x == -1:
		return 1
	case err != nil || !(x >= 0):
		f.fail(where, e, "a part from 0 to 1 such as 0.5, or -1.0 for no limit")
	}
	return min(max(x, oneMaster), 1)
}

// most is share for a maximum.
func (f *fairReader) most(where string, e *fairElement) sched.Share {
	s := f.share(where, e)
	if s == (sched.Share{}) || hasZero(e.Text) {
		f.fail(where, e, "more than nothing of each resource: a queue in which nothing may run cannot be said, leave "+
			"it out")
	}
	return s
}

// share reads one percentage for all resources, or amounts.
func (f *fairReader) share(where string, e *fairElement) (s sched.Share) {
	const want = "one percentage for all resources such as 40%, or amounts such as 10240 mb, 12 vcores"
	text := strings.ToLower(strings.TrimSpace(e.Text))
	if strings.Contains(text, "%") {
		x, ok := percentage(text)
		if !ok {
			f.fail(where, e, want)
		}
		s.Part = x / 100
		return s
	}
	if !strings.Contains(text, "=") { // 10240 mb, 12 vcores
		text = strings.NewReplacer("vcores", " vcores=", "mb", " memory=").Replace(text)
		var parts []string
		for part := range strings.SplitSeq(text, ",") {
			fields := strings.Fields(part)
			if len(fields) != 2 {
				f.fail(where, e, want)
				return s
			}
			parts = append(parts, fields[1]+fields[0])
		}
		if len(parts) != 2 || parts[0][0] == parts[1][0] { // memory and cores, or cores and memory
			f.fail(where, e, want)
			return s
		}
		text = strings.Join(parts, ",")
	}
	var ok bool
	if s.Amount, ok = amounts(text, true, f.kinds, fairMebibytes); !ok {
		f.fail(where, e, want)
	}
	return s
}

// percentKinds are what percentages are of, by the words for it in allocation files.
var percentKinds = map[string]sched.ResourceKind{
	"memory": sched.Memory, "memory-mb": sched.Memory, "cpu": sched.VCores, "vcores": sched.VCores,
}

// percentage reads 40%, or the same percentage of memory and of cores: 40% memory, 40% cpu, or memory-mb=40%,
// vcores=40%. As in Hadoop neither of both may be missing.
func percentage(text string) (percent float64, ok bool) {
	parts := strings.Split(text, ",")
	of := map[sched.ResourceKind]bool{}
	for i, part := range parts {
		before, after, is := strings.Cut(part, "%")
		word, number, equals := strings.Cut(before, "=")
		if !equals {
			word, number = after, before
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		kind, known := percentKinds[strings.TrimSpace(word)]
		switch {
		case !is || err != nil || !(x >= 0 && x <= 100) || i > 0 && x != percent,
			equals && strings.TrimSpace(after) != "":
			return 0, false
		case known:
			of[kind] = true
		case strings.TrimSpace(word) != "":
			return 0, false
		}
		percent = x
	}
	return percent, len(parts) == 1 && len(of) == 0 || len(parts) == 2 && len(of) == 2
}

// rules reads the queue placement policy.
func (f *fairReader) rules(e *fairElement) (list []Rule) {
	for i := range e.Children {
		c := &e.Children[i]
		r := Rule{Create: c.attribute("create") != "false"}
		if len(c.Children) > 0 && f.err == nil {
			f.err = fmt.Errorf("%s: <rule name=%q> of <queuePlacementPolicy> has a rule in it: rules for parents are "+
				"not known here: name the queues of applications, or use rules without others in them", f.file,
				c.attribute("name"))
		}
		switch name := c.attribute("name"); name {
		case "specified":
			r.By = BySpecified
		case "user":
			r.By = ByUser
		case "default":
			r.By, r.Queue = ByDefault, sched.DefaultQueue
			if named := c.attribute("queue"); named != "" {
				r.Queue = strings.TrimPrefix(named, "root.")
			}
		case "reject":
			r.By = ByReject
		default:
			f.notes = append(
				f.notes,
				fmt.Sprintf("%s: rule %q of <queuePlacementPolicy>: not understood, and passed over", f.file, name),
			)
			continue
		}
		list = append(list, r)
	}
	if len(list) == 0 {
		f.fail("allocations", e, "a <rule name=\"...\"> of specified, user, default or reject, at least one")
	}
	return list
}
