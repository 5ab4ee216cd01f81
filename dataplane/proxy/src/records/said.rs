//! What scripts leave for the record of a request or a connection.

use std::rc::Rc;

use weir_rules::Names;

#[derive(Default)]
pub(crate) struct Said {
    /// Lines that scripts log; a fault is the last one.
    pub lines: String,
    /// Names of the request that scripts have asked for, or set.
    pub names: Option<Rc<Names>>,
    /// A script wants the record to be significant.
    pub is_significant: bool,
}

impl Said {
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.names.is_none() && !self.is_significant
    }

    pub fn say(&mut self, lines: &str) {
        if !self.lines.is_empty() && !lines.is_empty() {
            self.lines.push('\n');
        }
        self.lines.push_str(lines);
    }
}
