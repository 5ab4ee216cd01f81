package kinds

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// AlertConfig is a rule: when there is an alert, and who hears of it. controller/alert/rule says what each field means.
type AlertConfig struct {
	Identity
	Named
	Owned
	Description    string     `json:"description"`
	Summary        string     `json:"summary"`
	Recommendation string     `json:"recommendation"`
	Enabled        bool       `json:"enabled" default:"true"`
	Source         string     `json:"source" enum:"AlertSource" required:"true"`
	Category       string     `json:"category" enum:"AlertCategory" default:"REALTIME"`
	ObjectType     string     `json:"object_type" enum:"AlertObjectType"` // empty: of any
	ObjectUUID     string     `json:"obj_uuid"`                           // empty: any
	Rule           *AlertRule `json:"alert_rule" required:"true"`
	Threshold      uint32     `json:"threshold" min:"1" max:"65536" default:"1"`
	RollingWindowS uint32     `json:"rolling_window" min:"1" max:"31536000" default:"300"`
	ThrottleS      uint32     `json:"throttle" max:"31536000" default:"600"`
	ExpiryS        uint32     `json:"expiry_time" min:"1" max:"31536000" default:"86400"`
	ActionGroupRef string     `json:"action_group_ref" ref:"actiongroupconfig" default:"System-Alert-Level-Low"`
	Silences       []Silence  `json:"weir_silences" items:"100"`
}

// AlertRule has the conditions. Those of one source count.
type AlertRule struct {
	Events   []AlertRuleEvent  `json:"sys_event_rule" items:"100"`
	Metrics  []AlertRuleMetric `json:"metrics_rule" items:"10"`
	Logs     *AlertLogFilter   `json:"conn_app_log_rule"`
	Operator string            `json:"operator" enum:"AlertOperator" default:"OPERATOR_AND"`
}

// AlertRuleEvent fits events with an id and details.
type AlertRuleEvent struct {
	EventID string               `json:"event_id" enum:"EventID"`
	Details []EventDetailsFilter `json:"event_details" items:"20"`
	Not     bool                 `json:"not_cond" default:"false"`
}

// AlertLogFilter fits records of requests or connections.
type AlertLogFilter struct {
	Filter string `json:"filter_string" required:"true"` // "filter=ge(response_code,500)&filter=sw(uri_path,/pay)"
}

// EventDetailsFilter compares a field of an event.
type EventDetailsFilter struct {
	Key        string `json:"event_details_key" enum:"EventDetail" required:"true"`
	Comparator string `json:"comparator" enum:"AlertComparator" default:"ALERT_OP_EQ"`
	Value      string `json:"event_details_value" required:"true"`
}

// AlertRuleMetric compares a metric, which must have fitted for a time.
type AlertRuleMetric struct {
	MetricID  string                `json:"metric_id" required:"true"`
	Threshold *AlertMetricThreshold `json:"metric_threshold" required:"true"`
	DurationS uint32                `json:"duration" max:"86400" default:"0"`
}

// AlertMetricThreshold is what a metric is compared with.
type AlertMetricThreshold struct {
	Comparator string `json:"comparator" enum:"AlertComparator" default:"ALERT_OP_GT"`
	Value      int64  `json:"threshold"`
}

// Silence keeps alerts from being sent for a time. They are listed all the same.
type Silence struct {
	ObjectUUID string `json:"obj_uuid"` // empty: of all objects
	Until      string `json:"until" required:"true"`
	By         string `json:"by"`
	Why        string `json:"why" required:"true"`
}

// Reveals says what a rule looks at: the receivers of its alerts learn when it fits.
func (c *AlertConfig) Reveals() []string {
	switch {
	case !c.Enabled:
		return nil
	case c.Source == "EVENT_LOGS":
		return []string{schema.EventResource}
	case c.Source == "APP_LOGS" || c.Source == "CONN_LOGS":
		return []string{schema.EventResource, schema.TrafficResource}
	}
	measured := schema.ControllerResource
	if kind, known := schema.Lookup(strings.ToLower(c.ObjectType)); known {
		measured = kind.Permission
	}
	return []string{schema.EventResource, measured}
}

