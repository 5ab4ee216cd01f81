// Package host reads what the kernel counts of this machine and of this process: CPU, memory, disk, network interfaces.
// What it cannot read stays 0: the controller only shows it.
package host

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Counts are those of a moment. Times and packets are cumulative since the machine started, that of this process since
// it started.
type Counts struct {
	CPUBusyUs, CPUTotalUs             uint64 // of all cores; busy is all but idle and waiting for disks
	MemoryBytes, MemoryAvailableBytes uint64
	DiskBytes, DiskFreeBytes          uint64 // where this process keeps its state
	Interfaces                        []Interface
	// connections that found the queue of a listener full, or were dropped there
	ListenOverflows, ListenDrops uint64
	SYNCookies                   uint64 // sent, because a queue of half-open connections was full
	// Segments of TCP that were sent for the first time, and those that were sent again. They are of the network
	// namespace of this process.
	SentSegments, RetransmittedSegments uint64
	OwnCPUUs, OwnRSSBytes               uint64
}

// Interface counts what a network interface received and sent.
type Interface struct {
	Name                 string
	RxBytes, TxBytes     uint64
	RxPackets, TxPackets uint64
	RxDropped, TxDropped uint64
	RxErrors, TxErrors   uint64
}

// interfacesMax bounds the interfaces: those with the most traffic. Some hosts have thousands.
const interfacesMax = 16

// tick is USER_HZ, in which the kernel counts CPU time: 100 on every architecture that Weir runs on.
const tickUs = 1_000_000 / 100

// Read reads the counts. dir is a directory on the disk that is counted.
func Read(dir string) Counts {
	var c Counts
	c.cpu(text("/proc/stat"))
	c.memory(text("/proc/meminfo"))
	c.network(text("/proc/net/dev"))
	c.listeners(text("/proc/net/netstat"))
	c.segments(text("/proc/net/snmp"))
	c.own(text("/proc/self/stat"))
	var disk unix.Statfs_t
	if unix.Statfs(dir, &disk) == nil {
		c.DiskBytes, c.DiskFreeBytes = disk.Blocks*uint64(disk.Bsize), disk.Bavail*uint64(disk.Bsize)
	}
	return c
}

// text is the contents of a file of proc(5); empty: it cannot be read.
func text(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(data)
}

// cpu reads the first line of /proc/stat: cpu user nice system idle iowait irq softirq steal guest guest_nice. Guests
// are part of user and nice.
func (c *Counts) cpu(stat string) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return
	}
	for i, field := range fields[1:9] {
		us := number(field) * tickUs
		c.CPUTotalUs += us
		if idle := i == 3 || i == 4; !idle {
			c.CPUBusyUs += us
		}
	}
}

func (c *Counts) memory(meminfo string) {
	for line := range strings.Lines(meminfo) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "MemTotal:":
			c.MemoryBytes = number(fields[1]) << 10
		case "MemAvailable:":
			c.MemoryAvailableBytes = number(fields[1]) << 10
		}
	}
}

// network reads /proc/net/dev: name: bytes packets errs drop fifo frame compressed multicast, and the same for what was
// sent. The loopback is no way to clients.
func (c *Counts) network(dev string) {
	for line := range strings.Lines(dev) {
		name, rest, found := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		if name = strings.TrimSpace(name); !found || len(fields) < 12 || name == "lo" {
			continue
		}
		of := Interface{
			Name: name, RxBytes: number(fields[0]), RxPackets: number(fields[1]), RxErrors: number(fields[2]),
			RxDropped: number(fields[3]), TxBytes: number(fields[8]), TxPackets: number(fields[9]),
			TxErrors: number(fields[10]), TxDropped: number(fields[11]),
		}
		if of.RxPackets+of.TxPackets > 0 {
			c.Interfaces = append(c.Interfaces, of)
		}
	}
	slices.SortFunc(c.Interfaces, func(a, b Interface) int {
		return cmp.Or(cmp.Compare(b.RxBytes+b.TxBytes, a.RxBytes+a.TxBytes), strings.Compare(a.Name, b.Name))
	})
	c.Interfaces = c.Interfaces[:min(len(c.Interfaces), interfacesMax)]
}

// listeners reads /proc/net/netstat.
func (c *Counts) listeners(netstat string) {
	counts := counted(netstat, "TcpExt:")
	c.ListenOverflows, c.ListenDrops = counts["ListenOverflows"], counts["ListenDrops"]
	c.SYNCookies = counts["SyncookiesSent"]
}

// segments reads /proc/net/snmp.
func (c *Counts) segments(snmp string) {
	counts := counted(snmp, "Tcp:")
	c.SentSegments, c.RetransmittedSegments = counts["OutSegs"], counts["RetransSegs"]
}

// counted has the counts of one protocol from pairs of lines, names above and values below.
func counted(pairs, protocol string) map[string]uint64 {
	counts := map[string]uint64{}
	lines := strings.Split(pairs, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		names, values := strings.Fields(lines[i]), strings.Fields(lines[i+1])
		if len(names) == 0 || names[0] != protocol {
			continue
		}
		for at, name := range names[:min(len(names), len(values))] {
			counts[name] = number(values[at])
		}
	}
	return counts
}

// own reads /proc/self/stat. Behind the name in brackets, which may hold anything, utime is field 12, stime 13 and
// rss, in pages, 22.
func (c *Counts) own(stat string) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 22 {
		return
	}
	c.OwnCPUUs = (number(fields[11]) + number(fields[12])) * tickUs
	c.OwnRSSBytes = number(fields[21]) * uint64(os.Getpagesize())
}

// number is 0 for what is none.
func number(text string) uint64 {
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return value
}
