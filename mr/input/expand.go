package input

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/sojourn-sched/sojourn/internal/unpack"
)

// Codec is how a file is compressed. The end of its name decides, as in Hadoop (.gz, .zst, .bz2, in any case); the
// first bytes must agree, or reading it is an error. Pipes and standard input have no telling name: there the first
// bytes decide.
type Codec uint8

const (
	Plain  = Codec(unpack.Plain)
	Gzip   = Codec(unpack.Gzip)
	Zstd   = Codec(unpack.Zstd)
	Bzip2  = Codec(unpack.Bzip2)
	stored = Bzip2 + 1 // the text of a part of a Store
)

// String returns the codec's usual name.
func (c Codec) String() string {
	if c == stored {
		return "store"
	}
	return unpack.Codec(c).String()
}

// unread are compressed formats that are not decoded, by the end of a file's name. As text they would be read without
// an error, and give wrong results.
var unread = map[string]string{".xz": "xz", ".lzma": "lzma", ".lz4": "lz4", ".lzo": "lzo", ".lzo_deflate": "lzo",
	".snappy": "snappy", ".deflate": "deflate", ".z": "compress"}

// An archive is a format of many files, or of records that are not lines. As text it would give wrong results too.
type archive struct{ name, remedy string }

var (
	zipArchive  = &archive{"a zip archive", unpackBy("unzip -p")}
	tarArchive  = &archive{"a tar archive", unpackBy("tar -xOf")}
	sevenZip    = &archive{"a 7z archive", unpackBy("7z x -so")}
	rarArchive  = &archive{"a rar archive", unpackBy("unrar p -inul")}
	parquetFile = &archive{"a Parquet file", exportIt}
	orcFile     = &archive{"an ORC file", exportIt}
	avroFile    = &archive{"an Avro file", exportIt}
)

const exportIt = "write its records as lines of text, such as CSV"

func unpackBy(command string) string {
	return "unpack it, as in " + command + " FILE | sojourn run JOB --input -"
}

// archives are by the end of a file's name.
var archives = map[string]*archive{".zip": zipArchive, ".jar": zipArchive, ".tar": tarArchive, ".tgz": tarArchive,
	".tbz": tarArchive, ".tbz2": tarArchive, ".txz": tarArchive, ".tzst": tarArchive, ".7z": sevenZip,
	".rar": rarArchive, ".parquet": parquetFile, ".orc": orcFile, ".avro": avroFile}

// archiveNamed returns the format of an archive, which may be compressed as a whole, by its name; nil: it is none.
func archiveNamed(path string) *archive {
	name := strings.ToLower(path)
	ext := filepath.Ext(name)
	if unread[ext] != "" || codecOf[ext] != Plain {
		ext = filepath.Ext(strings.TrimSuffix(name, ext))
	}
	return archives[ext]
}

func (a *archive) refuse() error { return fmt.Errorf("%s is not read: %s", a.name, a.remedy) }

var codecOf = map[string]Codec{".gz": Gzip, ".zst": Zstd, ".bz2": Bzip2}

// standardInput is the path of the input that a user calls "-".
const standardInput = "/dev/stdin"

// File is one input file as it was when the job began; a Reader refuses it when it has changed since.
type File struct {
	Path     string
	Size     int64 // bytes; zero where Pipe, and of files as those of /proc, which are read to their end
	Modified int64 // nanoseconds since 1970, as the file system tells it
	Codec    Codec
	Pipe     bool // a pipe, terminal or device: read once, front to back, by one task that cannot be retried

	part   *Part        // of a Store; nil: it is a file
	fifo   bool         // a pipe, no terminal or device
	opened *atomic.Bool // a Reader has begun to read the pipe; nil: it is none
}

// Opened reports whether a Reader has begun to read the file, which is a pipe, so that no other Reader may.
func (f *File) Opened() bool { return f.opened != nil && f.opened.Load() }

// Whole reports whether one task must read the whole file, because no task can start in its middle.
func (f *File) Whole() bool { return f.Pipe || f.Codec != Plain }

