package monitor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/weir-lb/weir/agent/plan"
)

// probeDNS asks a question over UDP, and again over TCP if the answer does not fit into a datagram.
func probeDNS(ctx context.Context, target Target) Outcome {
	check := &target.Monitor.DNS
	question := new(dns.Msg).SetQuestion(dns.Fqdn(check.Name), check.Record)
	socket, err := connectUDP(ctx, target)
	if err != nil {
		return failed(target, err)
	}
	defer socket.Close()
	answer, err := askDNS(socket, question)
	if err == nil && answer.Truncated && judgeDNS(check, answer).Reason != "" {
		answer, err = askOverTCP(ctx, target, question)
	}
	if err != nil {
		return failed(target, err)
	}
	return judgeDNS(check, answer)
}

func askOverTCP(ctx context.Context, target Target, question *dns.Msg) (*dns.Msg, error) {
	connection, err := connect(ctx, target)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	return askDNS(connection, question)
}

// askDNS waits for the answer to a question. Over UDP others could send wrong ones: these are passed over.
func askDNS(connection net.Conn, question *dns.Msg) (*dns.Msg, error) {
	conversation := dns.Conn{Conn: connection, UDPSize: datagramBytesMax}
	if err := conversation.WriteMsg(question); err != nil {
		return nil, err
	}
	_, isUDP := connection.(*net.UDPConn)
	for {
		answer, err := conversation.ReadMsg()
		if network := net.Error(nil); err != nil && (!isUDP || errors.As(err, &network)) {
			return nil, err
		}
		if err == nil && answer.Response && answer.Id == question.Id &&
			slices.Equal(answer.Question, question.Question) {
			return answer, nil
		}
		if !isUDP {
			return nil, errors.New("its answer is not that to the question")
		}
	}
}

func judgeDNS(check *plan.DNSCheck, answer *dns.Msg) Outcome {
	kind := dns.Type(check.Record).String()
	got := fmt.Sprintf("%s for %s %s", codeOf(answer), kind, check.Name)
	ofType := func(record dns.RR) bool {
		return check.Record == dns.TypeANY || record.Header().Rrtype == check.Record
	}
	contains := func(record dns.RR) bool { return recordContains(record, check.Contains) }
	switch {
	case !check.AnyCode && answer.Rcode != dns.RcodeSuccess:
		return Outcome{Reason: got + ", want NOERROR"}
	case check.Answer == plan.DNSAnswerOfAnyType && len(answer.Answer) == 0:
		return Outcome{Reason: got + ", without a record in the answer"}
	case check.Answer == plan.DNSAnswerOfType && !slices.ContainsFunc(answer.Answer, ofType):
		return Outcome{Reason: fmt.Sprintf("%s, without a record of type %s in the answer", got, kind)}
	case check.Contains != "" && !slices.ContainsFunc(answer.Answer, contains):
		return Outcome{Reason: fmt.Sprintf("%s, without %q in the answer", got, check.Contains)}
	default:
		return Outcome{Up: true}
	}
}

func codeOf(answer *dns.Msg) string {
	if name, known := dns.RcodeToString[answer.Rcode]; known {
		return name
	}
	return fmt.Sprintf("response code %d", answer.Rcode)
}

// recordContains tells whether the text is in the data of a record. An address has to be the same as a whole: 10.0.0.1
// is not in 10.0.0.11.
func recordContains(record dns.RR, text string) bool {
	data := strings.TrimPrefix(record.String(), record.Header().String())
	if want, err := netip.ParseAddr(text); err == nil {
		got, err := netip.ParseAddr(data)
		return err == nil && got == want
	}
	return strings.Contains(strings.ToLower(data), strings.ToLower(text))
}
