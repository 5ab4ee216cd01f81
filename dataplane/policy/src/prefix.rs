//! Cookies of applications that say which server set them: a token stands before the value that the application gave. Clients
//! send both back, and servers see their own value again.

use weir_wire::head::{Field, Fields, Name};

/// Of a token: lower-case hexadecimal digits.
const TOKEN_BYTES: usize = 32;
/// Behind the token. Values of cookies may have it (RFC 6265 §4.1.1).
const END: u8 = b'~';

/// What one server's cookies of a name get before their value.
#[derive(PartialEq, Eq, Debug)]
pub struct Prefix {
    name: Vec<u8>,
    /// With its end.
    text: Vec<u8>,
}

impl Prefix {
    pub const BYTES: usize = TOKEN_BYTES + 1;

    /// `None`: the token has another form.
    pub(crate) fn new(name: &str, token: &str) -> Option<Self> {
        let text = format!("{token}{}", char::from(END)).into_bytes();
        split(&text).is_some().then(|| Self { name: name.as_bytes().to_vec(), text })
    }

    /// The value of a Set-Cookie in parts: what stands before the prefix, the prefix, and what follows. A cookie of another
    /// name, or without a value, gets none: the latter is how a server removes its cookie.
    pub(crate) fn put_into<'v>(&'v self, cookie: &'v [u8]) -> [&'v [u8]; 3] {
        let at = cookie.iter().position(|&byte| byte == b'=').unwrap_or(0);
        let (name, value) = cookie.split_at(at);
        let blanks = value.iter().skip(1).take_while(|byte| byte.is_ascii_whitespace()).count();
        let value = value.get(1 + blanks..).unwrap_or_default();
        let quote = usize::from(value.first() == Some(&b'"'));
        let is_empty = value.get(quote).is_none_or(|&byte| byte == b';' || byte == b'"');
        if name.trim_ascii() != self.name || is_empty {
            return [b"", b"", cookie];
        }
        let (before, behind) = cookie.split_at(cookie.len() - value.len() + quote);
        [before, &self.text, behind]
    }
}

/// The token before a cookie's value, and the value without it. `None`: there is no token.
pub(crate) fn taken_from(value: &[u8]) -> Option<(&[u8], Vec<u8>)> {
    let quote = usize::from(value.first() == Some(&b'"'));
    let (before, behind) = value.split_at(quote);
    let (token, own) = split(behind)?;
    Some((token, [before, own].concat()))
}

fn split(value: &[u8]) -> Option<(&[u8], &[u8])> {
    let (token, rest) = value.split_at_checked(TOKEN_BYTES)?;
    let is_token = token.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    Some((token, rest.strip_prefix(&[END])?)).filter(|_| is_token)
}

/// The values of the cookies of this name.
pub(crate) fn values<'f>(fields: &Fields<'f>, name: &[u8]) -> impl Iterator<Item = &'f [u8]> {
    let cookies = fields.iter().filter(is_cookie);
    let pairs = cookies.flat_map(|field| field.value.split(|&byte| byte == b';'));
    pairs.filter_map(move |pair| pair.trim_ascii().strip_prefix(name)?.strip_prefix(b"="))
}

fn is_cookie(field: &Field<'_>) -> bool {
    field.name == Name::Other && field.name_text.eq_ignore_ascii_case(b"cookie")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn prefix_comes_before_the_value_of_its_cookie_alone_and_goes_again() {
        let prefix = Prefix::new("id", TOKEN).unwrap();
        for (set, value) in [
            ("id=a; Path=/; id=b", "a"),
            ("id = a", "a"),
            ("id=\"a b\"; Secure", "\"a b\""),
            ("id=a=b~c", "a=b~c"),
            ("id=~", "~"),
        ] {
            let [before, text, behind] = prefix.put_into(set.as_bytes());
            assert_eq!(text.len(), Prefix::BYTES, "{set}");
            assert_eq!([before, behind].concat(), set.as_bytes());
            let sent = [before, text, behind].concat();
            let sent = sent.split(|&byte| byte == b';').next().unwrap();
            let at = sent.iter().position(|&byte| byte == b'=').unwrap();
            let (token, own) = taken_from(sent[at + 1..].trim_ascii()).unwrap();
            assert_eq!((token, own.as_slice()), (TOKEN.as_bytes(), value.as_bytes()));
        }
        for other in ["id=; Max-Age=0", "id=\"\"", "id", "", "ID=a", "id2=a", "a=b; id=c", "id="] {
            assert_eq!(prefix.put_into(other.as_bytes()), [b"", b"", other.as_bytes()], "{other}");
        }
    }

    #[test]
    fn what_is_no_token_stays_in_the_value() {
        for value in ["", "a", TOKEN, "~a", &format!("{}~a", TOKEN.to_uppercase()), &format!("{}~a", &TOKEN[1..])] {
            assert_eq!(taken_from(value.as_bytes()), None, "{value}");
        }
        assert_eq!(Prefix::new("id", "t0"), None);
    }
}
