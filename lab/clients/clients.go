// Package clients has the clients of a lab send requests at a steady rate while something happens to the engines.
// Afterwards it says what the clients saw, and when. Clients do not retry, so each failure counts.
package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/topology"
)

// Load is what one client does.
type Load struct {
	Client int    // its number, from 1 on
	Over   string // Kept or Afresh
	// Protocol is what it speaks, for counts by protocol. Empty: it is in none.
	Protocol string
	Flags    []string
}

// Ways in which clients ask.
const (
	Kept   = "kept alive"
	Afresh = "new connection"
)

// Rates of each client: most requests use kept connections, the others new ones. They leave the machine room: the
// purpose is to see that nothing fails, and not how fast it is.
const (
	keptConnections, keptPerSecond = 16, 100
	newConnections, newPerSecond   = 16, 50
)

// longest is when clients stop by themselves.
const longest = 30 * time.Minute

// Steady is all clients of a site at steady work at a URL.
func Steady(site *lab.Site, url string) (loads []Load) {
	for number := range site.Topology.Clients.Count {
		loads = append(loads,
			Load{Client: number + 1, Over: Kept, Flags: append(Rate(keptConnections, 0, keptPerSecond), "--url", url)},
			Load{Client: number + 1, Over: Afresh, Flags: append(Rate(newConnections, 1, newPerSecond), "--url", url)})
	}
	return loads
}

// Rate is a number of requests per second, over a number of connections, with a number of requests on each; 0: no
// limit.
func Rate(connections, requestsEach, perSecond int) []string {
	return []string{"--connections", strconv.Itoa(connections), "--requests-per-connection", strconv.Itoa(requestsEach),
		"--rate", strconv.Itoa(perSecond), "--drain"}
}

// Crowd is clients at work.
type Crowd struct {
	site  *lab.Site
	loads []atWork
}

type atWork struct {
	client, over, protocol string
	load                   *lab.RunningLoad
}

// Begin sets clients to work; they have begun when it returns.
func Begin(ctx context.Context, site *lab.Site, loads ...Load) (*Crowd, error) {
	c := &Crowd{site: site}
	for _, load := range loads {
		if err := c.begin(ctx, load); err != nil {
			_, ended := c.End()
			return nil, errors.Join(err, ended)
		}
	}
	return c, nil
}

func (c *Crowd) begin(ctx context.Context, l Load) error {
	client, err := c.site.Client(l.Client)
	if err != nil {
		return err
	}
	node := c.site.Topology.ClientNodes()[l.Client-1]
	flags := slices.Concat(l.Flags, Sources(node), []string{"--duration", fmt.Sprintf("%.0fs", longest.Seconds()),
		"--server-header", lab.AskedBy, "--timeline"})
	load, err := client.BeginLoad(ctx, flags...)
	if err == nil {
		c.loads = append(c.loads, atWork{node.Name, l.Over, l.Protocol, load})
	}
	return err
}

// Sources have a client connect from all its addresses in IPv4.
func Sources(node topology.Node) (flags []string) {
	for _, address := range node.Addresses() {
		if address.Is4() {
			flags = append(flags, "--source", address.String())
		}
	}
	return flags
}

// End lets the clients finish their requests, and returns what they saw.
func (c *Crowd) End() (Seen, error) {
	s := Seen{First: map[string]time.Time{}}
	var errs []error
	for _, w := range c.loads {
		report, err := w.load.End()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s, %s: %w", w.client, w.over, err))
			continue
		}
		s.add(w, report, c.site.NodeAt)
	}
	slices.SortFunc(s.Failures, func(a, b Failure) int { return a.Failed.Compare(b.Failed) })
	return s, errors.Join(errs...)
}
