package submit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/input"
)

// wantsCuts reports whether a job needs cut points: its parts are in order, and there are several.
func (s *Submitter) wantsCuts(j *Job) bool {
	if j.Jar != nil || j.Program.Job == "" {
		return false
	}
	n, err := reducesOf(&j.Program)
	if err != nil || n < 2 {
		return false
	}
	job, err := s.builtIn(&j.Program)
	return err == nil && job.TotalOrder
}

// Cut points come from the first cutBytes of up to cutFiles files, which are spread evenly over the input.
const (
	cutFiles = 8
	cutBytes = 1 << 20
)

// cut chooses cut points for a job from the keys that its map emits on a sample of its input, and writes them to a
// file.
func (s *Submitter) cut(ctx context.Context, w *work, in inputs) (name string, err error) {
	p := &w.job.Program
	job, err := s.builtIn(p)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "sojourn-submit-")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	var keys [][]byte
	for i := range min(cutFiles, len(in.files)) {
		f := &in.files[i*len(in.files)/min(cutFiles, len(in.files))]
		var text bytes.Buffer
		err := s.clientOf(w.job).head(ctx, f.path, func(from io.Reader) error {
			if f.compressed() {
				return fmt.Errorf("%s is compressed: a job whose parts are in order takes --reduces 1 of such input",
					f.path)
			}
			lines := &firstLines{from: bufio.NewReaderSize(from, 1<<16), left: cutBytes}
			_, err := text.ReadFrom(lines)
			return err
		})
		if err != nil {
			return "", err
		}
		more, err := keysOf(ctx, job, &text, dir)
		if err != nil {
			return "", err
		}
		keys = append(keys, more...)
	}
	n, err := reducesOf(p)
	if err != nil {
		return "", err
	}
	name = filepath.Join(dir, cutsName)
	return name, os.WriteFile(name, cutPoints(keys, n), 0o644)
}

// keysOf returns the keys that a job's map emits on lines.
func keysOf(ctx context.Context, job *mr.Job, lines *bytes.Buffer, dir string) (keys [][]byte, err error) {
	text := input.AppendClean(nil, lines.Bytes())
	var out bytes.Buffer
	w := Worker{Job: job, Parts: 1, Memory: 256 << 20, Dir: dir, In: bytes.NewReader(text), Out: &out, Err: io.Discard}
	if err := w.Map(ctx); err != nil {
		return nil, err
	}
	var p pairLine
	for line := range mr.Lines(out.Bytes()) {
		if err := p.parse(line); err != nil {
			return nil, err
		}
		keys = append(keys, bytes.Clone(p.key))
	}
	return keys, nil
}

// cutPoints returns up to parts−1 keys as lines of a file. Each begins a part.
func cutPoints(keys [][]byte, parts int) (text []byte) {
	slices.SortFunc(keys, bytes.Compare)
	var last []byte
	for i := 1; i < parts && len(keys) > 0; i++ {
		key := keys[i*len(keys)/parts]
		if last == nil || !bytes.Equal(key, last) {
			text = append(appendEscaped(text, key), '\n')
		}
		last = key
	}
	return text
}

// cuts reads the worker's cut points. A job in one part needs none.
func (w *Worker) cuts() (keys [][]byte, err error) {
	if w.Cuts == "" {
		if w.Parts > 1 {
			return nil, fmt.Errorf("job %s in %d parts needs --cuts: 'sojourn submit' makes them", w.Job.Name, w.Parts)
		}
		return nil, nil
	}
	text, err := os.ReadFile(w.Cuts)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		key, err := appendUnescaped(nil, bytes.TrimSuffix(line, []byte{'\n'}))
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", w.Cuts, len(keys)+1, err)
		}
		keys = append(keys, key)
	}
	if len(keys) >= w.Parts {
		return nil, fmt.Errorf("%s: %d cut points for %d parts: must be fewer than parts", w.Cuts, len(keys), w.Parts)
	}
	return keys, nil
}

// partByCuts returns the partition function for cut points: a key is in the part of the last cut point that is at most
// the key.
func partByCuts(cuts [][]byte) func(key []byte, parts int) int {
	return func(key []byte, _ int) int {
		at, found := slices.BinarySearchFunc(cuts, key, bytes.Compare)
		if found {
			at++
		}
		return at
	}
}
