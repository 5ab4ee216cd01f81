//! Which trailer fields pass, in both directions. Some servers and clients merge trailers into the head.

use weir_wire::head::{Field, Name, NameSet, is_same_in_cgi};

use crate::{HttpProfile, request::has_underscore, settings::Underscores};

/// What a head alone may say (RFC 9110 §6.5.1), or what only we say, or what a server may take for that.
const OF_HEADS: NameSet = NameSet::of(&[
    Name::ContentLength,
    Name::Date,
    Name::Expect,
    Name::Host,
    Name::Location,
    Name::MaxForwards,
    Name::SetCookie,
    Name::Shadow,
    Name::StrictTransportSecurity,
    Name::XForwardedFor,
    Name::XForwardedProto,
]);

/// The same for names that we do not use otherwise: of routing, conditions, authentication, caching and content.
const OTHERS_OF_HEADS: [&[u8]; 27] = [
    b"age",
    b"authorization",
    b"cache-control",
    b"content-encoding",
    b"content-range",
    b"content-type",
    b"cookie",
    b"expires",
    b"forwarded",
    b"if-match",
    b"if-modified-since",
    b"if-none-match",
    b"if-range",
    b"if-unmodified-since",
    b"pragma",
    b"proxy-authenticate",
    b"proxy-authorization",
    b"range",
    b"retry-after",
    b"trailer",
    b"vary",
    b"via",
    b"warning",
    b"www-authenticate",
    b"x-forwarded-host",
    b"x-forwarded-port",
    b"x-real-ip",
];

impl HttpProfile {
    /// Whether a trailer goes on.
    pub fn passes_trailer(&self, field: Field<'_>) -> bool {
        !OF_HEADS.has(field.name) && !self.drops_trailer_by_text(field)
    }

    fn drops_trailer_by_text(&self, field: Field<'_>) -> bool {
        OTHERS_OF_HEADS.iter().any(|name| is_same_in_cgi(name, field.name_text))
            || self.own_fields.iter().any(|name| is_same_in_cgi(name.as_bytes(), field.name_text))
            || self.forwarded.is_called(field)
            || self.underscores != Underscores::Pass && has_underscore(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HttpSettings;
    use weir_wire::http1::{Body, Framing, Parsed};

    fn passed(settings: HttpSettings, section: &str) -> String {
        let mut body = Body::new(Framing::Chunked);
        body.read(b"0\r\nX").unwrap();
        let section = format!("{section}\r\n");
        let Ok(Parsed::Whole(trailers)) = body.trailers(section.as_bytes()) else { panic!("no trailers") };
        let mut out = vec![0; trailers.bytes()];
        let profile = HttpProfile::compile(&settings).unwrap();
        let written = trailers.write(|field| profile.passes_trailer(field), &mut out).unwrap();
        String::from_utf8_lossy(&out[..written]).into_owned()
    }

    #[test]
    fn what_only_heads_say_goes_in_any_writing() {
        for name in ["Cookie", "COOKIE", "Cache-Control", "cache_control", "X-Forwarded-Port", "Connection", "Te"] {
            let section = format!("X-A: b\r\n{name}: c\r\nX-D: e\r\n");
            assert_eq!(passed(HttpSettings::default(), &section), "X-A: b\r\nX-D: e\r\n\r\n", "{name}");
        }
    }

    #[test]
    fn operators_own_names_are_guarded() {
        let settings = HttpSettings { xff: true, xff_name: "X-Client-IP".into(), ..HttpSettings::default() };
        assert_eq!(passed(settings, "X-Client-IP: 1\r\nX_Client_IP: 2\r\nX_Sum: 3\r\n"), "X_Sum: 3\r\n\r\n");
        for underscores in [Underscores::Drop, Underscores::Refuse] {
            assert_eq!(passed(HttpSettings { underscores, ..HttpSettings::default() }, "X_Sum: 3\r\n"), "\r\n");
        }
    }
}
