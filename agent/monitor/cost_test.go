package monitor

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/agent/plan"
)

// asServer makes the test's program serve instead of testing: the CPU time of servers is not the monitor's.
const asServer = "WEIR_MONITOR_TEST_SERVES"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		serveChecks()
		return
	}
	os.Exit(m.Run())
}

// serveChecks answers HTTP over TCP, and datagrams, at one port until its input ends, and says where.
func serveChecks() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	socket, err := net.ListenPacket("udp", listener.Addr().String())
	if err != nil {
		panic(err)
	}
	go func() {
		room := make([]byte, 2048)
		for {
			if n, from, err := socket.ReadFrom(room); err == nil {
				socket.WriteTo(room[:n], from)
			}
		}
	}()
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				for lines := bufio.NewScanner(connection); lines.Scan() && lines.Text() != ""; {
				}
				fmt.Fprint(connection, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nwell")
			}()
		}
	}()
	fmt.Println(listener.Addr())
	bufio.NewReader(os.Stdin).ReadString('\n')
}

// BenchmarkCPUOfAnEngineWith5000Servers runs a Set as an engine does, with 5,000 servers that are checked every 10 s,
// and reports the CPU time of the agent as a share of one core. The bar is 10 %.
func BenchmarkCPUOfAnEngineWith5000Servers(b *testing.B) {
	const servers, interval, lasts = 5000, 10 * time.Second, 20 * time.Second
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), asServer+"=1")
	said, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if _, err := server.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { server.Process.Kill(); server.Wait() }()
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	at := netip.MustParseAddrPort(strings.TrimSpace(line))
	for name, monitor := range map[string]plan.Monitor{
		"TCP":       {Type: plan.TCP},
		"half-open": {Type: plan.TCP, TCP: plan.TCPCheck{HalfOpen: true}},
		"UDP":       {Type: plan.UDP, UDP: plan.UDPCheck{Request: "ping", Contains: "ping"}},
		"HTTP": {Type: plan.HTTP, HTTP: plan.HTTPCheck{Classes: []uint32{2}, Contains: "well",
			Searched: answerBytesMax}},
	} {
		b.Run(name, func(b *testing.B) {
			monitor.UUID, monitor.Interval, monitor.Timeout = name, interval, 4*time.Second
			monitor.Successes, monitor.Failures, monitor.Quickstart = 2, 2, true
			pool := &plan.Pool{UUID: "p", Monitors: []*plan.Monitor{&monitor}}
			for i := range servers {
				pool.Servers = append(pool.Servers, plan.Server{ID: fmt.Sprint(i), Address: at.Addr(), Port: at.Port(),
					Hostname: fmt.Sprint(i), Enabled: true})
			}
			for b.Loop() {
				var mu sync.Mutex
				checks := 0
				set := New(Config{Changed: func(Verdict) {}, Probe: func(ctx context.Context, target Target) Outcome {
					outcome := Probe(ctx, target)
					mu.Lock()
					defer mu.Unlock()
					checks++
					if !outcome.Up {
						b.Errorf("%+v", outcome)
					}
					return outcome
				}})
				ctx, cancel := context.WithTimeout(b.Context(), lasts)
				before := cpuTime()
				set.Watch(&plan.Plan{Pools: []*plan.Pool{pool}})
				set.Run(ctx)
				cancel()
				used := cpuTime() - before
				b.ReportMetric(100*used.Seconds()/lasts.Seconds(), "%-of-a-core")
				b.ReportMetric(float64(used.Microseconds())/float64(checks), "CPU-us/check")
				b.ReportMetric(float64(checks)/lasts.Seconds(), "checks/s")
			}
		})
	}
}

func cpuTime() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
