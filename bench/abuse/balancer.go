package abuse

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"text/template"

	"github.com/weir-lb/weir/bench/ours"
	"github.com/weir-lb/weir/bench/peers"
	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab/ports"
)

// Every balancer may have the usual number of open descriptors, and takes as many connections as Weir's data plane does
// with them: all descriptors but 1,024 for other things and 512 for pipes, half of them for clients. So the same crowd
// fills each of them.
const (
	Descriptors = 20_000
	Connections = Descriptors - 1024 - 512
	Clients     = Connections / 2
)

// service is what a balancer has to serve, twice.
type service struct {
	Name    string
	Servers []string // host:port
	Secure  bool
	HTTP2   bool
	Profile client.Object // fields of Weir's http_profile; nil: its defaults
	Port    int
}

// Names of the two.
const (
	victimName   = "victim"
	attackedName = "attacked"
)

// balancer is one that runs.
type balancer struct {
	victim, attacked netip.AddrPort
	pid              int // leads the group whose memory is the balancer's
}

// Addresses on loopback. Weir listens on its own, so that no peer shares a port with it.
const (
	victimVIP   = "127.3.3.3"
	attackedVIP = "127.3.3.4"
	peerHost    = "127.0.0.1"
)

// startWeir has a Weir serve both services.
func (s *stage) startWeir(ctx context.Context, victim, attacked service) (b balancer, err error) {
	if victim.Port, err = ports.Free(victimVIP, 0); err != nil {
		return b, err
	}
	if attacked.Port, err = ports.Free(attackedVIP, 0); err != nil {
		return b, err
	}
	w, err := ours.Start(ctx, s.lab, ours.Setup{Name: weirName, Dir: s.dir, Programs: s.programs, Cores: s.cores,
		Descriptors: Descriptors})
	if err != nil {
		return b, err
	}
	if err := w.Create(ctx, ours.KeyAndCertificate(attackedName, s.cert.Certificate, s.cert.Key)); err != nil {
		return b, err
	}
	if err := errors.Join(serve(ctx, w, victim, victimVIP, victimName),
		serve(ctx, w, attacked, attackedVIP, s.poolOf(attacked, victim))); err != nil {
		return b, err
	}
	b = balancer{victim: at(victimVIP, victim.Port), attacked: at(attackedVIP, attacked.Port)}
	b.pid, err = w.Engine.DataplanePID(ctx)
	return b, err
}

// poolOf is the pool that a service has: the other's, where both have the same servers.
func (s *stage) poolOf(service, other service) string {
	if service.Servers[0] == other.Servers[0] {
		return other.Name
	}
	return service.Name
}

// serve creates a virtual service with its profile and its pool, and waits until an engine serves it.
func serve(ctx context.Context, w *ours.Weir, s service, vip, pool string) error {
	profile := client.Object{"name": s.Name, "type": "APPLICATION_PROFILE_TYPE_HTTP"}
	if s.Profile != nil {
		profile["http_profile"] = s.Profile
	}
	if err := w.Create(ctx, ours.Entry{Kind: "applicationprofile", Object: profile}); err != nil {
		return err
	}
	if pool == s.Name {
		if err := w.CreatePool(ctx, pool, s.Servers, nil); err != nil {
			return err
		}
	}
	served := ours.Service{Name: s.Name, Host: vip, Port: s.Port, Pool: pool, Profile: s.Name, HTTP2: s.HTTP2,
		Secure: s.Secure, Certificate: attackedName}
	return errors.Join(w.CreateService(ctx, served), w.UntilUp(ctx))
}

// peer is what the configuration of one is made of.
type peer struct {
	peers.Setup
	Services             []service
	Connections, Clients int
}

//go:embed *.tmpl
var configurations embed.FS

// render is a peer's configuration.
func (p peer) render(name string) ([]byte, error) {
	parsed, err := template.ParseFS(configurations, name)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = parsed.Execute(&text, p)
	return text.Bytes(), err
}

// startPeer has one of the peers serve both services.
func (s *stage) startPeer(ctx context.Context, found found, victim, attacked service) (b balancer, err error) {
	for _, service := range []*service{&victim, &attacked} {
		if service.Port, err = ports.Free(peerHost, 0); err != nil {
			return b, err
		}
	}
	dir := filepath.Join(s.dir, found.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return b, err
	}
	p := peer{Services: []service{victim, attacked}, Connections: Connections, Clients: Clients, Setup: peers.Setup{
		Dir: dir, Host: peerHost, Port: victim.Port, Cores: s.cores, Descriptors: Descriptors,
		CertificateKey: s.cert.File}}
	configuration, err := p.render(found.Template())
	if err != nil {
		return b, err
	}
	process, err := found.Run(ctx, s.lab, found.program, p.Setup, configuration)
	if err != nil {
		return b, err
	}
	return balancer{victim: at(peerHost, victim.Port), attacked: at(peerHost, attacked.Port), pid: process.PID()}, nil
}

func at(host string, port int) netip.AddrPort {
	return netip.MustParseAddrPort(fmt.Sprintf("%s:%d", host, port))
}
