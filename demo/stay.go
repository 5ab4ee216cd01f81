package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/weir-lb/weir/lab/clients"
	"github.com/weir-lb/weir/lab/teller"
)

const (
	// lateBy is how long the slow server thinks about each answer.
	lateBy   = 400 * time.Millisecond
	loadSpan = time.Hour // a load generator begins anew after that
)

// lasting is what the clients do together until Ctrl-C. The slow server holds connections, so there are more of them
// than the rates would need.
var lasting = []struct {
	connections, each, perSecond int
	flags                        []string
}{
	{64, 20, 120, nil},
	{32, 1, 20, nil},
	{8, 0, 80, []string{"--http2", "--streams", "16"}},
}

// stay makes one of the servers slow, and keeps the load going until ctx ends. It says where a browser can watch that.
func (s *stage) stay(ctx context.Context, out io.Writer) error {
	var pages string
	err := s.told.Play(ctx,
		teller.Step{Doing: "make one of the servers slow", Do: s.slowDown},
		teller.Step{Doing: "open the web pages to this machine", Do: func(ctx context.Context) (_ string, err error) {
			pages, err = s.controller.Pages(ctx)
			return "at 127.0.0.1, for nobody else", err
		}},
	)
	if err != nil {
		return err
	}
	password, err := s.controller.Password()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	loading, failed := s.keepLoading(ctx)
	fmt.Fprintf(out, `
  Clients send requests until Ctrl-C. One of the three servers is slow: find it, beginning with the first page.
  Log in as            admin
  with the password    %s   (it is in %s)
  The certificate is the controller's own: your browser asks whether you trust it.

  %s
`, password, s.controller.PasswordFile(), pages)
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	stop()
	loading.Wait()
	return err
}

func (s *stage) slowDown(ctx context.Context) (string, error) {
	server := s.servers[rand.IntN(len(s.servers))]
	return "it is not told which one", server.BeLate(ctx, lateBy)
}

// keepLoading has all clients send requests until ctx ends. A load generator that fails is in failed.
func (s *stage) keepLoading(ctx context.Context) (running *sync.WaitGroup, failed <-chan error) {
	running, errs := &sync.WaitGroup{}, make(chan error, len(lasting)*s.clientsCount())
	for number := range s.clientsCount() {
		for _, l := range lasting {
			running.Go(func() {
				flags := clients.Rate(l.connections, l.each, max(1, l.perSecond/s.clientsCount()))
				flags = append(append(flags, l.flags...), "--url", s.service.url(), "--tls", "1.2",
					"--duration", strconv.Itoa(int(loadSpan.Seconds()))+"s")
				if err := s.repeat(ctx, number+1, flags); err != nil {
					errs <- err
				}
			})
		}
	}
	return running, errs
}

// repeat runs a load generator again and again. Requests that fail are none of its errors: the page shows them.
func (s *stage) repeat(ctx context.Context, number int, flags []string) error {
	from := s.client
	if s.site != nil {
		var err error
		if from, err = s.site.Client(number); err != nil {
			return err
		}
	}
	for ctx.Err() == nil {
		report, err := from.Load(ctx, flags...)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil && report.Requests == 0 {
			err = errors.New("no request was answered")
		}
		if err != nil {
			return fmt.Errorf("the load has ended: %w", err)
		}
	}
	return nil
}
