package keystore

import (
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Every is how often a Watch looks whether files have changed, by Hadoop's default
// (ssl.server.stores.reload.interval).
const Every = 10 * time.Second

// A Watch has a server's certificate as its files say it now. Many goroutines may use it.
type Watch struct {
	source Source
	every  time.Duration
	log    *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	read    [2]stamp  // of the files when they were read
	look    time.Time // when the files were looked at last
}

// A stamp distinguishes versions of a file.
type stamp struct {
	size     int64
	modified time.Time
}

// NewWatch reads a server's certificate. When a client connects and the last look at the files is longer ago than
// every, they are looked at again. If they have changed and cannot be read, the certificate stays, and the log says
// why.
func NewWatch(s Source, every time.Duration, log *slog.Logger) (*Watch, error) {
	w := &Watch{source: s, every: every, log: log, read: s.stamps(), look: time.Now()}
	var err error
	w.current, err = s.Read()
	return w, err
}

// stamps returns the stamps of Path and KeyPath. A file that is missing has the zero stamp.
func (s *Source) stamps() (list [2]stamp) {
	for i, path := range []string{s.Path, s.KeyPath} {
		if info, err := os.Stat(path); path != "" && err == nil {
			list[i] = stamp{info.Size(), info.ModTime()}
		}
	}
	return list
}

// Config returns the configuration of a TLS server with the watched certificate: TLS 1.2 or later, HTTP/1.1.
func (w *Watch) Config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return w.certificate(time.Now()), nil },
	}
}

// certificate returns the certificate as of now.
func (w *Watch) certificate(now time.Time) *tls.Certificate {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Sub(w.look) < w.every {
		return w.current
	}
	w.look = now
	stamps := w.source.stamps()
	if stamps == w.read {
		return w.current
	}
	next, err := w.source.Read()
	if err != nil {
		w.log.Error("the certificate is not read anew, and stays as it is", "why", err)
		return w.current
	}
	w.current, w.read = next, stamps
	w.log.Info("certificate read anew", "file", w.source.Path, "until", next.Leaf.NotAfter)
	return w.current
}
