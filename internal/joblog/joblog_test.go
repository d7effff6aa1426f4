package joblog

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBounds writes more than is kept of an attempt: the beginning and the end are there, and how much is missing.
func TestBounds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run.logs")
	folder, err := New(Place{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	quiet := folder.Of(1, "map", 0, 0)
	quiet.Close(nil)
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder is there although nothing was written")
	}
	f := folder.Of(2, "reduce", 7, 1)
	const lines, wide = 30_000, 10
	var end []byte
	for i := range lines {
		end = fmt.Appendf(nil, "line %04d\n", i%10_000)
		f.Write(end)
	}
	f.Close(end)
	text, err := os.ReadFile(filepath.Join(dir, "2-reduce-00007-1.log"))
	if err != nil {
		t.Fatal(err)
	}
	kept := MostOfAttempt / wide * wide
	says := fmt.Sprintf("[%d bytes are left out]\nline 9999\n", lines*wide-kept-wide)
	if !bytes.HasPrefix(text, []byte("line 0000\nline 0001\n")) || !bytes.HasSuffix(text, []byte(says)) ||
		len(text) != kept+len(says) {
		t.Errorf("%d bytes, ending %q; must be %d, ending %q", len(text), text[len(text)-60:], kept+len(says), says)
	}
	list, err := List(dir)
	if err != nil || len(list) != 1 || list[0].Job != 2 || list[0].Attempt != "reduce-00007-1" ||
		list[0].Bytes != int64(len(text)) {
		t.Errorf("the list is %v, %v", list, err)
	}
	if err := folder.Err(); err != nil {
		t.Error(err)
	}
}

// TestEndOfShortCut: where the end that the caller has covers all that was cut, nothing is missing.
func TestEndOfShortCut(t *testing.T) {
	dir := t.TempDir()
	folder, err := New(Place{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	f := folder.Of(1, "map", 0, 0)
	first, last := strings.Repeat("x", MostOfAttempt-2)+"\n", "the end\n"
	f.Write([]byte(first))
	f.Write([]byte(last))
	f.Close([]byte("xxx\n" + last))
	text, err := os.ReadFile(filepath.Join(dir, "1-map-00000-0.log"))
	if err != nil || string(text) != first+last {
		t.Errorf("%d bytes, %v, must be %d", len(text), err, len(first+last))
	}
}

// TestMostOfRun fills the room of a run: no file is begun after that, and the folder says so.
func TestMostOfRun(t *testing.T) {
	dir := t.TempDir()
	folder, err := New(Place{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	folder.left = 10
	one, two := folder.Of(1, "map", 0, 0), folder.Of(1, "map", 1, 0)
	for range 2 {
		one.Write([]byte("123456\n"))
	}
	two.Write([]byte("123456\n"))
	one.Close([]byte("123456\n"))
	two.Close([]byte("123456\n"))
	list, listErr := List(dir)
	if err := folder.Err(); err == nil || listErr != nil || len(list) != 1 || list[0].Bytes != 14 {
		t.Errorf("%v; %v, %v: must be one log of both lines, and a word of those that are left out", err, list, listErr)
	}
}

// TestNew removes logs of earlier runs, and nothing else.
func TestNew(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"1-map-00000-0.log", "own.log", "1-map-00000-0.log.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("old\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := New(Place{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left are %v, %v", left, err)
	}
	if _, err := New(Place{Dir: filepath.Join(dir, "own.log")}); err == nil {
		t.Error("a file is taken for a folder")
	}
	var none *Folder
	none.Of(1, "map", 0, 0).Write([]byte("x"))
	none.Of(1, "map", 0, 0).Close(nil)
	if none.Err() != nil {
		t.Error("no folder has an error")
	}
}

// TestRepeats writes logs of three repeats, and again of two: of the third nothing is left, and a file of a user stays.
// All repeats together keep what one run may.
func TestRepeats(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mix.logs")
	write := func(repeat, of int) *Folder {
		folder, err := New(Place{Dir: dir, Repeat: repeat, Of: of})
		if err != nil {
			t.Fatal(err)
		}
		f := folder.Of(1, "map", 0, 0)
		f.Write(fmt.Appendf(nil, "repeat %d of %d\n", repeat, of))
		f.Close(nil)
		return folder
	}
	for i := range 3 {
		if f := write(i+1, 3); f.most != MostOfRun/3 {
			t.Errorf("a repeat of three may keep %d bytes", f.most)
		}
	}
	own := filepath.Join(RepeatDir(dir, 1), "notes.txt")
	if err := os.WriteFile(own, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	write(1, 2)
	write(2, 2)
	if list, err := Repeats(dir); err != nil || fmt.Sprint(list) != "[1 2]" {
		t.Errorf("repeats %v, %v; must be 1 and 2", list, err)
	}
	for i := range 2 {
		text, err := os.ReadFile(filepath.Join(RepeatDir(dir, i+1), "1-map-00000-0.log"))
		if want := fmt.Sprintf("repeat %d of 2\n", i+1); err != nil || string(text) != want {
			t.Errorf("%q, %v; must be %q", text, err, want)
		}
	}
	if _, err := os.Stat(own); err != nil {
		t.Error(err)
	}
	write(0, 0)
	if list, err := List(RepeatDir(dir, 2)); err == nil && len(list) > 0 {
		t.Errorf("a run that is not repeated leaves %v of repeats before it", list)
	}
	if list, err := List(dir); err != nil || len(list) != 1 {
		t.Errorf("a run that is not repeated has %v, %v", list, err)
	}
}
