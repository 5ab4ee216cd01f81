package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/bench/origin"
	"github.com/weir-lb/weir/bench/peers"
	"github.com/weir-lb/weir/bench/report"
	"github.com/weir-lb/weir/bench/workloads"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/ports"
)

// stage is everything that runs while one row is measured. It is built anew for each: no row inherits another's memory.
type stage struct {
	run      *run
	workload workloads.Workload
	lab      *lab.Lab
	dir      string
	cores    []int // the balancer's
	servers  []string
	cert     peers.Certificate
	subjects []subject
	row      *report.Row
}

// measure runs one row.
func (r *run) measure(ctx context.Context, w workloads.Workload, coreCount int) (*report.Row, error) {
	row := report.NewRow(w, coreCount)
	switch w.Kind {
	case workloads.OwnCode:
		return row, r.measureOwnCode(ctx, row)
	case workloads.Growth:
		return row, r.inStage(row, func(s *stage) error { return s.measureGrowth(ctx) })
	case workloads.Idle:
		// A process does not give memory back: each round has new ones.
		for round := range r.fewRounds() {
			if err := r.inStage(row, func(s *stage) error { return s.measureIdle(ctx, round) }); err != nil {
				return nil, err
			}
		}
		return row, nil
	}
	return row, r.inStage(row, func(s *stage) error { return s.measureRounds(ctx) })
}

// inStage does something on a stage of its own, from nothing to nothing.
func (r *run) inStage(row *report.Row, do func(*stage) error) error {
	cores, others, err := r.split(row.Cores)
	if err != nil {
		return err
	}
	if err := meter.Stay(others); err != nil {
		return err
	}
	return lab.During("weir-bench", r.programs, func(l *lab.Lab, dir string) error {
		return do(&stage{run: r, workload: row.Workload, lab: l, dir: dir, cores: cores, row: row})
	})
}

// startServers makes the certificate, if there is one, and the servers behind all proxies.
func (s *stage) startServers(ctx context.Context) (err error) {
	if s.workload.Service.Certificate != "" {
		if s.cert, err = peers.MakeCertificate(s.workload.Service.Certificate, s.dir); err != nil {
			return err
		}
	}
	if s.servers, err = origin.Start(ctx, s.lab, s.servedBehind()); err != nil {
		return fmt.Errorf("servers: %w", err)
	}
	return nil
}

// servedBehind are the servers of the row, whatever proxy is in front of them.
func (s *stage) servedBehind() origin.Setup {
	w := s.workload
	setup := origin.Setup{Dir: filepath.Join(s.dir, "origin"), Servers: originServers, ObjectBytes: w.Load.ObjectBytes,
		Segments: w.Origin.Segments,
		Bulk:     w.Bulk(), Host: "127.0.0.1", Text: w.Service.Compression != "", Fresh: w.Service.Cache}
	if w.Growth.Of == workloads.GrowServers {
		setup.Host = "0.0.0.0" // it is many servers: one on each address
	}
	if w.Echoes() || w.Service.ServerHTTP2 || w.Idle.Streams > 0 {
		setup.Own, setup.Datagrams = filepath.Join(s.run.programs, "weir-origin"), w.Service.Protocol == workloads.UDP
	}
	if w.Service.ServerTLS {
		setup.Certificate = s.cert.File
	}
	return setup
}

// originServers is the number of web servers in the test of NGINX Plus with OpenOnload (Solarflare).
const originServers = 2

// build starts the servers, and every proxy in front of them. Without Weir there is no row; without a peer there is.
func (s *stage) build(ctx context.Context) error {
	if err := s.startServers(ctx); err != nil {
		return err
	}
	if !s.run.options.WithoutWeir {
		if err := s.startWeir(ctx); err != nil {
			return fmt.Errorf("weir: %w", err)
		}
	}
	for _, peer := range s.run.peers {
		if s.row.Failed[peer.Name] != "" || s.row.Lacks[peer.Name] != "" {
			continue // in an earlier round of the row
		}
		if err := s.startPeer(ctx, peer); err != nil {
			if err := s.without(ctx, subject{name: peer.Name}, err); err != nil {
				return err
			}
		}
	}
	for _, external := range s.run.options.Externals {
		s.subjects = append(s.subjects, subject{name: external.Name, address: external.Address, pid: external.PID})
	}
	return nil
}

