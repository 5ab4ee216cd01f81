package kinds

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

// admitted normalises, fills and checks an object, as admission does.
func admitted(t *testing.T, kind, text string) error {
	t.Helper()
	k := kindOf(t, kind)
	sent, err := schema.Parse(kind, []byte(text))
	if err != nil {
		return err
	}
	o, err := k.Normalise(sent)
	if err != nil {
		return err
	}
	k.Fill(o)
	return k.Check(o)
}

func TestAlertsAreRefusedIfTheyCouldNeverHappen(t *testing.T) {
	for text, want := range map[string]string{
		`{"name":"a","source":"EVENT_LOGS","alert_rule":{"sys_event_rule":[{"event_id":"VS_DOWN"}]}}`:                                                                                    "",
		`{"name":"a","source":"EVENT_LOGS","alert_rule":{"sys_event_rule":[{"event_id":"VS_DWON"}]}}`:                                                                                    "VS_DWON",
		`{"name":"a","source":"EVENT_LOGS","alert_rule":{"sys_event_rule":[{}]}}`:                                                                                                        "fits every event",
		`{"name":"a","source":"EVENT_LOGS","alert_rule":{"sys_event_rule":[{"event_id":"VS_UP"},{"event_id":"VS_DOWN"}]}}`:                                                               "OPERATOR_AND fits no event",
		`{"name":"a","source":"EVENT_LOGS","alert_rule":{"metrics_rule":[{"metric_id":"x","metric_threshold":{}}]}}`:                                                                     "sys_event_rule, and nothing else",
		`{"name":"a","source":"EVENT_LOGS","alert_rule":{"event_match_filter":"x","sys_event_rule":[{"event_id":"VS_UP"}]}}`:                                                             "event_match_filter",
		`{"name":"a","source":"METRICS","alert_rule":{"metrics_rule":[{"metric_id":"x","metric_threshold":{}}]}}`:                                                                        "object_type",
		`{"name":"a","source":"METRICS","object_type":"POOL","threshold":3,"alert_rule":{"metrics_rule":[{"metric_id":"x","metric_threshold":{}}]}}`:                                     "threshold",
		`{"name":"a","source":"METRICS","object_type":"POOL","alert_rule":{}}`:                                                                                                           "metrics_rule, and nothing else",
		`{"name":"a","source":"EVENT_LOGS","category":"WATERMARK","alert_rule":{"sys_event_rule":[{"event_id":"VS_UP"}]}}`:                                                               "WATERMARK",
		`{"name":"a","source":"EVENT_LOGS","alert_rule":{"sys_event_rule":[{"event_details":[{"event_details_key":"obj_name","event_details_value":"w","comparator":"ALERT_OP_GT"}]}]}}`: "is for numbers",
		`{"name":"a","source":"APP_LOGS","alert_rule":{"conn_app_log_rule":{"filter_string":"eq(response_code,503)"}}}`:                                                                  "",
		`{"name":"a","source":"APP_LOGS","alert_rule":{"sys_event_rule":[{"event_id":"VS_DOWN"}]}}`:                                                                                      "conn_app_log_rule, and nothing else",
		`{"name":"a","source":"APP_LOGS","alert_rule":{"conn_app_log_rule":{}}}`:                                                                                                         "filter_string",
		`{"name":"a","source":"APP_LOGS","alert_rule":{"conn_app_log_rule":{"filter_string":"x","filter_action":"x"}}}`:                                                                  "filter_action",
		`{"name":"a","source":"CONN_LOGS","category":"WATERMARK","alert_rule":{"conn_app_log_rule":{"filter_string":"x"}}}`:                                                              "WATERMARK",
		`{"name":"a","source":"CONN_LOGS","object_type":"CONTROLLER","alert_rule":{"conn_app_log_rule":{"filter_string":"x"}}}`:                                                          "has no records",
		`{"name":"a","source":"METRICS","object_type":"POOL","alert_rule":{"conn_app_log_rule":{"filter_string":"x"},"metrics_rule":[{"metric_id":"x","metric_threshold":{}}]}}`:         "metrics_rule, and nothing else",
		`{"name":"a","source":"EVENT_LOGS","weir_silences":[{"until":"tomorrow","why":"x"}],"alert_rule":{"sys_event_rule":[{"event_id":"VS_UP"}]}}`:                                     "is no time",
	} {
		checkRefusal(t, "alertconfig", text, want)
	}
}

func checkRefusal(t *testing.T, kind, text, want string) {
	t.Helper()
	err := admitted(t, kind, text)
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s %s: got %v, want %q", kind, text, err, want)
	}
}

func TestActionsThatWeirDoesNotTakeAreRefused(t *testing.T) {
	for _, c := range [][3]string{
		{"actiongroupconfig", `{"name":"a","action_script_config_ref":"/api/alertscriptconfig/x"}`,
			"runs no code of others"},
		{"actiongroupconfig", `{"name":"a","snmp_trap_profile_ref":"/api/snmptrapprofile/x"}`, "no SNMP traps"},
		{"actiongroupconfig", `{"name":"a","external_only":true}`, ""},
		{"alertscriptconfig", `{"name":"a","action_script":"#!/bin/sh"}`, "runs no code of others"},
		{"webhook", `{"name":"a","callback_url":"https://h/p","verification_token":"0123456789abcdef"}`, ""},
		{"analyticsprofile", `{"name":"a","weir_trace_config":{}}`, ""},
		{"analyticsprofile", `{"name":"a","weir_trace_config":{"sampled_percent":100.1}}`, "give 0 to 100"},
		{"webhook", `{"name":"a","callback_url":"https://h/p","verification_token":"short"}`, "shorter than 16"},
		{"webhook", `{"name":"a","callback_url":"ftp://h/p","verification_token":"0123456789abcdef"}`,
			"no URL to send to"},
		{"webhook", `{"name":"a","callback_url":"http://u:p@h/","verification_token":"0123456789abcdef"}`,
			"without a user"},
		{"alertemailconfig", `{"name":"a","to_emails":"a@example.com, Jo <jo@example.com>"}`, ""},
		{"alertemailconfig", `{"name":"a","to_emails":"a@example.com\r\nBcc: b@example.com"}`,
			"no list of mail addresses"},
		{"alertsyslogconfig", `{"name":"a","syslog_servers":[{"syslog_server":"h","tls_enable":true}]}`,
			"set udp to false"},
		{"alertsyslogconfig", `{"name":"a","syslog_servers":[{"syslog_server":"h","tls_enable":true,"udp":false}]}`,
			"needs a certificate"},
	} {
		checkRefusal(t, c[0], c[1], c[2])
	}
}

// An alert about an event that does not exist would never come, so events are known by name. The manual has a table of
// them.
func TestAlertsKnowTheEventsOfTheManual(t *testing.T) {
	manual, err := os.ReadFile("../../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(manual), "\n## Events\n")
	table, _, _ = strings.Cut(table, "\n## ")
	known := strings.Join(eventIDs, " ")
	for line := range strings.Lines(table) {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		for _, id := range regexp.MustCompile("`([A-Z_]+)`").FindAllStringSubmatch(first, -1) {
			if strings.HasPrefix(line, "|") && !slices.Contains(eventIDs, id[1]) {
				t.Errorf("the manual has the event %s, and alerts know only %s", id[1], known)
			}
		}
	}
}
