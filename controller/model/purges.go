package model

import (
	"fmt"
	"net/netip"
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
	rest, usualPort := uri, ""
	for scheme, port := range map[string]string{"http://": ":80", "https://": ":443"} {
		if len(rest) >= len(scheme) && strings.EqualFold(rest[:len(scheme)], scheme) {
			rest, usualPort = rest[len(scheme):], port
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
	// Clients leave the usual port of a scheme out.
	host := strings.TrimSuffix(rest[:begin], usualPort)
	if !isHost(host) {
		return Purge{}, fmt.Errorf(
			"%q begins with no host: give one as clients ask for it, as in shop.example.com:8080/a",
			uri)
	}
	return Purge{Host: strings.ToLower(host), Path: rest[begin:], Prefix: prefix}, nil
}

// isHost tells whether requests may ask for this host. The empty one stands for all.
func isHost(text string) bool {
	name, port, hasPort := text, "", false
	if colon := strings.LastIndexByte(text, ':'); colon > strings.LastIndexByte(text, ']') {
		name, port, hasPort = text[:colon], text[colon+1:], true
	}
	if hasPort && (name == "" || port == "" || strings.Trim(port, "0123456789") != "") {
		return false
	}
	if address, is := strings.CutPrefix(name, "["); is {
		_, err := netip.ParseAddr(strings.TrimSuffix(address, "]"))
		return err == nil && strings.HasSuffix(name, "]")
	}
	return !strings.ContainsAny(name, ":@?[]\\")
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
