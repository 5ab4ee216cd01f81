package monitor

import (
	"io"
	"net"
	"testing"
	"time"

	ber "github.com/go-asn1-ber/asn1-ber"

	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/tests/accept"
)

// Operations of LDAP (RFC 4511 §4.2, §4.5).
const ldapBindAnswer, ldapEntry, ldapSearchDone = 1, 4, 5

// ldapMessage is an answer to a message, with what an operation has in it.
func ldapMessage(to *ber.Packet, operation ber.Tag, parts ...*ber.Packet) []byte {
	message := ber.NewSequence("")
	message.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagInteger, to.Children[0].Value, ""))
	body := ber.Encode(ber.ClassApplication, ber.TypeConstructed, operation, nil, "")
	for _, part := range parts {
		body.AppendChild(part)
	}
	message.AppendChild(body)
	return message.Bytes()
}

func ldapResult(to *ber.Packet, operation ber.Tag, code int) []byte {
	text := func(s string) *ber.Packet {
		return ber.NewString(ber.ClassUniversal, ber.TypePrimitive, ber.TagOctetString, s, "")
	}
	return ldapMessage(to, operation,
		ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagEnumerated, code, ""), text(""), text(""))
}

func foundLDAP(to *ber.Packet, name string) []byte {
	return ldapMessage(to, ldapEntry,
		ber.NewString(ber.ClassUniversal, ber.TypePrimitive, ber.TagOctetString, name, ""), ber.NewSequence(""))
}

// ldapServer answers each message with what answer returns.
func ldapServer(t *testing.T, answer func(message *ber.Packet, to io.Writer)) net.Addr {
	t.Helper()
	return accept.Each(t, func(connection *net.TCPConn) {
		for {
			message, err := ber.ReadPacket(connection)
			if err != nil {
				return
			}
			answer(message, connection)
		}
	})
}

const unread = "the search: unable to read LDAP response packet: "

func isBind(message *ber.Packet) bool { return message.Children[1].Tag == 0 }

func TestLDAPMonitorBindsAndSearches(t *testing.T) {
	search := func(code int, entries ...string) func(*ber.Packet, io.Writer) {
		return func(message *ber.Packet, to io.Writer) {
			if isBind(message) {
				code := 49
				if message.Children[1].Children[1].Value == "cn=me" &&
					message.Children[1].Children[2].Data.String() == "secret" {
					code = 0
				}
				to.Write(ldapResult(message, ldapBindAnswer, code))
				return
			}
			for _, entry := range entries {
				to.Write(foundLDAP(message, entry))
			}
			to.Write(ldapResult(message, ldapSearchDone, code))
		}
	}
	me := plan.Login{Username: "cn=me", Password: "secret"}
	for name, c := range map[string]struct {
		login  plan.Login
		filter string
		answer func(*ber.Packet, io.Writer)
		reason string
	}{
		"the base is there":   {plan.Login{}, "", search(0, "dc=weir"), ""},
		"nothing is below it": {plan.Login{}, "", search(0), ""},
		"there is more":       {plan.Login{}, "(cn=a)", search(4, "cn=a,dc=weir"), ""},
		"it binds":            {me, "", search(0, "dc=weir"), ""},
		"the password is wrong": {plan.Login{Username: "cn=me", Password: "x"}, "", search(0),
			"its answer to the bind: Invalid Credentials"},
		"nothing fits the filter": {plan.Login{}, "(cn=a)", search(0), `no entry below "dc=weir" fits (cn=a)`},
		"there is no base":        {plan.Login{}, "", search(32), "its answer to the search: No Such Object"},
		"it may not search": {plan.Login{}, "", search(50),
			"its answer to the search: Insufficient Access Rights"},
		"it is silent": {plan.Login{}, "", func(*ber.Packet, io.Writer) {}, late},
		"it closes": {plan.Login{}, "", func(_ *ber.Packet, to io.Writer) { to.(io.Closer).Close() },
			unread + "EOF"},
		"nonsense": {plan.Login{}, "", func(_ *ber.Packet, to io.Writer) {
			io.WriteString(to, "HTTP/1.1 400 Bad Request\r\n\r\n")
			to.(io.Closer).Close()
		}, unread + "unexpected EOF"},
		"a message that is too long": {plan.Login{}, "", func(_ *ber.Packet, to io.Writer) {
			to.Write([]byte{0x30, 0x84, 0x7f, 0xff, 0xff, 0xff})
		}, unread + "length 2147483647 greater than maximum 65536"},
		"entries without end": {plan.Login{}, "(cn=a)", func(message *ber.Packet, to io.Writer) {
			for err := error(nil); err == nil; {
				_, err = to.Write(foundLDAP(message, "cn=a,dc=weir"))
			}
		}, unread + "its answers are longer than 65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			monitor := &plan.Monitor{Type: plan.LDAP, Login: c.login, Timeout: time.Minute,
				LDAP: plan.LDAPCheck{BaseDN: "dc=weir", Scope: plan.LDAPSub, Filter: c.filter}}
			if c.reason == late {
				monitor.Timeout = 100 * time.Millisecond
			}
			outcome := Probe(t.Context(), targetAt(ldapServer(t, c.answer), monitor))
			if outcome.Up != (c.reason == "") || outcome.Reason != c.reason {
				t.Errorf("got %+v, want %q", outcome, c.reason)
			}
		})
	}
}
