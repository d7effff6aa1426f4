package input

import "fmt"

// Range is a part of a file: the records that begin in it, by the rule of the format. Where the file is Whole it is all
// of the file, or the beginning of it, and Lo and Hi count its bytes as they are stored.
type Range struct {
	File   *File
	Lo, Hi int64 // bytes from the file's beginning; Hi is not part of it
}

// Split is the input of one map task: one or more ranges, read one after the other.
type Split struct {
	Ranges []Range
	c      Config
}

// Bytes returns the size of the split as stored, at which a Reader's Bytes ends; pipes count nothing.
func (s Split) Bytes() int64 {
	var n int64
	for _, r := range s.Ranges {
		n += r.Hi - r.Lo
	}
	return n
}

// Pipe returns the first pipe of the split; nil: there is none.
func (s Split) Pipe() *File {
	for _, r := range s.Ranges {
		if r.File.Pipe {
			return r.File
		}
	}
	return nil
}

// String names the split as Hadoop does, "path:from+length", and how many ranges follow the first.
func (s Split) String() string {
	if len(s.Ranges) == 0 {
		return "nothing"
	}
	r := s.Ranges[0]
	name := fmt.Sprintf("%s:%d+%d", r.File.Path, r.Lo, r.Hi-r.Lo)
	if more := len(s.Ranges) - 1; more > 0 {
		name += fmt.Sprintf(" and %d more", more)
	}
	return name
}

// Head returns the beginning of the split: the ranges that contain its first n bytes as stored, at least one byte. A
// Reader reads on to the end of the record in which the last range ends. In a compressed file a byte of the file is no
// position in the text, so a Reader reads whole blocks until it has consumed n bytes.
func (s Split) Head(n int64) Split {
	head := Split{c: s.c}
	n = max(n, 1)
	for _, r := range s.Ranges {
		if n <= 0 {
			break
		}
		r.Hi = min(r.Hi, r.Lo+n)
		n -= r.Hi - r.Lo
		head.Ranges = append(head.Ranges, r)
	}
	return head
}

// Join returns one split with the ranges of all the given splits, in their order. The splits must be of one plan.
func Join(splits []Split) (all Split) {
	for _, s := range splits {
		all.c = s.c
		all.Ranges = append(all.Ranges, s.Ranges...)
	}
	return all
}

const (
	defaultMin = 1 << 20
	defaultMax = 128 << 20
	// Splits for each core: with eight, a core that finishes last does so at most an eighth of the stage late, and
	// starting a task is still nothing beside reading its split.
	splitsPerCore = 8
	// What opening one more file costs, in bytes that could have been read instead: some 10 µs at 3 GB/s. Thousands of
	// tiny files are spread over the splits by it.
	openCost = 32 << 10
	// How much work a compressed byte is beside a plain one: text shrinks about four times.
	expansion = 4
)

// Plan cuts files into splits, in the order of the files, so that the output of a job without reduces keeps the order
// of its input. The size of a split is total ÷ (8 × cores), at least c.MinSplit, at most c.MaxSplit. A file larger than
// that is cut into equal parts, at multiples of the record length where there is one; smaller files are put together,
// as Hadoop's CombineFileInputFormat does. The notes are sentences for the user about files that could not be cut.
func Plan(files []File, c Config) (splits []Split, notes []string) {
	size := splitSize(files, c)
	var group []Range
	var weight int64
	flush := func() {
		if len(group) > 0 {
			splits = append(splits, Split{group, c})
			group, weight = nil, 0
		}
	}
	for i := range files {
		f := &files[i]
		if w := f.weight(); f.Whole() || w <= size+openCost {
			if weight+w > size+openCost {
				flush()
			}
			group = append(group, Range{f, 0, f.Size})
			weight += w
			continue
		}
		flush()
		parts := (f.Size + size - 1) / size
		part := (f.Size + parts - 1) / parts
		if n := int64(c.RecordLength); n > 0 {
			part = (part + n - 1) / n * n
		}
		for lo := int64(0); lo < f.Size; lo += part {
			splits = append(splits, Split{[]Range{{f, lo, min(lo+part, f.Size)}}, c})
		}
	}
	flush()
	return splits, notesOn(files, size)
}

// splitSize returns the size of a split by the rule of Plan, in bytes of plain text.
func splitSize(files []File, c Config) int64 {
	var total int64
	for i := range files {
		total += files[i].weight()
	}
	low, high := c.MinSplit, c.MaxSplit
	if low == 0 {
		low = defaultMin
	}
	if high == 0 {
		high = defaultMax
	}
	return max(1, min(total/int64(splitsPerCore*max(1, c.Cores)), high), low)
}

// weight returns the work of reading the file, in bytes of plain text that take as long.
func (f *File) weight() int64 {
	if f.Codec != Plain && f.Codec != stored {
		return f.Size*expansion + openCost
	}
	return f.Size + openCost
}

// notesOn says once for each codec, and for pipes, which files had to stay whole although they are larger than a split,
// and which files of a folder are read as text although they are none.
func notesOn(files []File, size int64) (notes []string) {
	note := func(says string, of func(f *File) bool) {
		first, count := "", 0
		for i := range files {
			if of(&files[i]) {
				if count++; count == 1 {
					first = files[i].Path
				}
			}
		}
		if count > 1 {
			first += fmt.Sprintf(" and %d more", count-1)
		}
		if count > 0 {
			notes = append(notes, first+": "+says)
		}
	}
	for c := Gzip; c <= Bzip2; c++ {
		note(c.String()+" files cannot be split, so each is read by one task",
			func(f *File) bool { return f.Codec == c && !f.Pipe && f.weight() > size+openCost })
	}
	note("a pipe is read by one task, which cannot be tried again", func(f *File) bool { return f.Pipe })
	note("archives and files of records are read as text in a folder: unpack or remove them, or name other files",
		func(f *File) bool { return !f.Pipe && f.part == nil && archiveNamed(f.Path) != nil })
	return notes
}
