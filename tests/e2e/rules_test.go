package e2e

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weir-lb/weir/client"
)

// The table of rules has a case for each value of each match and action: rules.txt says how to read it. Each
// case has a virtual service of its own, at its own ports, so that all are made at once.

const casesAtOnce = 8 // being made

func TestRulesDoWhatTheirTableSays(t *testing.T) { testTable(t, tableOfRules) }

// testTable makes what a table says, and sends its requests.
func testTable(t *testing.T, file string) {
	table := readTable(t, file)
	s, names := rulesStage(t, table)
	queue, failures := make(chan int), make([]error, len(table.cases))
	var workers sync.WaitGroup
	for range casesAtOnce {
		workers.Go(func() {
			for i := range queue {
				failures[i] = s.serveCase(&table.cases[i], names)
			}
		})
	}
	for i := range table.cases {
		queue <- i
	}
	close(queue)
	workers.Wait()
	for i := range table.cases {
		each := &table.cases[i]
		t.Run(each.title, func(t *testing.T) { s.judgeCase(t, each, failures[i], names) })
	}
}

// rulesStage has the pools and the other objects of the table, and what its names stand for.
func rulesStage(t *testing.T, table *ruleTable) (*stage, *caller) {
	t.Helper()
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.change("serviceenginegroup", "Default-Group", func(o client.Object) { o["max_vs_per_se"] = 2 * len(table.cases) })
	right := seer(t, "right")
	for name, servers := range map[string][]string{
		"web": {seer(t, "web")}, "api": {seer(t, "api")}, "pair": {seer(t, "left"), right},
	} {
		s.create("pool", client.Object{"name": name, "servers": serverList(servers)})
	}
	s.create("vsvip", client.Object{"name": "web", "vip": list{
		object{"vip_id": "1", "ip_address": object{"addr": vip}}}})
	names := newCaller(t, right[strings.LastIndexByte(right, ':')+1:])
	s.create("pkiprofile", client.Object{"name": "authority",
		"ca_certs": list{object{"certificate": names.authority.certificate}}})
	s.create("applicationprofile", client.Object{"name": "asks for certificates",
		"type": "APPLICATION_PROFILE_TYPE_HTTP",
		"http_profile": object{"ssl_client_certificate_mode": "SSL_CLIENT_CERTIFICATE_REQUEST",
			"pki_profile_ref": client.Ref("pkiprofile", "authority")}})
	s.create("jwtserverprofile", client.Object{"name": "issuer", "issuer": issuerOfTokens,
		"jwks_keys": names.tokens.keys()})
	s.create("authprofile", client.Object{"name": "tokens", "type": "AUTH_PROFILE_JWT",
		"jwt_profile_ref": client.Ref("jwtserverprofile", "issuer")})
	for _, made := range table.objects {
		var body client.Object
		s.must(made.decode(names.fill(&ruleCase{}), &body))
		s.create(made.word, body)
	}
	return s, names
}

// serveCase makes the policies and the virtual service of a case. It returns why a policy is refused.
func (s *stage) serveCase(c *ruleCase, names *caller) error {
	fill := names.fill(c)
	policy, err := c.policy(fill)
	if err != nil {
		return err
	}
	others, err := besideOf(c, fill)
	if err != nil {
		return err
	}
	service := client.Object{
		"name": c.title, "vsvip_ref": client.Ref("vsvip", "web"), "pool_ref": client.Ref("pool", "web"),
		"application_profile_ref": client.Ref("applicationprofile", "asks for certificates"),
		"services": list{object{"port": c.port(true), "enable_ssl": true, "enable_http2": true},
			object{"port": c.port(false), "enable_http2": true}}}
	if len(policy) > 0 {
		others.make("httppolicyset", policy)
		service["http_policies"] = list{
			object{"index": 1, "http_policy_set_ref": client.Ref("httppolicyset", c.title)}}
	}
	for _, one := range others.made {
		made, err := s.controller.Session.Create(s.ctx, one.kind, one.body)
		if err != nil {
			return err
		}
		c.warnings += fmt.Sprint(made["weir_warnings"])
	}
	maps.Copy(service, others.service)
	for _, line := range c.lines {
		if line.word == "service" {
			if err := line.decode(fill, &service); err != nil {
				return err
			}
		}
	}
	if _, err = s.controller.Session.Create(s.ctx, "virtualservice", service); err != nil || others.child == nil {
		return err
	}
	_, err = s.controller.Session.Create(s.ctx, "virtualservice", others.child)
	return err
}

// judgeCase compares what becomes of a case with what its lines say.
func (s *stage) judgeCase(t *testing.T, c *ruleCase, refusal error, names *caller) {
	own := *s
	own.T = t
	fill := names.fill(c)
	isRefused := slices.ContainsFunc(c.lines, func(line ruleLine) bool { return line.word == "refused" })
	if refusal != nil && !isRefused {
		t.Fatalf("line %d: %v", c.at, refusal)
	}
	isUp := false
	for _, line := range c.lines {
		switch {
		case line.isRule() || line.word == "service":
		case line.word == "refused":
			if refusal == nil || !strings.Contains(refusal.Error(), fill.Replace(line.text)) {
				t.Errorf("line %d: want a refusal with %q, got %v", line.at, line.text, refusal)
			}
		case line.word == "warned":
			if !strings.Contains(c.warnings, line.text) {
				t.Errorf("line %d: want a warning with %q, got %s", line.at, line.text, c.warnings)
			}
		case line.word == "down":
			own.eventually("the virtual service is down", func() error {
				status := fmt.Sprint(own.runtime("virtualservice", c.watched())["oper_status"])
				if !strings.Contains(status, "OPER_DOWN") || !strings.Contains(status, line.text) {
					return errors.New(status)
				}
				return nil
			})
		default:
			if !isUp {
				own.waitUp(c.watched())
				isUp = true
			}
			asked, err := readExchange(fill.Replace(line.text))
			if err != nil {
				t.Fatalf("line %d: %v", line.at, err)
			}
			if problem := names.judge(t.Context(), c, &asked); problem != "" {
				t.Errorf("line %d: %s\n%s", line.at, line.text, problem)
			}
		}
	}
}
