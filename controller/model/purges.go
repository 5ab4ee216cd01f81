package model

import (
	"fmt"
	"strings"
)

const (
	purgesMost     = 64 // that one virtual service remembers; one more purges all
	purgeBytesMost = 4096
)

// Purges says which stored responses of a virtual service an operator wants no more. It is stored next to the virtual
// service, and goes to engines in their Plans, so that an engine that was away does not answer with them either.
type Purges struct {
	Last uint64  `json:"last"` // the number of the last one
	All  uint64  `json:"all"`  // the number of the last one of all; 0: none
	URIs []Purge `json:"uris"` // since then, in their order
}

// Purge is one of some resources.
type Purge struct {
	Number uint64 `json:"number"`
	Host   string `json:"host"` // in lower case; empty: every one
	Path   string `json:"path"` // with the query
	Prefix bool   `json:"prefix"`
}

// ParsePurge reads "shop.test/a?b", "https://shop.test/a" or "/a".
func ParsePurge(uri string, prefix bool) (Purge, error) {
	rest := uri
	for _, scheme := range []string{"http://", "https://"} {
		if len(rest) >= len(scheme) && strings.EqualFold(rest[:len(scheme)], scheme) {
			rest = rest[len(scheme):]
			break
		}
	}
	begin := strings.IndexByte(rest, '/')
	switch {
	case len(uri) > purgeBytesMost:
		return Purge{}, fmt.Errorf("has more than %d bytes", purgeBytesMost)
	case begin < 0:
		return Purge{}, fmt.Errorf("%q has no path: give a host and a path, as in shop.example.com/a, or a path", uri)
	case strings.ContainsFunc(rest, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '#' }):
		return Purge{}, fmt.Errorf("%q has a character that no URI of a request has: encode it with %%", uri)
	}
	return Purge{Host: strings.ToLower(rest[:begin]), Path: rest[begin:], Prefix: prefix}, nil
}

// With returns the purges and more of them; none: of all. If they become too many, all is purged. nil has no purges.
func (p *Purges) With(more []Purge) *Purges {
	var next Purges
	if p != nil {
		next = *p
	}
	next.URIs = append([]Purge(nil), next.URIs...)
	for _, purge := range more {
		next.Last++
		purge.Number = next.Last
		next.URIs = append(next.URIs, purge)
	}
	if len(more) == 0 || len(next.URIs) > purgesMost {
		next.Last++
		next.All, next.URIs = next.Last, nil
	}
	return &next
}

func (p *Purges) equal(other *Purges) bool {
	return p == other || p != nil && other != nil && p.Last == other.Last
}