// Expand finds the files that the patterns name, in the order of the patterns and sorted by path within each. A pattern
// is a file, a directory, "-" (standard input), or a glob: * ? [a-z] [^a-z] {a,b} within a name, ** for any number of
// directories, \ before a character that means itself; an existing path is always taken literally.
//
// As Hadoop does, names that begin with '_' or '.' are passed over in directories and globs (unless the pattern itself
// begins so), a file matched by two patterns is read twice, and an empty directory is an empty input. Unlike Hadoop's
// default, directories are followed down unless c.Flat. Links are followed. In directories, what is neither file nor
// directory is passed over. A pattern that matches nothing, and a file that cannot be read, are errors.
//
// A file of a compression that is not decoded is an error. So is an archive (.zip, .tar) or a file of records
// (.parquet) that is named or that a glob matches. In a directory these are read as all other files are, because source
// code often comes with some, and Plan has a note.
func Expand(patterns []string, c Config) ([]File, error) {
	var all []File
	pipes := map[string]bool{}
	for _, pattern := range patterns {
		f := finder{flat: c.Flat, seen: map[string]bool{}}
		if err := f.pattern(pattern); err != nil {
			return nil, err
		}
		slices.SortFunc(f.files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
		for i := range f.files {
			if path := f.files[i].Path; f.files[i].Pipe {
				if pipes[path] {
					return nil, fmt.Errorf("input %s: a pipe can be read once, and is named twice", path)
				}
				pipes[path] = true
			}
		}
		all = append(all, f.files...)
	}
	return all, nil
}

type finder struct {
	flat    bool
	files   []File
	seen    map[string]bool // paths found by this pattern
	matched bool
}

// pattern adds the files that a pattern names. A path that exists is taken literally.
func (f *finder) pattern(pattern string) error {
	path := pattern
	if path == "-" {
		path = standardInput
	}
	if path == "" {
		return errors.New("input: empty path")
	}
	_, err := os.Stat(path)
	switch {
	case err == nil:
		return f.found(path, nil)
	case !strings.ContainsAny(path, `*?[{\`):
		return inputError(pattern, err)
	}
	alternatives, err := braces(path)
	if err != nil {
		return inputError(pattern, err)
	}
	for _, p := range alternatives {
		dir := ""
		if strings.HasPrefix(p, "/") {
			dir = "/"
		}
		parts := slices.DeleteFunc(strings.Split(p, "/"), func(s string) bool { return s == "" })
		if err := f.glob(dir, parts); err != nil {
			return inputError(pattern, err)
		}
	}
	if !f.matched {
		return fmt.Errorf("input %q: no file matches", pattern)
	}
	return nil
}

// found takes a path that a user named or a glob matched; above are the directories that led to it, to notice a loop.
func (f *finder) found(path string, above []fs.FileInfo) error {
	f.matched = true
	info, err := os.Stat(path)
	if err != nil {
		return inputError(path, err)
	}
	if info.IsDir() {
		return f.directory(path, append(slices.Clip(above), info))
	}
	if a := archiveNamed(path); a != nil && info.Mode().IsRegular() {
		return fmt.Errorf("input %s: %w", path, a.refuse())
	}
	return f.file(path, info)
}

// file adds a file, pipe or device, unless this pattern has found it before.
func (f *finder) file(path string, info fs.FileInfo) error {
	if f.seen[path] {
		return nil
	}
	f.seen[path] = true
	if format, ok := unread[strings.ToLower(filepath.Ext(path))]; ok && info.Mode().IsRegular() {
		return fmt.Errorf("input %s: %s is not read: decompress it, or store it as .gz, .zst or .bz2", path, format)
	}
	file := File{Path: path, Modified: info.ModTime().UnixNano()}
	if info.Mode().IsRegular() {
		file.Size = info.Size()
		file.Codec = codecOf[strings.ToLower(filepath.Ext(path))]
	} else if file.Pipe, file.opened = true, new(atomic.Bool); info.Mode()&fs.ModeSocket != 0 {
		return fmt.Errorf("input %s: is a socket, which cannot be read as a file", path)
	}
	file.fifo = info.Mode()&fs.ModeNamedPipe != 0
	if err := unix.Access(path, unix.R_OK); err != nil {
		return fmt.Errorf("input %s: not readable: %w", path, err)
	}
	if path == standardInput && !file.Pipe { // a file that was redirected: its name cannot be seen
		if err := file.sniff(); err != nil {
			return err
		}
	}
	f.files = append(f.files, file)
	return nil
}

// sniff finds the codec of a regular file from its first bytes.
func (f *File) sniff() error {
	file, err := os.Open(f.Path)
	if err != nil {
		return inputError(f.Path, err)
	}
	defer file.Close()
	head := make([]byte, headBytes)
	n, err := io.ReadFull(file, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return inputError(f.Path, err)
	}
	if f.Codec, err = codecIn(head[:n]); err != nil {
		return fmt.Errorf("input %s: %w", f.Path, err)
	}
	return nil
}

// directory adds the files in dir and, unless f.flat, below it. chain has the directories that led to dir, dir last: a
// link back to one of them is an error.
func (f *finder) directory(dir string, chain []fs.FileInfo) error {
	if f.seen[dir] {
		return nil
	}
	f.seen[dir] = true
	here := chain[len(chain)-1]
	for _, up := range chain[:len(chain)-1] {
		if os.SameFile(up, here) {
			return fmt.Errorf("input %s: a link back to a directory above it: remove the link, or name the input by a "+
				"glob with **, which follows no links", dir)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return inputError(dir, err)
	}
	for _, e := range entries {
		if hidden(e.Name()) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		info, err := e.Info()
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			info, err = os.Stat(path)
		}
		switch {
		case err != nil:
			return inputError(path, err)
		case info.IsDir() && !f.flat:
			err = f.directory(path, append(slices.Clip(chain), info))
		case info.Mode().IsRegular():
			err = f.file(path, info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// glob matches the parts of a pattern one directory level after the other.
func (f *finder) glob(dir string, parts []string) error {
	if len(parts) == 0 {
		return f.found(dir, nil)
	}
	part, rest := parts[0], parts[1:]
	if part == "**" {
		if err := f.glob(dir, rest); err != nil {
			return err
		}
		rest = parts // and the same again one level further down
		part = "*"
	} else if !strings.ContainsAny(part, `*?[\`) {
		path := filepath.Join(dir, part)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
			return nil
		}
		return f.glob(path, rest)
	}
	deeper := len(rest) > 0
	entries, err := os.ReadDir(filepath.Join(dir, "."))
	if errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if hidden(e.Name()) && !hidden(part) {
			continue
		}
		if ok, err := filepath.Match(strings.ReplaceAll(part, "[!", "[^"), e.Name()); err != nil {
			return fmt.Errorf("%q: %w", part, err)
		} else if !ok {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if deeper {
			isDir := e.IsDir()
			if e.Type()&fs.ModeSymlink != 0 && parts[0] != "**" { // ** does not follow links: they may lead in circles
				info, err := os.Stat(path)
				isDir = err == nil && info.IsDir()
			}
			if !isDir {
				continue
			}
		}
		if err := f.glob(path, rest); err != nil {
			return err
		}
	}
	return nil
}

func hidden(name string) bool { return name[0] == '.' || name[0] == '_' }

// braces writes out {a,b} alternatives, innermost included: "x{a,b{c,d}}" is xa, xbc, xbd.
func braces(s string) ([]string, error) {
	open, depth, class := -1, 0, false
	var commas []int
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '{':
			if depth++; depth == 1 {
				open, commas = i, []int{i}
			}
		case c == ',' && depth == 1:
			commas = append(commas, i)
		case c == '}' && depth > 0:
			if depth--; depth > 0 {
				continue
			}
			var all []string
			for k, from := range append(commas, i)[:len(commas)] {
				to := i
				if k+1 < len(commas) {
					to = commas[k+1]
				}
				more, err := braces(s[:open] + s[from+1:to] + s[i+1:])
				if err != nil {
					return nil, err
				}
				all = append(all, more...)
			}
			return all, nil
		}
	}
	if depth > 0 {
		return nil, fmt.Errorf("%q has a { without its }", s)
	}
	return []string{s}, nil
}

// inputError names the path and says plainly what the operating system says in its own words.
func inputError(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		if pe.Path != path {
			path += ": " + pe.Path
		}
		err = pe.Err
	}
	if errors.Is(err, fs.ErrNotExist) {
		if to, linkErr := os.Readlink(path); linkErr == nil {
			return fmt.Errorf("input %s: is a link to %s, which does not exist: remove the link, or name the other "+
				"files: %w", path, to, err)
		}
		return fmt.Errorf("input %s: does not exist: %w", path, err)
	}
	return fmt.Errorf("input %s: %w", path, err)
}
