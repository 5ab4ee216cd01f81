//! The JSON of a token, as far as it decides. A name that is there twice is refused: readers differ in which one they
//! believe (RFC 7519 §4).

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use weir_rules::{ClaimValue, ClaimValues};

/// Of a head or of claims.
const MEMBERS_MAX: usize = 100;

/// The head of a token (RFC 7515 §4.1).
#[derive(PartialEq, Eq, Default, Debug)]
pub(crate) struct Head {
    pub algorithm: String,
    /// `kid`
    pub key: Option<String>,
}

/// The registered claims (RFC 7519 §4.1). Times are in seconds since 1970.
#[derive(PartialEq, Eq, Default, Debug)]
pub(crate) struct Claims {
    pub issuer: Option<String>,
    pub audiences: Vec<String>,
    pub expires: Option<u64>,
    pub not_before: Option<u64>,
}

impl Head {
    /// `None`: it is none, or has extensions that a reader must understand (`crit`).
    pub fn read(json: &[u8]) -> Option<Self> {
        let head: Self = serde_json::from_slice(json).ok()?;
        (!head.algorithm.is_empty()).then_some(head)
    }
}

impl Claims {
    pub fn read(json: &[u8]) -> Option<Self> {
        serde_json::from_slice(json).ok()
    }
}

impl<'de> Deserialize<'de> for Head {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Head;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the head of a token")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Head, A::Error> {
                let (mut head, mut names) = (Head::default(), Names::default());
                while let Some(name) = map.next_key::<String>()? {
                    match name.as_str() {
                        "alg" => head.algorithm = map.next_value()?,
                        "kid" => head.key = Some(map.next_value()?),
                        "crit" => return Err(A::Error::custom("an extension that must be understood")),
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                    names.add(name)?;
                }
                Ok(head)
            }
        }
        from.deserialize_map(Reader)
    }
}

impl<'de> Deserialize<'de> for Claims {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Claims;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the claims of a token")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Claims, A::Error> {
                let (mut claims, mut names) = (Claims::default(), Names::default());
                while let Some(name) = map.next_key::<String>()? {
                    match name.as_str() {
                        "iss" => claims.issuer = Some(map.next_value()?),
                        "aud" => claims.audiences = map.next_value::<Audiences>()?.0,
                        "exp" => claims.expires = Some(map.next_value::<Seconds>()?.0),
                        "nbf" => claims.not_before = Some(map.next_value::<Seconds>()?.0),
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                    names.add(name)?;
                }
                Ok(claims)
            }
        }
        from.deserialize_map(Reader)
    }
}

/// All claims, as rules compare them. `None`: they are none, or a name is there twice.
pub(crate) fn values(json: &[u8]) -> Option<ClaimValues> {
    serde_json::from_slice(json).ok().map(|Values(all)| ClaimValues(all))
}

struct Values(Vec<(String, ClaimValue)>);

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Values;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the claims of a token")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Values, A::Error> {
                let (mut all, mut names) = (Vec::new(), Names::default());
                while let Some(name) = map.next_key::<String>()? {
                    all.push((name.clone(), map.next_value::<Comparable<false>>()?.0));
                    names.add(name)?;
                }
                Ok(Values(all))
            }
        }
        from.deserialize_map(Reader)
    }
}

/// A claim, or an element of a list within: what is deeper is not read, so that nothing here calls itself again and again.
struct Comparable<const WITHIN: bool>(ClaimValue);

impl<'de, const WITHIN: bool> Deserialize<'de> for Comparable<WITHIN> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader<const WITHIN: bool>;
        impl<'de, const WITHIN: bool> Visitor<'de> for Reader<WITHIN> {
            type Value = Comparable<WITHIN>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a claim")
            }

            fn visit_bool<E: Error>(self, truth: bool) -> Result<Self::Value, E> {
                Ok(Comparable(ClaimValue::Truth(truth)))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
                Ok(Comparable(ClaimValue::Number(number.into())))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
                Ok(Comparable(ClaimValue::Number(number.into())))
            }

            /// 3.0 and 3e0 are other ways to write 3.
            fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
                let is_whole = number.fract() == 0.0 && number.abs() < 9e15;
                Ok(Comparable(if is_whole { ClaimValue::Number(number as i128) } else { ClaimValue::Other }))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Comparable(ClaimValue::Texts(vec![text.to_owned()])))
            }

            fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
                Ok(Comparable(ClaimValue::Other))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                if WITHIN {
                    while list.next_element::<IgnoredAny>()?.is_some() {}
                    return Ok(Comparable(ClaimValue::Other));
                }
                let (mut texts, mut are_texts) = (Vec::new(), true);
                while let Some(Comparable(one)) = list.next_element::<Comparable<true>>()? {
                    match one {
                        ClaimValue::Texts(mut one) => texts.append(&mut one),
                        _ => are_texts = false,
                    }
                }
                Ok(Comparable(if are_texts { ClaimValue::Texts(texts) } else { ClaimValue::Other }))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Comparable(ClaimValue::Other))
            }
        }
        from.deserialize_any(Reader::<WITHIN>)
    }
}

/// The names of an object so far.
#[derive(Default)]
struct Names(Vec<String>);

