// Package linux is a cloud of machines that the controller reaches over SSH, with one engine on each. It copies weir
// and weir-dataplane to a machine and runs them there: with systemd if the machine has it.
//
// linux.go is the cloud, host.go reads the settings of one machine, session.go is the SSH connection to it, and
// engine.sh runs there. The package connects to no machine whose key differs from the one that the operator has given.
package linux

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sync/errgroup"

	"github.com/weir-lb/weir/controller/cloud"
	"github.com/weir-lb/weir/controller/model"
)

// askedAtOnce is how many machines List asks at the same time.
const askedAtOnce = 16

//go:embed engine.sh
var engineScript string

// Servers are the machines of one cloud object.
type Servers struct {
	hosts    []host
	user     string
	auth     []ssh.AuthMethod
	programs string // the directory of weir and weir-dataplane on the controller's machine
}

// New reads a cloud object. An error says what the operator has to change.
func New(object *model.Cloud, programs string) (*Servers, error) {
	s := &Servers{programs: programs}
	if object.LinuxServers == nil || object.User == nil {
		return nil, errors.New(
			"linuxserver_configuration.ssh_user_ref: name the cloudconnectoruser that may log in on the hosts")
	}
	s.user = object.User.Name
	if key := object.User.PrivateKey; key != "" {
		signer, err := ssh.ParsePrivateKey([]byte(key))
		if err != nil {
			return nil, fmt.Errorf("cloudconnectoruser %s: private_key: %w", s.user, err)
		}
		s.auth = append(s.auth, ssh.PublicKeys(signer))
	}
	if object.User.Password != "" {
		s.auth = append(s.auth, ssh.Password(object.User.Password))
	}
	for i, given := range object.LinuxServers.Hosts {
		read, err := readHost(given)
		if err != nil {
			return nil, fmt.Errorf("linuxserver_configuration.hosts[%d].%w", i, err)
		}
		s.hosts = append(s.hosts, read)
	}
	return s, nil
}

// List asks every machine. A machine that does not answer has no free place.
func (s *Servers) List(ctx context.Context) ([]cloud.Place, error) {
	places := make([]cloud.Place, len(s.hosts))
	var asking errgroup.Group
	asking.SetLimit(askedAtOnce)
	for i, host := range s.hosts {
		asking.Go(func() error {
			places[i] = cloud.Place{Engine: host.engine, Zone: host.zone}
			places[i].State, places[i].Problem = s.ask(ctx, host)
			return nil
		})
	}
	return places, asking.Wait()
}

func (s *Servers) ask(ctx context.Context, host host) (cloud.PlaceState, string) {
	session, err := s.open(ctx, host)
	if err != nil {
		return cloud.Unknown, err.Error()
	}
	defer session.Close()
	said, err := session.script("state", nil)
	if err != nil {
		return cloud.Unknown, err.Error()
	}
	state, words, _ := strings.Cut(strings.TrimSpace(said), " ")
	switch state {
	case "free":
		return cloud.Free, ""
	case "running":
		return cloud.Running, ""
	default:
		return cloud.Stopped, words
	}
}

// Create installs on the machine what is missing, and starts the engine.
func (s *Servers) Create(ctx context.Context, engine string, join cloud.Join) error {
	session, host, err := s.at(ctx, engine)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := session.install(s.programs); err != nil {
		return err
	}
	_, err = session.script("start", map[string]string{
		"name": engine, "controller": join.Address(session.here), "token": join.Token, "workers": host.workers,
	})
	return err
}

// Retire ends the engine and removes everything that Create installed.
func (s *Servers) Retire(ctx context.Context, engine string) error {
	session, _, err := s.at(ctx, engine)
	if err != nil {
		return err
	}
	defer session.Close()
	_, err = session.script("remove", nil)
	return err
}

// at opens a session on the machine of an engine.
func (s *Servers) at(ctx context.Context, engine string) (*session, host, error) {
	for _, host := range s.hosts {
		if host.engine == engine {
			session, err := s.open(ctx, host)
			return session, host, err
		}
	}
	return nil, host{}, fmt.Errorf(
		"%s has no host any more: put it back into linuxserver_configuration.hosts until its engine is gone", engine)
}
