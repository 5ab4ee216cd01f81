//! What the policy sets of a virtual service decide about a request, and about its response.

use std::{ops::ControlFlow, rc::Rc, sync::Arc};

use weir_rate::{Moment, Tally};
use weir_wire::head::{Name, NameSet, ResponseHead};

use crate::{
    acted::Acted,
    asked::{Asked, Needs, Origin, Scratch, View, host_name},
    condition::Condition,
    counted::{Coming, Refusal},
    edits::{Edit, EditKind, Edits, ValueHead, WantedNames},
    limit::RequestLimit,
    names::Names,
    pending::Pending,
    set::{Excess, LocalResponse, PolicySet, RateRule, RequestAction, Rule, SecurityAction, Then},
    uri::{Host, Url},
};

/// The policy sets of a virtual service, in the order in which their rules are tried, and the limits before them.
#[derive(Debug)]
pub struct Policies {
    sets: Box<[Arc<PolicySet>]>,
    limits: Box<[RateRule]>,
    pub(crate) needs: Needs,
    wanted_names: WantedNames,
    /// `None`: nothing is limited.
    tally: Option<Tally>,
}

/// What becomes of a request.
#[derive(Default, Debug)]
pub enum Verdict<'p> {
    /// It goes on.
    #[default]
    Pass,
    Close {
        reset: bool,
    },
    Respond(&'p LocalResponse),
    Redirect {
        status: u16,
        location: Vec<u8>,
    },
}

/// The pool that a rule chooses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice<'p> {
    /// The place of the set among those of the virtual service, and of the pool among those of the set.
    pub set: usize,
    pub pool: u32,
    pub server: Option<&'p str>,
}

/// A response rule whose request matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Due {
    set: u32,
    rule: u32,
}

/// A limit that refuses a request.
#[derive(Clone, Copy, Debug)]
pub struct Exceeded<'p> {
    pub limit: &'p RequestLimit,
    pub refusal: Refusal,
}

/// What the policies of a virtual service have decided about a request.
#[derive(Default, Debug)]
pub struct Judged<'p> {
    /// `None`: no rule wants some.
    pub names: Option<Rc<Names>>,
    pub verdict: Verdict<'p>,
    pub edits: Edits<'p>,
    pub pool: Option<Choice<'p>>,
    /// The security rules that let the request pass beyond their rates, and the one that ended the list.
    pub security_rules: Acted<'p>,
    pub request_rules: Acted<'p>,
    /// The verdict is that of a limit.
    pub beyond: Option<Exceeded<'p>>,
    /// The operator's name of the limit beside rules that the request is beyond.
    pub limit: Option<&'p str>,
    /// The request is beyond a limit that lets it pass.
    pub reported: bool,
    /// A rule wants a record, or one with all fields.
    pub log: bool,
    pub all_headers: bool,
    /// A rule that is due may want all fields, too.
    pub may_want_headers: bool,
    /// What to look at when the response comes.
    pub due: Vec<Due>,
    /// What is counted when it is known what becomes of the request.
    pub pending: Pending,
}

impl Policies {
    pub fn of(sets: Vec<Arc<PolicySet>>, limits: Vec<RateRule>, tally: Option<Tally>) -> Self {
        let (mut needs, mut wanted_names) = (Needs::default(), WantedNames::default());
        for set in &sets {
            needs.join(set.needs);
            set.note_names(&mut wanted_names);
        }
        limits.iter().for_each(|rate| rate.limit.note_needs(&mut needs));
        Self { sets: sets.into(), limits: limits.into(), needs, wanted_names, tally }
    }

    pub fn sets(&self) -> &[Arc<PolicySet>] {
        &self.sets
    }

    /// Which names of a request its rules need.
    #[inline]
    pub fn wanted_names(&self) -> WantedNames {
        self.wanted_names
    }

    /// Whether a rule asks for the header fields of what it acts on.
    pub fn may_want_headers(&self) -> bool {
        self.sets.iter().any(|set| set.may_want_headers())
    }

    pub fn limits(&self) -> &[RateRule] {
        &self.limits
    }

    /// Tries the limits, then the security rules of all sets, then their request rules, if `admits` lets the request go on
    /// to them. `judged`: the default; it is filled where it is, for it is too large to be moved.
    pub fn judge<'p>(
        &'p self,
        asked: &Asked<'_>,
        scratch: &mut Scratch,
        at: Moment,
        admits: &mut dyn FnMut(&Asked<'_>) -> bool,
        judged: &mut Judged<'p>,
    ) {
        let (view, found) = scratch.view(asked, &self.needs);
        self.try_all(judged, (&view, found), at, &mut || admits(asked));
    }

    /// No limit has refused a request, nor will one.
    pub fn settle(&self, pending: &mut Pending, at: Moment) {
        if let Some(tally) = &self.tally {
            pending.settle(tally, at);
        }
    }

