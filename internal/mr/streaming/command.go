package streaming

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Words splits a command line at blanks. Single and double quotes hold what is between them together, and join what
// they touch as in a shell. Nothing else is special: a backslash is a backslash, as in Hadoop.
func Words(line string) ([]string, error) {
	var all []string
	var word strings.Builder
	inWord, quote := false, byte(0)
	for _, c := range []byte(line) {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			inWord, quote = true, c
		case c == ' ' || c == '\t' || c == '\n':
			if inWord {
				all = append(all, word.String())
				word.Reset()
				inWord = false
			}
		default:
			inWord = true
			word.WriteByte(c)
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("command %s: a %c without its second", line, quote)
	}
	if inWord {
		all = append(all, word.String())
	}
	if len(all) == 0 {
		return nil, errors.New("command is empty")
	}
	return all, nil
}

// parseCommand splits a command line and finds its program: a relative one in the working directory, as Hadoop looks
// there for the files shipped with a job, then along PATH.
func parseCommand(line string) ([]string, error) {
	args, err := Words(line)
	if err != nil {
		return nil, err
	}
	program := args[0]
	path, err := filepath.Abs(program)
	if err != nil {
		return nil, fmt.Errorf("find program %s: %w", program, err)
	}
	info, err := os.Stat(path)
	here := err == nil && info.Mode().IsRegular()
	if here && info.Mode()&0o111 != 0 {
		args[0] = path
		return args, nil
	}
	if !strings.Contains(program, "/") {
		if found, err := exec.LookPath(program); err == nil {
			args[0] = found
			return args, nil
		}
	}
	switch {
	case here:
		return nil, fmt.Errorf("program %s is not executable: chmod +x %s, or name what runs it, as in \"python3 %s\"",
			program, path, program)
	case err == nil:
		return nil, fmt.Errorf("program %s is not a file", program)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("program %s: neither in the working directory nor along PATH: %w", program, err)
	}
	return nil, fmt.Errorf("find program %s: %w", program, err)
}
