package rest

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/web"
)

// policy lets a page load and call nothing but this controller, and makes the browser refuse to turn text into script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; font-src 'self'; " +
	"img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// secured adds the headers that every answer has.
func secured(header http.Header) {
	header.Set("Strict-Transport-Security", "max-age=31536000")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// page returns the handlers of a path of the web UI. All paths are pages except those of the API, and those with an
// ending that no file has.
func (c *call) page() (endpoint, bool) {
	if c.api.pages == nil || len(c.path) > 0 && c.path[0] == "api" {
		return endpoint{}, false
	}
	file, found := c.api.pages.At("/" + strings.Join(c.path, "/"))
	return endpoint{anybody, nil, methods{"GET": func(c *call) error { return c.showPage(file) }}}, found
}

func (c *call) showPage(file web.File) error {
	header := c.w.Header()
	header.Set("Content-Type", file.Type)
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Frame-Options", "DENY")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cache-Control", "no-cache")
	if file.Hashed {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body := file.Plain
	if file.Brotli != nil || file.Gzip != nil {
		header.Set("Vary", "Accept-Encoding")
	}
	switch accepted := c.r.Header.Get("Accept-Encoding"); {
	case file.Brotli != nil && accepts(accepted, "br"):
		header.Set("Content-Encoding", "br")
		body = file.Brotli
	case file.Gzip != nil && accepts(accepted, "gzip"):
		header.Set("Content-Encoding", "gzip")
		body = file.Gzip
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	if c.r.Method == http.MethodHead {
		body = nil
	}
	c.send(http.StatusOK, body)
	return nil
}

// accepts tells whether an Accept-Encoding header names a coding, and not with the weight 0 (RFC 9110 §12.5.3).
func accepts(header, coding string) bool {
	for item := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(item, " ", ""), ";")
		if strings.EqualFold(name, coding) {
			quality, err := strconv.ParseFloat(strings.TrimPrefix(weight, "q="), 64)
			return err != nil || quality > 0
		}
	}
	return false
}
