package rest

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/admit"
)

const (
	csrfCookie    = "csrftoken"
	sessionCookie = "avi-sessionid"
	legacyCookie  = "sessionid"

	backgroundHeader = "X-Weir-Background"

	csrfMaxAgeS = 364 * 24 * 3600
)

// enter finds the tenant that the request works in. Watchers may name it in the query, because browsers send no fields
// of their own with an EventSource.
func (c *call) enter(audience audience) (err error) {
	name := c.r.Header.Get("X-Avi-Tenant")
	if audience == watchers && name == "" {
		name = c.query.Get("tenant")
	}
	c.tenant, err = admit.TenantOf(c.view, c.who, name, c.r.Header.Get("X-Avi-Tenant-UUID"))
	return err
}

// recognise finds the user of the request.
func (c *call) recognise(audience audience) (err error) {
	if c.changes() && !c.ownPage() {
		return admit.ErrForged
	}
	if username, password, ok := c.r.BasicAuth(); ok {
		c.who, err = c.api.gate.Basic(c.r.Context(), username, password, c.address())
		return err
	}
	if token, is := strings.CutPrefix(c.r.Header.Get("Authorization"), "Bearer "); is {
		c.who, err = c.api.gate.Bearer(c.r.Context(), token, c.address())
		return err
	}
	find, watches := c.api.gate.Resume, audience == watchers || c.isBackground()
	if watches {
		find = c.api.gate.Look
	}
	session, who, err := c.resume(find)
	if err != nil {
		return err
	}
	if c.changes() && !session.Vouches(c.r.Header.Get("X-CSRFToken")) {
		return admit.ErrForged
	}
	c.who = who
	if !watches {
		c.setSessionCookies(session.ID)
	}
	return nil
}

// isBackground tells whether a page reads by itself, and not because its user did something. Such a read does not keep
// the session alive.
func (c *call) isBackground() bool { return !c.changes() && c.r.Header.Get(backgroundHeader) == "true" }

// finding is Resume or Look of a gate.
type finding func(ctx context.Context, sessionID, address string) (admit.Session, admit.Principal, error)

// resume finds the session of the request. A client may send several session cookies, from different paths or logins:
// the last one with a valid session counts. Errors: ErrNotLoggedIn, ErrSessionExpired.
func (c *call) resume(find finding) (admit.Session, admit.Principal, error) {
	failure := admit.ErrNotLoggedIn
	for _, id := range c.sessionIDs() {
		session, who, err := find(c.r.Context(), id, c.address())
		if err == nil {
			return session, who, nil
		}
		if !errors.Is(err, admit.ErrNotLoggedIn) {
			failure = err
		}
	}
	return admit.Session{}, admit.Principal{}, failure
}

// sessionIDs returns the values of all session cookies, the one to try first in front.
func (c *call) sessionIDs() (ids []string) {
	for _, name := range []string{sessionCookie, legacyCookie} {
		for _, cookie := range slices.Backward(c.r.CookiesNamed(name)) {
			ids = append(ids, cookie.Value)
		}
	}
	return ids
}

func (c *call) changes() bool {
	switch c.r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return true
}

// ownPage refuses a write that a page of another site sent. A browser adds cookies and the password of basic
// authentication to such a request by itself. A page can hide its address, but not that it belongs to another site. A
// client that sends neither Referer nor the browser's headers is not a browser.
func (c *call) ownPage() bool {
	if http.NewCrossOriginProtection().Check(c.r) != nil {
		return false
	}
	referer := c.r.Referer()
	if referer == "" {
		return true
	}
	page, err := url.Parse(referer)
	own := url.URL{Host: c.r.Host}
	return err == nil && page.Hostname() == own.Hostname()
}

// setSessionCookies sets the cookies in every answer, so that they do not expire in the client while the session is in
// use.
func (c *call) setSessionCookies(id string) {
	for _, name := range []string{sessionCookie, legacyCookie} {
		http.SetCookie(c.w, &http.Cookie{Name: name, Value: id, Path: "/", Secure: true, HttpOnly: true,
			MaxAge: int(admit.SessionLifetime.Seconds()), SameSite: http.SameSiteLaxMode})
	}
}

func (c *call) setCSRFCookie(token string) {
	http.SetCookie(c.w, &http.Cookie{Name: csrfCookie, Value: token, Path: "/", Secure: true,
		MaxAge: csrfMaxAgeS, SameSite: http.SameSiteLaxMode})
}
