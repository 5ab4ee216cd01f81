//! The rewriting of content: in which responses texts are replaced, and what servers hear of it.

use std::sync::Arc;

use weir_rules::{Edit, EditKind};
use weir_wire::head::{Fields, ResponseHead};

use crate::{
    compression::{Verdict, holds, judge, length, values},
    media_type::MediaTypes,
    replacer::{Pair, Pairs, Replacer},
};

/// Which responses are rewritten, and how.
#[derive(Debug)]
pub struct Rewrite {
    types: MediaTypes,
    pairs: Arc<Pairs>,
    removed: [Edit; 3],
}

impl Rewrite {
    /// `None`: there is no pair, a text is empty, or the texts are too long together.
    pub fn new(types: MediaTypes, pairs: &[Pair<'_>]) -> Option<Self> {
        // No text is found in encoded content, and parts of content would not fit what is rewritten.
        let removed = ["Accept-Encoding", "Range", "If-Range"].map(|name| Edit {
            kind: EditKind::Remove,
            name: name.to_owned(),
            cookie: false,
            value: None,
        });
        Some(Self { types, pairs: Arc::new(Pairs::new(pairs)?), removed })
    }

    /// What becomes of the head of each request.
    pub fn edits(&self) -> &[Edit] {
        &self.removed
    }

    /// The memory that it takes, about.
    pub fn bytes(&self) -> usize {
        self.pairs.bytes()
    }

    /// Whether a response is of those that are rewritten. `holds_weak`: what the request [says](holds_weak).
    pub fn covers(&self, head: &ResponseHead<'_>, holds_weak: bool) -> bool {
        let names_type = values(&head.fields, b"content-type").next().is_some();
        // A 304 without a type is about what the client has: rewritten content has a weak tag.
        let may = judge(head, &self.types) == Verdict::May && (names_type || holds_weak);
        may && (head.status == 304 || length(&head.fields) != Some(0))
    }

    pub fn replacer(&self) -> Replacer {
        Replacer::new(self.pairs.clone())
    }
}

/// Whether a request says that its client has content of which something was made: If-None-Match has a weak tag.
pub fn holds_weak(fields: &Fields<'_>) -> bool {
    holds(fields, b"W/")
}
