// Package h2 has clients of HTTP/2 that abuse it: they flood their connection with frames that cost its other end more
// than they bring, or they hold what it lends them. bench/abuse measures what other clients see of them, and tests/e2e
// checks how their connections end.
package h2

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// End says how a connection ended.
type End struct {
	Told    bool                  // the other end gave a reason
	Code    http2.ErrCode         // the last reason
	Resets  map[http2.ErrCode]int // streams that the other end has reset
	Answers int                   // heads of responses
}

// Client is an attacker's connection. What it writes is gathered until it is sent.
type Client struct {
	*http2.Framer // writes

	conn   net.Conn
	out    bytes.Buffer
	block  bytes.Buffer
	fields *hpack.Encoder
	stream uint32 // the last one
	ended  chan struct{}
	mu     sync.Mutex
	end    End
}

// refusedAfter is when an attacker gives up to connect.
const refusedAfter = time.Second

// dial opens a connection by prior knowledge, and sends its preface.
func dial(ctx context.Context, from, to netip.AddrPort, settings []http2.Setting) (*Client, error) {
	dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(from), Timeout: refusedAfter}
	conn, err := dialer.DialContext(ctx, "tcp", to.String())
	if err != nil {
		return nil, err
	}
	c := &Client{conn: conn, ended: make(chan struct{}), end: End{Resets: map[http2.ErrCode]int{}}}
	c.Framer, c.fields = http2.NewFramer(&c.out, conn), hpack.NewEncoder(&c.block)
	c.AllowIllegalWrites = true
	c.out.WriteString(http2.ClientPreface)
	if err := c.WriteSettings(settings...); err != nil {
		return nil, err
	}
	go c.listen()
	return c, nil
}

// listen notes what the other end says, until the connection ends.
func (c *Client) listen() {
	defer close(c.ended)
	for {
		frame, err := c.ReadFrame()
		if err != nil {
			return
		}
		c.mu.Lock()
		switch frame := frame.(type) {
		case *http2.GoAwayFrame:
			c.end.Told, c.end.Code = true, frame.ErrCode
		case *http2.RSTStreamFrame:
			c.end.Resets[frame.ErrCode]++
		case *http2.HeadersFrame:
			c.end.Answers++
		}
		c.mu.Unlock()
	}
}

func (c *Client) said() End {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end
}

// send sends what was gathered. Its error is that of the connection.
func (c *Client) send() error {
	defer c.out.Reset()
	_, err := c.conn.Write(c.out.Bytes())
	return err
}

// encoded is a block of fields, which its receiver does not store.
func (c *Client) encoded(fields ...string) []byte {
	c.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		field := hpack.HeaderField{Name: fields[i], Value: fields[i+1], Sensitive: true}
		_ = c.fields.WriteField(field) // a Buffer takes all
	}
	return bytes.Clone(c.block.Bytes())
}

// request is the block of a request, with further fields.
func (c *Client) request(method string, fields ...string) []byte {
	return c.encoded(append([]string{":method", method, ":scheme", "http", ":authority", "a", ":path", "/" + Object},
		fields...)...)
}

// open opens a stream with a block, and returns its identifier.
func (c *Client) open(block []byte, isAll bool) uint32 {
	c.stream += 2
	id := c.stream - 1
	_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndStream: isAll, EndHeaders: true})
	return id
}
