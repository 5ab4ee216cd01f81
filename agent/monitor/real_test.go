package monitor

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"flag"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/tests/accept"
)

var real = flag.Bool("monitor.real", false,
	"check real servers: named, slapd, freeradius, postfix, dovecot and vsftpd of Debian; needs root")

// place is where the configuration and the data of a real server are. Other users may read it.
type place struct {
	*testing.T
	dir string
}

// realServer skips the test unless real servers are wanted.
func realServer(t *testing.T) *place {
	t.Helper()
	if !*real {
		t.Skip("needs -monitor.real")
	}
	dir, err := os.MkdirTemp("", "weir-monitor-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return &place{t, dir}
}

// write makes a file. In its content, DIR stands for the place.
func (p *place) write(name, content string) string {
	p.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(content, "DIR", p.dir)), 0o644); err != nil {
		p.Fatal(err)
	}
	return path
}

// certificate writes cert.pem and key.pem.
func (p *place) certificate() {
	p.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "real.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		p.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		p.Fatal(err)
	}
	p.write("cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	p.write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})))
}

// port is one that nobody listens on.
func (p *place) port() uint16 {
	p.Helper()
	return netip.MustParseAddrPort(accept.FreeAddress(p)).Port()
}

// run runs a program to its end.
func (p *place) run(program string, arguments ...string) {
	p.Helper()
	if output, err := exec.CommandContext(p.Context(), program, arguments...).CombinedOutput(); err != nil {
		p.Fatalf("%s: %v\n%s", program, err, output)
	}
}

// start runs a server in the foreground until the test ends.
func (p *place) start(program string, arguments ...string) {
	p.Helper()
	server := exec.Command(program, arguments...)
	var output bytes.Buffer
	server.Stdout, server.Stderr = &output, &output
	if err := server.Start(); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() {
		server.Process.Signal(os.Interrupt)
		ended := time.AfterFunc(20*time.Second, func() { server.Process.Kill() })
		server.Wait()
		ended.Stop()
		if p.Failed() {
			p.Logf("%s: %s", program, output.String())
		}
	})
}

// expect checks that a monitor comes to this result at a port: a reason that contains the text, or up if it is empty.
// A server may need a while until it answers.
func (p *place) expect(port uint16, monitor plan.Monitor, reason string) {
	p.Helper()
	monitor.Timeout = 30 * time.Second
	at := net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port))
	var outcome Outcome
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		outcome = Probe(p.Context(), targetAt(at, &monitor))
		if outcome.Up == (reason == "") && strings.Contains(outcome.Reason, reason) {
			return
		}
	}
	p.Errorf("type %d: got %+v, want %q", monitor.Type, outcome, reason)
}

func TestSlapdIsUp(t *testing.T) {
	p := realServer(t)
	p.certificate()
	plain, secure := p.port(), p.port()
	configuration := p.write("slapd.conf", `
include /etc/ldap/schema/core.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile DIR/pid
TLSCertificateFile DIR/cert.pem
TLSCertificateKeyFile DIR/key.pem
database mdb
suffix dc=weir
rootdn cn=me,dc=weir
rootpw secret
directory DIR
`)
	entries := p.write("entries.ldif",
		"dn: dc=weir\nobjectClass: dcObject\nobjectClass: organization\ndc: weir\no: Weir\n\n"+
			"dn: ou=a,dc=weir\nobjectClass: organizationalUnit\nou: a\n\ndn: ou=b,dc=weir\nobjectClass: organizationalUnit\nou: b\n")
	p.run("/usr/sbin/slapadd", "-f", configuration, "-l", entries)
	p.start("/usr/sbin/slapd", "-f", configuration, "-d", "0", "-h",
		fmt.Sprintf("ldap://127.0.0.1:%d/ ldaps://127.0.0.1:%d/", plain, secure))
	me := plan.Login{Username: "cn=me,dc=weir", Password: "secret"}
	search := func(kind plan.MonitorType, login plan.Login, base, filter string) plan.Monitor {
		return plan.Monitor{Type: kind, Login: login, LDAP: plan.LDAPCheck{BaseDN: base, Scope: plan.LDAPSub,
			Filter: filter, Attributes: []string{"ou"}}}
	}
	p.expect(plain, search(plan.LDAP, plan.Login{}, "dc=weir", ""), "")
	p.expect(plain, search(plan.LDAP, me, "dc=weir", "(ou=*)"), "")
	p.expect(secure, search(plan.LDAPS, me, "dc=weir", "(ou=b)"), "")
	p.expect(plain, search(plan.LDAP, me, "dc=weir", "(ou=c)"), "no entry")
	p.expect(plain, search(plan.LDAP, me, "dc=elsewhere", ""), "No Such Object")
	p.expect(plain, search(plan.LDAP, plan.Login{Username: "cn=me,dc=weir", Password: "x"}, "dc=weir", ""),
		"Invalid Credentials")
}

