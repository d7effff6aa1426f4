package input

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tree makes files (a name that ends in / is a directory, "a -> b" a link) below a new directory and goes there.
func tree(t *testing.T, names ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range names {
		name, to, link := strings.Cut(name, " -> ")
		if err := os.MkdirAll(filepath.Dir(name+"x"), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case link:
			err = os.Symlink(to, name)
		case !strings.HasSuffix(name, "/"):
			err = os.WriteFile(name, []byte(name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func paths(files []File) []string {
	p := make([]string, len(files))
	for i, f := range files {
		p[i] = f.Path
	}
	return p
}

func TestExpand(t *testing.T) {
	tree(t, "a.txt", "b.txt", "c.log.gz", "_SUCCESS", ".hidden", "empty/",
		"d/x.txt", "d/y.go", "d/e/z.txt", "d/e/_part/q.txt", "d/.git/r.txt",
		"odd[1].txt", "odd{2}", "odd1.txt", "l/link.txt -> ../a.txt", "l/dir -> ../d/e")
	for _, test := range []struct {
		patterns string
		flat     bool
		want     string
	}{
		{"a.txt", false, "a.txt"},
		{"./a.txt", false, "./a.txt"},
		{"d", false, "d/e/z.txt d/x.txt d/y.go"},
		{"d/", true, "d/x.txt d/y.go"},
		{"empty", false, ""},
		{"?.txt", false, "a.txt b.txt"},
		{"*.txt", false, "a.txt b.txt odd1.txt odd[1].txt"},
		{"[a-b].txt", false, "a.txt b.txt"},
		{"[^a].txt", false, "b.txt"},
		{"[!a].txt", false, "b.txt"},
		{"{b,a}.txt", false, "a.txt b.txt"},
		{"{a,a,c.log}.{txt,gz}", false, "a.txt c.log.gz"},
		{"{d/x,{a,{b}}}.txt", false, "a.txt b.txt d/x.txt"},
		{"d/*", true, "d/e/z.txt d/x.txt d/y.go"}, // a directory that a glob matches stands for its files
		{"d/*/z.txt", false, "d/e/z.txt"},
		{"**/*.txt", false, "a.txt b.txt d/e/z.txt d/x.txt l/link.txt odd1.txt odd[1].txt"},
		{"d/**", false, "d/e/z.txt d/x.txt d/y.go"},
		{"d/**", true, "d/e/z.txt d/x.txt d/y.go"},
		{"d/**/z.txt", false, "d/e/z.txt"},
		{"odd[1].txt", false, "odd[1].txt"}, // what exists is taken literally
		{`odd\[1\].txt`, false, "odd[1].txt"},
		{`odd\{2\}`, false, "odd{2}"},
		{"_SUCCESS", false, "_SUCCESS"}, // named outright
		{"_*", false, "_SUCCESS"},
		{"l", false, "l/dir/z.txt l/link.txt"},
		{"b.txt a.txt b.txt", false, "b.txt a.txt b.txt"}, // in the user's order, and as often as he said
	} {
		files, err := Expand(strings.Fields(test.patterns), Config{Flat: test.flat})
		if got := strings.Join(paths(files), " "); err != nil || got != test.want {
			t.Errorf("Expand(%s) flat=%v = %s, %v; want %s", test.patterns, test.flat, got, err, test.want)
		}
	}
	files, err := Expand([]string{"c.log.gz"}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat("c.log.gz")
	if err != nil {
		t.Fatal(err)
	}
	// The content is the name: 8 bytes.
	if want := (File{Path: "c.log.gz", Size: 8, Modified: info.ModTime().UnixNano(), Codec: Gzip}); files[0] != want {
		t.Errorf("%+v, want %+v", files[0], want)
	}
}

func TestExpandErrors(t *testing.T) {
	tree(t, "a.txt", "d/dangling -> nowhere", "loop/up -> ../loop", "secret", "log.XZ", "z/b.lz4", "in/a.ZIP",
		"in/b.jar", "in/c.tar", "in/d.tgz", "in/e.tar.gz", "in/f.tar.xz", "in/g.7z", "in/h.rar", "in/i.parquet",
		"in/j.orc", "in/k.avro")
	if err := os.Chmod("secret", 0); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ pattern, want string }{
		{"", "input: empty path"},
		{"nothing.txt", "input nothing.txt: does not exist"},
		{"*.csv", `input "*.csv": no file matches`},
		{"x/*.csv", `input "x/*.csv": no file matches`},
		{"a.txt/*", `input "a.txt/*": no file matches`},
		{"{a,b.txt", `input {a,b.txt: "{a,b.txt" has a { without its }`},
		{"[a.txt", `input [a.txt: "[a.txt": syntax error in pattern`},
		{"d", "input d/dangling: is a link to nowhere, which does not exist: remove the link"},
		{"log.XZ", "input log.XZ: xz is not read: decompress it"},
		{"z", "input z/b.lz4: lz4 is not read: decompress it"},
		{"in/a.ZIP", "input in/a.ZIP: a zip archive is not read: unpack it, as in unzip -p FILE | sojourn run JOB"},
		{"in/*.jar", "input in/*.jar: input in/b.jar: a zip archive is not read: unpack it, as in unzip -p FILE"},
		{"in/c.tar", "input in/c.tar: a tar archive is not read: unpack it, as in tar -xOf FILE | sojourn run JOB"},
		{"in/d.tgz", "input in/d.tgz: a tar archive is not read"},
		{"in/e.tar.gz", "input in/e.tar.gz: a tar archive is not read"},
		{"in/f.tar.xz", "input in/f.tar.xz: a tar archive is not read"},
		{"in/g.7z", "input in/g.7z: a 7z archive is not read: unpack it, as in 7z x -so FILE | sojourn run JOB"},
		{"in/h.rar", "input in/h.rar: a rar archive is not read: unpack it, as in unrar p -inul FILE | sojourn"},
		{"in/i.parquet", "input in/i.parquet: a Parquet file is not read: write its records as lines of text"},
		{"in/j.orc", "input in/j.orc: an ORC file is not read"},
		{"in/k.avro", "input in/k.avro: an Avro file is not read"},
		{"loop", "input loop/up: a link back to a directory above it"},
	} {
		files, err := Expand([]string{test.pattern}, Config{})
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("Expand(%q) = %v, %v; want error %s", test.pattern, paths(files), err, test.want)
		}
	}
	if _, err := Expand([]string{"nothing.txt"}, Config{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
	if unix.Access("secret", unix.R_OK) == nil {
		t.Skip("this user may read every file")
	}
	if _, err := Expand([]string{"secret"}, Config{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v is not fs.ErrPermission", err)
	}
}

func TestConfigure(t *testing.T) {
	c, err := Configure(map[string]string{
		"mapreduce.job.inputformat.class": "" +
			"org.apache.hadoop.mapreduce.lib.input.FixedLengthInputFormat",
		"fixedlengthinputformat.record.length":                "100",
		"mapreduce.input.fileinputformat.split.minsize":       "3m",
		"mapred.max.split.size":                               "67108864",
		"mapreduce.input.fileinputformat.input.dir.recursive": "false",
		"textinputformat.record.delimiter":                    "\n",
		"mapreduce.job.reduces":                               "no affair of input",
	})
	want := Config{RecordLength: 100, MinSplit: 3 << 20, MaxSplit: 64 << 20, Flat: true, OnlyLF: true}
	if err != nil || c != want {
		t.Errorf("%+v, %v; want %+v", c, err, want)
	}
	// Hadoop's default where the option is missing would be flat; ours is deep.
	if c, err := Configure(nil); err != nil || c != (Config{}) {
		t.Errorf("no options: %+v, %v; want the zero Config", c, err)
	}
	for name, value := range map[string]string{
		"mapreduce.job.inputformat.class":                              "SequenceFileInputFormat",
		"mapred.input.format.class":                                    "FixedLengthInputFormat", // and no length
		"fixedlengthinputformat.record.length":                         "0",
		"mapreduce.input.fileinputformat.split.maxsize":                "12x",
		"mapred.min.split.size":                                        "99999999999g",
		"mapreduce.input.fileinputformat.input.dir.recursive":          "perhaps",
		"textinputformat.record.delimiter":                             ";",
		"mapreduce.input.keyvaluelinerecordreader.key.value.separator": ",",
	} {
		if _, err := Configure(map[string]string{name: value}); err == nil {
			t.Errorf("%s=%s was accepted", name, value)
		}
	}
}

// What tree and the rest of the tests rely on: a file's time of change is kept to the nanosecond from Expand to Open.
func TestSubSecondChangeIsSeen(t *testing.T) {
	f := write(t, "f", []byte("x\n"))
	if err := os.Chtimes(f.Path, time.Time{}, time.Unix(0, f.Modified+1)); err != nil {
		t.Fatal(err)
	}
	if g := find(t, f.Path); g.Modified == f.Modified {
		t.Skip("the file system does not keep nanoseconds")
	}
	var r Reader
	if _, err := readAll(&r, Config{}, whole(&f, Config{})); !errors.Is(err, ErrChanged) {
		t.Errorf("%v; want ErrChanged", err)
	}
}

func FuzzExpand(f *testing.F) {
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o644); err != nil {
		f.Fatal(err)
	}
	for _, p := range []string{"*", "{a,b}", "[a-", "**", `\`, "{{a},{", "a/../a", "[{]a"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		if strings.Contains(pattern, "..") || strings.Count(pattern, "{") > 4 {
			return // out of the directory; more alternatives than a fuzzer should wait for
		}
		files, err := Expand([]string{dir + "/" + pattern}, Config{})
		if err == nil &&
			slices.ContainsFunc(files, func(f File) bool { return filepath.Clean(f.Path) != filepath.Join(dir, "a") }) {
			t.Errorf("pattern %q found %v", pattern, paths(files))
		}
	})
}

// TestArchivesInFolder: a folder of source code may have archives, which are read as its other files are, with a note.
// Names that only look like archives' are no archives.
func TestArchivesInFolder(t *testing.T) {
	tree(t, "src/a.go", "src/b.zip", "src/testdata/c.tar.gz", "logs/tar", "logs/x.tar.txt", "logs/y.zip.d/z")
	for folder, want := range map[string]string{
		"src": "[src/b.zip and 1 more: archives and files of records are read as text in a folder: unpack or " +
			"remove them, or name other files]",
		"logs": "[]",
	} {
		files, err := Expand([]string{folder}, Config{})
		if err != nil || len(files) != 3 {
			t.Fatalf("%s: %v, %v", folder, paths(files), err)
		}
		if _, notes := Plan(files, Config{}); fmt.Sprint(notes) != want {
			t.Errorf("%s: notes %v, want %s", folder, notes, want)
		}
	}
}

// TestPipeNamedTwice: two readers of one pipe would each get a part.
func TestPipeNamedTwice(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	path := fmt.Sprintf("/dev/fd/%d", in.Fd())
	if _, err := Expand([]string{path, path}, Config{}); err == nil || !strings.Contains(err.Error(), "named twice") {
		t.Errorf("error %v", err)
	}
}

// TestNameless: the first bytes of input without a name tell how it is compressed, and a format that is not decoded is
// refused.
func TestNameless(t *testing.T) {
	for head, want := range map[string]Codec{
		"": Plain, "a": Plain, "text": Plain, "\x1f\x8b\x08\x00": Gzip, "\x28\xb5\x2f\xfd": Zstd, "BZh9": Bzip2,
		"\x50\x2a\x4d\x18": Zstd, "PK": Plain, strings.Repeat("x", tarMagicAt) + "ustar": Plain,
	} {
		f := write(t, "nameless", []byte(head+strings.Repeat("more", len(head)/4)))
		if err := f.sniff(); err != nil || f.Codec != want {
			t.Errorf("%q: %v, %v; want %v", head, f.Codec, err, want)
		}
	}
	tar := strings.Repeat("\x00", tarMagicAt) + "ustar  \x00"
	for head, format := range map[string]string{"\xfd7zXZ\x00": "xz", "\x04\x22\x4d\x18": "lz4",
		"PK\x03\x04\x14": "a zip archive", "7z\xbc\xaf'\x1c": "a 7z archive", "Obj\x01": "an Avro file",
		tar: "a tar archive",
	} {
		f := write(t, "nameless", []byte(head))
		if err := f.sniff(); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), format+" is not read") {
			t.Errorf("%s: error %v", format, err)
		}
	}
}

// TestEmptyCompressed: an empty file whose name says that it is compressed is damaged, and the error says so.
func TestEmptyCompressed(t *testing.T) {
	f := write(t, "log.gz", nil)
	var r Reader
	if _, err := readAll(&r, Config{}, whole(&f, Config{})); !errors.Is(err, ErrCorrupt) ||
		!strings.Contains(err.Error(), "says gzip, and the file is empty") {
		t.Errorf("error %v", err)
	}
}