// setup is what a proxy of this row has to serve.
func (s *stage) setup(name, host string) (peers.Setup, error) {
	service := s.workload.Service
	port, err := ports.Free(host, 0)
	if service.Protocol == workloads.UDP {
		port, err = ports.FreeDatagram(host)
	}
	if err != nil {
		return peers.Setup{}, err
	}
	dir := filepath.Join(s.dir, name)
	return peers.Setup{
		Dir: dir, Host: host, Port: port, Servers: s.servers, Cores: s.cores, Layer: service.Layer, TLS: service.TLS,
		Cipher: s.workload.Load.Cipher, ServerTLS: service.ServerTLS, CertificateKey: s.cert.File,
		Bulk: s.workload.Bulk(), HTTP2: s.workload.SpeaksHTTP2(), GRPC: service.Protocol == workloads.GRPC,
		WebSocket: service.Protocol == workloads.WebSocket, UDP: service.Protocol == workloads.UDP,
		ServerHTTP2:   service.ServerHTTP2,
		FreshSessions: s.workload.Load.RequestsPerConnection == 1,
		Cache:         service.Cache, Compression: service.Compression,
		Rules: peers.MakeRules(service.Rules, "/"+origin.Object),
	}, os.MkdirAll(dir, 0o755)
}

// weirVIP is where Weir serves; a listener of its own, so that no peer shares it.
const weirVIP = "127.3.3.3"

func (s *stage) startWeir(ctx context.Context) error {
	setup, err := s.setup("weir", weirVIP)
	if err != nil {
		return err
	}
	w, err := s.startNamedWeir(ctx, report.Weir, setup.Dir)
	if err != nil {
		return err
	}
	if err := w.serve(ctx, setup, s.cert); err != nil {
		return err
	}
	weir, err := w.subject(ctx, setup)
	s.subjects = append(s.subjects, weir)
	return err
}

func (s *stage) startPeer(ctx context.Context, peer found) error {
	setup, err := s.setup(peer.Name, "127.0.0.1")
	if err != nil {
		return err
	}
	if peer.Lacks != nil && peer.Lacks(setup) != "" {
		s.row.Lacks[peer.Name] = peer.Lacks(setup)
		s.run.told.say("  %-10s without %s: %s", s.workload.ID, peer.Name, peer.Lacks(setup))
		return nil
	}
	if peer.absent != nil {
		return peer.absent
	}
	process, err := peer.Start(ctx, s.lab, peer.program, setup)
	if err != nil {
		return err
	}
	s.subjects = append(s.subjects, subject{name: peer.Name, address: setup.Address(), pid: process.PID()})
	return nil
}

// measureRounds measures all subjects in turn, round after round; each round begins with another one.
func (s *stage) measureRounds(ctx context.Context) error {
	if err := s.build(ctx); err != nil {
		return err
	}
	if err := s.proveContent(ctx); err != nil {
		return err
	}
	for round := range s.run.rounds {
		if err := s.measureRound(ctx, round, report.Saturated); err != nil {
			return err
		}
		if round >= s.run.fewRounds() {
			continue
		}
		if err := s.measureRound(ctx, round, report.Light); err != nil {
			return err
		}
	}
	if s.run.options.SystemCalls {
		if err := s.countSystemCalls(ctx); err != nil {
			return err
		}
	}
	if s.run.options.Confirm {
		return s.confirm(ctx)
	}
	return nil
}

// roundsAt is how many rounds there are at a level.
func (r *run) roundsAt(level report.Level) int {
	if level == report.Light {
		return r.fewRounds()
	}
	return r.rounds
}

func (s *stage) measureRound(ctx context.Context, round int, level report.Level) error {
	if level == report.Saturated {
		stop, err := startSpinners(s.lab, s.cores)
		defer stop()
		if err != nil {
			return err
		}
	}
	for i := range s.subjects {
		subject := s.subjects[(i+round)%len(s.subjects)]
		if s.row.Failed[subject.name] != "" {
			continue
		}
		sample, err := sample(ctx, s.lab, s.workload, subject, s.cores, s.run.span, 0)
		if err := s.without(ctx, subject, err); err != nil {
			return err
		}
		if err != nil {
			continue
		}
		s.row.Add(subject.name, level, sample)
		s.run.told.measured(fmt.Sprintf("%s  round %d/%d  %s  %s  %.1f µs", s.workload.ID, round+1,
			s.run.roundsAt(level), level, subject.name, sample.CPUus))
	}
	return nil
}

// without a peer that cannot be measured, the others go on; without Weir there is nothing to compare with.
func (s *stage) without(ctx context.Context, subject subject, err error) error {
	if err == nil || ctx.Err() != nil || subject.name == report.Weir {
		return err
	}
	s.row.Failed[subject.name] = err.Error()
	s.run.told.say("  %-10s without %s: %v", s.workload.ID, subject.name, err)
	return nil
}
