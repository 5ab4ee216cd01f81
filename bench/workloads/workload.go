// Package workloads holds the workloads: one TOML file per row of the report, with what the balancer serves, what the
// load does, and the bar. The package reads and checks the files; it runs nothing.
package workloads

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Kinds of a workload.
const (
	Transactions = "transactions" // CPU time per transaction
	Idle         = "idle"         // memory per idle connection
	Growth       = "growth"       // CPU time per transaction while something grows
	OwnCode      = "own code"     // time of Weir's own user code for one of something
)

// What clients speak; without a name, HTTP/1.1.
const (
	HTTP2     = "http2"
	GRPC      = "grpc" // HTTP/2 to the servers, too
	WebSocket = "websocket"
	UDP       = "udp"
)

// Things that a growth workload lets grow.
const (
	GrowServices    = "virtual services"
	GrowServers     = "servers"
	GrowConnections = "open connections"
)

// Workload is one row. Its family is the part of its ID before the first "-": A1-TLS13 belongs to A1.
type Workload struct {
	ID     string `toml:"id"`
	Title  string `toml:"title"`
	Source string `toml:"source"` // where the figures come from
	Kind   string `toml:"kind"`

	Service Service `toml:"service"`
	Load    Load    `toml:"load"`
	Origin  Origin  `toml:"origin"`
	Idle    Held    `toml:"idle"`
	Growth  Steps   `toml:"growth"`
	OwnCode Counted `toml:"own_code"`
	Bar     Bar     `toml:"bar"`
}

// Service is what the balancer serves.
type Service struct {
	Layer       int    `toml:"layer"`    // 4: bytes; 7: HTTP
	Protocol    string `toml:"protocol"` // of clients; empty: HTTP/1.1
	ServerHTTP2 bool   `toml:"server_http2"`
	TLS         string `toml:"tls"`         // "1.2" or "1.3" to clients; empty: none
	Certificate string `toml:"certificate"` // "ec" (P-256) or "rsa" (2048 bits)
	ServerTLS   bool   `toml:"server_tls"`  // TLS 1.2 to servers too
	Rules       int    `toml:"rules"`       // by host and path, one of which sends each request to the servers
	Cache       bool   `toml:"cache"`       // answers with stored responses
	Compression string `toml:"compression"` // of answers, which are text: "gzip" or "br"; empty: none
}

// Load is what the load generator does.
type Load struct {
	ObjectBytes           int    `toml:"object_bytes"`            // of answers; of messages and datagrams, both ways
	Connections           int    `toml:"connections"`             // of UDP: sessions
	Streams               int    `toml:"streams"`                 // requests at once on each connection of HTTP/2
	RequestsPerConnection int    `toml:"requests_per_connection"` // 0: no limit
	Cipher                string `toml:"cipher"`
	Group                 string `toml:"group"`
}

// Origin is how the servers behind the balancer answer.
type Origin struct {
	Segments int `toml:"segments"` // 2: head and body apart, as nginx does with sendfile; 1: in one
}

// Held is what an idle workload holds: connections, or streams that wait for an answer on a few connections.
type Held struct {
	Connections int `toml:"connections"`
	Streams     int `toml:"streams"` // on each connection; 0: the connections idle
}

// Steps are how far a growth workload grows.
type Steps struct {
	Of    string `toml:"of"`
	Steps []int  `toml:"steps"`
}

// Counted says what own code is timed for.
type Counted struct {
	Row string `toml:"row"` // of weir-icount
}

// Bar is what the row has to reach; zero: no bar.
type Bar struct {
	Must           float64 `toml:"must"` // best peer's CPU time (or memory) over Weir's
	Stretch        float64 `toml:"stretch"`
	Light          float64 `toml:"light"` // the same under light load
	GrowthMax      float64 `toml:"growth_max"`
	GrowthStretch  float64 `toml:"growth_stretch"`
	SystemCallsMax float64 `toml:"system_calls_max"`
	CPUusMax       float64 `toml:"cpu_us_max"`     // Weir's CPU time per transaction
	IdleBytesMax   float64 `toml:"idle_bytes_max"` // Weir's memory of what idles
	OwnUsMax       float64 `toml:"own_us_max"`     // time of own code
	OwnUsStretch   float64 `toml:"own_us_stretch"`

	// PerCore is a published figure for one core of other hardware, to draw a line against.
	PerCore     float64 `toml:"per_core"`
	PerCoreName string  `toml:"per_core_name"`
}

// Bulk tells whether the objects are so large that buffers decide.
func (w Workload) Bulk() bool { return w.Load.ObjectBytes >= 64<<10 }

// SpeaksHTTP2 tells whether clients do.
func (w Workload) SpeaksHTTP2() bool {
	return w.Service.Protocol == HTTP2 || w.Service.Protocol == GRPC
}

// Echoes tells whether the servers send back what they get.
func (w Workload) Echoes() bool {
	return slices.Contains([]string{GRPC, WebSocket, UDP}, w.Service.Protocol)
}

// Family is the name that the row shares with its variants.
func (w Workload) Family() string {
	family, _, _ := strings.Cut(w.ID, "-")
	return family
}

//go:embed *.toml
var files embed.FS

// All reads every workload, in the order of their IDs.
func All() ([]Workload, error) {
	names, err := fs.Glob(files, "*.toml")
	if err != nil {
		return nil, err
	}
	var all []Workload
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		w, err := Parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b Workload) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

