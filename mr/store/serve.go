package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
)

// socket is the name of the socket in the folder beside a store.
const socket = "serve.sock"

// A Server makes checkpoints of a store for jobs of other processes. A checkpoint has hard links to the files of the
// store, which never change, so that it takes little time, and room only for what the store would have dropped since.
type Server struct {
	db       *pebble.DB
	dir      string // beside the store: the socket and the checkpoints
	listener net.Listener
	wait     sync.WaitGroup

	mu     sync.Mutex
	next   int
	conns  map[net.Conn]bool
	closed bool
}

// Serve lets other processes of this machine read the store db in the directory dir by Open, until Close. It
// makes the folder dir.snapshots, which only the owner may enter, and removes what an earlier server left in it.
func Serve(db *pebble.DB, dir string) (*Server, error) {
	s := &Server{db: db, dir: besides(dir), conns: map[net.Conn]bool{}}
	if err := os.RemoveAll(s.dir); err != nil {
		return nil, fmt.Errorf("serve snapshots: %w", err)
	}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("serve snapshots: %w", err)
	}
	var err error
	if s.listener, err = net.Listen("unix", filepath.Join(s.dir, socket)); err != nil {
		return nil, errors.Join(fmt.Errorf("serve snapshots: %w", err), os.RemoveAll(s.dir))
	}
	s.wait.Go(s.accept)
	return s, nil
}

// accept serves each process that asks on a goroutine of its own.
func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return // Close has closed the listener
		}
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			conn.Close()
			return
		}
		s.conns[conn] = true
		s.next++
		path := filepath.Join(s.dir, strconv.Itoa(s.next))
		s.mu.Unlock()
		s.wait.Go(func() { s.serve(conn, path) })
	}
}

// serve makes a checkpoint, tells its path, and removes it when the other side has closed the connection.
func (s *Server) serve(conn net.Conn, path string) {
	answer := path + "\n"
	if err := s.db.Checkpoint(path, pebble.WithFlushedWAL()); err != nil {
		answer = "error: " + strings.ReplaceAll(err.Error(), "\n", " ") + "\n"
	}
	if _, err := io.WriteString(conn, answer); err == nil {
		io.Copy(io.Discard, conn) // ends with the connection
	}
	conn.Close()
	os.RemoveAll(path) // what stays is removed by Close, or by the next server
	s.mu.Lock()
	delete(s.conns, conn)
	s.mu.Unlock()
}

// Held returns how many checkpoints other processes hold.
func (s *Server) Held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Close ends the service. Checkpoints that are held are removed; processes that read them keep what they have open.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	for conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	err := s.listener.Close()
	s.wait.Wait()
	return errors.Join(err, os.RemoveAll(s.dir))
}

// A checkpoint is one that the owner of a store made for this process.
type checkpoint struct {
	net.Conn
	path string
}

// ask asks the owner of a store for a checkpoint; nil: no program serves the store, because there is no socket beside
// it, or one that a program left behind which has ended.
func ask(dir string) (*checkpoint, error) {
	conn, err := net.Dial("unix", filepath.Join(besides(dir), socket))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, nil
	}
	if errors.Is(err, os.ErrPermission) {
		return nil, fmt.Errorf("ask for a checkpoint: %w: only the user that the program runs as may ask", err)
	}
	if err != nil {
		return nil, fmt.Errorf("ask for a checkpoint: %w", err)
	}
	path, err := answered(conn, besides(dir))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ask for a checkpoint: %w", err), conn.Close())
	}
	return &checkpoint{conn, path}, nil
}

// answered reads a server's answer: the path of a checkpoint, which must be in the folder, or why there is none.
func answered(r io.Reader, folder string) (path string, err error) {
	line, err := bufio.NewReaderSize(io.LimitReader(r, 1<<16), 1<<12).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the answer ends early: %w", err)
	}
	line = strings.TrimSuffix(line, "\n")
	if why, failed := strings.CutPrefix(line, "error: "); failed {
		return "", errors.New(why)
	}
	if name := filepath.Base(line); line != filepath.Join(folder, name) || name == socket || name == ".." {
		return "", fmt.Errorf("the answer %q names no checkpoint in %s", line, folder)
	}
	return line, nil
}
