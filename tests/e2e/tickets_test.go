package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab/topology"
)

// handshake asks an engine itself, from its own namespace, and leaves the session behind in a file; one of an earlier
// handshake is offered. It returns what openssl says of it.
func (f *fabric) handshake(engine, version, offered, kept string) string {
	f.Helper()
	space, err := f.site.Network.Namespace(engine)
	f.must(err)
	args := []string{"s_client", "-connect", "3.3.3.3:443", version, "-ign_eof", "-sess_out", kept}
	if offered != "" {
		args = append(args, "-sess_in", offered)
	}
	var said strings.Builder
	command := exec.CommandContext(f.ctx, "openssl", args...)
	command.Stdin = strings.NewReader("GET / HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n")
	command.Stdout, command.Stderr = &said, &said
	f.must(space.Start(command))
	if err := command.Wait(); err != nil || !strings.Contains(said.String(), "HTTP/1.1 200") {
		f.Fatalf("%s %s: %v\n%s", engine, version, err, said.String())
	}
	return said.String()
}

func (f *fabric) resumes(engine, version, offered, kept string) bool {
	f.Helper()
	return strings.Contains(f.handshake(engine, version, offered, kept), "\nReused, ")
}

// revision is the newest of the virtual service's configuration; an error until it is in force on all engines.
func (f *fabric) revision(engines int) (int64, error) {
	f.Helper()
	applied, _ := f.runtime("virtualservice", "web")["applied"].(map[string]any)
	if fmt.Sprint(applied["engines_applied"]) != fmt.Sprint(engines) {
		return 0, errors.New(fmt.Sprint(applied["text"]))
	}
	revision, _ := applied["revision"].(float64)
	return int64(revision), nil
}

// untilInForce waits until the newest configuration is in force on all engines, and returns its revision.
func (f *fabric) untilInForce(engines int) (revision int64) {
	f.Helper()
	f.eventually("the configuration is in force", func() (err error) {
		revision, err = f.revision(engines)
		return err
	})
	return revision
}

// rotateKeys orders it and waits until all engines have done it.
func (f *fabric) rotateKeys(engines int) {
	f.Helper()
	before := f.untilInForce(engines)
	vs, err := f.controller.Session.ByName(f.ctx, "virtualservice", "web")
	f.must(err)
	var answer client.Object
	f.must(f.controller.Session.Post(f.ctx, fmt.Sprintf("virtualservice/%v/rotatekeys", vs["uuid"]),
		client.Object{}, &answer))
	f.eventually("keys are rotated", func() error {
		if now, err := f.revision(engines); err != nil || now == before {
			return fmt.Errorf("revision %d after %d: %v", now, before, err)
		}
		return nil
	})
}

func TestSessionOfOneEngineIsResumedByAnotherAlsoWhenKeysAreTurned(t *testing.T) {
	const engines = 2
	f := setUpFabric(t, engines, func(*topology.Topology) {})
	kept := func(name, version string) string { return filepath.Join(f.dir, name+version+".session") }
	versions := []string{"-tls1_2", "-tls1_3"}
	for _, version := range versions {
		if f.resumes("engine-1", version, "", kept("first", version)) {
			t.Fatalf("%s: resumed nothing", version)
		}
		if !f.resumes("engine-2", version, kept("first", version), kept("second", version)) {
			t.Errorf("%s: the other engine does not resume it", version)
		}
	}

	f.rotateKeys(engines)
	for _, version := range versions {
		if !f.resumes("engine-2", version, kept("first", version), kept("second", version)) {
			t.Errorf("%s: a session by the key before is not resumed after an order to rotate", version)
		}
	}
	f.rotateKeys(engines)
	f.rotateKeys(engines)
	for _, version := range versions {
		if f.resumes("engine-2", version, kept("first", version), kept("second", version)) {
			t.Errorf("%s: a session is resumed by a key that is to be gone", version)
		}
	}

	profile := f.sslProfile()
	f.change("sslprofile", profile, func(o client.Object) { o["ssl_session_timeout"] = 30 }) // and turns keys as often
	for _, engine := range f.engineNames(engines) {
		f.eventually("tickets of "+engine+" live for as long", func() error {
			said := f.handshake(engine, versions[0], "", kept("other", versions[0]))
			if !strings.Contains(said, "lifetime hint: 30 (seconds)") {
				return errors.New(said)
			}
			return nil
		})
	}
	before := f.untilInForce(engines)
	load, err := f.client.BeginLoad(f.ctx, append([]string{"--url", secureURL, "--connections", "4", "--rate", "100"},
		untilTold...)...)
	f.must(err)
	turned := false
	f.eventually("keys are turned", func() error {
		for _, version := range versions {
			if turned {
				break
			}
			f.handshake("engine-1", version, "", kept("newest", version))
		}
		now, err := f.revision(engines)
		turned = turned || err != nil || now > before
		if err == nil && now > before {
			return nil
		}
		for _, version := range versions {
			if !turned {
				f.must(os.Rename(kept("newest", version), kept("last", version)))
			}
		}
		return errors.New("not yet")
	})
	for _, version := range versions {
		if !f.resumes("engine-2", version, kept("last", version), kept("third", version)) {
			t.Errorf("%s: a session from before the turn is not resumed after it", version)
		}
	}
	if meanwhile, err := load.End(); err != nil || meanwhile.Requests == 0 || meanwhile.ErrorTotal > 0 {
		t.Errorf("meanwhile: %+v, %v", meanwhile, err)
	}
}

// sslProfile is the name of the virtual service's.
func (f *fabric) sslProfile() string {
	f.Helper()
	vs, err := f.controller.Session.ByName(f.ctx, "virtualservice", "web")
	f.must(err)
	var profile client.Object
	reference := fmt.Sprint(vs["ssl_profile_ref"])
	f.must(f.controller.Session.Get(f.ctx, reference[strings.Index(reference, "/api/")+len("/api/"):], &profile))
	return fmt.Sprint(profile["name"])
}
