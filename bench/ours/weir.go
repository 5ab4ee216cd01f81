// Package ours runs the Weir that a bench measures: a controller, an agent, a data plane, configured through the REST
// API as an operator would. The data plane alone is the balancer: it has cores, and perhaps descriptors, that its agent
// has not.
package ours

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab"
)

// Setup is where a Weir is to run.
type Setup struct {
	Name        string // its processes have it in theirs
	Dir         string // of its own, for its files
	Programs    string // the directory of Weir's programs
	Cores       []int  // the data plane's
	Descriptors int    // that the data plane may have open; 0: as many as this process
}

// Weir is one that runs.
type Weir struct {
	Controller *lab.Controller
	Engine     *lab.Engine
	Session    *client.Session
	newest     string // uuid of the virtual service that was created last
}

// Start runs one until its engine is there.
func Start(ctx context.Context, l *lab.Lab, s Setup) (*Weir, error) {
	controller, err := l.ControllerNamed(ctx, s.Name+"-controller")
	if err != nil {
		return nil, err
	}
	dataplane, err := s.dataplane()
	if err != nil {
		return nil, err
	}
	engine, err := l.Engine(ctx, controller, s.Name+"-engine", "--workers", strconv.Itoa(len(s.Cores)),
		"--dataplane", dataplane)
	if err != nil {
		return nil, err
	}
	w := &Weir{Controller: controller, Engine: engine, Session: controller.Session}
	return w, w.makeRoom(ctx)
}

// dataplane writes a program that is the data plane on its cores: its agent runs elsewhere.
func (s Setup) dataplane() (string, error) {
	file := filepath.Join(s.Dir, "weir-dataplane")
	program, args := meter.Pinned(s.Cores, filepath.Join(s.Programs, "weir-dataplane"))
	if s.Descriptors > 0 {
		program, args = meter.Limited(s.Descriptors, program, args...)
	}
	text := fmt.Sprintf("#!/bin/sh\nexec %s %s \"$@\"\n", program, strings.Join(args, " "))
	return file, os.WriteFile(file, []byte(text), 0o700)
}

// makeRoom allows one engine as many virtual services as a row may add.
func (w *Weir) makeRoom(ctx context.Context) error {
	group, err := w.Session.ByName(ctx, "serviceenginegroup", "Default-Group")
	if err != nil {
		return err
	}
	group["max_vs_per_se"] = 1000
	_, err = w.Session.Replace(ctx, "serviceenginegroup", group)
	return err
}

// Entry is an object to create.
type Entry struct {
	Kind   string
	Object client.Object
}

// Create creates objects in this order.
func (w *Weir) Create(ctx context.Context, entries ...Entry) error {
	for _, entry := range entries {
		if _, err := w.Session.Create(ctx, entry.Kind, entry.Object); err != nil {
			return fmt.Errorf("%s: %w", entry.Kind, err)
		}
	}
	return nil
}

// KeyAndCertificate is the object that holds both, in PEM.
func KeyAndCertificate(name string, certificate, key []byte) Entry {
	return Entry{"sslkeyandcertificate", client.Object{
		"name": name, "key": string(key), "certificate": map[string]any{"certificate": string(certificate)}}}
}

// CreatePool makes a pool of servers (host:port) with what else is said of it.
func (w *Weir) CreatePool(ctx context.Context, name string, servers []string, settings client.Object) error {
	var list []any
	for _, server := range servers {
		host, port, err := net.SplitHostPort(server)
		if err != nil {
			return err
		}
		list = append(list, map[string]any{"ip": map[string]any{"addr": host, "type": "V4"}, "port": port})
	}
	pool := client.Object{"name": name, "servers": list}
	for field, value := range settings {
		pool[field] = value
	}
	return w.Create(ctx, Entry{"pool", pool})
}

// Service is a virtual service to create, with a VIP of its own.
type Service struct {
	Name, Host  string
	Port        int
	Pool        string
	Profile     string // application profile
	Secure      bool   // it speaks TLS, with
	SSLProfile  string // this; empty: the default
	Certificate string
	HTTP2       bool
	// NetworkProfile passes datagrams on in place of connections; empty: the default, which does not.
	NetworkProfile string
	Policies       []string // of HTTP, in the order in which their rules are tried
}

// CreateService makes a VIP and a virtual service on it.
func (w *Weir) CreateService(ctx context.Context, s Service) error {
	vip := client.Object{"name": s.Name, "vip": []any{
		map[string]any{"vip_id": "1", "ip_address": map[string]any{"addr": s.Host, "type": "V4"}}}}
	if err := w.Create(ctx, Entry{"vsvip", vip}); err != nil {
		return err
	}
	service := client.Object{
		"name": s.Name, "vsvip_ref": client.Ref("vsvip", s.Name), "pool_ref": client.Ref("pool", s.Pool),
		"application_profile_ref": client.Ref("applicationprofile", s.Profile),
		"services": []any{map[string]any{"port": s.Port, "enable_ssl": s.Secure,
			"enable_http2": s.HTTP2}},
	}
	var policies []any
	for index, name := range s.Policies {
		policies = append(policies, map[string]any{"index": index,
			"http_policy_set_ref": client.Ref("httppolicyset", name)})
	}
	if policies != nil {
		service["http_policies"] = policies
	}
	if s.NetworkProfile != "" {
		service["network_profile_ref"] = client.Ref("networkprofile", s.NetworkProfile)
	}
	if s.SSLProfile != "" {
		service["ssl_profile_ref"] = client.Ref("sslprofile", s.SSLProfile)
	}
	if s.Secure {
		service["ssl_key_and_certificate_refs"] = []any{client.Ref("sslkeyandcertificate", s.Certificate)}
	}
	created, err := w.Session.Create(ctx, "virtualservice", service)
	if err != nil {
		return fmt.Errorf("virtualservice: %w", err)
	}
	w.newest = fmt.Sprint(created["uuid"])
	return nil
}

const upTimeout = 2 * time.Minute

// UntilUp waits until the engine serves the newest virtual service.
func (w *Weir) UntilUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, upTimeout)
	defer cancel()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	last := "nothing was heard of it"
	for {
		var runtime struct {
			OperStatus struct {
				State  string `json:"state"`
				Reason []any  `json:"reason"`
			} `json:"oper_status"`
		}
		err := w.Session.Get(ctx, "virtualservice/"+w.newest+"/runtime", &runtime)
		if err == nil && runtime.OperStatus.State == "OPER_UP" {
			return nil
		}
		if err == nil {
			last = fmt.Sprintf("%s: %v", runtime.OperStatus.State, runtime.OperStatus.Reason)
		} else if ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("weir does not serve it (%s): %w", last, ctx.Err())
		case <-poll.C:
		}
	}
}