func TestFreeradiusIsUp(t *testing.T) {
	p := realServer(t)
	port := p.port()
	p.write("dictionary", "$INCLUDE /usr/share/freeradius/dictionary\n")
	p.write("radiusd.conf", fmt.Sprintf(`
prefix = /usr
libdir = /usr/lib/freeradius
raddbdir = DIR
run_dir = DIR
logdir = DIR
client local {
	ipaddr = 127.0.0.1
	secret = shared
	require_message_authenticator = yes
}
modules {
	pap {
	}
}
server default {
listen {
	type = auth
	ipaddr = 127.0.0.1
	port = %d
}
authorize {
	if (&User-Name == "me") {
		update control {
			Cleartext-Password := "a long secret of the test"
		}
	}
	pap
}
authenticate {
	Auth-Type PAP {
		pap
	}
}
}
`, port))
	p.start("/usr/sbin/freeradius", "-f", "-d", p.dir, "-l", "stdout")
	user := func(name, password, secret string) plan.Monitor {
		return plan.Monitor{Type: plan.RADIUS, RADIUS: plan.RADIUSCheck{Username: name, Password: password,
			Secret: secret}}
	}
	p.expect(port, user("me", "a long secret of the test", "shared"), "")
	p.expect(port, user("me", "another", "shared"), "it rejects the user")
	p.expect(port, user("you", "another", "shared"), "it rejects the user")
}

