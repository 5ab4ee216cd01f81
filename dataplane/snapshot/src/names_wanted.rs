//! What is made for each request so that it has names.

use weir_rules::WantedNames;

use crate::{Content, ServicePolicies};

/// Whoever looks at a request until its end sees the same names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NamesWanted {
    Nothing,
    /// A number, of which scripts make its id.
    Number,
    /// Its id, and its user.
    Names,
}

impl NamesWanted {
    pub(crate) fn by(policies: Option<&ServicePolicies>, content: Option<&Content>, scripts_ask: bool) -> Self {
        let by_policies = policies.is_some_and(|policies| {
            let knows_users = policies.tokens.is_some() || policies.identity.is_some();
            policies.rules.wanted_names().is_some() || scripts_ask && knows_users
        });
        let rewrite = content.and_then(|content| content.rewrite.as_ref());
        match by_policies || rewrite.is_some_and(|rewrite| WantedNames::is_some(rewrite.wanted_names())) {
            true => Self::Names,
            false if scripts_ask => Self::Number,
            false => Self::Nothing,
        }
    }
}
