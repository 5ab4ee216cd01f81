package controller

import (
	"context"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTellsWhereItsMemoryIsOnASocketOfItsUser(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the socket of an earlier run, which was killed, is in the way of no later one
		ctx, end := context.WithCancel(t.Context())
		listener, err := listenProfile(ctx, dir)
		if err != nil {
			t.Fatal(err)
		}
		listener.(*net.UnixListener).SetUnlinkOnClose(false)
		served := make(chan error, 1)
		go func() { served <- serveProfile(ctx, listener) }()
		path := filepath.Join(dir, profileSocket)
		if info, err := os.Stat(path); err != nil || info.Mode() != fs.ModeSocket|0o600 {
			t.Fatalf("the socket has the mode %v, %v", info.Mode(), err)
		}
		client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _,
			_ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}}}
		answer, err := client.Get("http://controller/debug/pprof/heap?debug=1")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if err != nil || !strings.HasPrefix(string(text), "heap profile: ") {
			t.Fatalf("got %.40q, %v", text, err)
		}
		_ = answer.Body.Close()
		end()
		if err := <-served; err != nil {
			t.Fatal(err)
		}
	}
}
