package rest

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/weir-lb/weir/controller/admit"
)

const (
	csrfCookie    = "csrftoken"
	sessionCookie = "avi-sessionid"
	legacyCookie  = "sessionid"
	csrfMaxAgeS   = 364 * 24 * 3600
)

// enter finds the tenant that the request works in.
func (c *call) enter() (err error) {
	c.tenant, err = admit.TenantOf(c.view, c.who, c.r.Header.Get("X-Avi-Tenant"), c.r.Header.Get("X-Avi-Tenant-UUID"))
	return err
}

// recognise finds the user of the request.
func (c *call) recognise() (err error) {
	if c.changes() && !c.ownPage() {
		return admit.ErrForged
	}
	if username, password, ok := c.r.BasicAuth(); ok {
		c.who, err = c.api.gate.Basic(c.r.Context(), username, password, c.address())
		return err
	}
	session, who, err := c.resume()
	if err != nil {
		return err
	}
	if c.changes() && !session.Vouches(c.r.Header.Get("X-CSRFToken")) {
		return admit.ErrForged
	}
	c.who = who
	c.setSessionCookies(session.ID)
	return nil
}

// resume finds the session of the request. A client may send several session cookies, from different paths or logins:
// the last one with a valid session counts. Errors: ErrNotLoggedIn, ErrSessionExpired.
func (c *call) resume() (admit.Session, admit.Principal, error) {
	failure := admit.ErrNotLoggedIn
	for _, id := range c.sessionIDs() {
		session, who, err := c.api.gate.Resume(c.r.Context(), id, c.address())
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
