package yarn

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/sched"
)

// capacityFile is the Capacity Scheduler's file.
const capacityFile = "capacity-scheduler.xml"

// capacityQueues reads the queues of capacity-scheduler.xml:
//
//	yarn.scheduler.capacity.root.queues = etl,adhoc          the queues below one
//	    .root.etl.capacity = 40                              percent of the one above; 2w: a weight;
//	                                                         [memory=10240,vcores=12]: amounts
//	    .root.etl.maximum-capacity = 60                      the same without weights; 100 or -1: none
//	    .root.etl.state = STOPPED                            takes no new applications, nor do those below it; and
//	                                                         .root.state
//	    .root.etl.acl_submit_applications = ana,bo etl       users, a space, groups; and acl_administer_queue
//	    .root.etl.maximum-am-resource-percent = 0.2          part that ApplicationMasters may hold; without root.etl:
//	                                                         of queues that do not say
//	    .root.etl.ordering-policy = fair                     of its applications; else in order of submission
//
// As in Hadoop, percentages of siblings make up 100, and siblings that have weights all have.
func (p *properties) capacityQueues() (q Queues) {
	p.capacityAccess("root", &q)
	capacityState(p, "root", &q)
	if !p.has(capacityPrefix + "root.queues") { // there is one then
		p.capacityAccess("root."+sched.DefaultQueue, &q)
		capacityState(p, "root."+sched.DefaultQueue, &q)
		return q
	}
	q.Tree = p.capacityBelow("root", 0, &q)
	if mapped := capacityPrefix + "queue-mappings"; p.text(mapped, "") != "" {
		q.Rules = p.mappings(mapped)
		leaves := q.leaves()
		for _, r := range q.Rules {
			if _, found := leaves.find(r.Queue); r.User != "" && !found {
				p.fail(mapped, "of queues that take applications, and "+r.Queue+" does not, or is not there")
			}
		}
	}
	return q
}

// capacityBelow reads the queues below one.
func (p *properties) capacityBelow(path string, depth int, q *Queues) (list []*sched.QueueSpec) {
	name := capacityPrefix + path + ".queues"
	names := p.text(name, "")
	if depth == mostDepth {
		p.fail(name, fmt.Sprintf("of queues that are nested at most %d deep", mostDepth))
		return nil
	}
	if names == "" {
		return nil
	}
	for queue := range strings.SplitSeq(names, ",") {
		queue = strings.TrimSpace(queue)
		if wrong := checkQueue(queue, list); wrong != "" {
			p.fail(name, wrong)
			continue
		}
		below := path + "." + queue
		s := &sched.QueueSpec{Name: queue}
		p.capacityOf(below, s)
		s.Masters = cmp.Or(p.masters(capacityPrefix+below+"."+mastersPart), p.masters(capacityPrefix+mastersPart))
		p.capacityAccess(below, q)
		capacityState(p, below, q)
		switch order := p.text(capacityPrefix+below+".ordering-policy", ""); order {
		case "", "fifo", "utilization", "priority-utilization", "fifo-with-partitions", "fifo-for-pending-apps":
		case "fair":
			s.Policy = "fair"
		default:
			p.fail(capacityPrefix+below+".ordering-policy", "fifo or fair")
		}
		s.Queues = p.capacityBelow(below, depth+1, q)
		s.Spared = p.spared(below) && len(s.Queues) == 0 // a queue below it may say otherwise
		list = append(list, s)
	}
	p.capacitySum(path, list)
	return list
}

// capacityAccess reads who may submit to a queue and administer it.
func (p *properties) capacityAccess(path string, q *Queues) {
	list := func(name string) (ACL, bool) {
		name = capacityPrefix + path + "." + name
		return parseACL(p.raw(name, "")), p.has(name)
	}
	submit, a := list("acl_submit_applications")
	administer, b := list("acl_administer_queue")
	q.said(strings.TrimPrefix(strings.TrimPrefix(path, "root"), "."), QueueAccess{submit, administer}, [2]bool{a, b})
}

// capacityState reads whether a queue takes new applications. It is called for a queue after the queues above it. As in
// Hadoop, a queue below a STOPPED one must not say that it is RUNNING.
func capacityState(p *properties, path string, q *Queues) {
	name, below := capacityPrefix+path+".state", strings.TrimPrefix(strings.TrimPrefix(path, "root"), ".")
	if !p.has(name) {
		return
	}
	switch state := strings.ToUpper(p.text(name, "")); {
	case state == "STOPPED":
		q.Stopped = append(q.Stopped, below)
	case state != "RUNNING":
		p.fail(name, "RUNNING or STOPPED")
	case q.stopped(below):
		p.fail(name, "STOPPED, or not said, as a queue above it is STOPPED")
	}
}

