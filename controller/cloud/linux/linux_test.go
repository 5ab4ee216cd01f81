package linux

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

func TestSaysWhatIsWrongWithACloudObject(t *testing.T) {
	user := &kinds.CloudConnectorUser{Password: "secret"}
	host := func(address string, attributes ...kinds.HostAttribute) kinds.LinuxHost {
		return kinds.LinuxHost{HostIP: &kinds.IPAddr{Addr: address, Type: "V4"}, Attributes: attributes}
	}
	for _, c := range []struct {
		user *kinds.CloudConnectorUser
		host kinds.LinuxHost
		want string
	}{
		{nil, host("10.0.0.1"), "linuxserver_configuration.ssh_user_ref: name the cloudconnectoruser"},
		{&kinds.CloudConnectorUser{PrivateKey: "x"}, host("10.0.0.1"), "private_key: ssh: no key found"},
		{user, host("web.example"), "linuxserver_configuration.hosts[0].host_ip: give an address"},
		{user, host("10.0.0.1", kinds.HostAttribute{Key: "SSH_PORT", Value: "70000"}),
			"hosts[0].host_attr[0]: SSH_PORT: "},
		{user, host("10.0.0.1", kinds.HostAttribute{Key: "SSH_HOST_KEY", Value: "AAAA"}),
			"hosts[0].host_attr[0]: SSH_HOST_KEY: ssh: no key found"},
		{user, host("10.0.0.1", kinds.HostAttribute{Key: "INSTALL_DIR", Value: "/"}),
			"INSTALL_DIR: give the path of a directory of its own"},
		{user, host("10.0.0.1", kinds.HostAttribute{Key: "INSTALL_DIR", Value: "/opt/../etc"}),
			"INSTALL_DIR: give the path of a directory of its own"},
		{user, host("10.0.0.1", kinds.HostAttribute{Key: "INSTALL_DIR", Value: "/opt/a b"}),
			"INSTALL_DIR: give the path of a directory of its own"},
		{user, host("10.0.0.1", kinds.HostAttribute{Key: "CPU", Value: "some"}), "hosts[0].host_attr[0]: CPU: "},
	} {
		object := &model.Cloud{User: c.user}
		object.LinuxServers = &kinds.LinuxServers{Hosts: []kinds.LinuxHost{c.host}}
		if _, err := New(object, ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func TestAnEngineIsCalledLikeItsHost(t *testing.T) {
	for address, want := range map[string]string{"10.0.0.1": "10.0.0.1--se", "fd00::1": "fd00--1--se"} {
		read, err := readHost(kinds.LinuxHost{HostIP: &kinds.IPAddr{Addr: address}})
		if err != nil || read.engine != want {
			t.Errorf("got %q, %v, want %q", read.engine, err, want)
		}
	}
}

// withSystemd runs a verb of engine.sh with a fake systemd: two directories, and a systemctl that only records its
// arguments.
func withSystemd(t *testing.T, dir, verb string) string {
	t.Helper()
	given := "verb=" + verb + "\ndir=" + dir + "/weir\nunits=" + dir + "\nsystemd=" + dir +
		"\nname=engine-1\ncontroller=10.0.0.1:9444\ntoken=weir1.a.b\nworkers=2\n"
	shell := exec.Command("sh", "-s")
	shell.Stdin = strings.NewReader(given + engineScript)
	shell.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "NOTES=" + filepath.Join(dir, "notes")}
	said, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", verb, err, said)
	}
	return strings.TrimSpace(string(said))
}

func TestSystemdRunsTheEngineAndForgetsItAgain(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"systemctl":          "#!/bin/sh\necho \"$*\" >>$NOTES\n[ \"$1\" != is-active ]\n",
		"weir/bin/weir":      "#!/bin/sh\n",
		"weir/engine/a-file": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	withSystemd(t, dir, "start")
	unit := filepath.Join(dir, "weir-engine.service")
	text, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	line := "ExecStart=" + dir +
		"/weir/bin/weir agent --name engine-1 --controller 10.0.0.1:9444 --token weir1.a.b --state-dir " +
		dir + "/weir/engine --workers 2 --vip-interface lo\n"
	if !strings.Contains(string(text), line) {
		t.Errorf("%q is not in\n%s", line, text)
	}
	if analyze, err := exec.LookPath("systemd-analyze"); err == nil {
		if said, err := exec.Command(analyze, "verify", unit).CombinedOutput(); err != nil {
			t.Errorf("systemd does not take it: %v: %s", err, said)
		}
	}
	if said := withSystemd(t, dir, "state"); said != "stopped" {
		t.Errorf("state: %q", said)
	}
	withSystemd(t, dir, "remove")
	for _, path := range []string{unit, filepath.Join(dir, "weir")} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is left", path)
		}
	}
	notes, _ := os.ReadFile(filepath.Join(dir, "notes"))
	want := "daemon-reload\nenable --quiet weir-engine.service\nrestart weir-engine.service\nis-active --quiet weir-engine.service\n" +
		"disable --quiet --now weir-engine.service\ndaemon-reload\n"
	if string(notes) != want {
		t.Errorf("systemctl was told\n%s", notes)
	}
}
