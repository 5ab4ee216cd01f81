package top

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/weir-lb/weir/client"
)

// The alternate screen without a cursor, and back.
const (
	enter = "\x1b[?1049h\x1b[?25l"
	leave = "\x1b[?25h\x1b[?1049l"
)

// Run shows the screen until the user quits or ctx ends. In and out are one terminal, which has its state from before
// when Run returns.
func Run(ctx context.Context, session *client.Session, start Start, in, out *os.File) error {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return fmt.Errorf("the terminal cannot be read key by key: %w", err)
	}
	fmt.Fprint(out, enter)
	defer func() {
		fmt.Fprint(out, leave)
		_ = term.Restore(int(in.Fd()), before)
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &screen{
		ctx: ctx, session: session, out: out, view: view{page: start.page()}, service: start.Service,
		heard: make(chan heard), colours: os.Getenv("NO_COLOR") == "",
	}
	return s.run(keysOf(ctx, in))
}

// keysOf reads keys. A read from a terminal cannot be cancelled: the last one is abandoned.
func keysOf(ctx context.Context, in *os.File) <-chan []key {
	pressed := make(chan []key)
	go func() {
		defer close(pressed)
		buffer := make([]byte, 256)
		for {
			count, err := in.Read(buffer)
			if err != nil {
				return
			}
			select {
			case pressed <- keysIn(buffer[:count]):
			case <-ctx.Done():
				return
			}
		}
	}()
	return pressed
}

// screen is what the terminal shows, and the stream behind it.
type screen struct {
	ctx     context.Context
	session *client.Session
	out     *os.File
	colours bool

	view    view
	state   state
	service string   // uuid of the one that is open
	topics  []string // of the page; nil: not known yet
	last    string   // id of the last event

	heard  chan heard
	stream int // number of the present stream; what others send is old
	stop   context.CancelFunc
}

// heard is an event of a stream, or its end.
type heard struct {
	stream int
	topics []string // not nil: those of the page, before the first event
	event  client.LiveEvent
	err    error // not nil: the stream ended
}

func (s *screen) run(pressed <-chan []key) error {
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	s.connect(0)
	defer func() { s.stop() }()
	for {
		s.draw()
		select {
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-resized:
		case keys, open := <-pressed:
			if !open || s.press(keys) {
				return nil
			}
		case next := <-s.heard:
			if next.stream != s.stream {
				continue
			}
			if err := s.hear(next); err != nil {
				return err
			}
		}
	}
}

func (s *screen) draw() {
	columns, rows, err := term.GetSize(int(s.out.Fd()))
	if err != nil || columns <= 0 || rows <= 0 {
		columns, rows = 80, 24
	}
	fmt.Fprint(s.out, paint(draw(s.view, &s.state, size{columns, rows}), s.colours))
}

// press does what keys say. It returns true if the user quits.
func (s *screen) press(keys []key) bool {
	for _, key := range keys {
		listed := s.view.listed(&s.state)
		rows := len(listed)
		if s.view.page != servicesPage {
			rows = len(s.view.body(&s.state, 1))
		}
		switch s.view.press(key, rows) {
		case quit:
			return true
		case open:
			s.service = listed[min(s.view.cursor, len(listed)-1)].UUID
			s.turn()
		case turn:
			s.turn()
		}
	}
	return false
}

// turn begins the stream of another page.
func (s *screen) turn() {
	s.stop()
	s.state.Engines, s.state.VirtualServices, s.state.Pools = nil, nil, nil
	s.topics, s.last = nil, ""
	s.connect(0)
}

// connect begins a stream after a while. It goes on from the last event.
func (s *screen) connect(after time.Duration) {
	s.stream++
	ctx, stop := context.WithCancel(s.ctx)
	s.stop = stop
	number, page, service, topics, last := s.stream, s.view.page, s.service, s.topics, s.last
	send := func(next heard) error {
		next.stream = number
		select {
		case s.heard <- next:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	go func() {
		select {
		case <-time.After(after):
		case <-ctx.Done():
			return
		}
		var err error
		if topics == nil { // a stream that goes on asks for nothing else: that would be a use of the login
			if topics, err = topicsOf(ctx, s.session, page, service); err == nil {
				err = send(heard{topics: topics})
			}
		}
		if err == nil {
			err = s.session.Live(ctx, topics, last, func(event client.LiveEvent) error {
				return send(heard{event: event})
			})
		}
		_ = send(heard{err: err}) // nobody listens if the screen has turned
	}()
}

// hear takes an event, or the end of the stream. Error: the program cannot go on.
func (s *screen) hear(next heard) error {
	switch {
	case next.topics != nil:
		s.topics = next.topics
		return nil
	case next.err == nil:
		s.last = next.event.ID
		s.view.notice = ""
		return s.state.apply(next.event)
	case errors.Is(next.err, context.Canceled):
		return next.err
	case client.IsStatus(next.err, http.StatusNotFound) && s.view.page == servicePage:
		s.view.page = servicesPage
		s.turn()
		s.view.notice = "this virtual service is deleted"
		return nil
	case !isPassing(next.err):
		return next.err
	}
	s.stop()
	s.view.notice = next.err.Error() + "; connecting again"
	s.connect(retryAfter)
	return nil
}