// spared reports whether the policy takes nothing back from a queue: by the queue's own property, else by that of the
// nearest queue above it that has one.
func (p *properties) spared(path string) bool {
	const property = ".disable_preemption"
	own := p.yes(capacityPrefix+path+property, false)
	if above := strings.LastIndexByte(path, '.'); above > 0 && !p.has(capacityPrefix+path+property) {
		return p.spared(path[:above])
	}
	return own
}

// capacityOf reads what a queue is guaranteed and what it may have at most.
func (p *properties) capacityOf(path string, s *sched.QueueSpec) {
	name := capacityPrefix + path + ".capacity"
	switch text := p.text(name, ""); {
	case strings.HasSuffix(text, "w"):
		w, err := strconv.ParseFloat(strings.TrimSuffix(text, "w"), 64)
		if err != nil || !(w > 0 && w <= 1e6) {
			p.fail(name, "a weight above 0 such as 2w")
		}
		s.Weight = w
	default:
		s.Min, _ = p.share(name, text)
	}
	name = capacityPrefix + path + ".maximum-capacity"
	if text := p.text(name, ""); text != "" && !unbounded(text) {
		said := false
		if s.Max, said = p.share(name, text); said && (s.Max == (sched.Share{}) || hasZero(text)) {
			p.fail(
				name,
				"more than nothing of each resource: -1 or 100 where there is no maximum, and the queue's state "+
					"STOPPED where nothing is to run",
			)
		}
	}
	if aboveMax(s) {
		p.fail(name, fmt.Sprintf("at least the queue's capacity, %s", p.text(capacityPrefix+path+".capacity", "")))
	}
	if s.Max.Part >= 1 {
		s.Max = sched.Share{}
	}
}

// mastersPart is the property with the part of a queue that ApplicationMasters may hold, of one queue or of all.
const mastersPart = "maximum-am-resource-percent"

// oneMaster is the part that stands for none: one master may always start.
const oneMaster = 1e-9

// masters reads a property that ends with mastersPart; zero: it is not set.
func (p *properties) masters(name string) float64 {
	text := p.text(name, "")
	if text == "" {
		return 0
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0 && x <= 1) {
		p.fail(name, "a part from 0 to 1, where 0.1 is a tenth")
		return 0
	}
	return max(x, oneMaster)
}

// unbounded reports whether a maximum is Hadoop's for none, -1.
func unbounded(text string) bool {
	x, err := strconv.ParseFloat(text, 64)
	return err == nil && x == -1
}

// aboveMax reports whether a queue is guaranteed more than it may have, as far as its own words say.
func aboveMax(s *sched.QueueSpec) bool {
	for k, most := range s.Max.Amount {
		if most > 0 && s.Min.Amount[k] > most {
			return true
		}
	}
	return s.Max.Part > 0 && s.Min.Part > s.Max.Part
}

// zero matches a percentage or an amount of nothing.
var zero = regexp.MustCompile(`(^|[\[=,\s])0+(\.0*)?\s*([%a-zA-Z,\]]|$)`)

// hasZero reports whether a share, as files write it, says zero of a resource. As a maximum that means none of it, and
// not, as the zero of a sched.Share, that there is no maximum.
func hasZero(text string) bool { return zero.MatchString(text) }

