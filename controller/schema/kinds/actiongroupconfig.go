package kinds

import (
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// ActionGroupConfig says how important alerts are, and who hears of them.
type ActionGroupConfig struct {
	Identity
	Named
	Owned
	Description    string   `json:"description"`
	Level          string   `json:"level" enum:"AlertLevel" default:"ALERT_LOW"`
	EmailConfigRef string   `json:"email_config_ref" ref:"alertemailconfig"`
	SyslogRef      string   `json:"syslog_config_ref" ref:"alertsyslogconfig"`
	WebhookRefs    []string `json:"weir_webhook_refs" ref:"webhook" items:"10"`
	ExternalOnly   bool     `json:"external_only" default:"false"`
}

// Reveals: the group decides who receives alerts.
func (*ActionGroupConfig) Reveals() []string { return []string{schema.EventResource} }

func init() {
	schema.Register[ActionGroupConfig](schema.Definition{
		Short: []string{"actiongroup"},
		Columns: []column.Column{
			column.Enum("LEVEL", "ALERT_", "level"),
			column.Field("EMAIL", "email_config_ref"),
			column.Field("SYSLOG", "syslog_config_ref"),
			column.Field("WEBHOOK", "weir_webhook_refs", "0"),
		},
		Example: `  weir actiongroupconfig create night level=ALERT_HIGH weir_webhook_refs[0]=pager`,
		Builtins: []schema.Object{
			{"name": "System-Alert-Level-Low", "level": "ALERT_LOW"},
			{"name": "System-Alert-Level-Medium", "level": "ALERT_MEDIUM"},
			{"name": "System-Alert-Level-High", "level": "ALERT_HIGH"},
		},
		Kept: []schema.Rule{
			schema.Refuses("the controller runs no code of others: use a webhook", "action_script_config_ref"),
			schema.Refuses("Weir sends no SNMP traps: use syslog or a webhook", "snmp_trap_profile_ref"),
			schema.NoEffect("a serverautoscalepolicy names the rules that scale a pool",
				"autoscale_trigger_notification"),
		},
		Unread: []schema.Rule{
			schema.NoEffect("alerts are always listed: the list has their state", "external_only"),
		},
	})
}

var _ = schema.Enum("AlertLevel", "ALERT_LOW", "ALERT_MEDIUM", "ALERT_HIGH")
