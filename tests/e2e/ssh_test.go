package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab/network"
	"github.com/weir-lb/weir/lab/topology"
)

// machine is a namespace with an SSH server, as a controller finds a host of CLOUD_LINUXSERVER.
type machine struct {
	space   *network.Namespace
	address string
	key     string // its own, public
	dir     string // that the engine is to be installed in
}

// sshKey makes a key pair; the public one is beside it.
func (f *fabric) sshKey(name string) (file, public string) {
	f.Helper()
	file = filepath.Join(f.dir, name)
	if said, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f",
		file).CombinedOutput(); err != nil {
		f.Fatalf("%v: %s", err, said)
	}
	text, err := os.ReadFile(file + ".pub")
	f.must(err)
	return file, strings.TrimSpace(string(text))
}

// machine starts an SSH server of its own in the namespace where the topology has this engine.
func (f *fabric) machine(engine, authorized string) machine {
	f.Helper()
	node, err := f.site.Topology.EngineNode(engine)
	f.must(err)
	space, err := f.site.Network.Attach(node)
	f.must(err)
	hostKey, public := f.sshKey("host-key-" + engine)
	config := filepath.Join(f.dir, "sshd-"+engine)
	f.must(os.WriteFile(config, fmt.Appendf(nil,
		"HostKey %s\nAuthorizedKeysFile %s\nPidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin prohibit-password\n",
		hostKey, authorized), 0o600))
	f.must(os.MkdirAll("/run/sshd", 0o755)) // where sshd confines what it does not trust
	server := exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", config)
	server.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	f.must(space.Start(server))
	go func() { _ = server.Wait() }() // it ends with its namespace
	f.eventually("sshd answers in "+engine, func() error {
		connection, err := space.Dial(f.ctx, "tcp", "127.0.0.1:22")
		if err == nil {
			err = connection.Close()
		}
		return err
	})
	return machine{space, node.Links[1].Addresses[0].Addr().String(), public, filepath.Join(f.dir, "opt-"+engine)}
}

// hosts is what a cloud object says of machines.
func hosts(machines []machine, withKeys bool) (list []any) {
	for _, m := range machines {
		attributes := []any{client.Object{"attr_key": "INSTALL_DIR", "attr_val": m.dir},
			client.Object{"attr_key": "CPU", "attr_val": "1"}}
		if withKeys {
			attributes = append(attributes, client.Object{"attr_key": "SSH_HOST_KEY", "attr_val": m.key})
		}
		list = append(list, client.Object{"host_ip": client.Object{"addr": m.address, "type": "V4"},
			"host_attr": attributes})
	}
	return list
}

func (f *fabric) useHosts(machines []machine, withKeys bool) {
	f.Helper()
	f.change("cloud", "Default-Cloud", func(cloud client.Object) {
		cloud["vtype"] = "CLOUD_LINUXSERVER"
		cloud["linuxserver_configuration"] = client.Object{"ssh_user_ref": client.Ref("cloudconnectoruser", "root"),
			"hosts": hosts(machines, withKeys)}
	})
}

func TestHostsGetAnEngineOverSSHAndLoseIt(t *testing.T) {
	f := bareFabric(t, 0, func(*topology.Topology) {})
	file, public := f.sshKey("controller-key")
	private, err := os.ReadFile(file)
	f.must(err)
	authorized := filepath.Join(f.dir, "authorized")
	f.must(os.WriteFile(authorized, []byte(public+"\n"), 0o600))
	machines := []machine{f.machine("engine-1", authorized), f.machine("engine-2", authorized)}
	f.create("cloudconnectoruser", client.Object{"name": "root", "private_key": string(private)})
	f.change("serviceenginegroup", "Default-Group", func(group client.Object) {
		group["min_se"], group["buffer_se"], group["se_deprovision_delay"] = 1, 0, 0
	})

	// A key is not trusted because the host has shown it.
	f.useHosts(machines, false)
	f.eventually("the controller asks for the keys", func() error {
		said := strings.Join(f.told("CREATE_SE_FAIL"), "\n")
		if !strings.Contains(said, machines[0].key) || !strings.Contains(said, "give it as host_attr SSH_HOST_KEY") {
			return errors.New(said)
		}
		return nil
	})
	f.useHosts(machines, true)
	f.serve(2)
	if counts := f.spread(secureURL, 100); len(counts) != 2 {
		t.Errorf("not both of them serve: %v", counts)
	}
	f.untilRegistered("10.0.0.11--se", "10.0.0.12--se")

	f.must(f.killPrograms(machines[1].space, "weir"))
	f.untilHops("engine-1")
	f.untilHops("engine-1", "engine-2")

	f.change("serviceenginegroup", "Default-Group", func(group client.Object) { group["min_se"] = 0 })
	vs, err := f.controller.Session.ByName(f.ctx, "virtualservice", "web")
	f.must(err)
	f.must(f.controller.Session.Delete(f.ctx, "virtualservice", fmt.Sprint(vs["uuid"])))
	f.untilRegistered()
	for _, m := range machines {
		f.eventually(m.dir+" is gone", func() error {
			if _, err := os.Stat(m.dir); !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("it is left: %w", err)
			}
			return nil
		})
	}
}

// killPrograms kills those of a namespace whose names begin so, and no others.
func (f *fabric) killPrograms(space *network.Namespace, name string) error {
	processes, err := space.Processes()
	for _, process := range processes {
		if strings.HasPrefix(process.Program, name) {
			err = errors.Join(err, syscall.Kill(process.PID, syscall.SIGKILL))
		}
	}
	return err
}

// untilRegistered waits until these engines are objects, and no others.
func (f *fabric) untilRegistered(engines ...string) {
	f.Helper()
	f.eventually(fmt.Sprintf("there are %v", engines), func() error {
		objects, err := f.controller.Session.List(f.ctx, "serviceengine", nil)
		var names []string
		for _, object := range objects {
			names = append(names, fmt.Sprint(object["name"]))
		}
		if slices.Sort(names); err == nil && !slices.Equal(names, engines) {
			err = fmt.Errorf("there are %v", names)
		}
		return err
	})
}
