//! Lists of media types.

/// Media types, without parameters and in small letters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MediaTypes(Box<[Box<[u8]>]>);

impl MediaTypes {
    pub fn of<'t>(types: impl IntoIterator<Item = &'t str>) -> Self {
        let mut types: Vec<Box<[u8]>> =
            types.into_iter().map(|text| essence(text.as_bytes()).to_ascii_lowercase().into()).collect();
        types.sort_unstable();
        types.dedup();
        Self(types.into())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the type that a Content-Type names is among them, or all types are (`*/*`), or all of its family
    /// (`text/*`).
    pub fn has(&self, content_type: &[u8]) -> bool {
        let wanted = essence(content_type);
        let small = wanted.iter().map(u8::to_ascii_lowercase);
        if self.0.binary_search_by(|known| known.iter().copied().cmp(small.clone())).is_ok() {
            return true;
        }
        let family = wanted.iter().position(|&byte| byte == b'/').map_or(wanted, |slash| &wanted[..slash]);
        self.0.iter().any(|known| match known.strip_suffix(b"/*") {
            Some(b"*") => true,
            Some(known) => known.eq_ignore_ascii_case(family),
            None => false,
        })
    }
}

/// A media type without its parameters.
pub(crate) fn essence(content_type: &[u8]) -> &[u8] {
    content_type.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_and_letters_do_not_count() {
        let types = MediaTypes::of(["text/HTML", "image/*", "application/json; charset=utf-8"]);
        for (text, has) in [
            ("text/html", true),
            ("Text/Html;charset=utf-8", true),
            ("text/html ; q", true),
            ("text/plain", false),
            ("image/png", true),
            ("IMAGE/x", true),
            ("imagex/png", false),
            ("application/json", true),
            ("", false),
        ] {
            assert_eq!(types.has(text.as_bytes()), has, "{text}");
        }
        assert!(MediaTypes::of(["*/*"]).has(b"a/b"));
        assert!(!MediaTypes::default().has(b"a/b"));
    }
}
