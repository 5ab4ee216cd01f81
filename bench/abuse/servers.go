package abuse

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"github.com/weir-lb/weir/bench/origin"
)

// lateAnswer is when a server that thinks for long answers.
const lateAnswer = 30 * time.Second

// beginThinking runs a server that answers each connection once, late, and then closes it. close stops the server.
func beginThinking() (address string, stop func() error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	waiting := make(chan asked, Descriptors) // more cannot be open
	go answerLate(ctx, waiting)
	go func() {
		defer close(waiting)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			waiting <- asked{conn, time.Now().Add(lateAnswer)}
		}
	}()
	stop = func() error {
		cancel()
		return listener.Close()
	}
	return listener.Addr().String(), stop, nil
}

type asked struct {
	conn net.Conn
	due  time.Time
}

// answerLate answers in the order of requests, until nobody is left. When ctx has ended, it answers nobody.
func answerLate(ctx context.Context, waiting <-chan asked) {
	for a := range waiting {
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(a.due)):
			_, _ = io.WriteString(a.conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		}
		_ = a.conn.Close()
	}
}

const (
	// busyPlaces is the number of places of the server in the row drip.
	busyPlaces = 500
	// busyFor is how long it works on each request, so that its clients need several places.
	busyFor = 20 * time.Millisecond
)

// beginBusy runs a server with few places, like one that uses a process for each connection. Further connections wait
// until one ends. It answers when it has received the whole request.
func beginBusy(places int) (address string, stop func() error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{ReadHeaderTimeout: time.Hour, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err == nil {
				time.Sleep(busyFor)
				_, _ = io.WriteString(w, origin.Object)
			}
		})}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(netutil.LimitListener(listener, places)) }()
	stop = func() error {
		err := server.Close()
		if why := <-ended; !errors.Is(why, http.ErrServerClosed) {
			err = errors.Join(err, why)
		}
		return err
	}
	return listener.Addr().String(), stop, nil
}
