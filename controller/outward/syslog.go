package outward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/weir-lb/weir/logs/wire"
)

const (
	// facility is local0 (RFC 5424 §6.2.1).
	facility = 16
	// datagramMost is what every receiver of syslog over UDP should take (RFC 5424 §6.1, RFC 5426 §3.2).
	datagramMost = 2048
	// frameMost bounds a message over TCP.
	frameMost = 256 << 10
)

// message is a row as a message of RFC 5424: no structured data, and the row as JSON. It has at most this many bytes;
// nil: it cannot be made that short.
func message(row wire.Row, host string, most int) []byte {
	kind := cut(strings.Map(printable, row.Type), 32)
	head := fmt.Sprintf("<%d>1 %s %s weir - %s - \xef\xbb\xbf", facility*8+severity(row),
		row.Time.UTC().Format("2006-01-02T15:04:05.000000Z"), host, orNil(kind))
	body := objectWithin(row, most-len(head))
	if body == nil {
		return nil
	}
	return append([]byte(head), body...)
}

// printable keeps what a field of the head may have: PRINTUSASCII (RFC 5424 §6).
func printable(r rune) rune {
	if r < 33 || r > 126 {
		return '_'
	}
	return r
}

func orNil(value string) string {
	if value == "" {
		return "-"
	}
	return value
}

// hostField is the name of this machine in messages.
func hostField(name string) string { return orNil(cutASCII(strings.Map(printable, name), 255)) }

func cutASCII(value string, most int) string { return value[:min(len(value), most)] }

// framed is a message as TCP carries it: its length, and a space before it (RFC 6587 §3.4.1, RFC 5425 §4.3).
func framed(message []byte) []byte {
	return append(fmt.Appendf(nil, "%d ", len(message)), message...)
}

// line is a row as a line of JSON.
func line(row wire.Row) []byte { return append(object(row, wire.MaxValueBytes), '\n') }

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
	host string
}

func (d *datagrams) send(_ context.Context, rows []wire.Row) (skipped int, err error) {
	for _, row := range rows {
		text := message(row, d.host, datagramMost)
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
