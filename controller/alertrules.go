package controller

import (
	"fmt"
	"strings"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/alert"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/series"
	"github.com/weir-lb/weir/controller/store"
)

// ruleKind is the kind of the rules for alerts.
const ruleKind = "alertconfig"

// checkRules refuses rules for alerts that would never fit, and more rules on records than each record can be compared
// with.
func checkRules(config Config, catalog []series.Metric) admit.Check {
	metrics := checkMetrics(catalog)
	return func(view *store.View, o schema.Object) *schema.FieldError {
		if problem := metrics(o); problem != nil {
			return problem
		}
		return checkLogs(config, view, o)
	}
}

// checkLogs refuses rules on records whose filter is wrong. What is said of a rule that stands does not matter to it:
// operators can always silence and disable it.
func checkLogs(config Config, view *store.View, o schema.Object) *schema.FieldError {
	filter := filterOf(o)
	uuid, _ := o["uuid"].(string)
	stored, exists := view.Get(ruleKind, uuid)
	stands := exists && filterOf(stored.Object) == filter && stored.Object["source"] == o["source"]
	if filter == "" || stands && (!isEnabled(o) || isEnabled(stored.Object)) {
		return nil
	}
	source, _ := o["source"].(string)
	if config.Records.Program == "" {
		return &schema.FieldError{Field: "source",
			Problem: source + " has no records: this controller runs with --logs memory"}
	}
	if _, err := alert.LogCondition(source, filter); err != nil {
		return &schema.FieldError{Field: "alert_rule.conn_app_log_rule.filter_string", Problem: err.Error()}
	}
	others := 0
	for _, record := range view.List(ruleKind) {
		if record.UUID != uuid && record.Object["tenant_ref"] == o["tenant_ref"] && isEnabled(record.Object) &&
			filterOf(record.Object) != "" {
			others++
		}
	}
	if isEnabled(o) && others >= alert.LogRulesMost {
		return &schema.FieldError{Field: "source", Problem: fmt.Sprintf("the tenant has %d rules on logs of requests "+
			"and connections that are enabled already, and each record is compared with them", others)}
	}
	return nil
}

func isEnabled(rule schema.Object) bool { return rule["enabled"] != false }

// filterOf is the filter of a rule on records; empty: it is about something else.
func filterOf(rule schema.Object) string {
	condition, _ := rule["alert_rule"].(schema.Object)
	logs, _ := condition["conn_app_log_rule"].(schema.Object)
	filter, _ := logs["filter_string"].(string)
	return filter
}

// checkMetrics refuses rules about metrics that do not exist, or that Weir does not count: they would never fit.
func checkMetrics(catalog []series.Metric) func(schema.Object) *schema.FieldError {
	known := map[string]series.Metric{}
	for _, metric := range catalog {
		known[metric.ID] = metric
	}
	return func(o schema.Object) *schema.FieldError {
		rule, _ := o["alert_rule"].(schema.Object)
		clauses, _ := rule["metrics_rule"].([]any)
		objects, _ := o["object_type"].(string)
		for i, item := range clauses {
			clause, _ := item.(schema.Object)
			id, _ := clause["metric_id"].(string)
			if problem := problemOf(known[id], objects); problem != "" {
				return &schema.FieldError{Field: "alert_rule.metrics_rule[" + string(rune('0'+i)) + "].metric_id",
					Problem: schema.Show(id) + " " + problem + ": `weir metrics list` lists all"}
			}
		}
		return nil
	}
}

func problemOf(metric series.Metric, objects string) string {
	switch {
	case metric.ID == "":
		return "is no metric"
	case metric.Missing:
		return "is not counted by Weir"
	}
	for _, kind := range metric.Kinds {
		if strings.EqualFold(string(kind), objects) {
			return ""
		}
	}
	return "is no metric of a " + objects
}
