// Package router says how the router of a lab runs: which daemons, with which configuration. FRR and BIRD run the same
// topology: both accept sessions from any engine of their network, learn VIPs, and spread flows over all engines that
// announce a VIP. Package lab starts the daemons.
package router

import (
	"embed"
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/weir-lb/weir/lab/topology"
)

// Spec is a router that is ready to be started in a directory of its own.
type Spec struct {
	Package string // of Debian, which has the programs
	User    string // the daemons run as; the directory must be this user's
	Files   map[string]string
	Daemons []Daemon
	Probes  [][]string // commands that succeed once every daemon answers
	Shell   []string   // with a command of its own language behind it: what an operator types
}

// Daemon is a program that stays in the foreground.
type Daemon struct {
	Name    string
	Program string
	Args    []string
}

// For the topology's router, with all that it writes in dir.
func For(t topology.Topology, dir string) (Spec, error) {
	if t.Router.Kind == topology.BIRD {
		return bird(t, dir)
	}
	return frr(t, dir)
}

// Installed tells whether the programs are there, and what to do if not.
func (s Spec) Installed() error {
	programs := slices.Clone(s.Shell[:1])
	for _, daemon := range s.Daemons {
		programs = append(programs, daemon.Program)
	}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%s is not installed: run `apt-get install %s`, or `make lab`, which does",
				program, s.Package)
		}
	}
	return nil
}

// daemonsDir is where Debian puts FRR's daemons.
const daemonsDir = "/usr/lib/frr"

func frr(t topology.Topology, dir string) (Spec, error) {
	s := Spec{Package: "frr", User: "frr", Files: map[string]string{"zebra.conf": ""},
		Shell: []string{"vtysh", "--vty_socket", dir, "-c"}}
	// in this order: the others need zebra, which sets the kernel's routes
	daemons := []string{"zebra", "bfdd", "bgpd"}
	if t.Router.BFDms == 0 {
		daemons = []string{"zebra", "bgpd"}
	}
	for _, name := range daemons[1:] { // each refuses what is another one's to know, so each has a file
		config, err := render(name+".conf.tmpl", t)
		if err != nil {
			return s, err
		}
		s.Files[name+".conf"] = config
	}
	for _, name := range daemons {
		args := []string{"-f", filepath.Join(dir, name+".conf"), "-i", filepath.Join(dir, name+".pid"), "-z",
			filepath.Join(dir, "zserv.api"),
			"--vty_socket", dir, "-P", "0", "--log", "stdout"}
		if name == "bfdd" {
			args = append(args, "--bfdctl", filepath.Join(dir, "bfdd.sock"))
		}
		s.Daemons = append(s.Daemons, Daemon{name, filepath.Join(daemonsDir, name), args})
		s.Probes = append(s.Probes, []string{"vtysh", "--vty_socket", dir, "-d", name, "-c", "show version"})
	}
	return s, nil
}

func bird(t topology.Topology, dir string) (Spec, error) {
	config, err := render("bird.conf.tmpl", t)
	if err != nil {
		return Spec{}, err
	}
	socket := filepath.Join(dir, "bird.ctl")
	return Spec{
		Package: "bird2", User: "bird", Files: map[string]string{"bird.conf": config},
		Daemons: []Daemon{{"bird", "/usr/sbin/bird", []string{"-f", "-u", "bird", "-g", "bird",
			"-c", filepath.Join(dir, "bird.conf"), "-s", socket, "-P", filepath.Join(dir, "bird.pid")}}},
		Probes: [][]string{{"birdc", "-s", socket, "show", "status"}},
		Shell:  []string{"birdc", "-s", socket},
	}, nil
}

//go:embed *.tmpl
var templates embed.FS

// render writes a configuration from the topology. The functions tell address families apart.
func render(file string, t topology.Topology) (string, error) {
	parsed, err := template.New(file).Funcs(template.FuncMap{
		"list":     func(items ...string) []string { return items },
		"four":     func(p netip.Prefix) bool { return p.Addr().Is4() },
		"hostBits": func(p netip.Prefix) int { return p.Addr().BitLen() },
		"gateways": func() []netip.Prefix { return t.RouterNode().Hubs[0].Addresses },
	}).ParseFS(templates, file)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	err = parsed.Execute(&text, t)
	return text.String(), err
}
