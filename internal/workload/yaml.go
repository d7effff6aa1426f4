package workload

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sojourn-sched/sojourn/sched"
)

// Limits of YAML. The parser keeps about 400 bytes for each value, so that a piece of a file takes 256 MiB at most.
const (
	pieceMax  = 8 << 20 // bytes of a piece that is parsed at once: a job, the head of a workload, a cluster
	valuesMax = 1 << 19 // values of a piece, and values that anchors keep from one piece to the next
	// walkedMax is how many values may be looked at beyond two for each byte of the file. An alias makes a few bytes
	// stand for as many values as its anchor has, and anchors may hold aliases.
	walkedMax = 1 << 20
)

// A yamlText reads pieces of one YAML document and says where in the file something is wrong.
type yamlText struct {
	in      *input
	above   int // lines of the file before the piece
	path    []string
	anchors map[string]*yaml.Node // of the pieces so far, by name
	// list of what aliases stand for until plain replaces it by an anchor of an earlier piece
	stubs  *yaml.Node
	kept   int   // values below anchors
	read   int64 // bytes parsed
	walked int64 // values looked at
	queues int   // read so far
}

// parse returns the root of a piece of text that begins at a line, from 1; nil: there is nothing in it.
func (y *yamlText) parse(text []byte, line int) (*yaml.Node, error) {
	y.above, y.path, y.stubs = line-1, y.path[:0], nil
	y.read += int64(len(text))
	if n := valuesAtMost(text); n > valuesMax+together {
		return nil, y.in.at(line, 0, "what begins here has %d values, must be at most %d: "+
			"write each job on lines of its own below jobs, and list fewer tasks in one job", n, valuesMax)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	if err := decoder.Decode(&document); err == io.EOF {
		return nil, nil
	} else if err != nil {
		return nil, y.syntax(err)
	}
	root := document.Content[0]
	if err := decoder.Decode(&second); err == nil {
		return nil, y.wrong(second.Content[0], "a second document: a file holds one")
	} else if err != io.EOF {
		return nil, y.syntax(err)
	}
	return root, nil
}

// valuesAtMost returns a number of values that text, which is YAML, does not exceed: each value but the first follows
// one of these characters.
func valuesAtMost(text []byte) (n int) {
	for _, c := range text {
		switch c {
		case ',', ':', '[', '{', '?', '-', '\n':
			n++
		}
	}
	return n + 1
}

// aliasName is an alias, as the parser takes it.
var aliasName = regexp.MustCompile(`\*([0-9A-Za-z_-]+)`)

// parseItems parses a piece of text that is some items of a list, indented by so many spaces. An alias there may name
// an anchor of an earlier piece, which the parser does not know. An item before the others therefore anchors a stub for
// each name that looks like an alias, and plain follows the stub to the earlier anchor.
func (y *yamlText) parseItems(text []byte, indent, line int) (*yaml.Node, error) {
	if bytes.IndexByte(text, '*') < 0 {
		return y.parse(text, line)
	}
	var names []string
	for _, m := range aliasName.FindAllSubmatch(text, -1) {
		names = append(names, string(m[1]))
	}
	slices.Sort(names)
	stubs := fmt.Appendf(nil, "%*s- [", indent, "")
	for _, name := range slices.Compact(names) {
		stubs = fmt.Appendf(stubs, "&%s '', ", name)
	}
	root, err := y.parse(append(append(stubs, "]\n"...), text...), line-1)
	if err != nil || root == nil || root.Kind != yaml.SequenceNode || len(root.Content) == 0 {
		return root, err
	}
	y.stubs = root.Content[0]
	root.Content = root.Content[1:]
	return root, nil
}

// atLine is how the parser's errors begin. Those of its scanner count lines from 1, those of its grammar, which are
// told by their words, from 0; no line is named for the first.
var (
	atLine    = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	ofGrammar = regexp.MustCompile(`^(did not find expected (<|node content|'-' indicator|key|',' or)|` +
		`found (duplicate|incompatible|undefined))`)
)

// syntax returns the error of text that is not YAML, at the line that the parser names.
func (y *yamlText) syntax(err error) error {
	prefix := atLine.FindStringSubmatch(err.Error())
	if prefix == nil {
		return y.in.at(y.above+1, 0, "is not YAML: %w", err)
	}
	message := strings.TrimPrefix(err.Error(), prefix[0])
	line, _ := strconv.Atoi(prefix[1])
	if line == 0 || ofGrammar.MatchString(message) {
		line++
	}
	return y.in.at(y.above+line, 0, "is not YAML: %s", message)
}

// wrong says what is wrong with a node, after the field where it stands.
func (y *yamlText) wrong(n *yaml.Node, format string, args ...any) error {
	line, column := 0, 0
	if n != nil {
		line, column = y.above+n.Line, n.Column
	}
	err := fmt.Errorf(format, args...)
	if len(y.path) > 0 {
		err = fmt.Errorf("%s: %w", strings.Join(y.path, "."), err)
	}
	return y.in.at(line, column, "%w", err)
}

var errAliases = errors.New("aliases stand for too many values: write the values out, or use fewer")

// plain returns the node that n stands for: what an alias names, else n itself.
func (y *yamlText) plain(n *yaml.Node) (*yaml.Node, error) {
	if n == nil {
		return nil, nil
	}
	if y.walked++; y.walked > walkedMax+2*y.read {
		return nil, y.wrong(n, "%w", errAliases)
	}
	if n.Kind == yaml.AliasNode {
		target := n.Alias
		if y.stubs != nil && slices.Contains(y.stubs.Content, target) {
			target = y.anchors[n.Value]
		}
		if target == nil {
			return nil, y.wrong(n, "nothing before it is anchored as &%s", n.Value)
		}
		return target, nil
	}
	if n.Anchor != "" && y.anchors[n.Anchor] != n {
		if y.anchors == nil {
			y.anchors = map[string]*yaml.Node{}
		}
		if y.kept += valuesIn(n, valuesMax-y.kept); y.kept > valuesMax {
			return nil, y.wrong(n, "anchors hold more than %d values", valuesMax)
		}
		y.anchors[n.Anchor] = n
	}
	return n, nil
}

// valuesIn returns how many nodes there are in n, aliases not followed; it stops counting beyond most.
func valuesIn(n *yaml.Node, most int) int {
	count := 1
	for _, c := range n.Content {
		if count > most {
			break
		}
		count += valuesIn(c, most-count)
	}
	return count
}

// isNull reports whether n, which is plain, is no value.
func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// fields calls each for the keys of a mapping; each returns false for a key that it does not know. Null is an empty
// mapping.
func (y *yamlText) fields(n *yaml.Node, known string, each func(key string, value *yaml.Node) (bool, error)) error {
	n, err := y.plain(n)
	if err != nil {
		return err
	}
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return y.wrong(n, "must be a mapping of %s", known)
	}
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if name.Kind != yaml.ScalarNode {
			return y.wrong(name, "a name must stand before each value; known are %s", known)
		}
		y.path = append(y.path, name.Value)
		if seen[name.Value] {
			return y.wrong(name, "is given twice")
		}
		seen[name.Value] = true
		ok, err := each(name.Value, value)
		if err != nil {
			return err
		}
		if !ok {
			return y.wrong(name, "is not known here; known are %s", known)
		}
		y.path = y.path[:len(y.path)-1]
	}
	return nil
}