func init() {
	schema.Register[AlertConfig](schema.Definition{
		Columns: []column.Column{
			column.Field("SOURCE", "source"),
			column.Field("CATEGORY", "category"),
			column.Of("WHEN", alertCondition),
			column.Field("ENABLED", "enabled"),
			column.Field("ACTIONS", "action_group_ref"),
		},
		Example: `  weir alertconfig create slow source=METRICS object_type=VIRTUALSERVICE ` +
			`alert_rule.metrics_rule[0].metric_id=weir.p99_total_time ` +
			`alert_rule.metrics_rule[0].metric_threshold.threshold=500 alert_rule.metrics_rule[0].duration=60`,
		Builtins: []schema.Object{
			eventAlert("System-VS-Alert", "VIRTUALSERVICE", "VS_DOWN", "VS_SCALEOUT_FAILED", "VS_MIGRATE_FAILED",
				"VS_SWITCHOVER_FAIL", "DOS_ATTACK"),
			eventAlert("System-Pool-Alert", "POOL", "POOL_DOWN", "SERVER_DOWN"),
			eventAlert("System-SE-Alert", "SERVICEENGINE", "SE_DOWN", "SE_REPLACED", "CREATE_SE_FAIL",
				"CREATE_SE_TIMEOUT", "DELETE_SE_FAIL", "CONN_DROP_MAX_FLOW_TBL", "CONN_DROP_NO_CONN_MEM"),
			eventAlert("System-Controller-Alert", "CONTROLLER", "METRICS_NOT_KEPT", "METRICS_LIMIT",
				"RECORD_STORE_DOWN", "RECORDS_LOST", "LOG_RULES_BLIND", "CONTROLLER_CONNECTIONS_SHORT",
				"STREAM_DOWN", "STREAM_DROPPED",
				"REMOTE_WRITE_DOWN", "REMOTE_WRITE_DROPPED", "REMOTE_WRITE_REFUSED"),
		},
		Kept: []schema.Rule{
			schema.Refuses("records either fit the filter or do not", "alert_rule.conn_app_log_rule.filter_action"),
			schema.Refuses("give sys_event_rule with event_details", "alert_rule.event_match_filter"),
			schema.NoEffect("a serverautoscalepolicy names the rules that scale a pool", "autoscale_alert"),
		},
	})
}

