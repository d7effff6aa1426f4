package streaming

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
		return args, checkInterpreter(program, path)
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
	case errors.Is(err, fs.ErrNotExist) && strings.Contains(program, "/"):
		return nil, fmt.Errorf("program %s: %s does not exist: %w", program, path, fs.ErrNotExist)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("program %s: neither in the working directory nor along PATH: %w", program, err)
	}
	return nil, fmt.Errorf("find program %s: %w", program, err)
}

// longestInterpreter is how many bytes of a script's first line Linux reads.
const longestInterpreter = 256

// checkInterpreter returns an error if a program is a script whose first line names an interpreter that is not there,
// or ends with a carriage return. The system says of such a script that it does not exist, as if it were missing.
func checkInterpreter(program, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // a program may be executable and not readable
	}
	defer f.Close()
	head := make([]byte, longestInterpreter)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil // the start of the program tells
	}
	line, script := strings.CutPrefix(string(head[:n]), "#!")
	if !script {
		return nil
	}
	line, _, whole := strings.Cut(line, "\n")
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	if !whole || len(words) == 0 {
		return nil
	}
	if strings.HasSuffix(line, "\r") { // it would belong to the name of the interpreter, or to its argument
		return fmt.Errorf("program %s: its first line, #!%s, ends with a carriage return, as lines of Windows do: "+
			"sed -i 's/\\r$//' %s", program, strings.TrimSuffix(line, "\r"), path)
	}
	if _, err := os.Stat(words[0]); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("program %s: its first line names the interpreter %s, which does not exist", program, words[0])
}

// shellWords are what only a shell understands, as words of their own.
var shellWords = []string{"|", "||", "&", "&&", ";", "<", "<<", ">", ">>", "2>", "2>&1", "&>"}

// forShell returns a hint if a command that failed was meant for a shell; empty: it was not.
func forShell(args []string) string {
	i := slices.IndexFunc(args, func(a string) bool { return slices.Contains(shellWords, a) })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("; no shell reads the command, so that %q is an argument of the program: if a shell is to read "+
		"it, write sh -c '...'", args[i])
}
