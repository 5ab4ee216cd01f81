//! What becomes of heads where it is more than a line written anew.

use std::time::Duration;

use weir_api::dataplane::v1::{Plan, Underscores};
use weir_proxy::io::Close;

use crate::{
    GET, OK, status,
    tape::{Stage, plan},
    warm,
};

fn plan_with(underscores: Underscores) -> Plan {
    let mut plan = plan(1);
    plan.virtual_services[0].http.as_mut().expect("HTTP").underscores = underscores.into();
    plan
}

const UNDERSCORED: &str = "GET / HTTP/1.1\r\nHost: a\r\nX_Id: 7\r\n\r\n";

#[test]
fn request_with_an_underscore_is_refused_where_the_operator_wants_none() {
    let mut stage = Stage::new(&plan_with(Underscores::Refuse));
    let client = stage.client();
    stage.says(client, UNDERSCORED);
    assert_eq!((status(&stage.sent(client)), stage.dials()), ("400", 0));
    assert_eq!(stage.closed(client), Some(Close::Linger));
}

#[test]
fn field_with_an_underscore_goes_where_the_operator_wants_none() {
    for (underscores, passes) in [(Underscores::Pass, true), (Underscores::Drop, false)] {
        let mut stage = Stage::new(&plan_with(underscores));
        let client = stage.client();
        stage.says(client, UNDERSCORED);
        let server = stage.connected();
        assert_eq!(stage.sent(server).contains("X_Id: 7\r\n"), passes, "{underscores:?}");
    }
}

#[test]
fn pages_and_responses_without_a_date_say_the_time_of_the_second() {
    let (mut stage, client, server) = warm(1);
    stage.tape.sleep(Duration::from_secs(3));
    stage.says(client, GET);
    stage.says(server, OK);
    let answer = stage.sent(client);
    assert!(answer.contains("\r\nDate: Sun, 06 Nov 1994 08:49:40 GMT\r\n"), "{answer}");

    stage.tape.sleep(Duration::from_secs(2));
    stage.says(client, "GET / HTTP/1.1\r\n\r\n");
    let page = stage.sent(client);
    assert_eq!(status(&page), "400");
    assert!(page.contains("\r\nDate: Sun, 06 Nov 1994 08:49:42 GMT\r\n"), "{page}");
}
