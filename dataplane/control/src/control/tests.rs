use weir_api::dataplane::v1::{
    Explanation, KeyShare, KeyShares, L4Profile, LimitDemand, LimitShares, Plan, PlanChange, RecordsTaken,
    ServerStates, TcpProfile, VirtualService,
};
use weir_proxy::records::Batch;
use weir_rate::{Engines, Limit, Moment, WHOLE};
use weir_reactor::{Driver, Limits, Reactor, process::Thread};
use weir_script::{Event, Script, ScriptSet, Scripts, Seen, Served as ServedScripts};

use super::*;
use crate::order::ORDERS_MAX;

/// A control thread that the test gives its messages, with one worker that the test plays.
struct Rig {
    control: Control,
    orders: mpsc::Receiver<Order>,
    _worker: Reactor,
}

impl Rig {
    fn new() -> Self {
        let worker = Reactor::new(Limits { connections: 8, pipes: 0, ..Limits::default() }).unwrap();
        let (orders, receiver) = mpsc::sync_channel(ORDERS_MAX);
        let mut control = Control::new("test", Cores::new(vec![0], true));
        control.employ(vec![WorkerLink { orders, waker: worker.waker(), thread: Thread::current() }]);
        Self { control, orders: receiver, _worker: worker }
    }

    fn agent_comes(&mut self, agent: u64) -> Agent {
        let (near, far) = UnixStream::pair().unwrap();
        far.set_nonblocking(true).unwrap();
        self.control.take(Message::AgentCame { agent, stream: Arc::new(near) });
        Agent(far)
    }

    fn agent_sends(&mut self, agent: u64, frame: Frame) {
        let received = Received { agent, frame, fds: Vec::new(), _busy: mpsc::channel().0 };
        self.control.take(Message::Frame(Box::new(received)));
    }

    fn worker_applies(&mut self, revision: u64) {
        self.control.take(Message::Answer(Answer::Applied { revision }));
    }

    fn worker_hands_over(&mut self, number: u64) {
        let batch = Box::new(Batch { number, ..Batch::default() });
        self.control.take(Message::Answer(Answer::Records { worker: 0, batch }));
    }

    /// How many batches have come back to the worker.
    fn returned(&self) -> usize {
        self.orders.try_iter().filter(|order| matches!(order, Order::Records(_))).count()
    }

    fn worker_counts(&mut self) {
        self.control.take(Message::Answer(Answer::Counted(Box::default())));
    }
}

/// The far end of a link.
struct Agent(UnixStream);

impl Agent {
    /// Everything that has arrived.
    fn hears(&self) -> Vec<String> {
        let mut all = Vec::new();
        while let Ok((FromDataplane { frame: Some(frame) }, _)) = frame::read(&self.0) {
            all.push(match frame {
                Reply::Hello(hello) => format!("hello at {}", hello.applied_revision),
                Reply::Sockets(sockets) => format!("{} sockets", sockets.sockets.len()),
                Reply::Ack(ack) => format!("ack {}", ack.revision),
                Reply::Nack(nack) => format!("nack {}: {:?}", nack.revision, nack.errors),
                Reply::Sample(sample) => {
                    format!("sample of {:?}", sample.virtual_services.iter().map(|row| &row.uuid).collect::<Vec<_>>())
                }
                Reply::Explanation(told) => format!("explanation {} of {:?}: {}", told.id, told.server_id, told.error),
                Reply::Records(records) => format!("records {} of worker {}", records.number, records.worker),
                Reply::KeyDemands(demands) => {
                    let told = |limit: &LimitDemand| {
                        let asked: Vec<_> = limit.keys.iter().map(|key| key.asked).collect();
                        format!("{:?} of {} on {} engines", asked, limit.virtual_service_uuid, limit.engines)
                    };
                    let limits: Vec<_> = demands.limits.iter().map(told).collect();
                    format!("asked {}; heard {}", limits.join(", "), demands.heard)
                }
            });
        }
        all
    }
}

fn plan(revision: u64, services: &[&str]) -> Frame {
    let service = |uuid: &&str| VirtualService {
        uuid: uuid.to_string(),
        l4: Some(L4Profile::default()),
        tcp: Some(TcpProfile::default()),
        ..Default::default()
    };
    Frame::Plan(Plan { revision, virtual_services: services.iter().map(service).collect(), ..Plan::default() })
}

#[test]
fn agent_that_comes_while_a_plan_is_being_applied_is_greeted_with_that_plan() {
    let mut rig = Rig::new();
    let first = rig.agent_comes(1);
    rig.agent_sends(1, plan(1, &[]));
    let second = rig.agent_comes(2);
    assert_eq!(second.hears(), [""; 0]);
    rig.worker_applies(1);
    assert_eq!(first.hears(), ["hello at 0", "0 sockets", "ack 1"]);
    assert_eq!(second.hears(), ["hello at 1", "0 sockets"]);
}

