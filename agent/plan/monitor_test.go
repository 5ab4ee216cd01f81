package plan

import (
	"testing"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

func TestMonitorsThatFindTheSameHaveTheSameContent(t *testing.T) {
	content := func(kind enginev1.MonitorType, uuid, name, host string, timeout uint32) Content {
		return monitorOf(&enginev1.HealthMonitor{
			Uuid: uuid, Name: name, Type: kind, ReceiveTimeoutMs: timeout, Dns: &enginev1.DnsCheck{Name: host},
		}).Content
	}
	dns, script := enginev1.MonitorType_MONITOR_TYPE_DNS, enginev1.MonitorType_MONITOR_TYPE_EXTERNAL
	one := content(dns, "hm-1", "one", "a.example", 4)
	for name, c := range map[string]struct {
		got  Content
		same bool
	}{
		"another object":   {content(dns, "hm-2", "two", "a.example", 4), true},
		"another question": {content(dns, "hm-1", "one", "b.example", 4), false},
		"less time":        {content(dns, "hm-1", "one", "a.example", 3), false},
		"another type":     {content(enginev1.MonitorType_MONITOR_TYPE_UDP, "hm-1", "one", "a.example", 4), false},
	} {
		if (c.got == one) != c.same {
			t.Errorf("%s: the same is %v", name, !c.same)
		}
	}
	if content(script, "hm-1", "one", "", 4) == content(script, "hm-1", "two", "", 4) {
		t.Error("scripts know the name of their monitor, and share their checks under two names")
	}
}

func TestReadsWhatEachTypeOfMonitorDoes(t *testing.T) {
	read := monitorOf(&enginev1.HealthMonitor{
		Name: "ours", Apart: true,
		Udp: &enginev1.UdpCheck{Request: "hi", ResponseContains: "ho", MaintenanceContains: "away"},
		Dns: &enginev1.DnsCheck{Name: "a.example", RecordType: 28, AnyCode: true,
			Answer: enginev1.DnsAnswer_DNS_ANSWER_NOT_NEEDED, AnswerContains: "::1"},
		External: &enginev1.ExternalCheck{Script: "echo", Arguments: []string{"a"},
			Variables: map[string]string{"B": "2", "A": "1"}},
	})
	expect(t, read.UDP, UDPCheck{Request: "hi", Contains: "ho", MaintenanceContains: "away"})
	expect(t, read.DNS, DNSCheck{Name: "a.example", Record: 28, AnyCode: true, Answer: DNSAnswerNotNeeded,
		Contains: "::1"})
	expect(t, read.External, ExternalCheck{Script: "echo", Arguments: []string{"a"}, Variables: []string{"A=1", "B=2"}})
	if read.Name != "ours" || !read.Apart {
		t.Errorf("got %+v", read)
	}
}
