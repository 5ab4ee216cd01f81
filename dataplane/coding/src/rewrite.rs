//! The rewriting of content: in which responses texts are replaced, and what servers hear of it.

use std::sync::Arc;

use weir_rules::{Edit, EditKind, Names, Origin, Value, ValueHead, WantedNames};
use weir_wire::head::{Fields, RequestHead, ResponseHead};

use crate::{
    compression::{Verdict, holds, judge, length, values},
    media_type::MediaTypes,
    pairs::{BadPair, Pair, Pairs},
    replacer::{Replacer, Values},
};

/// Which responses are rewritten, and how.
#[derive(Debug)]
pub struct Rewrite {
    types: MediaTypes,
    pairs: Arc<Pairs>,
    /// What pairs search for or write that each request has of its own.
    variables: Box<[Value]>,
    removed: [Edit; 3],
}

impl Rewrite {
    pub fn new(types: MediaTypes, pairs: Vec<Pair>, variables: Vec<Value>) -> Result<Self, BadPair> {
        // No text is found in encoded content, and parts of content would not fit what is rewritten.
        let removed = ["Accept-Encoding", "Range", "If-Range"].map(|name| Edit {
            kind: EditKind::Remove,
            name: name.to_owned(),
            cookie: false,
            value: None,
        });
        let pairs = Arc::new(Pairs::new(pairs, variables.len())?);
        Ok(Self { types, pairs, variables: variables.into(), removed })
    }

    /// What becomes of the head of each request.
    pub fn edits(&self) -> &[Edit] {
        &self.removed
    }

    /// The memory that it takes, about.
    pub fn bytes(&self) -> usize {
        self.pairs.bytes()
    }

    /// Which names of requests its variables need.
    pub fn wanted_names(&self) -> WantedNames {
        let mut wanted = WantedNames::default();
        self.variables.iter().for_each(|variable| wanted.note_value(variable));
        wanted
    }

    /// Whether a response is of those that are rewritten. `holds_weak`: what the request [says](holds_weak).
    pub fn covers(&self, head: &ResponseHead<'_>, holds_weak: bool) -> bool {
        let names_type = values(&head.fields, b"content-type").next().is_some();
        // A 304 without a type is about what the client has: rewritten content has a weak tag.
        let may = judge(head, &self.types) == Verdict::May && (names_type || holds_weak);
        may && (head.status == 304 || length(&head.fields) != Some(0))
    }

    /// How many pairs there are.
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    pub fn has_variables(&self) -> bool {
        !self.variables.is_empty()
    }

    /// What the variables stand for in a request and its response. `head`: of the request.
    pub fn values(&self, origin: &Origin<'_>, head: &RequestHead<'_>, names: Option<&Names>) -> Values {
        let head = ValueHead::request(head);
        self.variables.iter().map(|variable| Box::from(&*variable.of(origin, &head, names))).collect()
    }

    /// `values`: what its variables stand for, if it has some.
    pub fn replacer(&self, values: Option<&Values>) -> Replacer {
        Replacer::new(self.pairs.clone(), values.cloned())
    }
}

/// Whether a request says that its client has content of which something was made: If-None-Match has a weak tag.
pub fn holds_weak(fields: &Fields<'_>) -> bool {
    holds(fields, b"W/")
}
