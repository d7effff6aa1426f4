package cli

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// asChild runs the program in a child with in as its standard input, and returns its exit status and what it wrote to
// standard error. The test that calls it begins with mayBeMain.
func asChild(t *testing.T, in io.Reader, args ...string) (int, string) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), asMain+"="+strings.Join(args, "\n"))
	var errs bytes.Buffer
	child.Stdin, child.Stderr = in, &errs
	if err := child.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return child.ProcessState.ExitCode(), errs.String()
}

// outputOf returns all lines of an output.
func outputOf(t *testing.T, dir string) (text string) {
	t.Helper()
	parts, _ := filepath.Glob(filepath.Join(dir, "part-*"))
	for _, path := range parts {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text += string(b)
	}
	return text
}

// TestStandardInput: a job reads all of its standard input, a pipe or a file, compressed or not. A pipe is read once:
// two runs, or two jobs, are refused.
func TestStandardInput(t *testing.T) {
	mayBeMain()
	var lines []string
	for i := range 100_000 {
		lines = append(lines, fmt.Sprint(i*7919%100_000))
	}
	plain := []byte(strings.Join(lines, "\n") + "\n")
	slices.Sort(lines)
	want := strings.Join(lines, "\n") + "\n"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{"plain": plain, "gzip": packed.Bytes()} {
		file, err := os.Open(writeFile(t, "redirected", string(text)))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		for kind, in := range map[string]io.Reader{"pipe": bytes.NewReader(text), "file": file} {
			out := filepath.Join(dir, name+kind)
			status, errs := asChild(t, in, "run", "sort", "--input", "-", "--output", out, "--reduces", "3")
			if got := outputOf(t, out); status != statusOK || got != want {
				t.Errorf("%s, %s: exit status %d, %d bytes of output, want %d\n%s", name, kind, status, len(got),
					len(want), errs)
			}
		}
	}
	out := filepath.Join(dir, "refused")
	mix := writeFile(t, "mix.yaml", fmt.Sprintf("jobs:\n  - {name: a, job: sort, input: [\"-\"], output: %[1]s/a}\n"+
		"  - {name: b, job: sort, input: [\"-\"], output: %[1]s/b}\n", out))
	for _, args := range [][]string{
		{"run", "sort", "--input", "-", "--output", out, "--policy", "fifo,fair"},
		{"run", "sort", "--input", "-", "--output", out, "--repeats", "2"},
		{"run", mix},
	} {
		if status, errs := asChild(t, bytes.NewReader(plain), args...); status != statusUsage ||
			!strings.Contains(errs, "is a pipe, which can be read once") {
			t.Errorf("%q: exit status %d, %s", args, status, errs)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a run that is refused leaves an output")
	}
}