func TestPostfixIsUp(t *testing.T) {
	p := realServer(t)
	p.certificate()
	plain, secure := p.port(), p.port()
	for _, dir := range []string{"queue", "data"} {
		if err := os.Mkdir(filepath.Join(p.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.run("chown", "postfix", filepath.Join(p.dir, "data"))
	p.write("main.cf", `
compatibility_level = 3.6
queue_directory = DIR/queue
data_directory = DIR/data
maillog_file = /dev/stdout
myhostname = real.test
mydestination = real.test
local_recipient_maps = static:ok
local_transport = discard:
smtpd_relay_restrictions = reject_unauth_destination
inet_protocols = ipv4
smtpd_tls_chain_files = DIR/key.pem, DIR/cert.pem
smtpd_tls_security_level = may
`)
	p.write("master.cf", fmt.Sprintf(`
127.0.0.1:%d inet n - n - - smtpd
127.0.0.1:%d inet n - n - - smtpd -o smtpd_tls_wrappermode=yes
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
discard unix - - n - - discard
anvil unix - - n - 1 anvil
proxymap unix - - n - - proxymap
postlog unix-dgram n - n - 1 postlogd
`, plain, secure))
	p.start("/usr/sbin/postfix", "-c", p.dir, "start-fg")
	p.Cleanup(func() { exec.Command("/usr/sbin/postfix", "-c", p.dir, "stop").Run() })
	mail := plan.SMTPCheck{Domain: "weir.test", Sender: "probe@weir.test", Recipients: []string{"me@real.test"},
		Mail: "Subject: probe\n\nhello\n.\nbye"}
	p.expect(plain, plan.Monitor{Type: plan.SMTP}, "")
	p.expect(plain, plan.Monitor{Type: plan.SMTP, SMTP: mail}, "")
	p.expect(secure, plan.Monitor{Type: plan.SMTPS, SMTP: mail}, "")
	mail.Recipients = []string{"me@elsewhere.test"}
	p.expect(plain, plan.Monitor{Type: plan.SMTP, SMTP: mail}, "its answer to RCPT: 5")
	p.expect(plain, plan.Monitor{Type: plan.SMTPS}, "not TLS")
}

func TestDovecotIsUp(t *testing.T) {
	p := realServer(t)
	p.certificate()
	ports := map[plan.MonitorType]uint16{plan.IMAP: p.port(), plan.IMAPS: p.port(), plan.POP3: p.port(),
		plan.POP3S: p.port()}
	if err := os.Mkdir(filepath.Join(p.dir, "home"), 0o777); err != nil {
		t.Fatal(err)
	}
	p.run("chown", "65534:65534", filepath.Join(p.dir, "home"))
	configuration := p.write("dovecot.conf", fmt.Sprintf(`
base_dir = DIR/run
state_dir = DIR/state
log_path = /dev/stderr
protocols = imap pop3
listen = 127.0.0.1
ssl = yes
ssl_cert = <DIR/cert.pem
ssl_key = <DIR/key.pem
mail_location = maildir:~/mail
passdb {
  driver = static
  args = password=secret
}
userdb {
  driver = static
  args = uid=65534 gid=65534 home=DIR/home
}
service imap-login {
  inet_listener imap {
    port = %d
  }
  inet_listener imaps {
    port = %d
  }
}
service pop3-login {
  inet_listener pop3 {
    port = %d
  }
  inet_listener pop3s {
    port = %d
  }
}
`, ports[plan.IMAP], ports[plan.IMAPS], ports[plan.POP3], ports[plan.POP3S]))
	p.start("/usr/sbin/dovecot", "-F", "-c", configuration)
	for kind, port := range ports {
		p.expect(port, plan.Monitor{Type: kind}, "")
		p.expect(port, plan.Monitor{Type: kind, Login: plan.Login{Username: "me", Password: "secret"},
			IMAPFolder: "INBOX"}, "")
	}
	p.expect(ports[plan.IMAP], plan.Monitor{Type: plan.IMAP, IMAPFolder: "nowhere",
		Login: plan.Login{Username: "me", Password: "secret"}}, "its answer to SELECT: NO")
	p.expect(ports[plan.IMAP], plan.Monitor{Type: plan.IMAP, Login: plan.Login{Username: "me", Password: "x"}},
		"its answer to LOGIN: NO")
	p.expect(ports[plan.POP3], plan.Monitor{Type: plan.POP3, Login: plan.Login{Username: "me", Password: "x"}},
		"its answer to PASS: -ERR")
}

func TestVsftpdIsUp(t *testing.T) {
	p := realServer(t)
	p.certificate()
	p.write("files/status", "all is well\n")
	port := p.port()
	configuration := p.write("vsftpd.conf", fmt.Sprintf(`
listen=YES
listen_address=127.0.0.1
listen_port=%d
background=NO
seccomp_sandbox=NO
anonymous_enable=YES
anon_root=DIR/files
secure_chroot_dir=DIR/files
ssl_enable=YES
allow_anon_ssl=YES
force_anon_data_ssl=NO
force_anon_logins_ssl=NO
require_ssl_reuse=YES
ssl_ciphers=HIGH
rsa_cert_file=DIR/cert.pem
rsa_private_key_file=DIR/key.pem
`, port))
	p.run("chown", "root:root", configuration)
	p.start("/usr/sbin/vsftpd", configuration)
	for _, kind := range []plan.MonitorType{plan.FTP, plan.FTPS} {
		p.expect(port, plan.Monitor{Type: kind, FTP: plan.FTPCheck{Filename: "status"}}, "")
		p.expect(port, plan.Monitor{Type: kind, FTP: plan.FTPCheck{Filename: "status", Active: true}}, "")
		p.expect(port, plan.Monitor{Type: kind, FTP: plan.FTPCheck{Filename: "nothing"}}, "its answer to RETR: 550")
	}
	p.expect(port, plan.Monitor{Type: plan.FTP, FTP: plan.FTPCheck{Filename: "status"},
		Login: plan.Login{Username: "me", Password: "x"}}, "its answer to")
}

func TestNamedIsUp(t *testing.T) {
	p := realServer(t)
	port := p.port()
	long := ""
	for i := range 8 {
		long += fmt.Sprintf("a.long IN TXT \"%d %s\"\n", i, strings.Repeat("y", 200))
	}
	p.write("zone", "$TTL 60\n@ IN SOA ns me 1 60 60 60 60\n@ IN NS ns\nns IN A 127.0.0.1\nweb IN A 192.0.2.7\n"+
		"www IN CNAME web\nweb IN AAAA 2001:db8::7\n"+long)
	configuration := p.write("named.conf", fmt.Sprintf(`
options {
	directory "DIR";
	pid-file none;
	session-keyfile none;
	listen-on port %d { 127.0.0.1; };
	listen-on-v6 { none; };
	recursion no;
	dnssec-validation no;
};
controls { };
zone "real.test" { type primary; file "DIR/zone"; };
`, port))
	p.start("/usr/sbin/named", "-g", "-n", "1", "-c", configuration)
	ask := func(name string, record uint16, contains string) plan.Monitor {
		return plan.Monitor{Type: plan.DNS, DNS: plan.DNSCheck{Name: name, Record: record, Contains: contains,
			Answer: plan.DNSAnswerOfType}}
	}
	p.expect(port, ask("web.real.test", dns.TypeA, "192.0.2.7"), "")
	p.expect(port, ask("web.real.test", dns.TypeAAAA, "2001:db8::7"), "")
	p.expect(port, ask("www.real.test", dns.TypeA, "192.0.2.7"), "")
	p.expect(port, ask("a.long.real.test", dns.TypeTXT, "7 yyyy"), "") // too long for a datagram
	p.expect(port, ask("web.real.test", dns.TypeA, "192.0.2.8"), "192.0.2.8")
	p.expect(port, ask("web.real.test", dns.TypeMX, ""), "without a record of type MX")
	p.expect(port, ask("nobody.real.test", dns.TypeA, ""), "NXDOMAIN for A nobody.real.test, want NOERROR")
	p.expect(port, ask("web.other.test", dns.TypeA, ""), "REFUSED")
}
