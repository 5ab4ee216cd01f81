//! DataScripts that choose pools of a group by a label.

use weir_api::dataplane::v1::{self as api, GroupMember, LabeledGroup, Named, Plan, PoolGroup, ScriptEvent};

use crate::{
    hosted::get,
    records::recording,
    scripts::{documented, scripted_with},
    status,
    tape::{Stage, l4_plan, plan},
};

/// A group of two pools, of which the second has the label `shop.test/api`, and the first has none.
fn labeled(plan: Plan, event: ScriptEvent, source: &str) -> Plan {
    let mut plan = scripted_with(plan, &[(event, source)]);
    let group = |uuid: &str, pools: &[&str]| PoolGroup {
        uuid: uuid.into(),
        name: "paths".into(),
        members: pools.iter().map(|pool| GroupMember { pool_uuid: (*pool).into(), ratio: 1, priority: 0 }).collect(),
        ..Default::default()
    };
    plan.pool_groups =
        vec![group("g", &["pool", "pool-9"]), group("g/", &["pool"]), group("g/shop.test/api", &["pool-9"])];
    let set = &mut plan.script_sets[0];
    set.pool_groups = vec![Named { name: "paths".into(), uuid: "g".into() }];
    set.labeled_groups = ["", "shop.test/api"]
        .map(|label| LabeledGroup { group: 0, label: label.into(), uuid: format!("g/{label}") })
        .to_vec();
    plan
}

#[test]
fn request_goes_to_the_pools_with_the_longest_label_that_fits_as_its_page_says() {
    let mut stage = Stage::new(&labeled(plan(1), ScriptEvent::HttpReq, documented("avi.poolgroup.select(\"paths\"")));
    for (host, path, address) in [
        ("shop.test", "/api", "10.1.9.1:8000"),
        ("SHOP.test", "/api/a?b", "10.1.9.1:8000"),
        ("shop.test", "/", "10.1.0.1:8000"),
        ("shop.test", "/ap", "10.1.0.1:8000"),
        ("blog.test", "/api", "10.1.0.1:8000"),
    ] {
        let client = stage.client();
        stage.says(client, get(host, path));
        assert_eq!(stage.dialled_address(), address, "{host}{path}");
    }
}

#[test]
fn connection_goes_to_the_pools_with_a_label() {
    let source = "avi.poolgroup.select('paths', avi.l4.read())";
    let mut stage = Stage::new(&labeled(l4_plan(1), ScriptEvent::L4Request, source));
    for (bytes, address) in [("shop.test/api", "10.1.9.1:8000"), ("other", "10.1.0.1:8000")] {
        let client = stage.client();
        stage.says(client, bytes);
        assert_eq!(stage.dialled_address(), address);
    }
}

#[test]
fn request_that_no_label_fits_gets_what_its_group_says() {
    let source = "avi.poolgroup.select('paths', avi.http.get_path())";
    let mut plan = recording(labeled(plan(1), ScriptEvent::HttpReq, source));
    plan.pool_groups[1].members.clear();
    let page = api::LocalResponse { status: 404, ..Default::default() };
    plan.pool_groups[1].fail_answer = Some(api::FailAnswer { answer: Some(api::fail_answer::Answer::Response(page)) });
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.says(client, get("shop.test", "/x"));
    assert_eq!((status(&stage.sent(client)), stage.dials()), ("404", 0));
}

#[test]
fn labels_follow_the_next_plan() {
    let source = "avi.poolgroup.select('paths', 'shop.test/api')";
    let before = labeled(plan(1), ScriptEvent::HttpReq, source);
    let mut stage = Stage::new(&before);
    let mut after = before;
    after.revision += 1;
    after.pool_groups[2].members[0].pool_uuid = "pool".into();
    stage.replace(&after);
    let client = stage.client();
    stage.says(client, get("shop.test", "/"));
    assert_eq!(stage.dialled_address(), "10.1.0.1:8000");
    let mut wrong = after.clone();
    wrong.script_sets[0].labeled_groups[0].group = 7;
    assert!(stage.refuses_plan(&wrong));
}
