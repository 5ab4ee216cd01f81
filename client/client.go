// Package client speaks the controller's REST API. The CLI, the demo and the end-to-end tests use it. It knows
// sessions, objects and problems in their wire format, and nothing about the controller's inside.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// APIVersion is the Avi API version this client asks for.
const APIVersion = "30.2.1"

const answerBytesMax = 64 << 20

// Object is one object as JSON.
type Object = map[string]any

// Session is a logged-in client. It is safe for concurrent use.
type Session struct {
	base       *url.URL
	http       *http.Client
	saved      Saved
	tenant     string
	unattended bool // requests are repeated by a program, see Background
}

// InTenant returns a session with the same login, in another tenant.
func (s *Session) InTenant(tenant string) *Session {
	other := *s
	other.tenant = tenant
	return &other
}

// Background returns a session with the same login for requests that a program repeats by itself. They do not keep the
// login alive.
func (s *Session) Background() *Session {
	other := *s
	other.unattended = true
	return &other
}

// URL is where the controller answers.
func (s *Session) URL() string { return s.base.String() }

// Get reads /api/<path> into out.
func (s *Session) Get(ctx context.Context, path string, out any) error {
	return s.call(ctx, http.MethodGet, "/api/"+path, nil, out)
}

// List reads all objects of a kind, over all pages. Query may be nil.
func (s *Session) List(ctx context.Context, kind string, query url.Values) ([]Object, error) {
	asked := url.Values{"page_size": {"200"}, "include_name": {"true"}}
	for name, values := range query {
		asked[name] = values
	}
	var all []Object
	for page := 1; ; page++ {
		asked.Set("page", fmt.Sprint(page))
		var answer struct {
			Results []Object `json:"results"`
			Next    string   `json:"next"`
		}
		if err := s.Get(ctx, kind+"?"+asked.Encode(), &answer); err != nil {
			return nil, err
		}
		all = append(all, answer.Results...)
		if answer.Next == "" {
			return all, nil
		}
	}
}

// ByName reads the object of a kind that has this name or uuid.
func (s *Session) ByName(ctx context.Context, kind, name string) (Object, error) {
	for _, field := range []string{"name", "uuid"} {
		found, err := s.List(ctx, kind, url.Values{field: {name}})
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			return found[0], nil
		}
	}
	return nil, fmt.Errorf("%s %q: %w", kind, name, ErrNotFound)
}

// Ref refers to the object of a kind that has this name.
func Ref(kind, name string) string { return "/api/" + kind + "?name=" + url.QueryEscape(name) }

// Create posts an object and returns it with its defaults.
func (s *Session) Create(ctx context.Context, kind string, object Object) (Object, error) {
	var created Object
	err := s.call(ctx, http.MethodPost, "/api/"+kind, object, &created)
	return created, err
}

// Replace replaces the object with the same uuid.
func (s *Session) Replace(ctx context.Context, kind string, object Object) (Object, error) {
	var stored Object
	err := s.call(ctx, http.MethodPut, fmt.Sprintf("/api/%s/%v", kind, object["uuid"]), object, &stored)
	return stored, err
}

// Patch replaces fields of the object of a kind with this uuid.
func (s *Session) Patch(ctx context.Context, kind, uuid string, replace Object) error {
	return s.call(ctx, http.MethodPatch, "/api/"+kind+"/"+uuid, Object{"replace": replace}, nil)
}

// Delete removes the object of a kind with this uuid.
func (s *Session) Delete(ctx context.Context, kind, uuid string) error {
	return s.call(ctx, http.MethodDelete, "/api/"+kind+"/"+uuid, nil, nil)
}

// Post calls an action that is not an object.
func (s *Session) Post(ctx context.Context, path string, in, out any) error {
	return s.call(ctx, http.MethodPost, "/api/"+path, in, out)
}

func (s *Session) call(ctx context.Context, method, path string, in, out any) error {
	request, err := s.request(ctx, method, path, in)
	if err != nil {
		return err
	}
	answer, err := s.http.Do(request)
	if err != nil {
		return s.unreachable(ctx, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, answerBytesMax))
	if err != nil {
		return fmt.Errorf("read answer of %s %s: %w", method, path, err)
	}
	if answer.StatusCode >= 300 {
		return s.sessionOver(problemOf(request, answer.StatusCode, body))
	}
	if out == nil || len(body) == 0 {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("answer of %s %s is not what was asked for: %w", method, path, err)
	}
	return nil
}

func (s *Session) request(ctx context.Context, method, path string, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		encoded, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.base.String()+path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Avi-Version", APIVersion)
	request.Header.Set("X-Avi-Tenant", s.tenant)
	request.Header.Set("Referer", s.base.String()+"/")
	if s.unattended {
		request.Header.Set("X-Weir-Background", "true")
	}
	s.saved.sign(request)
	return request, nil
}

const callTimeout = 30 * time.Second
