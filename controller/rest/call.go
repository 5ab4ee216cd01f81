package rest

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/port"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// maxBodyBytes bounds the body of a request. It is far larger than any object.
const maxBodyBytes = 1 << 20

// call is one request, and what is known about it so far.
type call struct {
	api    *API
	w      http.ResponseWriter
	r      *http.Request
	conn   *port.Conn
	view   *store.View // all reads of a request see one state
	path   []string    // segments, without empty ones
	query  url.Values
	who    admit.Principal
	tenant admit.Tenant
	needed []need // what the request needed of the roles of the user so far

	warnings []schema.Warning // about the request itself, for the answer to a write
}

// serve runs the stages of a request. problem.go turns the error into a status.
func (c *call) serve() error {
	c.path = segments(c.r.URL.Path)
	query, err := parseQuery(c.r.URL.RawQuery)
	if err != nil {
		return err
	}
	c.query = query
	if err := c.negotiate(); err != nil {
		return err
	}
	handle, found, err := c.route()
	if err != nil {
		return err
	}
	audience := found.audience
	if audience != anybody {
		if err := c.recognise(audience); err != nil {
			return err
		}
		c.conn.Trust()
		c.asks()
	}
	if audience == tenants || audience == watchers {
		if err := c.enter(audience); err != nil {
			c.noteRefusal(err)
			return err
		}
		if err := c.permit(found); err != nil {
			return err
		}
	}
	return handle(c)
}

func segments(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// body reads the body of the request; error: *http.MaxBytesError. While it waits for the body, the connection counts as
// idle.
func (c *call) body() ([]byte, error) {
	c.conn.Rest()
	defer c.conn.Work()
	return io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxBodyBytes))
}

// object reads a body that is one JSON object.
func (c *call) object(kind string) (schema.Object, error) {
	body, err := c.body()
	if err != nil {
		return nil, err
	}
	return schema.Parse(kind, body)
}

// reply sends a value as JSON.
func (c *call) reply(status int, value any) error {
	header := c.w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	buffer := bodies.Get().(*[]byte)
	defer bodies.Put(buffer)
	body := append(schema.AppendJSON((*buffer)[:0], value), '\n')
	if cap(body) <= maxKeptBody {
		*buffer = body
	}
	c.send(status, body)
	return nil
}

// bodies are buffers for answers, for reuse. The garbage collector frees unused ones.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

const maxKeptBody = 1 << 20

// send sends an answer. While it waits for the client to read, the connection counts as idle.
func (c *call) send(status int, body []byte) {
	c.conn.Rest()
	defer c.conn.Work()
	c.w.WriteHeader(status)
	_, err := c.w.Write(body)
	c.broken(err)
}

// broken logs that the client closed the connection before it had the whole answer.
func (c *call) broken(err error) {
	if err != nil {
		c.api.log.Debug("answer not delivered", "path", c.r.URL.Path, "error", err)
	}
}

// origin returns the scheme and host of the request's URL. URLs in the answer begin with it.
func (c *call) origin() string {
	scheme := "https"
	if c.r.TLS == nil {
		scheme = "http"
	}
	return scheme + "://" + c.r.Host
}

// address returns the address of the client.
func (c *call) address() string {
	host, _, err := net.SplitHostPort(c.r.RemoteAddr)
	if err != nil {
		return c.r.RemoteAddr
	}
	return host
}

func (c *call) write(kind *schema.Kind) admit.Write {
	return admit.Write{Who: c.who, Tenant: c.tenant, Kind: kind, Base: c.base()}
}

// base is the version of the object that the client has read, from If-Match: "1732645891234567". Empty: any.
func (c *call) base() string {
	tag := strings.Trim(strings.TrimSpace(c.r.Header.Get("If-Match")), `"`)
	if tag == "*" {
		return ""
	}
	return tag
}

// tellRevision names the revision of the store that a write is in, for /api/weir/applied. It may be a later one.
func (c *call) tellRevision() {
	c.w.Header().Set("X-Weir-Revision", strconv.FormatInt(c.api.store.View().Revision(), 10))
}