var (
	_ = schema.Enum("AlertSource", "CONN_LOGS", "APP_LOGS", "EVENT_LOGS", "METRICS")
	_ = schema.Enum("AlertCategory", "REALTIME", "ROLLINGWINDOW", "WATERMARK")
	_ = schema.Enum("AlertObjectType", "VIRTUALSERVICE", "POOL", "SERVICEENGINE", "CONTROLLER", "SERVICEENGINEGROUP",
		"SSLKEYANDCERTIFICATE", "PKIPROFILE")
	_ = schema.Enum("AlertOperator", "OPERATOR_AND", "OPERATOR_OR")
	_ = schema.Enum("AlertComparator", "ALERT_OP_LT", "ALERT_OP_LE", "ALERT_OP_EQ", "ALERT_OP_NE", "ALERT_OP_GE",
		"ALERT_OP_GT")
	_ = schema.Enum("EventDetail", "event_id", "obj_type", "obj_uuid", "obj_name", "tenant", "event_description",
		"related_uuids")
	// eventIDs are explained in docs/operating.md.
	eventIDs = schema.Enum("EventID",
		"SE_UP", "SE_DOWN", "SE_HEARTBEAT_FAILURE", "SE_REPLACED", "SE_VERDICTS_DROPPED", "SE_BGP_PEER_STATE_CHANGE",
		"SE_ENABLE_STATE_CHANGED", "CONN_DROP_MAX_FLOW_TBL", "CONN_DROP_NO_CONN_MEM",
		"CREATING_SE", "CREATED_SE", "CREATE_SE_FAIL", "CREATE_SE_TIMEOUT", "DELETING_SE",
		"DELETED_SE", "DELETE_SE_FAIL",
		"VS_UP", "VS_DOWN", "VS_ADD_SE", "VS_REMOVED_SE", "VS_SCALEOUT_COMPLETE", "VS_SCALEOUT_FAILED",
		"VS_SCALEIN_COMPLETE", "VS_MIGRATE_COMPLETE", "VS_MIGRATE_FAILED", "VS_SWITCHOVER", "VS_SWITCHOVER_FAIL",
		"REBALANCE_VS_MIGRATE", "REBALANCE_VS_SCALEIN", "REBALANCE_VS_SCALEOUT", "DOS_ATTACK", "DOS_ATTACK_ENDED",
		"POOL_UP", "POOL_DOWN", "SERVER_UP", "SERVER_DOWN", "SERVER_SLOW", "SERVER_SLOW_ENDED",
		"METRICS_KEPT", "METRICS_NOT_KEPT", "METRICS_LIMIT", "RECORD_STORE_UP", "RECORD_STORE_DOWN", "RECORDS_LOST",
		"STREAM_UP", "STREAM_DOWN", "STREAM_DROPPED",
		"REMOTE_WRITE_UP", "REMOTE_WRITE_DOWN", "REMOTE_WRITE_DROPPED", "REMOTE_WRITE_REFUSED",
		"CONTROLLER_CONNECTIONS_SHORT", "ANOMALY", "ANOMALY_ENDED", "ALERT_NOT_DELIVERED", "LOG_RULES_BLIND",
		"LOG_RULES_SEEING", "LOG_RULES_LATE",
		"SSL_OCSP_FAILED", "SSL_OCSP_WORKS", "SSL_OCSP_NOT_GOOD", "CRL_FETCH_FAILED", "CRL_FETCH_WORKS",
		"POOL_NAME_NOT_RESOLVED", "POOL_NAME_RESOLVED",
		"SERVER_AUTOSCALE_OUT_TRIGGERED", "SERVER_AUTOSCALE_OUT", "SERVER_AUTOSCALE_OUT_COMPLETE",
		"SERVER_AUTOSCALE_OUT_FAILED", "SERVER_AUTOSCALE_IN_TRIGGERED", "SERVER_AUTOSCALE_IN",
		"SERVER_AUTOSCALE_IN_COMPLETE", "SERVER_AUTOSCALE_IN_FAILED")
)

// eventAlert is a built-in rule for events.
func eventAlert(name, kind string, ids ...string) schema.Object {
	rules := []any{}
	for _, id := range ids {
		rules = append(rules, schema.Object{"event_id": id})
	}
	return schema.Object{
		"name": name, "source": "EVENT_LOGS", "object_type": kind,
		"action_group_ref": "/api/actiongroupconfig?name=System-Alert-Level-Medium",
		"alert_rule":       schema.Object{"sys_event_rule": rules, "operator": "OPERATOR_OR"},
	}
}

func alertCondition(row column.Row) string {
	var said []string
	for _, rule := range column.List(row.Object, "alert_rule", "sys_event_rule") {
		said = append(said, column.Text(column.At(rule, "event_id")))
	}
	for _, rule := range column.List(row.Object, "alert_rule", "metrics_rule") {
		said = append(said, fmt.Sprintf("%s %s %s for %s s", column.Text(column.At(rule, "metric_id")),
			comparators[column.Text(column.At(rule, "metric_threshold", "comparator"))],
			column.Text(column.At(rule, "metric_threshold", "threshold")), column.Text(column.At(rule, "duration"))))
	}
	if filter := column.Text(column.At(row.Object, "alert_rule", "conn_app_log_rule", "filter_string")); filter != "" {
		said = append(said, filter)
	}
	const most = 3
	if len(said) > most {
		said = append(said[:most:most], fmt.Sprintf("%d more", len(said)-most))
	}
	return strings.Join(said, ", ")
}

var comparators = map[string]string{"ALERT_OP_LT": "<", "ALERT_OP_LE": "≤", "ALERT_OP_EQ": "=", "ALERT_OP_NE": "≠",
	"ALERT_OP_GE": "≥", "ALERT_OP_GT": ">"}

