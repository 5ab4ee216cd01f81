package meter

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// TCPMemory is what all connections of this machine have of the kernel's memory for TCP, and what they may have, in
// pages. A kernel that has no more drops what comes.
func TCPMemory() (used, most int64, err error) {
	const usage, limits = "/proc/net/sockstat", "/proc/sys/net/ipv4/tcp_mem"
	text, err := os.ReadFile(usage)
	if err != nil {
		return 0, 0, err
	}
	if used, err = figure(string(text), "TCP:", "mem"); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", usage, err)
	}
	if text, err = os.ReadFile(limits); err != nil {
		return 0, 0, err
	}
	words := strings.Fields(string(text)) // low, pressure, most
	if len(words) != 3 {
		return 0, 0, fmt.Errorf("%s says %q", limits, text)
	}
	most, err = strconv.ParseInt(words[2], 10, 64)
	return used, most, err
}

// figure finds one behind its name, in a line like "TCP: inuse 5 mem 1".
func figure(text, protocol, name string) (int64, error) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		for i := 1; i+1 < len(words) && words[0] == protocol; i += 2 {
			if words[i] == name {
				return strconv.ParseInt(words[i+1], 10, 64)
			}
		}
	}
	return 0, fmt.Errorf("there is no %s of %s", name, protocol)
}
