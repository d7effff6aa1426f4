package workload

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/sojourn-sched/sojourn/sched"
)

// A yamlText reads pieces of one YAML document and says where in the file something is wrong.
type yamlText struct {
	in      *input
	above   int // lines of the file before the piece
	path    []string
	anchors map[string]ast.Node
	queues  int // read so far
}

// parse returns the root of a piece of text that begins at a line, from 1; nil: there is nothing in it.
func (y *yamlText) parse(text []byte, line int) (root ast.Node, err error) {
	y.above, y.path = line-1, y.path[:0]
	defer func() {
		// The parser is another's, and the bytes may be damaged: what it cannot stand is an error of the file.
		if r := recover(); r != nil {
			root, err = nil, y.in.at(line, 0, "is not YAML")
		}
	}()
	f, err := parser.ParseBytes(text, 0)
	if err != nil {
		var at yaml.Error
		if errors.As(err, &at) && at.GetToken() != nil {
			p := at.GetToken().Position
			return nil, y.in.at(y.above+p.Line, p.Column, "%s", at.GetMessage())
		}
		return nil, y.in.at(line, 0, "%w", err)
	}
	for i, d := range f.Docs {
		if d.Body == nil || d.Body.Type() == ast.CommentType {
			continue
		}
		if root != nil {
			return nil, y.wrong(f.Docs[i].Body, "a second document: a file holds one")
		}
		root = d.Body
	}
	return root, nil
}

// wrong says what is wrong with a node, after the field where it stands.
func (y *yamlText) wrong(n ast.Node, format string, args ...any) error {
	line, column := 0, 0
	if n != nil && n.GetToken() != nil && n.GetToken().Position != nil {
		p := n.GetToken().Position
		line, column = y.above+p.Line, p.Column
	}
	err := fmt.Errorf(format, args...)
	if len(y.path) > 0 {
		err = fmt.Errorf("%s: %w", strings.Join(y.path, "."), err)
	}
	return y.in.at(line, column, "%w", err)
}

// aliasesMax is how often an alias may lead to another before it is taken for one that leads to itself.
const aliasesMax = 32

// plain returns the node that n stands for: what an alias names, what an anchor or a tag is put before.
func (y *yamlText) plain(n ast.Node) (ast.Node, error) {
	for range aliasesMax {
		switch v := n.(type) {
		case *ast.AnchorNode:
			if v.Name != nil {
				y.anchors[v.Name.GetToken().Value] = v.Value
			}
			n = v.Value
		case *ast.AliasNode:
			name := ""
			if v.Value != nil {
				name = v.Value.GetToken().Value
			}
			target, ok := y.anchors[name]
			if !ok {
				return nil, y.wrong(n, "nothing before it is anchored as &%s", name)
			}
			n = target
		case *ast.TagNode:
			n = v.Value
		default:
			return n, nil
		}
	}
	return nil, y.wrong(n, "an alias leads to itself")
}

// fields calls each for the keys of a mapping; each returns false for a key that it does not know. Null is an empty
// mapping.
func (y *yamlText) fields(n ast.Node, known string, each func(key string, value ast.Node) (bool, error)) error {
	n, err := y.plain(n)
	if err != nil {
		return err
	}
	var pairs []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		pairs = m.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{m}
	case nil, *ast.NullNode:
	default:
		return y.wrong(n, "must be a mapping of %s", known)
	}
	seen := make(map[string]bool, len(pairs))
	for _, p := range pairs {
		key := p.Key.GetToken().Value
		y.path = append(y.path, key)
		if seen[key] {
			return y.wrong(p.Key, "is given twice")
		}
		seen[key] = true
		ok, err := each(key, p.Value)
		if err != nil {
			return err
		}
		if !ok {
			return y.wrong(p.Key, "is not known here; known are %s", known)
		}
		y.path = y.path[:len(y.path)-1]
	}
	return nil
}

// items calls each for the elements of a sequence. Null is an empty sequence.
func (y *yamlText) items(n ast.Node, each func(ast.Node) error) error {
	n, err := y.plain(n)
	if err != nil {
		return err
	}
	switch s := n.(type) {
	case *ast.SequenceNode:
		for _, v := range s.Values {
			if err := each(v); err != nil {
				return err
			}
		}
	case nil, *ast.NullNode:
	default:
		return y.wrong(n, "must be a list")
	}
	return nil
}

// text returns a scalar as it is written, without quotes. Null is "".
func (y *yamlText) text(n ast.Node) (string, error) {
	n, err := y.plain(n)
	if err != nil {
		return "", err
	}
	s := ""
	switch v := n.(type) {
	case nil, *ast.NullNode:
	case *ast.StringNode:
		s = v.Value
	case *ast.LiteralNode:
		s = v.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		s = n.GetToken().Value
	default:
		return "", y.wrong(n, "must be a single value")
	}
	if len(s) > MaxName {
		return "", y.wrong(n, "is longer than %d bytes", MaxName)
	}
	return s, nil
}

// yamlValue reads a scalar with a parser.
func yamlValue[T any](y *yamlText, n ast.Node, parse func(string) (T, error)) (v T, err error) {
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
func (y *yamlText) texts(n ast.Node) (all []string, err error) {
	p, err := y.plain(n)
	if err != nil {
		return nil, err
	}
	if _, ok := p.(*ast.SequenceNode); !ok {
		s, err := y.text(n)
		return []string{s}, err
	}
	err = y.items(n, func(v ast.Node) error {
		s, err := y.text(v)
		all = append(all, s)
		return err
	})
	return all, err
}

// resources reads amounts by the names of their kinds.
func (y *yamlText) resources(n ast.Node) (r sched.Resources, err error) {
	err = y.fields(n, resourceNames(), func(key string, v ast.Node) (bool, error) {
		k, ok := sched.ResourceNamed(key)
		if !ok {
			return false, nil
		}
		r[k], err = yamlValue(y, v, func(s string) (int64, error) { return parseAmount(k, s) })
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
func (y *yamlText) queueList(n ast.Node, depth int) (all []*sched.QueueSpec, err error) {
	if depth == depthMax {
		return nil, y.wrong(n, "are nested more than %d deep", depthMax)
	}
	names := map[string]bool{}
	err = y.items(n, func(v ast.Node) error {
		if y.queues++; y.queues > queuesMax {
			return y.wrong(v, "are more than %d queues", queuesMax)
		}
		q := &sched.QueueSpec{}
		err := y.fields(
			v,
			"name, weight, min, max, masters, policy, queues",
			func(key string, v ast.Node) (_ bool, err error) {
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
func (y *yamlText) share(n ast.Node) (s sched.Share, err error) {
	p, err := y.plain(n)
	if err != nil {
		return s, err
	}
	switch p.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		s.Amount, err = y.resources(p)
	default:
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
