package pages

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/weir-lb/weir/client"
	logtext "github.com/weir-lb/weir/logs/text"
	"github.com/weir-lb/weir/tests/hostile"
)

// sentRequest is what the flow looks for: the values of a record, as the API has them.
type sentRequest struct {
	Name   string            `json:"name"`
	Fields map[string]string `json:"fields"`
}

func TestHostileTextsAreTextInABrowser(t *testing.T) {
	chromium, s := browser(t), empty(t)
	s.engine("engine-1")
	server := s.server(time.Millisecond)
	s.service("shop", "Sells shoes", 8080, server)
	s.create("virtualservice", client.Object{"name": "strangers", "vsvip_ref": client.Ref("vsvip", "vip"),
		"pool_ref": client.Ref("pool", "shop"),
		"services": []any{client.Object{"port": tlsPort, "enable_ssl": true, "enable_http2": true}},
		"analytics_policy": client.Object{"significant_log_throttle": 0, "all_headers": true,
			"full_client_logs": client.Object{"enabled": true, "duration": 0, "throttle": 0}}})
	names := s.nameObjects(server)
	s.waitUp("strangers")
	address := net.JoinHostPort(s.vip, strconv.Itoa(tlsPort))
	var sent []sentRequest
	for _, text := range hostile.Texts {
		for _, request := range []hostile.Request{{Text: text}, {Text: text, HTTP2: true}} {
			s.must(request.Send(address))
			fields := map[string]string{}
			for field, value := range request.Recorded() {
				fields[field] = logtext.Encode(value)
			}
			delete(fields, "response_content_type") // the server has one of its own
			sent = append(sent, sentRequest{text.Name, fields})
		}
		s.failLogin(text.Bytes)
	}
	written, err := json.Marshal(map[string]any{"sent": sent, "names": names})
	s.must(err)
	file := filepath.Join(t.TempDir(), "hostile.json")
	s.must(os.WriteFile(file, written, 0o600))
	chromium.run(s, "hostile.mjs", "WEIR_HOSTILE="+file)
}

// nameObjects makes virtual services and pools with hostile names and descriptions. Names have no control characters.
func (s *stage) nameObjects(server string) (names []string) {
	s.Helper()
	for n, text := range hostile.Texts {
		if strings.ContainsFunc(text.Bytes, unicode.IsControl) {
			continue
		}
		host, port, err := net.SplitHostPort(server)
		s.must(err)
		s.create("pool", client.Object{"name": text.Bytes, "description": text.Bytes, "servers": []any{
			map[string]any{"ip": map[string]any{"addr": host, "type": "V4"}, "port": port,
				"hostname": "shop.example"}}})
		s.create("virtualservice", client.Object{"name": text.Bytes, "description": text.Bytes,
			"vsvip_ref": client.Ref("vsvip", "vip"), "pool_ref": client.Ref("pool", "shop"),
			"services": []any{client.Object{"port": 20_000 + n}}})
		names = append(names, string([]rune(text.Bytes))) // as JSON has it
	}
	if len(names) == 0 {
		s.Fatal(fmt.Sprint("no text may be a name: ", len(hostile.Texts)))
	}
	return names
}