// items calls each for the elements of a sequence. Null is an empty sequence.
func (y *yamlText) items(n *yaml.Node, each func(*yaml.Node) error) error {
	n, err := y.plain(n)
	if err != nil {
		return err
	}
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		return y.wrong(n, "must be a list")
	}
	for _, v := range n.Content {
		if err := each(v); err != nil {
			return err
		}
	}
	return nil
}

// text returns a scalar as it is written, without quotes. Null is "".
func (y *yamlText) text(n *yaml.Node) (string, error) {
	n, err := y.plain(n)
	if err != nil {
		return "", err
	}
	switch {
	case isNull(n):
		return "", nil
	case n.Kind != yaml.ScalarNode:
		return "", y.wrong(n, "must be a single value")
	case len(n.Value) > MaxName:
		return "", y.wrong(n, "is longer than %d bytes", MaxName)
	}
	return n.Value, nil
}

// yamlValue reads a scalar with a parser.
func yamlValue[T any](y *yamlText, n *yaml.Node, parse func(string) (T, error)) (v T, err error) {
	s, err := y.text(n)
	if err != nil {
		return v, err
	}
	if v, err = parse(s); err != nil {
		return v, y.wrong(n, "%w", err)
	}
	return v, nil
}

// texts reads one text, or a list of them.
func (y *yamlText) texts(n *yaml.Node) (all []string, err error) {
	p, err := y.plain(n)
	if err != nil {
		return nil, err
	}
	if p == nil || p.Kind != yaml.SequenceNode {
		s, err := y.text(n)
		return []string{s}, err
	}
	err = y.items(n, func(v *yaml.Node) error {
		s, err := y.text(v)
		all = append(all, s)
		return err
	})
	return all, err
}