impl Names {
    fn add<E: Error>(&mut self, name: String) -> Result<(), E> {
        if self.0.len() >= MEMBERS_MAX || self.0.contains(&name) {
            return Err(E::custom("too many names, or one twice"));
        }
        self.0.push(name);
        Ok(())
    }
}

/// One text, or a list of texts.
struct Audiences(Vec<String>);

impl<'de> Deserialize<'de> for Audiences {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Audiences;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one audience, or a list of them")
            }

            fn visit_str<E: Error>(self, one: &str) -> Result<Audiences, E> {
                Ok(Audiences(vec![one.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Audiences, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                Ok(Audiences(all))
            }
        }
        from.deserialize_any(Reader)
    }
}

/// A NumericDate (RFC 7519 §2), rounded down; before 1970: 0.
struct Seconds(u64);

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Seconds;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of seconds")
            }

            fn visit_u64<E: Error>(self, seconds: u64) -> Result<Seconds, E> {
                Ok(Seconds(seconds))
            }

            fn visit_i64<E: Error>(self, seconds: i64) -> Result<Seconds, E> {
                Ok(Seconds(u64::try_from(seconds).unwrap_or_default()))
            }

            fn visit_f64<E: Error>(self, seconds: f64) -> Result<Seconds, E> {
                // The conversion saturates.
                Ok(Seconds(seconds as u64))
            }
        }
        from.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_that_decide_are_read_and_others_are_none() {
        let read = |json: &str| Head::read(json.as_bytes());
        let head = |algorithm: &str, key: Option<&str>| {
            Some(Head { algorithm: algorithm.to_owned(), key: key.map(str::to_owned) })
        };
        assert_eq!(read(r#"{"typ":"JWT","alg":"ES256","kid":"a"}"#), head("ES256", Some("a")));
        assert_eq!(read(r#"{"alg":"none","jwk":{"kty":"oct"},"x":[1,{}]}"#), head("none", None));
        for wrong in [
            "",
            "{}",
            "[]",
            r#"{"alg":1}"#,
            r#"{"alg":"ES256","crit":["exp"]}"#,
            r#"{"alg":"ES256","alg":"none"}"#,
            r#"{"alg":"ES256","kid":"a","\u006bid":"b"}"#,
            r#"{"alg":"ES256","kid":null}"#,
            r#"{"alg":"ES256"} {}"#,
            r#"{"alg":"ES256""#,
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn claims_are_read_whatever_else_is_among_them() {
        let read = |json: &str| Claims::read(json.as_bytes());
        let claims = read(r#"{"iss":"i","sub":"s","aud":["a","b"],"exp":1.9e9,"nbf":-3,"roles":[{"x":{}}]}"#).unwrap();
        assert_eq!(claims.issuer.as_deref(), Some("i"));
        assert_eq!(claims.audiences, ["a", "b"]);
        assert_eq!((claims.expires, claims.not_before), (Some(1_900_000_000), Some(0)));
        assert_eq!(read(r#"{"aud":"a"}"#).unwrap().audiences, ["a"]);
        let many: Vec<_> = (0..MEMBERS_MAX + 1).map(|n| format!("\"c{n}\":1")).collect();
        for wrong in [
            r#"{"exp":"1900000000"}"#.to_owned(),
            r#"{"exp":null}"#.to_owned(),
            r#"{"exp":1,"exp":1900000000}"#.to_owned(),
            r#"{"sub":"a","sub":"b"}"#.to_owned(),
            r#"{"aud":[1]}"#.to_owned(),
            r#"{"aud":{}}"#.to_owned(),
            format!("{{{}}}", many.join(",")),
            format!("{}{}", r#"{"deep":"#, "[".repeat(100_000)),
        ] {
            assert_eq!(read(&wrong), None, "{wrong:.100}");
        }
    }

    #[test]
    fn claims_are_told_apart_by_their_types() {
        let value =
            |json: &str| values(format!(r#"{{"a":{json}}}"#).as_bytes()).map(|ClaimValues(mut all)| all.remove(0).1);
        let texts = |all: &[&str]| Some(ClaimValue::Texts(all.iter().map(|text| text.to_string()).collect()));
        assert_eq!(value(r#""x""#), texts(&["x"]));
        assert_eq!(value(r#"["x","\u0079"]"#), texts(&["x", "y"]));
        assert_eq!(value("[]"), texts(&[]));
        assert_eq!([value("3"), value("3.0"), value("-1")], [3, 3, -1].map(|n| Some(ClaimValue::Number(n))));
        assert_eq!(value("18446744073709551615"), Some(ClaimValue::Number(u64::MAX.into())));
        assert_eq!(value("true"), Some(ClaimValue::Truth(true)));
        for other in ["null", "{}", r#"{"b":[1]}"#, r#"["x",1]"#, r#"["x",["y"]]"#, r#"["x",null]"#, "3.5", "1e300"] {
            assert_eq!(value(other), Some(ClaimValue::Other), "{other}");
        }
        let deep = format!("{}{}", "[".repeat(4000), "]".repeat(4000));
        assert_eq!(value(&deep), Some(ClaimValue::Other), "however deep");
        for wrong in [r#"{"a":1,"a":2}"#, r#"{"a":1,"\u0061":2}"#, "[]", "", r#"{"a":1} {}"#] {
            assert_eq!(values(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