    /// The client of a request that is [settled](Self::settle) gets its answer, or the connection is closed instead.
    pub fn answered(&self, pending: Pending, failed: bool, at: Moment) {
        if let Some(tally) = &self.tally {
            pending.count(failed, tally, at);
        }
    }

    fn try_all<'p>(
        &'p self,
        judged: &mut Judged<'p>,
        (view, found): (&View<'_>, &mut Vec<u32>),
        at: Moment,
        admits: &mut dyn FnMut() -> bool,
    ) {
        for rate in &self.limits {
            if judged.limit(self.tally.as_ref(), view, rate, &[], at).is_break() {
                return;
            }
        }
        for set in &self.sets {
            let ended = set.security.each(view, found, |_, rule| judged.secure(self.tally.as_ref(), view, rule, at));
            if ended.is_break() {
                break;
            }
        }
        if !matches!(judged.verdict, Verdict::Pass) || !admits() {
            return;
        }
        for (at, set) in self.sets.iter().enumerate() {
            if set.requests.each(view, found, |_, rule| judged.ask(view, at, rule)).is_break() {
                return;
            }
        }
        for (at, set) in self.sets.iter().enumerate().filter(|(_, set)| set.has_response_rules()) {
            let note = |place, rule: &Rule<_>| -> ControlFlow<()> {
                judged.due.push(Due { set: at as u32, rule: place });
                judged.may_want_headers |= rule.all_headers;
                ControlFlow::Continue(())
            };
            let _ = set.responses.each(view, found, note);
        }
    }

    /// What the rules that are due make of a response.
    pub fn judge_response<'p>(
        &'p self,
        due: &[Due],
        head: &ResponseHead<'_>,
        (from, names): (&Origin<'_>, Option<&Names>),
    ) -> ResponseJudged<'p> {
        let mut judged = ResponseJudged::default();
        for &Due { set, rule } in due {
            let Some(rule) = self.sets.get(set as usize).and_then(|set| set.responses.get(rule)) else { continue };
            if !rule.conditions.iter().all(|condition| condition.holds_of_response(head)) {
                continue;
            }
            judged.rules.add(&rule.name);
            judged.log |= rule.log;
            judged.all_headers |= rule.all_headers;
            judged.edits.add(&rule.action.edits, from, &ValueHead::response(head), names);
            if let Some(to) = &rule.action.location {
                let old = head.fields.among(NameSet::of(&[Name::Location])).next();
                if let Some(new) = old.and_then(|field| to.location(&url_of(field.value)?)) {
                    judged.edits.push(EditKind::Replace, false, "Location".to_owned(), Some(new));
                }
            }
        }
        judged
    }
}

#[derive(Default, Debug)]
pub struct ResponseJudged<'p> {
    pub edits: Edits<'p>,
    pub rules: Acted<'p>,
    pub log: bool,
    pub all_headers: bool,
}

impl<'p> Judged<'p> {
    /// Changes the head also in this way, behind all rules.
    pub fn edit(&mut self, edits: &'p [Edit], asked: &Asked<'_>) {
        self.edits.add(edits, &asked.from, &ValueHead::request(asked.head), self.names.as_deref());
    }

    /// Whether the record of the request tells something of its rules.
    pub fn is_for_record(&self) -> bool {
        !self.security_rules.is_empty() || !self.request_rules.is_empty() || self.may_want_headers
    }

    fn note<A>(&mut self, rule: &'p Rule<A>) {
        self.log |= rule.log;
        self.all_headers |= rule.all_headers;
    }

    fn secure(
        &mut self,
        tally: Option<&Tally>,
        view: &View<'_>,
        rule: &'p Rule<SecurityAction>,
        at: Moment,
    ) -> ControlFlow<()> {
        if let SecurityAction::Limit(rate) = &rule.action {
            let had_reported = std::mem::take(&mut self.reported);
            let ended = self.limit(tally, view, rate, &rule.conditions, at);
            if self.reported || ended.is_break() {
                self.note(rule);
                self.security_rules.add(&rule.name);
            }
            self.reported |= had_reported;
            return ended;
        }
        self.note(rule);
        self.security_rules.add(&rule.name);
        self.verdict = match &rule.action {
            SecurityAction::Allow | SecurityAction::Limit(_) => Verdict::Pass,
            SecurityAction::Close { reset } => Verdict::Close { reset: *reset },
            SecurityAction::Respond(response) => Verdict::Respond(response),
            SecurityAction::RedirectToHttps { port } => to_https(view.asked, *port),
        };
        ControlFlow::Break(())
    }