// resources reads amounts by the names of their kinds.
func (y *yamlText) resources(n *yaml.Node) (r sched.Resources, err error) {
	err = y.fields(n, resourceNames(), func(key string, v *yaml.Node) (bool, error) {
		k, ok := sched.ResourceNamed(key)
		if !ok {
			return false, nil
		}
		r[k], err = yamlValue(y, v, func(s string) (int64, error) { return ParseAmount(k, s) })
		return true, err
	})
	return r, err
}

// Limits of queue trees.
const (
	queuesMax = 100_000
	depthMax  = 32
)

// queueList reads queues: [{name, weight, min, max, masters, policy, queues}].
func (y *yamlText) queueList(n *yaml.Node, depth int) (all []*sched.QueueSpec, err error) {
	if depth == depthMax {
		return nil, y.wrong(n, "are nested more than %d deep", depthMax)
	}
	names := map[string]bool{}
	err = y.items(n, func(v *yaml.Node) error {
		if y.queues++; y.queues > queuesMax {
			return y.wrong(v, "are more than %d queues", queuesMax)
		}
		q := &sched.QueueSpec{}
		err := y.fields(
			v,
			"name, weight, min, max, masters, spared, policy, queues",
			func(key string, v *yaml.Node) (_ bool, err error) {
				switch key {
				case "name":
					q.Name, err = y.text(v)
				case "weight":
					q.Weight, err = yamlValue(y, v, parseWeight)
				case "min":
					q.Min, err = y.share(v)
				case "max":
					q.Max, err = y.share(v)
				case "masters":
					q.Masters, err = yamlValue(y, v, parseMasters)
				case "spared":
					q.Spared, err = yamlValue(y, v, strconv.ParseBool)
				case "policy":
					q.Policy, err = y.text(v)
				case "queues":
					q.Queues, err = y.queueList(v, depth+1)
				default:
					return false, nil
				}
				return true, err
			},
		)
		switch {
		case err != nil:
			return err
		case q.Name == "" || strings.ContainsAny(q.Name, ". \t\r\n"):
			return y.wrong(v, "name %q: must be there, without dots and spaces", q.Name)
		case names[q.Name]:
			return y.wrong(v, "name %q: is given twice", q.Name)
		}
		names[q.Name] = true
		all = append(all, q)
		return nil
	})
	return all, err
}

// share reads 20%, or amounts of resources.
func (y *yamlText) share(n *yaml.Node) (s sched.Share, err error) {
	p, err := y.plain(n)
	if err != nil {
		return s, err
	}
	if p != nil && p.Kind == yaml.MappingNode {
		s.Amount, err = y.resources(p)
	} else {
		s.Part, err = yamlValue(y, p, parsePercent)
	}
	return s, err
}

// parsePercent reads 20% as 0.2.
func parsePercent(text string) (float64, error) {
	number, ok := strings.CutSuffix(text, "%")
	x, err := parseNumber(strings.TrimSpace(number))
	if !ok || err != nil || x < 0 || x > 100 {
		return 0, fmt.Errorf("%q must be a part such as 20%%, or amounts such as {memory: 8GiB, vcores: 4}", text)
	}
	return x / 100, nil
}

// parseMasters reads what part of what a queue has masters may hold: one may always start, so that none at all cannot
// be said.
func parseMasters(text string) (float64, error) {
	x, err := parsePercent(text)
	if err != nil || x == 0 {
		return 0, fmt.Errorf("%q must be a part above 0%%, up to 100%% for no limit", text)
	}
	return x, nil
}

// weightMax bounds weights, so that sums of them are numbers still.
const weightMax = 1e12

// parseWeight reads a positive number.
func parseWeight(text string) (float64, error) {
	x, err := parseNumber(text)
	if err != nil || x <= 0 || x > weightMax {
		return 0, fmt.Errorf("%q must be a positive number, at most %g", text, weightMax)
	}
	return x, nil
}

// parseInt32 reads a whole number that fits 32 bits.
func parseInt32(text string) (int32, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q must be a whole number, at most 2^31-1", text)
	}
	return int32(n), nil
}

// parseTasks reads a number of tasks.
func parseTasks(text string) (int32, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > MaxTasks {
		return 0, fmt.Errorf("%q must be a whole number from 0 to %d", text, MaxTasks)
	}
	return int32(n), nil
}
