package yarn

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"
)

// Bounds on looking up addresses of hosts. A look-up ends after lookupTime.
const (
	lookUpWait    = 20 * time.Second // for other look-ups to end
	lookUpsTime   = time.Minute      // of the hosts of all nodes
	mostLookUps   = 64               // at once
	mostAddresses = 64               // of one host, that are kept
)

// A resolver knows the addresses of hosts, as far as they were looked up. It may be used by many goroutines. Turns use
// what is known, and never wait for a look-up.
type resolver struct {
	lookUp  func(context.Context, string) ([]netip.Addr, error) // asks for the addresses of a host
	running chan struct{}                                       // look-ups that run

	mu    sync.Mutex
	known map[string][]string // addresses of hosts, as spelled writes them; empty: a look-up has found none
}

func newResolver(lookUp func(context.Context, string) ([]netip.Addr, error)) *resolver {
	return &resolver{lookUp: lookUp, running: make(chan struct{}, mostLookUps), known: map[string][]string{}}
}

// knows reports whether a host can be compared with lists that name addresses: it was looked up, or is named by an
// address, or by what is no name.
func (r *resolver) knows(host string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.known[host]
	return known || isAddress(host) || !wellNamed(host)
}

// names returns the names by which lists may name a host: its own, and after it the addresses that are known.
func (r *resolver) names(host string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{spelled(host)}, r.known[host]...)
}

// learn looks up the addresses of a host, also if they are known. If that fails, the host keeps the addresses that were
// found before.
func (r *resolver) learn(ctx context.Context, host string) error {
	if isAddress(host) || !wellNamed(host) {
		return nil
	}
	found, err := r.ask(ctx, host)
	var list []string
	for _, a := range found[:min(len(found), mostAddresses)] {
		list = append(list, a.Unmap().String())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before, known := r.known[host]
	if !known && len(r.known) >= mostHosts {
		clear(r.known) // they are looked up again when lists are read or nodes register
	}
	if err != nil {
		list = before
	}
	r.known[host] = list
	return err
}

// ask is a look-up of a host within the bounds.
func (r *resolver) ask(ctx context.Context, host string) ([]netip.Addr, error) {
	select {
	case r.running <- struct{}{}:
		defer func() { <-r.running }()
	case <-time.After(lookUpWait):
		return nil, fmt.Errorf("look up %s: %d others run, and none ends", host, mostLookUps)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	return r.lookUp(ctx, host)
}

// learnAll is learn for many hosts. It calls failed for each whose look-up fails, from several goroutines. It returns
// an error if lookUpsTime is over before all are looked up.
func (r *resolver) learnAll(ctx context.Context, hosts []string, failed func(host string, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, lookUpsTime)
	defer cancel()
	next := make(chan string)
	var wait sync.WaitGroup
	for range min(mostLookUps, len(hosts)) {
		wait.Go(func() {
			for host := range next {
				if err := r.learn(ctx, host); err != nil {
					failed(host, err)
				}
			}
		})
	}
	done := 0
	for ; done < len(hosts) && ctx.Err() == nil; done++ {
		next <- hosts[done]
	}
	close(next)
	wait.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("look up the addresses of %d hosts: %d were begun: %w", len(hosts), done, ctx.Err())
	}
	return nil
}
