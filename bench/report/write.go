package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/bench/workloads"
)

// Machine is where a run was measured, and with what.
type Machine struct {
	Kernel   string   `json:"kernel"`
	CPU      string   `json:"cpu"`
	Cores    int      `json:"cores"`
	Versions []string `json:"versions"`
	// Libraries are the TLS libraries of Weir and its peers, which cause most of a handshake's cost.
	Libraries []Library `json:"tls,omitempty"`
	Notes     []string  `json:"notes,omitempty"`
}

// ThisMachine describes the one that this process runs on.
func ThisMachine() Machine {
	m := Machine{CPU: "unknown CPU", Cores: runtime.NumCPU()}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return m
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if key, value, _ := strings.Cut(lines.Text(), ":"); strings.TrimSpace(key) == "model name" {
			m.CPU = strings.TrimSpace(value)
			return m
		}
	}
	return m
}

// Write puts the report into dir: JSON lines, Markdown and pictures. It returns the files.
func Write(dir string, machine Machine, rows []*Row) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var lines strings.Builder
	if err := json.NewEncoder(&lines).Encode(struct {
		Machine Machine `json:"machine"`
	}{machine}); err != nil {
		return nil, err
	}
	if err := WriteJSON(&lines, rows); err != nil {
		return nil, err
	}
	contents := map[string]string{"bench.jsonl": lines.String(), "README.md": Markdown(machine, rows)}
	for name, picture := range Pictures(rows) {
		contents[name] = picture
	}
	var files []string
	for name, text := range contents {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return files, err
		}
		files = append(files, file)
	}
	return files, nil
}

// WriteJSON prints one object per row.
func WriteJSON(out io.Writer, rows []*Row) error {
	encoder := json.NewEncoder(out)
	for _, row := range rows {
		if err := encoder.Encode(row); err != nil {
			return err
		}
	}
	return nil
}

// Line is the row in one line.
func (r *Row) Line() string {
	if r.Workload.Kind == workloads.Growth {
		return fmt.Sprintf("%-14s weir %s  → %s", r.Workload.ID, r.growthText(), r.Grown().text())
	}
	if r.Workload.Kind == workloads.OwnCode {
		return fmt.Sprintf("%-14s weir %s", r.Workload.ID, r.ownCodeText())
	}
	best, ratio := r.Best(r.level())
	text := fmt.Sprintf("%-14s weir %s", r.Workload.ID, r.costText(r.Figures(Weir, r.level())))
	for _, proxy := range r.Proxies {
		if proxy != Weir {
			text += fmt.Sprintf("  %s %s", proxy, r.costText(r.Figures(proxy, r.level())))
		}
	}
	if best != "" {
		text += fmt.Sprintf("  → %.2f × %s", ratio.Median, best)
	}
	if doubt := r.Doubt(); doubt != "" {
		text += "; in doubt: " + doubt
	}
	return text
}
