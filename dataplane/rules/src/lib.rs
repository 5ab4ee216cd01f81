//! The rules of HTTP policies: which requests and responses they match, and what they do to them. A policy set is compiled
//! once, to indexes that leave few rules to look at. Pure: heads in, decisions out; what becomes of a decision is
//! `proxy`'s.
#![forbid(unsafe_code)]

mod access;
mod acted;
mod acting;
mod addresses;
mod asked;
mod claims;
mod condition;
mod cookies;
mod counted;
mod criterion;
mod edits;
mod groups;
mod index;
mod judge;
mod limit;
mod names;
mod network;
mod pending;
mod prefixes;
mod set;
mod strangers;
mod text;
mod uri;

pub use access::{Access, Authentication, Authorization, Denial, Grant, Granted};
pub use acted::Acted;
pub use acting::{Acting, EditedName, RewrittenTo, RuleAnswer};
pub use addresses::{AddressGroup, AddressRange, Addresses};
pub use asked::{Asked, HttpVersion, Origin, Scratch, TlsFacts};
pub use claims::{ClaimMatch, ClaimValue, ClaimValues, WantedClaim};
pub use condition::{AddressMatch, Condition, Conditions, FieldMatch, HostRule, NameMatch, NumberMatch, VersionMatch};
pub use counted::Refusal;
pub use criterion::{Criterion, TextError};
pub use edits::{Edit, EditKind, Edited, Edits, Value, ValueHead, Variable, WantedNames};
pub use groups::StringGroup;
pub use judge::{Choice, Due, Exceeded, Judged, Policies, ResponseJudged, Verdict};
pub use limit::RequestLimit;
pub use names::{Names, RequestId, Told, is_user};
pub use network::{Arriving, Barred, ConnectionMatch, Decided, DecidedBy, NetworkAction, NetworkPolicy, NetworkRule};
pub use pending::Pending;
pub use set::{Excess, LocalResponse, PolicySet, RateRule, RequestAction, ResponseAction, Rule, SecurityAction, Then};
pub use strangers::Strangers;
pub use text::{TextMatch, TextRule};
pub use uri::{Redirect, Rewrite, Token, TokenKind};