// share reads text, the value of a property: percent, or amounts in brackets. ok is false if it is neither. The empty
// text is the zero share.
func (p *properties) share(name, text string) (s sched.Share, ok bool) {
	if text == "" {
		return s, true
	}
	if inner, is := strings.CutPrefix(text, "["); is {
		inner, is = strings.CutSuffix(inner, "]")
		if s.Amount, ok = amounts(inner, is, kindsOf(p), mebibytes); !ok {
			p.fail(name, "amounts of memory in MiB and of vcores such as [memory=10240,vcores=12]; memory=10Gi is "+
				"in GiB")
		}
		return s, ok
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
	if err != nil || !(x >= 0 && x <= 100) {
		p.fail(name, "percent up to 100 and not below 0, or amounts such as [memory=10240,vcores=12]")
		return s, false
	}
	s.Part = x / 100
	return s, true
}

// mebibytes returns the MiB of an amount of memory in one of Hadoop's units of resources, in which G is 10^9 and Gi is
// 2^30. Without a unit it is in MiB. It returns false if there is no such unit, or if the amount is too small: 10240m
// is ten bytes.
func mebibytes(n int64, unit string) (mib int64, ok bool) {
	mib, ok = convert(n, cmp.Or(unit, "Mi"), "Mi")
	return mib, ok && (mib > 0 || n == 0)
}

// fairUnits are units of amounts of memory in allocation files, in MiB.
var fairUnits = map[string]int64{
	"":   1,
	"mi": 1,
	"mb": 1,
	"m":  1,
	"gi": 1 << 10,
	"gb": 1 << 10,
	"g":  1 << 10,
	"ti": 1 << 20,
	"tb": 1 << 20,
	"t":  1 << 20,
}

// mostAmount bounds what files and nodes say of amounts, so that sums of them do not overflow.
const mostAmount = 1 << 40

// fairMebibytes is mebibytes for allocation files.
func fairMebibytes(n int64, unit string) (int64, bool) {
	scale, known := fairUnits[strings.ToLower(unit)]
	return n * scale, known && n <= mostAmount/max(1, scale)
}

// amounts reads memory=10240,vcores=12,yarn.io/gpu=2, where kinds are the kinds beyond memory and cores, and memory
// returns the MiB of an amount with a unit. It returns false if ok is false or text cannot be read.
func amounts(text string, ok bool, kinds []Kind, memory func(int64, string) (int64, bool)) (r sched.Resources, _ bool) {
	for part := range strings.SplitSeq(text, ",") {
		key, value, both := strings.Cut(part, "=")
		value = strings.TrimSpace(value)
		digits := strings.TrimRight(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
		n, err := strconv.ParseInt(digits, 10, 64)
		if !both || err != nil || n < 0 || n > mostAmount {
			return r, false
		}
		unit := strings.TrimSpace(value[len(digits):])
		switch key = strings.ToLower(strings.TrimSpace(key)); key {
		case "memory", "memory-mb":
			mib, known := memory(n, unit)
			if ok = ok && known && mib <= mostAmount; ok {
				r[sched.Memory] = mib
			}
		case "vcores":
			ok = ok && unit == ""
			r[sched.VCores] = n
		default:
			i := slices.IndexFunc(kinds, func(k Kind) bool { return strings.ToLower(k.Name) == key })
			if ok = ok && i >= 0 && strings.EqualFold(unit, kinds[i].Units); ok {
				r[kinds[i].at] = n
			}
		}
	}
	return r, ok
}

// capacitySum checks that the queues below one agree on how they say what they have, and that percentages make up 100,
// to Hadoop's precision.
func (p *properties) capacitySum(path string, list []*sched.QueueSpec) {
	const precision = 0.0005
	sum, weights, parts := 0.0, 0, 0 // parts: percentages
	var names []string
	for _, s := range list {
		sum += s.Min.Part
		if s.Weight > 0 {
			weights++
		} else if s.Min.Amount == (sched.Resources{}) {
			parts++
		}
		names = append(names, capacityPrefix+path+"."+s.Name+".capacity")
	}
	name := capacityPrefix + path + ".queues"
	switch {
	case weights > 0 && weights < len(list):
		p.fail(
			name,
			fmt.Sprintf(
				"of queues that all have weights or none, and %d have weights: see %s",
				weights,
				strings.Join(names, ", "),
			),
		)
	case parts > 0 && parts == len(list) && math.Abs(sum-1) > precision && !(sum == 0 && path != "root"):
		p.fail(
			name,
			fmt.Sprintf(
				"of queues whose capacities make up 100, and they make up %g: change %s",
				math.Round(sum*1e6)/1e4,
				strings.Join(names, ", "),
			),
		)
	}
}

// mappings reads queue-mappings. Mappings of users are understood: u:ana:etl puts what ana submits without naming a
// queue into etl, and u:%user:%user puts what each user submits into the queue with the user's name.
func (p *properties) mappings(name string) []Rule {
	rules := []Rule{{By: BySpecified, Final: true}}
	for one := range strings.SplitSeq(p.text(name, ""), ",") {
		parts := strings.Split(strings.TrimSpace(one), ":")
		switch {
		case len(parts) == 3 && parts[0] == "u" && parts[1] == "%user" && parts[2] == "%user":
			rules = append(rules, Rule{By: ByUser})
		case len(parts) == 3 && parts[0] == "u" &&
			!slices.ContainsFunc(parts[1:], func(s string) bool { return s == "" || strings.Contains(s, "%") }):
			rules = append(rules, Rule{By: ByDefault, User: parts[1], Queue: strings.TrimPrefix(parts[2], "root.")})
		default:
			p.fail(name, "a list like u:ana:etl,u:%user:%user: groups are not known here")
		}
	}
	return append(rules, Rule{By: ByDefault, Queue: sched.DefaultQueue})
}