func (c *AlertConfig) Validate() *schema.FieldError {
	if c.Threshold > 1 && c.Category != "ROLLINGWINDOW" {
		return &schema.FieldError{Field: "threshold", Problem: "above 1 is for ROLLINGWINDOW, which counts in a window"}
	}
	events, metrics, logs := len(c.Rule.Events), len(c.Rule.Metrics), c.Rule.Logs != nil
	switch c.Source {
	case "EVENT_LOGS":
		if events == 0 || metrics > 0 || logs {
			return &schema.FieldError{Field: "alert_rule",
				Problem: "of source EVENT_LOGS has sys_event_rule, and nothing else"}
		}
		if c.Category == "WATERMARK" {
			return &schema.FieldError{Field: "category", Problem: "WATERMARK is for METRICS: an event has no level"}
		}
		return c.checkEvents()
	case "METRICS":
		if metrics == 0 || events > 0 || logs {
			return &schema.FieldError{Field: "alert_rule",
				Problem: "of source METRICS has metrics_rule, and nothing else"}
		}
		return c.checkMetrics()
	}
	if !logs || events > 0 || metrics > 0 {
		return &schema.FieldError{Field: "alert_rule",
			Problem: "of source " + c.Source + " has conn_app_log_rule, and nothing else"}
	}
	return c.checkLogs()
}

// checkLogs checks a rule on records. The condition itself is checked where records are compared.
func (c *AlertConfig) checkLogs() *schema.FieldError {
	if !slices.Contains([]string{"", "VIRTUALSERVICE", "POOL", "SERVICEENGINE"}, c.ObjectType) {
		return &schema.FieldError{Field: "object_type", Problem: c.ObjectType +
			" has no records: give VIRTUALSERVICE, POOL or SERVICEENGINE"}
	}
	if c.Category == "WATERMARK" {
		return &schema.FieldError{Field: "category", Problem: "WATERMARK is for METRICS: a record has no level"}
	}
	return c.checkSilences()
}

func (c *AlertConfig) checkEvents() *schema.FieldError {
	var ids []string
	for i, rule := range c.Rule.Events {
		at := fmt.Sprintf("alert_rule.sys_event_rule[%d]", i)
		if rule.EventID == "" && len(rule.Details) == 0 {
			return &schema.FieldError{Field: at, Problem: "fits every event: give event_id or event_details"}
		}
		for j, detail := range rule.Details {
			if detail.Comparator != "ALERT_OP_EQ" && detail.Comparator != "ALERT_OP_NE" {
				return &schema.FieldError{Field: fmt.Sprintf("%s.event_details[%d].comparator", at, j),
					Problem: detail.Comparator + " is for numbers: give ALERT_OP_EQ or ALERT_OP_NE"}
			}
		}
		if rule.EventID != "" && !rule.Not && !slices.Contains(ids, rule.EventID) {
			ids = append(ids, rule.EventID)
		}
	}
	if c.Rule.Operator == "OPERATOR_AND" && len(ids) > 1 {
		return &schema.FieldError{Field: "alert_rule.operator",
			Problem: "OPERATOR_AND fits no event, because an event has one id: give OPERATOR_OR"}
	}
	return c.checkSilences()
}

func (c *AlertConfig) checkMetrics() *schema.FieldError {
	if !slices.Contains([]string{"VIRTUALSERVICE", "POOL", "SERVICEENGINE"}, c.ObjectType) {
		return &schema.FieldError{Field: "object_type",
			Problem: "is required with METRICS: give VIRTUALSERVICE, POOL or SERVICEENGINE"}
	}
	return c.checkSilences()
}

func (c *AlertConfig) checkSilences() *schema.FieldError {
	for i, silence := range c.Silences {
		if _, err := time.Parse(time.RFC3339, silence.Until); err != nil {
			return &schema.FieldError{Field: fmt.Sprintf("weir_silences[%d].until", i),
				Problem: schema.Show(silence.Until) + " is no time: give one as 2026-11-27T08:00:00Z"}
		}
	}
	return nil
}
