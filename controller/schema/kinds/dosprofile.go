package kinds

import (
	"fmt"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/schema"
)

// DosProfile says how much of what counts as an attack on a virtual service.
type DosProfile struct {
	Thresholds []DosThreshold `json:"thresh_info" items:"44"`
	PeriodS    uint32         `json:"thresh_period" min:"1" max:"3600" default:"5" required:"true"`
}

// DosThreshold says from which number in a period on there is an attack, and from which on it is severe. Older versions
// stored any numbers.
type DosThreshold struct {
	Attack string `json:"attack" enum:"AttackType" required:"true"`
	Min    int64  `json:"min_value" min:"1" max:"2147483647" required:"true"`
	Max    int64  `json:"max_value" min:"1" max:"2147483647" required:"true"`
}

// What an attack needs so that engines can count it.
const (
	AttackOnAny        = iota // a virtual service of any kind
	AttackOnConnection        // one with connections: none of UDP
	AttackOnHTTP              // one of HTTP
)

// countedAttacks are the attacks that engines count, with what they need.
var countedAttacks = map[string]int{
	"DOS_HTTP_TIMEOUT": AttackOnHTTP, "DOS_HTTP_ERROR": AttackOnHTTP, "DOS_HTTP_ABORT": AttackOnHTTP,
	"DOS_APP_ERROR": AttackOnHTTP, "DOS_SSL_ERROR": AttackOnConnection, "TCP_SLOW_AND_LOW": AttackOnConnection,
	"DOS_REQ_CIP_SCAN_BAD_RL_DROP": AttackOnHTTP, "DOS_REQ_CIP_SCAN_UNKNOWN_RL_DROP": AttackOnHTTP,
	"DOS_REQ_URI_SCAN_BAD_RL_DROP": AttackOnHTTP, "DOS_REQ_URI_SCAN_UNKNOWN_RL_DROP": AttackOnHTTP,
	"POLICY_DROPS":     AttackOnAny,
	"DOS_CONN_RL_DROP": AttackOnConnection, "DOS_CONN_IP_RL_DROP": AttackOnConnection,
	"DOS_REQ_RL_DROP": AttackOnHTTP, "DOS_REQ_IP_RL_DROP": AttackOnHTTP, "DOS_REQ_URI_RL_DROP": AttackOnHTTP,
	"DOS_REQ_IP_URI_RL_DROP": AttackOnHTTP, "DOS_REQ_HDR_RL_DROP": AttackOnHTTP,
	"DOS_REQ_CUSTOM_RL_DROP": AttackOnHTTP, "DOS_REQ_IP_RL_DROP_BAD": AttackOnHTTP,
	"DOS_REQ_URI_RL_DROP_BAD": AttackOnHTTP, "DOS_REQ_IP_URI_RL_DROP_BAD": AttackOnHTTP,
}

var _ = schema.Enum("AttackType", "LAND", "SMURF", "ICMP_PING_FLOOD", "UNKOWN_PROTOCOL", "TEARDROP",
	"IP_FRAG_OVERRUN", "IP_FRAG_TOOSMALL", "IP_FRAG_FULL", "IP_FRAG_INCOMPLETE", "PORT_SCAN", "TCP_NON_SYN_FLOOD_OLD",
	"SYN_FLOOD", "BAD_RST_FLOOD", "MALFORMED_FLOOD", "FAKE_SESSION", "ZERO_WINDOW_STRESS", "SMALL_WINDOW_STRESS",
	"DOS_HTTP_TIMEOUT", "DOS_HTTP_ERROR", "DOS_HTTP_ABORT", "DOS_SSL_ERROR", "DOS_APP_ERROR", "DOS_REQ_IP_RL_DROP",
	"DOS_REQ_URI_RL_DROP", "DOS_REQ_URI_SCAN_BAD_RL_DROP", "DOS_REQ_URI_SCAN_UNKNOWN_RL_DROP",
	"DOS_REQ_IP_URI_RL_DROP", "DOS_CONN_IP_RL_DROP", "DOS_SLOW_URL", "TCP_NON_SYN_FLOOD",
	"DOS_REQ_CIP_SCAN_BAD_RL_DROP", "DOS_REQ_CIP_SCAN_UNKNOWN_RL_DROP", "DOS_REQ_IP_RL_DROP_BAD",
	"DOS_REQ_URI_RL_DROP_BAD", "DOS_REQ_IP_URI_RL_DROP_BAD", "POLICY_DROPS", "DOS_CONN_RL_DROP", "DOS_REQ_RL_DROP",
	"DOS_REQ_HDR_RL_DROP", "DOS_REQ_CUSTOM_RL_DROP", "DNS_ATTACK_REFLECTION", "DNS_ATTACK_AMPLIFICATION_EGRESS",
	"TCP_SLOW_AND_LOW", "DNS_ATTACK_NXDOMAIN")

// Period is the time in which engines count. Older versions stored any number.
func (p *DosProfile) Period() time.Duration {
	return time.Duration(min(max(p.PeriodS, 1), 3600)) * time.Second
}

// IsOn tells whether engines count the attack of the threshold for a virtual service that has no more than that.
// Older versions stored thresholds of 0, from which on there would always be an attack.
func (t *DosThreshold) IsOn(has int) bool {
	needs, counted := countedAttacks[t.Attack]
	return counted && needs <= has && t.Min > 0
}

// CountedAttacks are the attacks that engines count.
func CountedAttacks() []string { return CountedAttacksOn(AttackOnHTTP) }

// CountedAttacksOn are those that they count for a virtual service that has no more than that.
func CountedAttacksOn(has int) []string {
	var counted []string
	for attack, needs := range countedAttacks {
		if needs <= has {
			counted = append(counted, attack)
		}
	}
	slices.Sort(counted)
	return counted
}

func (p *DosProfile) check(field string) *schema.FieldError {
	if p == nil {
		return nil
	}
	first := map[string]int{}
	for i, threshold := range p.Thresholds {
		at := fmt.Sprintf("%s.thresh_info[%d]", field, i)
		if earlier, taken := first[threshold.Attack]; taken {
			return refuse(at+".attack", "%s has a threshold already, in thresh_info[%d]", threshold.Attack, earlier)
		}
		first[threshold.Attack] = i
		if threshold.Max < threshold.Min {
			return refuse(at+".max_value", "%d is less than min_value, which is %d: from min_value on there is an "+
				"attack, and from max_value on it is severe", threshold.Max, threshold.Min)
		}
	}
	return nil
}
