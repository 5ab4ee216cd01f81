//! What must hold for the source of any script.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use weir_script::{Event, Script, ScriptSet, Scripts, Served};

/// A worker may stand still for 25 ms. The rest is for the checks of a fuzzer, and for a machine that does other work, too.
const STILL_MAX: Duration = Duration::from_secs(2);

/// `input`: a byte for the event, and the source. Nothing panics, a fault is told in one line, the worker does not stand
/// still, and the next script runs as if this one had not been there. Returns whether the script could be compiled.
pub fn check(input: &[u8]) -> bool {
    let [event, source @ ..] = input else { return false };
    let Ok(source) = str::from_utf8(source) else { return false };
    let event = Event::ALL[usize::from(*event) % Event::ALL.len()];
    let served = |source: &str| {
        let scripts = vec![Script::compile("fuzzed", event, source)];
        Arc::new(Served { sets: [Arc::new(ScriptSet { scripts, ..ScriptSet::default() })].into(), ..Served::default() })
    };
    let fuzzed = served(source);
    if let Some(fault) = fuzzed.sets[0].scripts[0].fault() {
        check_fault(&fault.to_string());
        return false;
    }
    let mut scripts = Scripts::default();
    let since = Instant::now();
    let (fault, _) = run(&mut scripts, &fuzzed, event);
    assert!(since.elapsed() < STILL_MAX, "{:?}", since.elapsed());
    fault.iter().for_each(|fault| check_fault(fault));
    let next = served("local t = {} t.a = ('x'):rep(3) avi.vs.log(t.a, ' ', tostring(b))");
    assert_eq!(run(&mut scripts, &next, event), (None, "xxx nil".to_owned()), "after {source:?}");
    true
}

fn check_fault(fault: &str) {
    assert!(!fault.is_empty() && !fault.contains('\n'), "{fault:?}");
}

/// The fault, and what was logged.
fn run(scripts: &mut Scripts, served: &Arc<Served>, event: Event) -> (Option<String>, String) {
    let mut seen = scripts.room();
    seen.service = "shop".to_owned();
    seen.method = b"GET".to_vec();
    seen.target = b"/a%2Fb?c=d&c=%65".to_vec();
    seen.host = b"a.test:80".to_vec();
    seen.request.add(b"Cookie", b"s=1; t=2");
    seen.request.add(b"X-A", b"\xff");
    seen.status = 200;
    seen.response.add(b"Set-Cookie", b"s=1; Path=/");
    seen.body = b"body".to_vec();
    seen.cause = "it is away";
    let ran = scripts.run(served, event, &mut seen);
    scripts.give_back(seen);
    (ran.fault.map(|fault| fault.to_string()), ran.acts.log.trim_end().to_owned())
}