// Choose picks by ID or family; no wishes: all of them.
func Choose(all []Workload, wishes []string) ([]Workload, error) {
	if len(wishes) == 0 {
		return all, nil
	}
	var chosen []Workload
	for _, wish := range wishes {
		found := false
		for _, w := range all {
			if strings.EqualFold(wish, w.ID) || strings.EqualFold(wish, w.Family()) {
				found = true
				if !slices.ContainsFunc(chosen, func(c Workload) bool { return c.ID == w.ID }) {
					chosen = append(chosen, w)
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("--workload %s: there is none of that name; `weir bench list` shows them", wish)
		}
	}
	return chosen, nil
}

// Parse reads one file and checks it.
func Parse(text string) (Workload, error) {
	var w Workload
	read, err := toml.Decode(text, &w)
	if err != nil {
		return w, err
	}
	if unknown := read.Undecoded(); len(unknown) > 0 {
		return w, fmt.Errorf("%s is no key of a workload", unknown[0])
	}
	return w, w.check()
}

func (w Workload) check() error {
	switch {
	case w.ID == "" || w.Title == "":
		return fmt.Errorf("id and title are required")
	case !slices.Contains([]string{Transactions, Idle, Growth, OwnCode}, w.Kind):
		return fmt.Errorf("kind is %q; use %s, %s, %s or %s", w.Kind, Transactions, Idle, Growth, OwnCode)
	case w.Kind == OwnCode && w.OwnCode.Row == "":
		return fmt.Errorf("own_code.row is required: a row of weir-icount")
	case w.Kind == OwnCode:
		return nil
	case w.Service.Layer != 4 && w.Service.Layer != 7:
		return fmt.Errorf("service.layer is %d; use 4 or 7", w.Service.Layer)
	case !slices.Contains([]string{"", HTTP2, GRPC, WebSocket, UDP}, w.Service.Protocol):
		return fmt.Errorf("service.protocol is %q; use %s, %s, %s or %s, or leave it out for HTTP/1.1",
			w.Service.Protocol, HTTP2, GRPC, WebSocket, UDP)
	case !slices.Contains([]string{"", "gzip", "br"}, w.Service.Compression):
		return fmt.Errorf("service.compression is %q; use gzip or br, or leave it out", w.Service.Compression)
	case (w.Service.Cache || w.Service.Compression != "") && (w.Service.Layer != 7 || w.Service.Protocol != ""):
		return fmt.Errorf("service.cache and service.compression belong to HTTP/1.1")
	case w.Service.Protocol != "" && (w.Service.Protocol == UDP) != (w.Service.Layer == 4):
		return fmt.Errorf("service.protocol: %s does not belong to layer %d", w.Service.Protocol, w.Service.Layer)
	case w.Service.Protocol == GRPC && !w.Service.ServerHTTP2:
		return fmt.Errorf("service.server_http2 is required: gRPC is HTTP/2 on both sides")
	case w.Service.ServerHTTP2 && (w.Service.Layer == 4 || w.Service.ServerTLS):
		return fmt.Errorf("service.server_http2: the servers speak HTTP/2 on layer 7 and without TLS")
	case w.SpeaksHTTP2() != (w.Load.Streams > 0):
		return fmt.Errorf("load.streams is %d: give at least 1 with HTTP/2, and none without", w.Load.Streams)
	case w.Idle.Streams > 0 && w.Service.Protocol != HTTP2:
		return fmt.Errorf("idle.streams: only HTTP/2 has streams")
	case w.Service.Layer == 4 && w.Service.TLS != "":
		return fmt.Errorf("service.tls: layer 4 passes bytes on as they are")
	case w.Service.Rules > 0 && (w.Service.Layer == 4 || w.Service.Protocol != ""):
		return fmt.Errorf("service.rules: only requests of HTTP/1.1 have a host and a path")
	case !slices.Contains([]string{"", "1.2", "1.3"}, w.Service.TLS):
		return fmt.Errorf("service.tls is %q; use \"1.2\" or \"1.3\"", w.Service.TLS)
	case (w.Service.TLS != "" || w.Service.ServerTLS) && w.Service.Certificate != "ec" &&
		w.Service.Certificate != "rsa":
		return fmt.Errorf("service.certificate is %q; use \"ec\" or \"rsa\"", w.Service.Certificate)
	case w.Service.TLS != "" && (w.Load.Cipher == "" || w.Load.Group == ""):
		return fmt.Errorf("load.cipher and load.group are required with TLS: all proxies must be asked for the same")
	case w.Load.ObjectBytes < 1 || w.Load.Connections < 1 || w.Load.RequestsPerConnection < 0:
		return fmt.Errorf("load needs object_bytes and connections of at least 1")
	case w.Origin.Segments != 1 && w.Origin.Segments != 2:
		return fmt.Errorf("origin.segments is %d; use 1 or 2", w.Origin.Segments)
	case w.Kind == Idle && w.Idle.Connections < 1:
		return fmt.Errorf("idle.connections is required")
	case w.Kind == Growth:
		return w.Growth.check()
	}
	return nil
}

func (s Steps) check() error {
	if !slices.Contains([]string{GrowServices, GrowServers, GrowConnections}, s.Of) {
		return fmt.Errorf("growth.of is %q; use %s, %s or %s", s.Of, GrowServices, GrowServers, GrowConnections)
	}
	if len(s.Steps) < 2 || !slices.IsSorted(s.Steps) || s.Steps[0] < 1 {
		return fmt.Errorf("growth.steps: give at least two, growing from at least 1")
	}
	return nil
}
