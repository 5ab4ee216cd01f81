package kinds

import (
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/schema"
)

func TestPolicyOfAutoscaleSaysWhatItDoesNotFollow(t *testing.T) {
	for policy, want := range map[string]string{
		`{}`:                             "intelligent_autoscale: is false, and there are no",
		`{"intelligent_autoscale":true}`: "",
		`{"scalein_alertconfig_refs":["/api/alertconfig/a"]}`:                                          "",
		`{"intelligent_autoscale":true,"scaleout_alertconfig_refs":["/api/alertconfig/a"]}`:            "scaleout_alertconfig_refs: ",
		`{"intelligent_autoscale":true,"scalein_alertconfig_refs":["/api/alertconfig/a"]}`:             "scalein_alertconfig_refs: ",
		`{"intelligent_autoscale":true,"use_predicted_load":true}`:                                     "use_predicted_load: ",
		`{"scheduled_scalings":[{"cron_expression":"0 8 * * *","desired_capacity":2}]}`:                "",
		`{"scheduled_scalings":[{"cron_expression":"0 8 * * *","desired_capacity":2,"enable":false}]}`: "intelligent_autoscale: ",
		`{"intelligent_autoscale":true,"delay_for_server_garbage_collection":2}`:                       "delay_for_server_garbage_collection: ",
	} {
		wantKept(t, "serverautoscalepolicy", policy, want)
	}
}

func TestPolicyByLoadWarnsOfRulesOfBothKinds(t *testing.T) {
	kind := kindOf(t, "serverautoscalepolicy")
	policy := created(t, kind.Name, `{"name":"a","intelligent_autoscale":true,
		"scaleout_alertconfig_refs":["/api/alertconfig/a"],"scalein_alertconfig_refs":["/api/alertconfig/b"]}`)
	if kept := kind.KeptFields(policy); len(kept) != 2 {
		t.Errorf("it warns of %v", kept)
	}
}

func TestLaunchConfigWithoutAWebhookWarnsAndTellsNobody(t *testing.T) {
	for config, want := range map[string]string{
		`{}`:                                    "weir_webhook_ref: is empty",
		`{"weir_webhook_ref":"/api/webhook/w"}`: "",
		`{"weir_webhook_ref":"/api/webhook/w","use_external_asg":false}`:              "use_external_asg: ",
		`{"weir_webhook_ref":"/api/webhook/w","openstack":{"heat_scale_up_url":"u"}}`: "openstack: ",
	} {
		wantKept(t, "autoscalelaunchconfig", config, want)
	}
	kind := kindOf(t, "autoscalelaunchconfig")
	if told := kind.Reveals(created(t, kind.Name, `{"name":"a"}`)); len(told) > 0 {
		t.Errorf("without a webhook it tells %v", told)
	}
	if told := kind.Reveals(created(t, kind.Name, `{"name":"a","weir_webhook_ref":"/api/webhook/w"}`)); len(told) != 2 {
		t.Errorf("with a webhook it tells %v", told)
	}
}

// wantKept compares the first field of an object that has no effect.
func wantKept(t *testing.T, kind, body, want string) {
	t.Helper()
	var got string
	for _, kept := range kindOf(t, kind).KeptFields(created(t, kind,
		strings.Replace(strings.Replace(body, "{", `{"name":"a",`, 1), ",}", "}", 1))) {
		got += kept.Field + ": " + kept.Why + "\n"
	}
	if want == "" && got != "" || !strings.HasPrefix(got, want) || strings.Count(got, "\n") > 1 {
		t.Errorf("%s warns %q, want %q", body, got, want)
	}
}

func TestPolicyOfAutoscaleHasARange(t *testing.T) {
	kind := kindOf(t, "serverautoscalepolicy")
	for body, want := range map[string]string{
		`{"name":"a","min_size":3,"max_size":2}`:                                                                       "max_size",
		`{"name":"a","min_size":3,"max_size":0}`:                                                                       "",
		`{"name":"a","min_size":401}`:                                                                                  "min_size",
		`{"name":"a","scaleout_cooldown":90000}`:                                                                       "scaleout_cooldown",
		`{"name":"a","scheduled_scalings":[{"desired_capacity":1,"cron_expression":"x"}]}`:                             "scheduled_scalings[0].cron_expression",
		`{"name":"a","scheduled_scalings":[{"cron_expression":"* * * * *"}]}`:                                          "desired_capacity",
		`{"name":"a","scheduled_scalings":[{"desired_capacity":1,"cron_expression":"* * * * *","start_date":"soon"}]}`: "start_date",
		`{"name":"a","scheduled_scalings":[{"desired_capacity":1,"cron_expression":"* * * * *",
			"start_date":"2026-11-29","end_date":"2026-11-28"}]}`: "end_date",
		`{"name":"a","max_size":3,"scheduled_scalings":[{"desired_capacity":4,"cron_expression":"* * * * *"}]}`: "desired_capacity: 4 is above max_size 3",
		`{"name":"a","min_size":400}`:                  "",
		`{"name":"a","max_scalein_adjustment_step":0}`: "max_scalein_adjustment_step",
	} {
		object, err := kind.Decode([]byte(body))
		if err == nil {
			kind.Fill(object)
			if problem := kind.Check(object); problem != nil {
				err = problem
			}
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}

func TestScheduleOfAutoscaleIsInForceForItsHours(t *testing.T) {
	for schedule, want := range map[string]string{
		`"cron_expression":"0 8 * * *","autoscaling_duration":2`:                           "10:00",
		`"cron_expression":"0 9 * * *"`:                                                    "10:00",
		`"cron_expression":"30 9 * * *","start_date":"2026-11-29"`:                         "10:30",
		`"cron_expression":"30 9 * * *","start_date":"2026-11-29T09:31:00"`:                "",
		`"cron_expression":"30 9 * * *","end_date":"2026-11-29"`:                           "10:30",
		`"cron_expression":"30 9 * * *","end_date":"2026-11-28"`:                           "",
		`"cron_expression":"0 8 * * *"`:                                                    "",
		`"cron_expression":"30 10 * * *"`:                                                  "",
		`"cron_expression":"30 9 * * *","enable":false`:                                    "",
		`"cron_expression":"30 9 * * MON"`:                                                 "",
		`"cron_expression":"0 12 * * *","autoscaling_duration":24,"end_date":"2026-11-28"`: "12:00",
		`"cron_expression":"*/5 * * * *","start_date":"2026-11-29T00:00:00+02:00"`:         "10:40",
	} {
		policy, err := schema.Into[ServerAutoScalePolicy](created(t, "serverautoscalepolicy",
			`{"name":"a","scheduled_scalings":[{"desired_capacity":5,`+schedule+`}]}`))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if until, inForce := policy.Scheduled[0].Until(time.Date(2026, 11, 29, 9, 42, 7, 0, time.UTC)); inForce {
			got = until.Format("15:04")
		}
		if got != want {
			t.Errorf("%s is in force until %q, want %q", schedule, got, want)
		}
	}
}
