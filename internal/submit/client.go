package submit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A Client runs the commands of a Hadoop installation.
type Client struct {
	Hadoop string    // path of the command hadoop; mapred and yarn are beside it
	Conf   string    // folder of the cluster's configuration
	User   string    // the user to be for Hadoop, on clusters without Kerberos; "": see name
	Log    io.Writer // gets all messages of commands; nil: none are kept

	patience time.Duration // how long killing an application may take; zero: killTime
}

// Find returns the client of an installation: the one whose command hadoop is named, else that of $HADOOP_HOME, else
// the one along PATH. conf is the folder of the cluster's configuration; "": $HADOOP_CONF_DIR, else the one beside the
// command.
func Find(command, conf string) (*Client, error) {
	const remedy = "name it by --hadoop /opt/hadoop/bin/hadoop, or set HADOOP_HOME"
	if home := os.Getenv("HADOOP_HOME"); command == "" && home != "" {
		command = filepath.Join(home, "bin", "hadoop")
	}
	if command == "" {
		command = "hadoop"
	}
	path, err := exec.LookPath(command)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, fmt.Errorf("command %s of Hadoop: %w: %s", command, err, remedy)
	}
	c := &Client{Hadoop: path, Conf: conf}
	if c.Conf == "" {
		c.Conf = os.Getenv("HADOOP_CONF_DIR")
	}
	if c.Conf == "" {
		c.Conf = filepath.Join(filepath.Dir(path), "..", "etc", "hadoop")
	}
	if c.Conf, err = filepath.Abs(c.Conf); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(c.Conf, "yarn-site.xml")); err != nil {
		return nil, fmt.Errorf("the cluster's configuration: %w: name the folder by --conf", err)
	}
	return c, nil
}

// beside returns the path of another command of the installation.
func (c *Client) beside(name string) string { return filepath.Join(filepath.Dir(c.Hadoop), name) }

// endsWithin is how long a command has to end after it was told to.
const endsWithin = 10 * time.Second

// command prepares a command. When ctx ends it is told to end, with all that it started, and is killed if it does not.
func (c *Client) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+c.Conf)
	if c.User != "" {
		cmd.Env = append(cmd.Env, "HADOOP_USER_NAME="+c.User)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
	cmd.WaitDelay = endsWithin
	return cmd
}

// sweep kills what a command that has ended left of its process group.
func sweep(cmd *exec.Cmd) {
	if cmd.Process != nil {
		// It is usual that nothing is left.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}

// How long a command may take that is no job: one on the file system, and one that kills an application.
const (
	stepTime = 5 * time.Minute
	killTime = 30 * time.Second
)

// fs runs a command on the cluster's file system and returns what it wrote. in is what it reads; nil: nothing.
func (c *Client) fs(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := c.step(ctx, terms{stepTime, in, &out}, c.Hadoop, append([]string{"fs"}, args...)...)
	return out.Bytes(), err
}

// terms are how long a step may take, and what it reads and writes besides its messages.
type terms struct {
	within time.Duration
	in     io.Reader
	out    io.Writer
}

// step runs a command that is no job to its end. Its error has the end of what the command said.
func (c *Client) step(ctx context.Context, t terms, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, t.within)
	defer cancel()
	cmd := c.command(ctx, name, args...)
	said := &tail{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.in, t.out, c.listening(said)
	err := cmd.Run()
	sweep(cmd)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s %s: no end after %v%s", filepath.Base(name), strings.Join(args, " "), t.within, said)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("%s %s: %w%s", filepath.Base(name), strings.Join(args, " "), err, said)
	}
	return nil
}

// listening returns where a command's messages go: to w, and to the log.
func (c *Client) listening(w io.Writer) io.Writer {
	if c.Log == nil {
		return w
	}
	return io.MultiWriter(w, c.Log)
}

// kill kills an application by command, even if ctx has ended.
func (c *Client) kill(ctx context.Context, application string) error {
	return c.step(context.WithoutCancel(ctx), terms{c.killsWithin(), nil, io.Discard}, c.beside("yarn"),
		"application", "-kill", application)
}

// killsWithin returns how long killing an application may take, by REST and again by command.
func (c *Client) killsWithin() time.Duration { return cmp.Or(c.patience, killTime) }

// name returns the user that the caller is for Hadoop, on clusters without Kerberos.
func (c *Client) name() string {
	if name := cmp.Or(c.User, os.Getenv("HADOOP_USER_NAME")); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// tailLines is how many lines of a command's messages an error shows.
const tailLines = 15

// A tail keeps the last lines that are written to it, and shows each whole line to Line, if that is set.
type tail struct {
	Line  func(string)
	lines []string // the last tailLines
	part  []byte   // the beginning of a line that has not ended
}

// mostLine is how much of a line is kept.
const mostLine = 4 << 10

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	n := len(b)
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			t.part = append(t.part, b[:min(len(b), mostLine-len(t.part))]...)
			return n, nil
		}
		t.part = append(t.part, b[:min(i, mostLine-len(t.part))]...)
		t.take(strings.TrimRight(string(t.part), "\r"))
		t.part, b = t.part[:0], b[i+1:]
	}
}

// take takes a whole line.
func (t *tail) take(line string) {
	if t.Line != nil {
		t.Line(line)
	}
	if t.lines = append(t.lines, line); len(t.lines) > tailLines {
		t.lines = t.lines[1:]
	}
}

// String returns the lines, indented and each after a line feed, to be added to a message.
func (t *tail) String() string {
	lines := t.lines
	if len(t.part) > 0 {
		lines = append(lines, string(t.part))
	}
	if len(lines) == 0 {
		return ""
	}
	return "\n\t" + strings.Join(lines, "\n\t")
}
