package bench

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
	"github.com/weir-lb/weir/bench/peers"
	"github.com/weir-lb/weir/bench/report"
	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab"
)

// weir is Weir as it really runs: a controller, an agent, a data plane, configured through the REST API. The data plane
// alone is the balancer whose cost is measured; the agent's is read beside it.
type weir struct {
	controller *lab.Controller
	engine     *lab.Engine
	session    *client.Session
	newest     string // uuid of the virtual service that was created last
}

// startWeir runs one with its data plane on the given cores. Its processes have the name in theirs.
func startWeir(ctx context.Context, l *lab.Lab, name, dir, programs string, cores []int) (*weir, error) {
	controller, err := l.ControllerNamed(ctx, name+"-controller")
	if err != nil {
		return nil, err
	}
	dataplane, err := pinnedDataplane(dir, programs, cores)
	if err != nil {
		return nil, err
	}
	engine, err := l.Engine(ctx, controller, name+"-engine", "--workers", strconv.Itoa(len(cores)), "--dataplane", dataplane)
	if err != nil {
		return nil, err
	}
	w := &weir{controller: controller, engine: engine, session: controller.Session}
	return w, w.makeRoom(ctx)
}

// makeRoom lets one engine have as many virtual services as a row may add.
func (w *weir) makeRoom(ctx context.Context) error {
	group, err := w.session.ByName(ctx, "serviceenginegroup", "Default-Group")
	if err != nil {
		return err
	}
	group["max_vs_per_se"] = 1000
	_, err = w.session.Replace(ctx, "serviceenginegroup", group)
	return err
}

// subject is what is measured of it.
func (w *weir) subject(ctx context.Context, s peers.Setup) (subject, error) {
	pid, err := w.engine.DataplanePID(ctx)
	return subject{name: report.Weir, address: s.Address(), pid: pid, agentPID: w.engine.PID()}, err
}

// pinnedDataplane writes a program that is the data plane on these cores: its agent runs elsewhere.
func pinnedDataplane(dir, programs string, cores []int) (string, error) {
	file := filepath.Join(dir, "weir-dataplane")
	program, args := meter.Pinned(cores, filepath.Join(programs, "weir-dataplane"))
	text := fmt.Sprintf("#!/bin/sh\nexec %s %s \"$@\"\n", program, strings.Join(args, " "))
	return file, os.WriteFile(file, []byte(text), 0o700)
}

// serve creates the profiles, the pool and one virtual service of a row, and waits until the engine serves it.
func (w *weir) serve(ctx context.Context, s peers.Setup, c certificate) error {
	if err := w.createProfiles(ctx, s, c); err != nil {
		return err
	}
	if err := w.createPool(ctx, "bench", s.Servers, s); err != nil {
		return err
	}
	if err := w.createService(ctx, "bench", "bench", s); err != nil {
		return err
	}
	return w.waitUp(ctx)
}

// entry is an object to create.
type entry struct {
	kind   string
	object client.Object
}

// createProfiles makes those that every object of the row refers to.
func (w *weir) createProfiles(ctx context.Context, s peers.Setup, c certificate) error {
	objects := []entry{{"applicationprofile", client.Object{
		"name": "bench", "type": "APPLICATION_PROFILE_TYPE_HTTP", "http_profile": map[string]any{
			// As the peers: the load says how many requests a connection carries and how long it stays.
			"max_keepalive_requests": 1000000, "keepalive_timeout": 3600000, "post_accept_timeout": 3600000,
		}}}}
	if s.TLS != "" || s.ServerTLS {
		objects = append(objects, entry{"sslprofile", sslProfile(s)}, entry{"sslkeyandcertificate", client.Object{
			"name": "bench", "key": string(c.keyPEM), "certificate": map[string]any{"certificate": string(c.certificatePEM)}}})
	}
	for _, o := range objects {
		if _, err := w.session.Create(ctx, o.kind, o.object); err != nil {
			return fmt.Errorf("%s: %w", o.kind, err)
		}
	}
	return nil
}

// sslProfile allows what the row speaks and nothing else; every handshake is a full one.
func sslProfile(s peers.Setup) client.Object {
	version := "SSL_VERSION_TLS1_2"
	if s.TLS == "1.3" {
		version = "SSL_VERSION_TLS1_3"
	}
	profile := client.Object{
		"name": "bench", "enable_ssl_session_reuse": false,
		"accepted_versions": []any{map[string]any{"type": version}},
	}
	if s.TLS != "1.3" {
		profile["accepted_ciphers"] = s.Cipher
	}
	return profile
}

func (w *weir) createPool(ctx context.Context, name string, servers []string, s peers.Setup) error {
	var list []any
	for _, server := range servers {
		host, port, err := net.SplitHostPort(server)
		if err != nil {
			return err
		}
		list = append(list, map[string]any{"ip": map[string]any{"addr": host, "type": "V4"}, "port": port})
	}
	pool := client.Object{"name": name, "servers": list, "conn_pool_properties": map[string]any{
		"upstream_connpool_conn_idle_tmo": 3600000, "upstream_connpool_conn_life_tmo": 3600000,
	}}
	if s.ServerTLS {
		pool["ssl_profile_ref"] = client.Ref("sslprofile", "bench")
	}
	if _, err := w.session.Create(ctx, "pool", pool); err != nil {
		return fmt.Errorf("pool: %w", err)
	}
	return nil
}

// createService makes a VIP and a virtual service on it.
func (w *weir) createService(ctx context.Context, name, pool string, s peers.Setup) error {
	vip := client.Object{"name": name, "vip": []any{
		map[string]any{"vip_id": "1", "ip_address": map[string]any{"addr": s.Host, "type": "V4"}}}}
	if _, err := w.session.Create(ctx, "vsvip", vip); err != nil {
		return fmt.Errorf("vsvip: %w", err)
	}
	profile := client.Ref("applicationprofile", "bench")
	if s.Layer == 4 {
		profile = client.Ref("applicationprofile", "System-L4-Application")
	}
	service := client.Object{
		"name": name, "vsvip_ref": client.Ref("vsvip", name), "pool_ref": client.Ref("pool", pool), "application_profile_ref": profile,
		"services": []any{map[string]any{"port": s.Port, "enable_ssl": s.TLS != ""}},
	}
	if s.TLS != "" {
		service["ssl_profile_ref"] = client.Ref("sslprofile", "bench")
		service["ssl_key_and_certificate_refs"] = []any{client.Ref("sslkeyandcertificate", "bench")}
	}
	created, err := w.session.Create(ctx, "virtualservice", service)
	if err != nil {
		return fmt.Errorf("virtualservice: %w", err)
	}
	w.newest = fmt.Sprint(created["uuid"])
	return nil
}

const upTimeout = 2 * time.Minute

// waitUp waits until the engine serves the newest virtual service.
func (w *weir) waitUp(ctx context.Context) error {
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
		err := w.session.Get(ctx, "virtualservice/"+w.newest+"/runtime", &runtime)
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
