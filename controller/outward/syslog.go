package outward

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/weir-lb/weir/controller/syslog"
	"github.com/weir-lb/weir/logs/wire"
)

// frameMost bounds a message over TCP.
const frameMost = 256 << 10

// message is a row as a message of RFC 5424: no structured data, and the row as JSON. It has at most this many bytes;
// nil: it cannot be made that short.
func message(row wire.Row, host string, most int) []byte {
	head := syslog.Header(severity(row), row.Time, host, "", row.Type) + "\xef\xbb\xbf"
	body := objectWithin(row, most-len(head))
	if body == nil {
		return nil
	}
	return append([]byte(head), body...)
}

// lasting is a connection of TCP or TLS that takes rows one after the other.
type lasting struct {
	net.Conn
	encode func(wire.Row) []byte
	gone   chan struct{} // closed when the receiver has closed the connection
}

// newLasting notices when the receiver closes: otherwise the next batch would go into a connection that nobody reads.
func newLasting(connection net.Conn, encode func(wire.Row) []byte) *lasting {
	l := &lasting{connection, encode, make(chan struct{})}
	go func() {
		defer close(l.gone)
		_, _ = io.Copy(io.Discard, connection)
		_ = connection.Close()
	}()
	return l
}

var errClosed = errors.New("the receiver has closed the connection")

// writeTimeout is how long a receiver may take for a batch.
const writeTimeout = 10 * time.Second

// send writes a batch. It returns how many rows could not be encoded.
func (l *lasting) send(ctx context.Context, rows []wire.Row) (skipped int, err error) {
	select {
	case <-l.gone:
		return 0, errClosed
	default:
	}
	var batch []byte
	for _, row := range rows {
		text := l.encode(row)
		if text == nil {
			skipped++
		}
		batch = append(batch, text...)
	}
	if err := l.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { _ = l.SetWriteDeadline(time.Now()) })
	defer stop()
	_, err = l.Write(batch)
	return skipped, err
}

// datagrams sends each row as a datagram of its own.
type datagrams struct {
	net.Conn
	encode func(wire.Row) []byte
}

func (d *datagrams) send(_ context.Context, rows []wire.Row) (skipped int, err error) {
	for _, row := range rows {
		text := d.encode(row)
		if text == nil {
			skipped++
			continue
		}
		if _, err := d.Write(text); err != nil {
			return skipped, err
		}
	}
	return skipped, nil
}
