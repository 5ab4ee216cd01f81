package notify

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"net/netip"
	"strconv"
	"strings"
	"testing"
)

func TestNothingIsSentToTheMachineOfTheControllerOrItsLink(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	for _, host := range []string{"127.0.0.1", "localhost", "127.1.2.3", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0",
		"169.254.169.254", "2130706433", "0x7f.1", "[::]"} {
		result := sender(false).Post(t.Context(), Webhook{URL: "http://" + host + ":" + port}, "1", notice())
		if result.OK || asked > 0 {
			t.Fatalf("%s: %+v", host, result)
		}
		switch host {
		case "2130706433", "0x7f.1": // Go takes them for names, and there are no such
		default:
			if !strings.Contains(result.Answer, "--allow-local-receivers") {
				t.Errorf("%s: %s", host, result.Answer)
			}
		}
	}
	number, _ := strconv.Atoi(port)
	if result := sender(false).Syslog(t.Context(), SyslogServer{Host: "127.0.0.1", Port: number, UDP: true},
		notice()); result.OK {
		t.Errorf("syslog by UDP: %+v", result)
	}
	if result := sender(false).Syslog(t.Context(), SyslogServer{Host: "localhost", Port: number}, notice()); result.OK {
		t.Errorf("syslog by TCP: %+v", result)
	}
	by := MailServer{Host: "localhost", Port: number, From: mail.Address{Address: "weir@example.com"}}
	if result := sender(false).Mail(t.Context(), by, "a@example.com", "", notice()); result.OK ||
		!strings.Contains(result.Answer, "--allow-local-receivers") {
		t.Errorf("mail: %+v", result)
	}
}

func TestLocalAddressesInAllForms(t *testing.T) {
	for text, want := range map[string]bool{
		"127.0.0.1": true, "127.255.0.1": true, "::1": true, "::ffff:127.0.0.1": true, "0.0.0.0": true, "0.1.2.3": true,
		"::": true, "169.254.169.254": true, "fe80::1%eth0": true, "224.0.0.1": true, "ff02::1": true,
		"255.255.255.255": true, "64:ff9b::7f00:1": true, "64:ff9b::a9fe:a9fe": true, "2002:7f00:1::": true,
		"::127.0.0.1": true, "64:ff9b:1::1": true, "64:ff9b:1:7f00:0:100::": true, "198.51.100.7": true,
		"64:ff9b::c633:6407": true, "2001:db8::7": true, "64:ff9b:2::1": false,
		"10.0.0.1": false, "192.0.2.1": false, "2001:db8::1": false, "fd00::1": false, "64:ff9b::c000:201": false,
		"2002:c000:201::1": false,
	} {
		if got := isLocal(netip.MustParseAddr(text), netip.MustParseAddr("198.51.100.7"),
			netip.MustParseAddr("2001:db8::7")); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestNothingIsSentToAddressesOfItsInterfaces(t *testing.T) {
	own, err := ownAddresses()
	if err != nil || len(own) == 0 {
		t.Fatalf("own addresses are %v, %v", own, err)
	}
	for _, address := range own {
		result := sender(false).Post(t.Context(), Webhook{URL: "http://" + netip.AddrPortFrom(address, 9).String()},
			"1",
			notice())
		if result.OK || !strings.Contains(result.Answer, "--allow-local-receivers") {
			t.Errorf("%s: %+v", address, result)
		}
	}
}