#[test]
fn answer_to_an_agent_that_has_gone_does_not_reach_the_next_one() {
    let mut rig = Rig::new();
    let first = rig.agent_comes(1);
    rig.agent_sends(1, plan(1, &[]));
    drop(first);
    rig.control.take(Message::AgentGone { agent: 1, why: Error::Closed });
    let second = rig.agent_comes(2);
    rig.worker_applies(1);
    assert_eq!(second.hears(), ["hello at 1", "0 sockets"]);
}

#[test]
fn agent_that_came_and_went_while_a_plan_was_being_applied_is_forgotten() {
    let mut rig = Rig::new();
    let first = rig.agent_comes(1);
    rig.agent_sends(1, plan(1, &[]));
    drop(rig.agent_comes(2));
    rig.control.take(Message::AgentGone { agent: 2, why: Error::Closed });
    rig.worker_applies(1);
    rig.agent_sends(1, plan(2, &[]));
    rig.worker_applies(2);
    assert_eq!(first.hears(), ["hello at 0", "0 sockets", "ack 1", "ack 2"]);
}

#[test]
fn question_is_answered_by_a_worker_and_nonsense_at_once() {
    let mut rig = Rig::new();
    let agent = rig.agent_comes(1);
    let question = Question {
        id: 7,
        address: "10.0.0.1".into(),
        port: 80,
        client_address: "192.0.2.1".into(),
        method: "GET".into(),
        target: "/".into(),
        ..Default::default()
    };
    rig.agent_sends(1, Frame::Question(Question { id: 6, port: 99_999, ..question.clone() }));
    rig.agent_sends(1, Frame::Question(question));
    let Ok(Order::Explain(asked)) = rig.orders.try_recv() else { panic!("the worker is asked") };
    assert_eq!((asked.id, asked.worker, asked.question.head.as_slice()), (7, (0, 1), &b"GET / HTTP/1.1\r\n\r\n"[..]));
    let told = Explanation { id: 7, server_id: "10.1.0.1:80".into(), ..Default::default() };
    rig.control.take(Message::Answer(Answer::Explained(Box::new(told))));
    let said = ["explanation 6 of \"\": 99999 is no port", "explanation 7 of \"10.1.0.1:80\": "];
    assert_eq!(agent.hears()[2..], said);
}

#[test]
fn draft_is_asked_about_and_changes_nothing() {
    let mut rig = Rig::new();
    let agent = rig.agent_comes(1);
    rig.agent_sends(1, plan(1, &["shop"]));
    rig.worker_applies(1);
    let question = |base, name: &str| {
        let Frame::Plan(changed) = plan(1, &[name]) else { unreachable!() };
        let draft = PlanChange { base_revision: base, changed: Some(changed), removed: None };
        let (address, client_address) = ("10.0.0.1".into(), "192.0.2.1".into());
        Frame::Question(Question { id: 7, address, client_address, draft: Some(draft), ..Default::default() })
    };
    rig.orders.try_iter().for_each(drop);
    rig.agent_sends(1, question(2, "intranet"));
    assert!(rig.orders.try_recv().is_err(), "it starts from another Plan");
    rig.agent_sends(1, question(1, "intranet"));
    let Ok(Order::Explain(asked)) = rig.orders.try_recv() else { panic!("the worker is asked") };
    let names = |snapshot: &Snapshot| snapshot.parts().map(|part| part.uuid.clone()).collect::<Vec<_>>();
    assert_eq!(names(asked.draft.as_ref().unwrap()).len(), 2);
    assert_eq!(names(&rig.control.served.snapshots[0]), ["shop"]);
    let other = "explanation 7 of \"\": it serves another configuration than the draft starts from: ask again";
    assert_eq!(agent.hears()[3..], [other]);
}

#[test]
fn sample_has_the_objects_that_its_numbers_were_counted_for() {
    let mut rig = Rig::new();
    let agent = rig.agent_comes(1);
    rig.agent_sends(1, plan(1, &["shop"]));
    rig.worker_applies(1);
    rig.control.count();
    rig.agent_sends(1, plan(2, &["intranet"]));
    // A worker handles its orders in sequence.
    rig.worker_counts();
    rig.worker_applies(2);
    rig.control.count();
    rig.worker_counts();
    let said = ["hello at 0", "0 sockets", "ack 1", "sample of [\"shop\"]", "ack 2", "sample of [\"intranet\"]"];
    assert_eq!(agent.hears(), said);
}

#[test]
fn states_are_counted_at_once_unless_a_later_sample_is_early_enough() {
    let mut rig = Rig::new();
    let _agent = rig.agent_comes(1);
    for (sample_later, counts) in [(true, false), (false, true)] {
        rig.agent_sends(1, Frame::ServerStates(ServerStates { states: Vec::new(), sample_later }));
        assert_eq!(rig.control.collecting.is_some(), counts);
    }
}

#[test]
fn change_without_a_plan_is_refused() {
    let mut rig = Rig::new();
    let agent = rig.agent_comes(1);
    rig.agent_sends(1, plan(1, &[]));
    rig.worker_applies(1);
    rig.agent_sends(1, Frame::PlanChange(PlanChange { base_revision: 1, ..Default::default() }));
    let heard = agent.hears();
    assert!(heard.last().unwrap().contains("the Plan has no revision"), "{heard:?}");
}