    /// Counts a request for a limit.
    fn limit(
        &mut self,
        tally: Option<&Tally>,
        view: &View<'_>,
        rate: &'p RateRule,
        conditions: &[Condition],
        at: Moment,
    ) -> ControlFlow<()> {
        let coming = |tally| Coming { tally, view, at, passes: rate.excess == Excess::Report };
        let Some(Err(refusal)) = tally.map(|tally| rate.limit.admit(&coming(tally), &mut self.pending)) else {
            return ControlFlow::Continue(());
        };
        if !rate.name.is_empty() {
            self.limit = Some(&rate.name);
        }
        self.verdict = match &rate.excess {
            Excess::Report => {
                self.reported = true;
                return ControlFlow::Continue(());
            }
            Excess::Close { reset } => Verdict::Close { reset: *reset },
            Excess::Respond(response) => Verdict::Respond(response),
            Excess::Redirect(redirect) => match redirect.location(&url(view, conditions)) {
                Some(location) => Verdict::Redirect { status: redirect.status, location },
                None => Verdict::Close { reset: false },
            },
        };
        self.beyond = Some(Exceeded { limit: &rate.limit, refusal });
        ControlFlow::Break(())
    }

    pub(crate) fn ask(&mut self, view: &View<'_>, set: usize, rule: &'p Rule<RequestAction>) -> ControlFlow<()> {
        let asked = view.asked;
        let url = url(view, &rule.conditions);
        let RequestAction { edits, rewrite, then } = &rule.action;
        self.note(rule);
        self.request_rules.add(&rule.name);
        self.edits.add(edits, &asked.from, &ValueHead::request(asked.head), self.names.as_deref());
        if let Some(rewrite) = rewrite.as_ref().filter(|_| self.edits.target.is_none())
            && let (Some(host), Some(target)) = (rewrite.host(&url), rewrite.target(&url))
        {
            self.edits.host = host;
            self.edits.target = Some(target);
        }
        match then {
            Then::GoOn => {}
            Then::Respond(response) => {
                self.verdict = Verdict::Respond(response);
                return ControlFlow::Break(());
            }
            Then::Redirect(redirect) => {
                if let Some(location) = redirect.location(&url) {
                    self.verdict = Verdict::Redirect { status: redirect.status, location };
                    return ControlFlow::Break(());
                }
            }
            Then::Pool { pool, server } => {
                let choice = Choice { set, pool: *pool, server: server.as_deref() };
                self.pool = self.pool.or(Some(choice));
            }
        }
        ControlFlow::Continue(())
    }
}

/// The URL of a request that matches conditions.
fn url<'u>(view: &'u View<'u>, conditions: &'u [Condition]) -> Url<'u> {
    let (path, query) = view.sent;
    Url { host: Host::Asked(view.asked), path, query, matched: Some((conditions, view)) }
}

fn to_https<'p>(asked: &Asked<'_>, port: u16) -> Verdict<'p> {
    let (path, query) = asked.path_and_query();
    let url = Url { host: Host::Asked(asked), path, query, matched: None };
    let redirect = crate::Redirect {
        status: 302,
        tls: true,
        port: Some(port),
        host: Vec::new(),
        path: Vec::new(),
        keep_query: true,
        add_query: String::new(),
    };
    match redirect.location(&url) {
        Some(location) => Verdict::Redirect { status: redirect.status, location },
        None => Verdict::Close { reset: false },
    }
}

/// The parts of a Location with an http or https URL. `None`: it is relative, or of another scheme, and stays.
fn url_of(location: &[u8]) -> Option<Url<'_>> {
    let scheme = [&b"https://"[..], b"http://"]
        .into_iter()
        .find(|scheme| location.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))?;
    let rest = &location[scheme.len()..];
    let (authority, rest) = rest.split_at(rest.iter().position(|byte| b"/?#\\".contains(byte)).unwrap_or(rest.len()));
    let host = authority.iter().rposition(|&byte| byte == b'@').map_or(authority, |at| &authority[at + 1..]);
    let mark = rest.iter().position(|&byte| byte == b'?');
    let (path, query) = mark.map_or((rest, None), |at| (&rest[..at], Some(&rest[at + 1..])));
    Some(Url { host: Host::Named(host_name(host)), path, query, matched: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_urls_of_http_are_taken_apart() {
        for (location, parts) in [
            ("http://h:80/p?q", Some(("h", "/p", Some("q")))),
            ("HTTPS://u:p@h/p", Some(("h", "/p", None))),
            ("http://h", Some(("h", "", None))),
            ("/login?next=http://evil.test/x", None),
            ("//evil.test/x", None),
            ("app://cb/x", None),
            ("foo", None),
        ] {
            let url = url_of(location.as_bytes());
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let found = url.map(|url| (text(&url.host.name()), text(url.path), url.query.map(text)));
            let wanted =
                parts.map(|(h, p, q): (&str, &str, Option<&str>)| (h.to_owned(), p.to_owned(), q.map(str::to_owned)));
            assert_eq!(found, wanted, "{location}");
        }
    }
}
