package host

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestCPUTimeIsBusyUnlessItIsIdleOrWaits(t *testing.T) {
	var c Counts
	c.cpu("cpu  100 20 30 1000 50 6 7 8 90 9\ncpu0 1 2 3 4 5 6 7 8 9 10\n")
	if c.CPUBusyUs != 171*tickUs || c.CPUTotalUs != 1221*tickUs {
		t.Errorf("%+v", c)
	}
}

func TestMemoryIsInBytes(t *testing.T) {
	var c Counts
	c.memory("MemTotal:       2048 kB\nMemFree: 1 kB\nMemAvailable:    512 kB\n")
	if c.MemoryBytes != 2<<20 || c.MemoryAvailableBytes != 512<<10 {
		t.Errorf("%+v", c)
	}
}

func TestInterfacesAreThoseWithTheMostTrafficAndNotTheLoopback(t *testing.T) {
	var dev strings.Builder
	dev.WriteString(
		"Inter-|   Receive\n face |bytes packets errs drop fifo frame compressed multicast|bytes packets\n" +
			"    lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n  idle: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n")
	for n := range 40 {
		fmt.Fprintf(&dev, "  eth%d:%d 2 3 4 0 0 0 0 100 6 7 8 0 0 0 0\n", n, 1000+n)
	}
	var c Counts
	c.network(dev.String())
	want := Interface{Name: "eth39", RxBytes: 1039, RxPackets: 2, RxErrors: 3, RxDropped: 4, TxBytes: 100, TxPackets: 6,
		TxErrors: 7, TxDropped: 8}
	if len(c.Interfaces) != interfacesMax || c.Interfaces[0] != want {
		t.Errorf("%+v", c.Interfaces)
	}
}

func TestListenersTellOfConnectionsThatFoundNoPlace(t *testing.T) {
	var c Counts
	c.listeners(
		"TcpExt: SyncookiesSent SyncookiesRecv ListenOverflows ListenDrops\nTcpExt: 5 6 7 8\nIpExt: In\nIpExt: 1\n")
	if c.SYNCookies != 5 || c.ListenOverflows != 7 || c.ListenDrops != 8 {
		t.Errorf("%+v", c)
	}
}

func TestSegmentsTellOfThoseSentAgain(t *testing.T) {
	var c Counts
	c.segments("Ip: Forwarding\nIp: 1\nTcp: MaxConn InSegs OutSegs RetransSegs InErrs\nTcp: -1 20 30 4 0\n")
	if c.SentSegments != 30 || c.RetransmittedSegments != 4 {
		t.Errorf("%+v", c)
	}
}

func TestANameWithBracketsDoesNotShiftTheFieldsOfTheProcess(t *testing.T) {
	var c Counts
	c.own("1 (a) b) 9) S 1 1 1 0 -1 4194304 1 0 0 0 300 200 0 0 20 0 9 0 77 1234 50 18446744073709551615")
	if c.OwnCPUUs != 500*tickUs || c.OwnRSSBytes != 50*uint64(os.Getpagesize()) {
		t.Errorf("%+v", c)
	}
}

func TestWhatIsMalformedIsZero(t *testing.T) {
	for _, text := range []string{"", "cpu", "cpu a b c d e f g h", ")", "x: 1",
		"TcpExt: ListenDrops\nTcpExt:", "\n\n\n"} {
		var c Counts
		c.cpu(text)
		c.memory(text)
		c.network(text)
		c.listeners(text)
		c.own(text)
		if fmt.Sprint(c) != fmt.Sprint(Counts{}) {
			t.Errorf("%q: %+v", text, c)
		}
	}
}

func TestThisMachineHasMemoryADiskAndCPUTime(t *testing.T) {
	c := Read(t.TempDir())
	if c.CPUTotalUs == 0 || c.CPUBusyUs > c.CPUTotalUs || c.MemoryBytes < c.MemoryAvailableBytes ||
		c.MemoryBytes == 0 ||
		c.DiskBytes < c.DiskFreeBytes || c.DiskBytes == 0 || c.OwnRSSBytes == 0 {
		t.Errorf("%+v", c)
	}
}
