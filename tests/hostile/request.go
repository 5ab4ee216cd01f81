package hostile

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// patience is how long a connection may take on a machine that is slow and busy with something else.
const patience = 2 * time.Minute

// Secret stands in each cookie: no record may have it.
const Secret = "not-for-records-"

// RecordedMost is how many bytes of a field a record has.
var RecordedMost = map[string]int{"host": 64, "uri_path": 256, "uri_query": 128, "user_agent": 128, "referer": 128,
	"xff": 64, "method": 64, "sni_hostname": 253, "response_content_type": 64}

// Request is a request with a hostile text in everything that its client chooses.
type Request struct {
	Text
	HTTP2, Call bool // Call: of gRPC
}

func (r Request) method() string {
	if r.Call {
		return "POST"
	}
	return r.Token()
}

func (r Request) path() string {
	if r.Call {
		return "/hostile.Service" + r.Path()
	}
	return r.Path()
}

// Fields are those of the head, in the order in which they are sent. The first is the host.
func (r Request) Fields() (all [][2]string) {
	value := r.Value()
	all = [][2]string{{"Host", r.Host()}, {"X-" + r.Token(), value}, {"User-Agent", value}, {"Referer", value},
		{"X-Forwarded-For", value}, {"traceparent", value}, {"Cookie", r.Token() + "=" + Secret + value}}
	if r.Call {
		all = append(all, [2]string{"Content-Type", "application/grpc"}, [2]string{"TE", "trailers"})
	}
	if r.HTTP2 {
		for i := range all {
			all[i][0] = strings.ToLower(all[i][0])
		}
	}
	return all
}

// Recorded is what its record has, by field.
func (r Request) Recorded() map[string]string {
	value := r.Value()
	all := map[string]string{"host": r.Host(), "uri_path": r.path(), "uri_query": r.Query(), "user_agent": value,
		"referer": value, "xff": value, "method": r.method(), "sni_hostname": r.ServerName(), "http_version": "1.1"}
	if r.HTTP2 {
		all["http_version"] = "2.0"
	}
	if !r.Call {
		all["response_content_type"] = value
	}
	for field, most := range RecordedMost {
		if text, has := all[field]; has {
			all[field] = text[:min(len(text), most)]
		}
	}
	return all
}

// Connect opens a connection of TLS, whose client asks for a name.
func Connect(address, name string, protocols ...string) (*tls.Conn, error) {
	dialer := &net.Dialer{Timeout: patience}
	return tls.DialWithDialer(dialer, "tcp", address,
		&tls.Config{InsecureSkipVerify: true, ServerName: name, NextProtos: protocols})
}

// Send sends the request to an address over a connection of TLS of its own, and waits for the answer.
func (r Request) Send(address string) error {
	protocol := map[bool]string{true: "h2", false: "http/1.1"}[r.HTTP2]
	connection, err := Connect(address, r.ServerName(), protocol)
	if err != nil {
		return err
	}
	defer connection.Close()
	target := r.path() + "?" + r.Query()
	if r.HTTP2 {
		return SendOnStream(connection, r.method(), target, r.Fields())
	}
	return SendLines(connection, r.method(), target, r.Fields())
}

// SendLines speaks HTTP/1.1, and leaves to others what may stand in it.
func SendLines(connection net.Conn, method, target string, fields [][2]string) error {
	head := fmt.Sprintf("%s %s HTTP/1.1\r\n", method, target)
	for _, field := range fields {
		head += field[0] + ": " + field[1] + "\r\n"
	}
	if _, err := io.WriteString(connection, head+"Connection: close\r\n\r\n"); err != nil {
		return err
	}
	answer, err := io.ReadAll(connection)
	if err == nil && !bytes.HasPrefix(answer, []byte("HTTP/1.1 ")) {
		err = fmt.Errorf("the answer is %q", answer)
	}
	return err
}

// ErrReset says that a stream has ended without an answer.
var ErrReset = errors.New("the stream was reset")

// SendOnStream speaks HTTP/2, and leaves to others what may stand in it.
func SendOnStream(connection net.Conn, method, target string, fields [][2]string) error {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	write := func(name, value string) { _ = encoder.WriteField(hpack.HeaderField{Name: name, Value: value}) }
	write(":method", method)
	write(":scheme", "https")
	write(":authority", fields[0][1])
	write(":path", target)
	for _, field := range fields[1:] {
		write(field[0], field[1])
	}
	if _, err := io.WriteString(connection, http2.ClientPreface); err != nil {
		return err
	}
	framer := http2.NewFramer(connection, connection)
	if err := framer.WriteSettings(); err != nil {
		return err
	}
	first := http2.HeadersFrameParam{StreamID: 1, EndStream: true, EndHeaders: true, BlockFragment: block.Bytes()}
	if err := framer.WriteHeaders(first); err != nil {
		return err
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return err
		}
		switch frame := frame.(type) {
		case *http2.RSTStreamFrame:
			return ErrReset
		case *http2.HeadersFrame:
			if frame.StreamEnded() {
				return nil
			}
		case *http2.DataFrame:
			if frame.StreamEnded() {
				return nil
			}
		}
	}
}
