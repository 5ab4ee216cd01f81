//! What an operator wants cached.

use weir_coding::MediaTypes;
use weir_policy::{RequestPath, TextMatch};

/// As the operator has set it.
#[derive(Debug, Default)]
pub struct Settings {
    /// Of the content of one response.
    pub min_bytes: u64,
    pub max_bytes: u64,
    /// How long a response is fresh that does not say it.
    pub default_expire_s: u64,
    /// A tenth of the time since its Last-Modified instead.
    pub heuristic: bool,
    /// Responses without Cache-Control are stored, too.
    pub aggressive: bool,
    pub queries: bool,
    pub ignores_request_directives: bool,
    /// What stored responses say when they answer.
    pub age_field: bool,
    pub date_field: bool,
    pub x_cache_field: bool,
    /// Empty: all.
    pub types: MediaTypes,
    pub blocked_types: MediaTypes,
    pub blocked_paths: Option<TextMatch>,
}

#[derive(Debug)]
pub struct CacheProfile {
    pub settings: Settings,
}

impl CacheProfile {
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// Whether responses for this path and query may be stored at all.
    pub fn takes(&self, path: &[u8]) -> bool {
        let (before, query) = match path.iter().position(|&byte| byte == b'?') {
            Some(at) => (&path[..at], Some(&path[at + 1..])),
            None => (path, None),
        };
        if query.is_some() && !self.settings.queries {
            return false;
        }
        !self.blocks(before)
    }

    /// Whether the operator wants no response for a path stored. It has no query.
    fn blocks(&self, path: &[u8]) -> bool {
        self.settings.blocked_paths.as_ref().is_some_and(|blocked| blocked.matches(&RequestPath::of(path)))
    }

    /// The same for the path that a client asks for, where its server is asked for another one.
    pub fn blocks_asked(&self, path: &[u8]) -> bool {
        self.blocks(path.split(|&byte| byte == b'?').next().unwrap_or_default())
    }

    pub(crate) fn takes_type(&self, content_type: &[u8]) -> bool {
        let Settings { types, blocked_types, .. } = &self.settings;
        (types.is_empty() || types.has(content_type)) && !blocked_types.has(content_type)
    }
}
