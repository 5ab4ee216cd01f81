package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/bench/origin"
	"github.com/weir-lb/weir/bench/peers"
	"github.com/weir-lb/weir/bench/report"
	"github.com/weir-lb/weir/bench/workloads"
	"github.com/weir-lb/weir/lab"
)

// subject is a proxy that runs and can be measured.
type subject struct {
	name     string
	address  string
	pid      int // leads the group whose CPU time is the balancer's
	agentPID int // Weir's agent; 0 of peers
}

// External is a proxy that runs already.
type External struct {
	Name    string
	Address string
	PID     int
}

// ParseExternal reads NAME=host:port,pid.
func ParseExternal(text string) (External, error) {
	name, rest, hasName := strings.Cut(text, "=")
	address, number, hasPID := strings.Cut(rest, ",")
	pid, err := strconv.Atoi(number)
	if _, _, wrong := net.SplitHostPort(address); !hasName || !hasPID || name == "" || err != nil || wrong != nil {
		return External{}, fmt.Errorf("--peer %s: give it as NAME=host:port,pid", text)
	}
	return External{Name: name, Address: address, PID: pid}, nil
}

// pinnedTo refuses a proxy that may run on other cores than the balancer's: there it would have no backlog, and could
// not be compared.
func (e External) pinnedTo(cores []int) error {
	its, err := meter.CoresOf(e.PID)
	if err != nil {
		return fmt.Errorf("--peer %s: %w", e.Name, err)
	}
	if !slices.ContainsFunc(its, func(core int) bool { return !slices.Contains(cores, core) }) {
		return nil
	}
	var pin []string
	for _, member := range meter.Group(e.PID) {
		pin = append(pin, fmt.Sprintf("taskset -acp %s %d", meter.List(cores), member))
	}
	return fmt.Errorf(
		"--peer %s: process %d may run on cores %s, but with --cores %d the balancer has %s alone: pin it first: %s",
		e.Name, e.PID, meter.List(its), len(cores), meter.List(cores), strings.Join(pin, "; "))
}

// warmUp fills the pools of connections to servers and the caches before anything counts.
const warmUp = 300 * time.Millisecond

// sourceAddresses gives a row with a connection per request enough ports.
const sourceAddresses = 16

// datagramAddresses give every datagram of a run a port that no other has had for longer than a proxy keeps sessions.
// And no address has so many sessions that it looks like an attack: Weir allows one 1,024.
const datagramAddresses = 250

// sample sends the load of a workload to a subject on its cores, with idle connections beside it, and reads what the
// subject used.
func sample(ctx context.Context, l *lab.Lab, w workloads.Workload, s subject, cores []int, span time.Duration,
	idle int) (report.Sample, error) {
	if _, err := load(ctx, l, w, s, warmUp); err != nil {
		return report.Sample{}, err
	}
	var before, after meters
	var begunErr, overErr error
	ctx, cancel := context.WithTimeout(ctx, span+loadPatience)
	defer cancel()
	groups := groupsOf(s)
	loaded, err := l.LoadBetween(ctx,
		func() { before, begunErr = groups.read() }, func() { after, overErr = groups.read() },
		append(loadFlags(w, s.address, span), "--idle-connections", strconv.Itoa(idle))...)
	if err := errors.Join(err, begunErr, overErr); err != nil {
		return report.Sample{}, err
	}
	if loaded.IdleHeld != idle {
		return report.Sample{}, fmt.Errorf("%s held %d of %d idle connections", s.name, loaded.IdleHeld, idle)
	}
	used := after.balancer.Since(before.balancer)
	taken := figures(loaded, used, after.agent.Since(before.agent))
	taken.Busy = busy(used, after.at.Sub(before.at), len(cores))
	return taken, nil
}

// busy is the share of the time in which a balancer ran or was ready to: 1 on all of its cores, if it has a backlog.
func busy(used meter.Usage, span time.Duration, cores int) float64 {
	return (used.Run + used.Waited).Seconds() / max(span.Seconds(), 1e-9) / float64(cores)
}

type meters struct {
	at              time.Time
	balancer, agent meter.Usage
}

// groups are the processes of a subject.
type groups struct {
	name            string
	balancer, agent []int // the agent's group holds the data plane too; none of peers
}

func groupsOf(s subject) groups {
	g := groups{name: s.name, balancer: meter.Group(s.pid)}
	if s.agentPID != 0 {
		g.agent = meter.Group(s.agentPID)
	}
	return g
}