#[test]
fn records_wait_for_an_agent_and_go_to_the_next_one_until_they_are_taken() {
    let mut rig = Rig::new();
    rig.worker_hands_over(1);
    let first = rig.agent_comes(1);
    (2..=6).for_each(|number| rig.worker_hands_over(number));
    let records =
        |numbers: std::ops::RangeInclusive<u64>| numbers.map(|number| format!("records {number} of worker 0"));
    let greeted = || ["hello at 0", "0 sockets"].map(String::from).into_iter();
    assert_eq!(first.hears(), greeted().chain(records(1..=4)).collect::<Vec<_>>(), "four may wait");
    let second = rig.agent_comes(2);
    assert_eq!(second.hears(), greeted().chain(records(1..=4)).collect::<Vec<_>>());
    let process = rig.control.records.process();
    let taken = |process, worker| Frame::RecordsTaken(RecordsTaken { process, worker, number: 2 });
    rig.agent_sends(2, taken(process + 1, 0));
    rig.agent_sends(2, taken(process, 1));
    rig.agent_sends(1, taken(process, 0));
    assert_eq!((rig.returned(), second.hears()), (0, vec![]), "of another process, worker and agent");
    rig.agent_sends(2, taken(process, 0));
    assert_eq!(rig.returned(), 2);
    assert_eq!(second.hears(), records(5..=6).collect::<Vec<_>>());
}

#[test]
fn agent_hears_what_is_asked_of_hot_keys_and_says_which_share_they_have() {
    const PER_HOUR: u32 = 1_000;
    let mut rig = Rig::new();
    let limit = Limit::new("", "limit", PER_HOUR, 3_600, 0);
    let tallies = rig.control.served.tallies().unwrap().clone();
    let tally = tallies.of("shop", Engines { count: 2, seed: 5 }, [limit]);
    let passes = |events: u32| {
        let at = Moment::counting(process_nanos());
        (0..events).filter(|_| tally.admit(&limit, &tally.key(&limit).text(b"key"), at).is_ok()).count()
    };
    assert_eq!(passes(400), 400);
    rig.control.tell_demands();
    let agent = rig.agent_comes(1);
    rig.control.tell_demands();
    assert_eq!(agent.hears(), ["hello at 0", "0 sockets"], "no key is hot");
    assert_eq!(passes(400), 100, "the part of one of two engines");
    rig.control.tell_demands();
    assert_eq!(agent.hears(), ["asked [300] of shop on 2 engines; heard 0"]);

    let demands = hot_keys::demands(&tallies, 0, process_nanos()).unwrap();
    let key = KeyShare { tag: demands.limits[0].keys[0].tag, share: WHOLE, shift: -(WHOLE as i32) / 2 };
    let shares = |service: &str, keys| {
        let of = LimitShares { virtual_service_uuid: service.into(), limit: demands.limits[0].limit, keys };
        Frame::KeyShares(KeyShares { number: 7, limits: vec![of] })
    };
    rig.agent_sends(1, shares("unknown", vec![key]));
    assert_eq!(passes(10), 0);
    let nonsense = KeyShare { tag: 0, share: u32::MAX, shift: i32::MIN };
    rig.agent_sends(1, shares("shop", vec![nonsense, key]));
    assert_eq!(passes(1_000), 500, "the half that the other engine has not used");
    rig.control.tell_demands();
    assert_eq!(agent.hears(), ["asked [1010] of shop on 2 engines; heard 7"]);

    drop(agent);
    rig.control.take(Message::AgentGone { agent: 1, why: Error::Closed });
    rig.control.tell_demands();
    let next = rig.agent_comes(2);
    rig.control.tell_demands();
    assert_eq!(next.hears()[2..], ["asked [0] of shop on 2 engines; heard 0"], "another agent knows other numbers");
}

#[test]
fn control_thread_forgets_what_scripts_keep_when_it_has_ended() {
    let mut rig = Rig::new();
    let stores = rig.control.served.worker().unwrap().stores.clone();
    let source = "avi.vs.table_insert('key', 'value', 1)";
    let set = ScriptSet { scripts: vec![Script::compile("set", Event::Request, source)], ..ScriptSet::default() };
    let served =
        Arc::new(ServedScripts { sets: [Arc::new(set)].into(), store: stores.of("shop"), ..Default::default() });
    let mut seen = Box::new(Seen::default());
    let now = Instant::now();
    seen.now_ns = process_nanos();
    assert!(Scripts::default().run(&served, Event::Request, &mut seen).fault.is_none());
    let (kept, ends) = (stores.bytes(), now + Duration::from_secs(1));
    assert!(kept > 0);
    let mut due = Due { sample: now + SAMPLE_EVERY, demands: now + DEMANDS_EVERY, sweep: now };
    while Instant::now() < ends {
        assert_eq!(stores.bytes(), kept);
        rig.control.turn(&mut due);
    }
    (0..4).take_while(|_| stores.bytes() > 0).for_each(|_| rig.control.turn(&mut due));
    assert_eq!(stores.bytes(), 0);
}
