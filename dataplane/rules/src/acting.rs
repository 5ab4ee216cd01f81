//! Which request rules act on a request, and what each of them does. For who asks what would happen: requests pay nothing
//! for it.

use crate::{
    asked::{Asked, Scratch},
    edits::{EditKind, Edits},
    judge::{Judged, Policies, Verdict},
    set::Then,
};

/// A request rule that acts, and what it does to the request.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Acting {
    /// The name of its policy set.
    pub set: String,
    pub name: String,
    pub edits: Vec<EditedName>,
    pub rewrites_to: Option<RewrittenTo>,
    /// It would rewrite the URL, and an earlier rule has.
    pub rewrites_late: bool,
    /// It chooses the pool of the request, or its group.
    pub chooses: bool,
    /// It would choose, and an earlier rule has.
    pub chooses_late: bool,
    pub answer: Option<RuleAnswer>,
    /// It neither rewrites nor redirects, because the request lacks a part of the new URL.
    pub lacks_part: bool,
}

/// A field of a head, or a cookie, and what becomes of it. Its value may be a secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EditedName {
    pub kind: EditKind,
    pub cookie: bool,
    pub name: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RewrittenTo {
    /// `None`: it stays.
    pub host: Option<Vec<u8>>,
    /// Path and query.
    pub target: Vec<u8>,
}

/// What the client gets, behind which no rule is tried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleAnswer {
    pub status: u16,
    /// Of a redirect.
    pub location: Option<Vec<u8>>,
}

impl Acting {
    /// It decides where the request goes.
    pub fn decides(&self) -> bool {
        self.chooses || self.answer.is_some()
    }
}

impl Edits<'_> {
    /// What is edited, behind so many changes.
    pub fn names_behind(&self, before: usize) -> Vec<EditedName> {
        let changes = self.changes().skip(before);
        changes.map(|(kind, cookie, name, _)| EditedName { kind, cookie, name: name.to_owned() }).collect()
    }
}

impl Policies {
    /// The request rules that act on a request which comes as far as to them, in their order.
    pub fn acting(&self, asked: &Asked<'_>, scratch: &mut Scratch) -> Vec<Acting> {
        let (view, found) = scratch.view(asked, &self.needs);
        let (mut judged, mut all) = (Judged::default(), Vec::new());
        for (at, set) in self.sets().iter().enumerate() {
            let ended = set.requests.each(&view, found, |_, rule| {
                let edits = judged.edits.changes().count();
                let (had_url, had_pool) = (judged.edits.target.is_some(), judged.pool.is_some());
                let ended = judged.ask(&view, at, rule);
                let rewrites = rule.action.rewrite.is_some();
                let rewrites_to = judged.edits.target.clone().filter(|_| rewrites && !had_url);
                let is_choice = matches!(rule.action.then, Then::Pool { .. });
                let is_redirect = matches!(rule.action.then, Then::Redirect(_));
                let answer = match &judged.verdict {
                    Verdict::Respond(response) => Some(RuleAnswer { status: response.status, location: None }),
                    Verdict::Redirect { status, location } => {
                        Some(RuleAnswer { status: *status, location: Some(location.clone()) })
                    }
                    Verdict::Pass | Verdict::Close { .. } => None,
                };
                all.push(Acting {
                    set: set.name.clone(),
                    name: rule.name.clone(),
                    edits: judged.edits.names_behind(edits),
                    rewrites_late: rewrites && had_url,
                    chooses: is_choice && !had_pool,
                    chooses_late: is_choice && had_pool,
                    lacks_part: rewrites && !had_url && rewrites_to.is_none() || is_redirect && answer.is_none(),
                    rewrites_to: rewrites_to.map(|target| RewrittenTo { host: judged.edits.host.clone(), target }),
                    answer,
                });
                ended
            });
            if ended.is_break() {
                break;
            }
        }
        all
    }
}
