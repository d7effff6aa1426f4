// Package input finds the files a job reads, cuts them into splits, and reads a split's records in batches.
//
// Three steps: [Expand] turns what a user wrote (files, directories, globs) into files; [Plan] turns files into splits,
// one a map task; a [Reader] reads a split. The parts of a key-value [Store] are files too ([FilesOf]), and text from
// elsewhere is a split ([Stream]).
//
// What a record is follows Hadoop's TextInputFormat and FixedLengthInputFormat, so that a job counts here what it
// counts there. Lines of keys and values are lines; where the key ends is the job's affair.
//
// A batch is many whole records of one file, lent until the next call: jobs walk it themselves, without a call or an
// allocation a record. Every line of a batch ends in one '\n', whatever ended it in the file ("\r\n" and a lone '\r'
// end lines as they do in Hadoop, and so does the end of the file), so a job's inner loop is one search for '\n', and
// the lines of a batch are as many as its '\n'.
package input

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Config says how input is found, cut and read. The zero value reads lines with every default.
type Config struct {
	RecordLength int // bytes of each record, at least 1; zero: records are lines

	// OnlyLF leaves '\r' in the records: only '\n' ends a line, as with Hadoop's textinputformat.record.delimiter=\n.
	OnlyLF bool

	// KeepMark leaves a byte order mark at the beginning of a file in its first line: in the files between two rounds,
	// such bytes are data.
	KeepMark bool

	// Flat takes only the files directly in a directory, as Hadoop does by default. Otherwise a directory means
	// everything below it: a source tree is given by its name.
	Flat bool

	MinSplit, MaxSplit int64 // bytes of a split; zero: 1 MiB and 128 MiB
	Cores              int   // workers that shall all be busy; below 1 means 1
}

// Sentinels of what a retry of the task cannot cure. Every error names the file.
var (
	// ErrChanged: the file is not the one that was found when the job began (size or time of change differ).
	ErrChanged = errors.New("changed while the job was reading it")
	// ErrCorrupt: the bytes are not what the file's name or the record length promises.
	ErrCorrupt = errors.New("corrupt input")
	// ErrReadOnce: the input is a pipe, and what was read of it is gone.
	ErrReadOnce = errors.New("a pipe can be read once, and an earlier attempt at the task has read from it: write " +
		"the input to a file")
	// ErrTooLong: a record, or the window that a zstd frame asks for, is larger than memory allows, or than compressed
	// data may expand to.
	ErrTooLong = errors.New("record too long")
)

// Hadoop's names of the options that [Configure] reads; each list ends with the name of Hadoop 1, where there is one.
var (
	optMinSplit  = []string{"mapreduce.input.fileinputformat.split.minsize", "mapred.min.split.size"}
	optMaxSplit  = []string{"mapreduce.input.fileinputformat.split.maxsize", "mapred.max.split.size"}
	optRecursive = []string{"mapreduce.input.fileinputformat.input.dir.recursive", "mapred.input.dir.recursive"}
	optFormat    = []string{"mapreduce.job.inputformat.class", "mapred.input.format.class"}
	optLength    = []string{"fixedlengthinputformat.record.length"}
	optSeparator = []string{
		"mapreduce.input.keyvaluelinerecordreader.key.value.separator",
		"key.value.separator.in.input.line",
	}
	optDelimiter = []string{"textinputformat.record.delimiter"}
)

// Options returns the names of all options that [Configure] reads.
func Options() []string {
	return slices.Concat(optMinSplit, optMaxSplit, optRecursive, optFormat, optLength, optSeparator, optDelimiter)
}

// Configure reads the options that concern input from a job's -D settings, by Hadoop's names, and ignores all others.
// Sizes are bytes, or carry k, m, g (binary, as Hadoop reads them). An error names the option and what would be right.
func Configure(options map[string]string) (Config, error) {
	var c Config
	var errs []error
	each := func(names []string, set func(value string) bool, want string) {
		for _, name := range names {
			if value, ok := options[name]; ok {
				if !set(value) {
					errs = append(errs, fmt.Errorf("option %s=%q: want %s", name, value, want))
				}
				return
			}
		}
	}
	fixed := false
	each(optFormat, func(v string) bool {
		switch v[strings.LastIndexByte(v, '.')+1:] {
		case "TextInputFormat", "CombineTextInputFormat", "KeyValueTextInputFormat":
			return true
		case "FixedLengthInputFormat":
			fixed = true
			return true
		}
		return false
	}, "TextInputFormat, KeyValueTextInputFormat or FixedLengthInputFormat")
	each(optLength, func(v string) bool {
		n, err := strconv.Atoi(v)
		if fixed { // as in Hadoop, the length alone does not change the format
			c.RecordLength = n
		}
		return err == nil && n > 0 && n < maxRecord
	}, "a number of bytes from 1 to 2 GiB")
	each(optSeparator, func(v string) bool { return v == "\t" || v == `\t` }, "\\t: a key ends at the first TAB")
	each(optDelimiter, func(v string) bool {
		c.OnlyLF = v == "\n" || v == `\n`
		return c.OnlyLF || v == ""
	}, `\n, the only delimiter that can be chosen; without the option "\r\n" and '\r' end lines too`)
	each(optRecursive, func(v string) bool {
		deep, err := strconv.ParseBool(v)
		c.Flat = !deep
		return err == nil
	}, "true or false")
	each(optMinSplit, func(v string) (ok bool) { c.MinSplit, ok = parseSize(v); return ok }, "a size such as 1m")
	each(optMaxSplit, func(v string) (ok bool) { c.MaxSplit, ok = parseSize(v); return ok }, "a size such as 128m")
	if fixed && c.RecordLength == 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("option %s is missing: FixedLengthInputFormat needs it", optLength[0]))
	}
	return c, errors.Join(errs...)
}

// parseSize parses a whole number of bytes, 0 or more, with an optional suffix k, m or g (powers of 1024; upper or
// lower case). ok is false for anything else, and for sizes beyond 2^62.
func parseSize(s string) (bytes int64, ok bool) {
	digits := strings.TrimRight(s, "kmgKMG")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || len(s)-len(digits) > 1 {
		return 0, false
	}
	shift := 0
	switch strings.ToLower(s[len(digits):]) {
	case "k":
		shift = 10
	case "m":
		shift = 20
	case "g":
		shift = 30
	}
	return n << shift, n <= 1<<62>>shift
}
