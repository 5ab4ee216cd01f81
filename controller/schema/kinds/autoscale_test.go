package kinds

import (
	"strings"
	"testing"
)

func TestPolicyOfAutoscaleSaysWhatItDoesNotFollow(t *testing.T) {
	for policy, want := range map[string]string{
		`{}`:                             "intelligent_autoscale: is false, and there are no",
		`{"intelligent_autoscale":true}`: "",
		`{"scalein_alertconfig_refs":["/api/alertconfig/a"]}`:                               "",
		`{"intelligent_autoscale":true,"scaleout_alertconfig_refs":["/api/alertconfig/a"]}`: "scaleout_alertconfig_refs: ",
		`{"intelligent_autoscale":true,"scalein_alertconfig_refs":["/api/alertconfig/a"]}`:  "scalein_alertconfig_refs: ",
		`{"intelligent_autoscale":true,"use_predicted_load":true}`:                          "use_predicted_load: ",
		`{"intelligent_autoscale":true,"scheduled_scalings":[{"desired_capacity":2}]}`:      "scheduled_scalings: ",
		`{"intelligent_autoscale":true,"delay_for_server_garbage_collection":2}`:            "delay_for_server_garbage_collection: ",
	} {
		wantKept(t, "serverautoscalepolicy", policy, want)
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
	if told := kind.Reveals(created(t, kind.Name, `{"name":"a","weir_webhook_ref":"/api/webhook/w"}`)); len(told) != 1 {
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
		`{"name":"a","min_size":3,"max_size":2}`:       "max_size",
		`{"name":"a","min_size":3,"max_size":0}`:       "",
		`{"name":"a","min_size":401}`:                  "min_size",
		`{"name":"a","scaleout_cooldown":90000}`:       "scaleout_cooldown",
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
