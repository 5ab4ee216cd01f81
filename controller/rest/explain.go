package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// Explain tells what would happen to a request now, or by the objects of a draft; nil: there is none. sees tells
// whether the user may read a virtual service. why says why the question leads nowhere; empty: the answer counts.
// Errors: ErrExplainBusy, that of ctx.
type Explain func(ctx context.Context, q Question, draft *store.View, sees func(uuid string) bool) (
	answer schema.Object,
	why string, err error)

// ErrExplainBusy: too many requests are being explained.
var ErrExplainBusy = errors.New("Too many requests are being explained: try again in a moment")

// Question is a request that nobody sends.
type Question struct {
	TLS            bool
	Host           string     // of the URL, without the port
	Authority      string     // the field Host
	Address        netip.Addr // that the client connects to; invalid: that of the virtual service
	Port           uint16
	Method, Target string
	Fields         [][2]string
	Client         netip.AddrPort
	VirtualService string // uuid; empty: the one that the URL leads to
	Engine         string // uuid; empty: all
}

const questionFieldsMax = 100

// explain answers "GET /api/weir/explain?url=…" and the same as a POST with JSON.
func explain(c *call) error {
	form, with, err := c.explainForm()
	if err != nil {
		return err
	}
	var draft *store.View
	written := []any{}
	if len(with) > 0 {
		if draft, written, err = c.draft(with); err != nil {
			return err
		}
		c.view = draft
	}
	question, err := c.question(form)
	if err != nil {
		return err
	}
	kind, _ := schema.Lookup("virtualservice")
	sees := func(uuid string) bool {
		_, err := admit.Find(c.view, c.tenant, kind, uuid)
		return err == nil
	}
	answer, why, err := c.api.explain(c.r.Context(), question, draft, sees)
	if err != nil {
		return err
	}
	if why != "" {
		return &badQuery{"url", why}
	}
	if draft != nil {
		answer["draft"] = written
	}
	return c.reply(http.StatusOK, answer)
}

// explainForm returns the parameters of a request, and the objects of a draft, which only a POST can have.
func (c *call) explainForm() (form url.Values, with []admit.Draft, err error) {
	if c.r.Method != http.MethodPost {
		return c.query, nil, nil
	}
	fields, err := c.object("explain")
	if err != nil {
		return nil, nil, err
	}
	if drafted, has := fields["with"]; has {
		delete(fields, "with")
		if with, err = draftsOf(drafted); err != nil {
			return nil, nil, err
		}
	}
	form, err = formOf(fields)
	return form, with, err
}

// question reads the parameters of a request: url, method, header ("Name: value", repeated), client, address,
// virtualservice and engine (uuids).
func (c *call) question(form url.Values) (q Question, err error) {
	for name := range form {
		switch name {
		case "url", "method", "header", "client", "address", "virtualservice", "engine":
		default:
			return q, &badQuery{name,
				"is unknown; give url, method, header, client, address, virtualservice, engine or, in a POST, with"}
		}
	}
	if err := q.readURL(form.Get("url")); err != nil {
		return q, err
	}
	if err := q.readRest(form); err != nil {
		return q, err
	}
	for name, into := range map[string]*string{"virtualservice": &q.VirtualService, "engine": &q.Engine} {
		if given := form.Get(name); given != "" {
			kind := map[string]string{"virtualservice": "virtualservice", "engine": "serviceengine"}[name]
			if err := c.sees(kind, given); err != nil {
				return q, err
			}
			*into = given
		}
	}
	return q, nil
}

// formOf is a body of JSON as parameters: {"url": "…", "header": ["Name: value"]}.
func formOf(fields schema.Object) (url.Values, error) {
	form := url.Values{}
	for name, value := range fields {
		values, isList := value.([]any)
		if !isList {
			values = []any{value}
		}
		for _, one := range values {
			text, isText := one.(string)
			if !isText {
				return nil, &badQuery{name, "is no text"}
			}
			form.Add(name, text)
		}
	}
	return form, nil
}

func (q *Question) readURL(text string) error {
	if strings.ContainsFunc(text, isControl) {
		return &badQuery{"url", "holds control characters"}
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return &badQuery{"url", "is no URL"}
	case u.Scheme != "http" && u.Scheme != "https":
		return &badQuery{"url", "give one that begins with http:// or https://"}
	case u.Hostname() == "":
		return &badQuery{"url", "names no host"}
	case u.User != nil:
		return &badQuery{"url", "holds a user name: leave that out"}
	}
	q.TLS, q.Host, q.Authority, q.Port = u.Scheme == "https", u.Hostname(), u.Host, 80
	if q.TLS {
		q.Port = 443
	}
	if given := u.Port(); given != "" {
		port, err := strconv.ParseUint(given, 10, 16)
		if err != nil || port == 0 {
			return &badQuery{"url", fmt.Sprintf("%q is no port", given)}
		}
		q.Port = uint16(port)
	}
	q.Target = u.RequestURI()
	return nil
}

// usualClient is from the addresses for documentation (RFC 5737).
var usualClient = netip.MustParseAddrPort("192.0.2.1:50000")

func (q *Question) readRest(form url.Values) (err error) {
	q.Method, q.Client = "GET", usualClient
	if given := form.Get("method"); given != "" {
		if q.Method = given; !httpguts.ValidHeaderFieldName(given) {
			return &badQuery{"method", "is no method"}
		}
	}
	if given := form.Get("client"); given != "" {
		if q.Client, err = netip.ParseAddrPort(given); err != nil {
			address, err := netip.ParseAddr(given)
			if err != nil {
				return &badQuery{"client", fmt.Sprintf("%q is no IP address", given)}
			}
			q.Client = netip.AddrPortFrom(address, usualClient.Port())
		}
	}
	if given := form.Get("address"); given != "" {
		if q.Address, err = netip.ParseAddr(given); err != nil {
			return &badQuery{"address", fmt.Sprintf("%q is no IP address", given)}
		}
	}
	if len(form["header"]) > questionFieldsMax {
		return &badQuery{"header", fmt.Sprintf("give at most %d", questionFieldsMax)}
	}
	for _, line := range form["header"] {
		name, value, found := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !found || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return &badQuery{"header", fmt.Sprintf("%q is no header: write Name: value", line)}
		}
		if strings.EqualFold(name, "host") {
			q.Authority = value
		} else {
			q.Fields = append(q.Fields, [2]string{name, value})
		}
	}
	return nil
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }
