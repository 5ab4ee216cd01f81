//! A policy set: its rules in three lists, each with the index that finds the rules to look at.

use std::ops::ControlFlow;

use weir_rate::Limit;

use crate::{
    asked::{Needs, View},
    condition::Condition,
    edits::{Edit, WantedNames},
    index::Index,
    limit::RequestLimit,
    uri::{Redirect, Rewrite},
};

/// The rules of an HTTP policy set, compiled.
#[derive(Debug)]
pub struct PolicySet {
    pub uuid: String,
    pub name: String,
    pub(crate) security: Rules<SecurityAction>,
    pub(crate) requests: Rules<RequestAction>,
    pub(crate) responses: Rules<ResponseAction>,
    /// The forms of a request's texts that its rules compare.
    pub(crate) needs: Needs,
}

/// A rule of any list.
#[derive(Clone, Debug)]
pub struct Rule<A> {
    pub name: String,
    /// All must hold. None: it matches always.
    pub conditions: Vec<Condition>,
    /// What the rule acts on leaves a record, as if a filter held.
    pub log: bool,
    /// That record has the header fields.
    pub all_headers: bool,
    pub action: A,
}

#[derive(Clone, Debug)]
pub enum SecurityAction {
    /// Ends the security rules.
    Allow,
    Close {
        reset: bool,
    },
    Respond(LocalResponse),
    RedirectToHttps {
        port: u16,
    },
    /// A request within the limit goes on to the next rule.
    Limit(Box<RateRule>),
}

/// A limit, and what happens to requests beyond it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RateRule {
    /// The operator's field; of a security rule: empty.
    pub name: String,
    pub limit: RequestLimit,
    pub excess: Excess,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Excess {
    /// It goes on, and its record says so.
    Report,
    Close {
        reset: bool,
    },
    Respond(LocalResponse),
    Redirect(Redirect),
}

/// What the engine itself answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalResponse {
    pub status: u16,
    pub content_type: String,
    pub content: Vec<u8>,
}

#[derive(Clone, Debug, Default)]
pub struct RequestAction {
    pub edits: Vec<Edit>,
    pub rewrite: Option<Rewrite>,
    pub then: Then,
}

#[derive(Clone, Debug, Default)]
pub enum Then {
    /// The rules behind it decide.
    #[default]
    GoOn,
    Redirect(Redirect),
    Respond(LocalResponse),
    /// The pool at this place of [`PolicySet`]'s pools, and its server with this name, if one is named.
    Pool {
        pool: u32,
        server: Option<String>,
    },
}

#[derive(Clone, Debug, Default)]
pub struct ResponseAction {
    pub edits: Vec<Edit>,
    /// What Location becomes.
    pub location: Option<Redirect>,
}

/// The rules of one list, in their order.
#[derive(Debug)]
pub(crate) struct Rules<A> {
    all: Box<[Rule<A>]>,
    index: Index,
}

impl<A> Rules<A> {
    pub fn of(all: Vec<Rule<A>>) -> Self {
        let index = Index::of(all.iter().map(|rule| rule.conditions.as_slice()));
        Self { all: all.into(), index }
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn get(&self, at: u32) -> Option<&Rule<A>> {
        self.all.get(at as usize)
    }

    fn needs(&self) -> Needs {
        Needs::of(self.all.iter().flat_map(|rule| &rule.conditions))
    }

    /// Calls `then` for each rule that matches a request, until it breaks.
    #[inline]
    pub fn each<'r, B>(
        &'r self,
        view: &View<'_>,
        found: &mut Vec<u32>,
        mut then: impl FnMut(u32, &'r Rule<A>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        self.index.find(view, self.all.len() as u32, found);
        for &at in found.iter() {
            let rule = &self.all[at as usize];
            if rule.conditions.iter().all(|condition| condition.holds(view)) {
                then(at, rule)?;
            }
        }
        ControlFlow::Continue(())
    }
}

impl PolicySet {
    pub fn compile(
        uuid: String,
        name: String,
        security: Vec<Rule<SecurityAction>>,
        requests: Vec<Rule<RequestAction>>,
        responses: Vec<Rule<ResponseAction>>,
    ) -> Self {
        let (security, requests, responses) = (Rules::of(security), Rules::of(requests), Rules::of(responses));
        let mut needs = security.needs();
        for rule in &security.all {
            if let SecurityAction::Limit(rate) = &rule.action {
                rate.limit.note_needs(&mut needs);
            }
        }
        needs.join(requests.needs());
        needs.join(responses.needs());
        Self { uuid, name, security, requests, responses, needs }
    }

    /// How often requests may come that its rules match.
    pub fn limits(&self) -> impl Iterator<Item = Limit> {
        self.security.all.iter().filter_map(|rule| match &rule.action {
            SecurityAction::Limit(rate) => Some(rate.limit.limit),
            _ => None,
        })
    }

    /// Whether a rule asks for the header fields of what it acts on.
    pub fn may_want_headers(&self) -> bool {
        let of_requests = self.requests.all.iter().any(|rule| rule.all_headers);
        of_requests || self.responses.all.iter().any(|rule| rule.all_headers)
    }

    /// Notes which names of requests its rules need.
    pub(crate) fn note_names(&self, wanted: &mut WantedNames) {
        self.requests.all.iter().for_each(|rule| wanted.note(&rule.action.edits));
        self.responses.all.iter().for_each(|rule| wanted.note(&rule.action.edits));
    }

    /// Whether responses are looked at.
    pub fn has_response_rules(&self) -> bool {
        !self.responses.is_empty()
    }
}