func (g groups) read() (m meters, err error) {
	m.at = time.Now()
	if m.balancer, err = meter.ReadGroup(g.balancer); err != nil {
		return m, fmt.Errorf("%s: %w", g.name, err)
	}
	if g.agent != nil {
		group, err := meter.ReadGroup(g.agent)
		if err != nil {
			return m, fmt.Errorf("agent: %w", err)
		}
		m.agent = group.Since(m.balancer)
	}
	return m, nil
}

func figures(loaded lab.LoadReport, balancer, agent meter.Usage) report.Sample {
	s := report.Sample{
		RPS: loaded.TPS, P50us: loaded.P50us, P99us: loaded.P99us, P999us: loaded.P999us,
		BytesPerSecond: float64(loaded.Bytes) / max(loaded.Seconds, 1e-9), Errors: loaded.ErrorTotal,
		RSSBytes: balancer.RSSBytes, Transactions: loaded.Requests,
		Handshakes: loaded.TLS.FullHandshakes, Resumed: loaded.TLS.Resumed,
		TLS: strings.Join(strings.Fields(loaded.TLS.Version+" "+loaded.TLS.Cipher+" "+loaded.TLS.Group), " "),
	}
	if loaded.Requests == 0 {
		return s
	}
	each := func(span time.Duration) float64 { return float64(span.Nanoseconds()) / 1000 / float64(loaded.Requests) }
	user, system := balancer.Split()
	s.CPUus, s.Userus, s.Systemus, s.AgentCPUus = each(balancer.Run), each(user), each(system), each(agent.Run)
	return s
}

// loadPatience is how much longer than its duration a load may take, to open idle connections and to drain.
const loadPatience = time.Minute

// load runs the generator once, for its effect alone.
func load(ctx context.Context, l *lab.Lab, w workloads.Workload, s subject, span time.Duration) (
	lab.LoadReport, error) {
	ctx, cancel := context.WithTimeout(ctx, span+loadPatience)
	defer cancel()
	return l.Load(ctx, loadFlags(w, s.address, span)...)
}

// scheme is that of the load's URL.
func scheme(w workloads.Workload) string {
	switch {
	case w.Service.Protocol == workloads.UDP:
		return "udp"
	case w.Service.Protocol == workloads.WebSocket && w.Service.TLS != "":
		return "wss"
	case w.Service.Protocol == workloads.WebSocket:
		return "ws"
	case w.Service.TLS != "":
		return "https"
	}
	return "http"
}

func loadFlags(w workloads.Workload, address string, span time.Duration) []string {
	flags := []string{
		"--url", fmt.Sprintf("%s://%s/%s", scheme(w), address, origin.Object),
		"--connections", strconv.Itoa(w.Load.Connections),
		"--requests-per-connection", strconv.Itoa(w.Load.RequestsPerConnection),
		// CPU time counts all that was done: so must the transactions.
		"--duration", fmt.Sprintf("%dms", span.Milliseconds()), "--drain",
	}
	if w.Service.Rules > 0 {
		flags = append(flags, "--host", peers.LastHost(w.Service.Rules))
	}
	switch w.Service.Protocol {
	case workloads.HTTP2:
		flags = append(flags, "--http2", "--streams", strconv.Itoa(w.Load.Streams))
	case workloads.GRPC:
		flags = append(flags, "--grpc", "--streams", strconv.Itoa(w.Load.Streams))
	}
	if w.Echoes() {
		flags = append(flags, "--body-bytes", strconv.Itoa(w.Load.ObjectBytes))
	}
	if w.Service.Compression != "" {
		flags = append(flags, "--header", "Accept-Encoding: "+w.Service.Compression)
	} else if w.Service.Layer == 7 && w.Service.Protocol != workloads.WebSocket {
		flags = append(flags, "--answer-bytes", strconv.Itoa(w.Load.ObjectBytes))
	}
	if w.Service.Protocol == workloads.UDP {
		// A datagram that takes so long is lost.
		flags = append(flags, "--timeout", "1s")
	}
	switch {
	case w.Service.Protocol == workloads.UDP:
		flags = append(flags, "--source-addresses", strconv.Itoa(datagramAddresses))
	case w.Load.RequestsPerConnection > 0:
		flags = append(flags, "--source-addresses", strconv.Itoa(sourceAddresses))
	}
	if w.Service.TLS != "" {
		flags = append(flags, "--tls", w.Service.TLS, "--cipher", w.Load.Cipher, "--group", w.Load.Group)
	}
	return flags
}
