//! What a request is called, and whose it is, where rules or scripts want to know.

use std::{
    cell::{Cell, Ref, RefCell},
    fmt,
    rc::Rc,
    sync::Arc,
};

use weir_wire::{head::may_be_value, x509::Says};

/// The name of a request: `aBc-1x2Y-3zWq`. It is the `request_id` of its record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestId(u64);

/// 62 of them are enough for 64 bits in eleven places.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

impl RequestId {
    /// Of a number that no other request has.
    pub fn of(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut text, mut left) = (*b"000-0000-0000", self.0);
        for place in text.iter_mut().rev().filter(|place| **place != b'-') {
            *place = DIGITS[(left % 62) as usize];
            left /= 62;
        }
        text.iter().try_for_each(|byte| fmt::Write::write_char(f, char::from(*byte)))
    }
}

/// Of the name of a user, as OpenID Connect Core 1.0 §2 has it for `sub`.
const USER_BYTES_MAX: usize = 255;

/// The names of one request. Whoever looks at the request until its end has the same ones.
#[derive(Debug)]
pub struct Names {
    told: Rc<Told>,
    source: RefCell<Source>,
    /// That is good. Empty: there is none.
    token: RefCell<Box<[u8]>>,
    /// The record of the request has them.
    is_noted: Cell<bool>,
}

/// What somebody has been told of the names. It has nothing of tokens and certificates, so a record may keep it.
#[derive(Debug)]
pub struct Told {
    id: RequestId,
    is_id_told: Cell<bool>,
    /// Empty: nobody knows. `None`: nobody has asked.
    user: RefCell<Option<String>>,
}

/// Who names the user when somebody asks.
#[derive(Debug)]
enum Source {
    Nobody,
    /// A good certificate of the client.
    Certificate(Arc<dyn Says>),
    /// The token, as the function reads it.
    Token(fn(&[u8]) -> Option<String>),
    /// A script has set the user.
    Script,
}

impl Names {
    pub fn of(id: RequestId) -> Self {
        let told = Rc::new(Told { id, is_id_told: Cell::new(false), user: RefCell::default() });
        let source = RefCell::new(Source::Nobody);
        Self { told, source, token: RefCell::default(), is_noted: Cell::new(false) }
    }

    /// The client has shown a good certificate.
    pub fn set_certificate(&self, certificate: Arc<dyn Says>) {
        self.follow(Source::Certificate(certificate));
    }

    /// The request has a good token, in which `read` finds the user when somebody asks.
    pub fn set_token(&self, token: &[u8], read: fn(&[u8]) -> Option<String>) {
        *self.token.borrow_mut() = token.into();
        if !matches!(*self.source.borrow(), Source::Script) {
            self.follow(Source::Token(read));
        }
    }

    fn follow(&self, source: Source) {
        *self.source.borrow_mut() = source;
        *self.told.user.borrow_mut() = None;
    }

    /// The good token of the request. Empty: it has none.
    pub fn token(&self) -> Ref<'_, [u8]> {
        Ref::map(self.token.borrow(), |token| &**token)
    }

    /// Whose the request is, from now on. What is no name leaves that unknown.
    pub fn set_user(&self, user: &str) {
        *self.source.borrow_mut() = Source::Script;
        *self.told.user.borrow_mut() = Some(if is_user(user) { user.to_owned() } else { String::new() });
    }

    pub fn tell_id(&self) -> RequestId {
        self.told.is_id_told.set(true);
        self.told.id
    }

    /// Empty: nobody knows.
    pub fn tell_user(&self) -> String {
        if let Some(user) = &*self.told.user.borrow() {
            return user.clone();
        }
        let found = match &*self.source.borrow() {
            Source::Nobody => return String::new(),
            Source::Certificate(certificate) => certificate.common_name(),
            Source::Token(read) => read(&self.token()),
            Source::Script => None,
        };
        let user = found.filter(|user| is_user(user)).unwrap_or_default();
        *self.told.user.borrow_mut() = Some(user.clone());
        user
    }

    /// What the record gets, if it has to hear of the names now, because one was told or set.
    pub fn for_record(&self) -> Option<Rc<Told>> {
        let is_told = self.told.is_id_told.get() || self.told.user.borrow().is_some();
        (is_told && !self.is_noted.replace(true)).then(|| self.told.clone())
    }
}

impl Told {
    /// `None`: nobody has asked for it.
    pub fn id(&self) -> Option<RequestId> {
        self.is_id_told.get().then_some(self.id)
    }

    /// Empty: nobody knows, or nobody has asked.
    pub fn user(&self) -> String {
        self.user.borrow().clone().unwrap_or_default()
    }
}

/// Whether a text may be the name of a user: it is short, and whoever reads a header field with it reads the same text.
pub fn is_user(text: &str) -> bool {
    let is_blank_at_an_end = text.starts_with([' ', '\t']) || text.ends_with([' ', '\t']);
    text.len() <= USER_BYTES_MAX && may_be_value(text.as_bytes()) && !is_blank_at_an_end
}

#[cfg(test)]
mod tests {
    use weir_wire::x509::Text;

    use super::*;

    #[test]
    fn each_number_is_another_name_of_the_same_shape() {
        for (number, text) in [
            (0, "000-0000-0000"),
            (61, "000-0000-000z"),
            (62, "000-0000-0010"),
            (0x0123_4567_89ab_cdef, "063-UfDV-RKBz"),
            (u64::MAX, "Lyg-Ha16-AHYF"),
        ] {
            assert_eq!(RequestId::of(number).to_string(), text);
        }
    }

    #[test]
    fn user_that_cannot_stand_in_a_field_is_not_known() {
        let names = Names::of(RequestId::of(7));
        assert_eq!(names.tell_user(), "");
        let long = "a".repeat(USER_BYTES_MAX + 1);
        for (user, known) in [
            ("alice", "alice"),
            ("a\r\nX-Admin: 1", ""),
            (" alice", ""),
            ("alice\t", ""),
            ("alice b", "alice b"),
            ("Jürgen", "Jürgen"),
            ("", ""),
            (&long, ""),
            (&long[1..], &long[1..]),
        ] {
            names.set_user(user);
            assert_eq!(names.tell_user(), known);
        }
    }

    #[test]
    fn token_is_read_when_somebody_asks_and_yields_to_who_was_set() {
        let read = |token: &[u8]| String::from_utf8(token.to_vec()).ok();
        let names = Names::of(RequestId::of(7));
        names.set_token(b"alice", read);
        assert!(names.told.user().is_empty() && names.for_record().is_none());
        assert_eq!((names.tell_user().as_str(), names.told.user().as_str()), ("alice", "alice"));
        names.set_user("bob");
        names.set_token(b"alice", read);
        assert_eq!(names.tell_user(), "bob");
        let of_nobody = Names::of(RequestId::of(7));
        of_nobody.set_token(b"a\nb", read);
        assert_eq!(of_nobody.tell_user(), "");
    }

    #[derive(Debug)]
    struct Certificate(Option<&'static str>);

    impl Says for Certificate {
        fn text(&self, _: Text) -> &str {
            ""
        }

        fn common_name(&self) -> Option<String> {
            self.0.map(str::to_owned)
        }
    }

    #[test]
    fn certificate_names_the_user_of_whom_no_token_says_more() {
        let read = |token: &[u8]| String::from_utf8(token.to_vec()).ok();
        for (name, user) in [(Some("carol"), "carol"), (Some("a\r\nb"), ""), (None, "")] {
            let names = Names::of(RequestId::of(7));
            names.set_certificate(Arc::new(Certificate(name)));
            assert_eq!((names.for_record().is_none(), names.tell_user().as_str()), (true, user));
        }
        for (asks, name) in [(false, Some("carol")), (true, Some("carol")), (true, None)] {
            let names = Names::of(RequestId::of(7));
            names.set_certificate(Arc::new(Certificate(name)));
            if asks {
                names.tell_user();
            }
            names.set_token(b"alice", read);
            assert_eq!(names.tell_user(), "alice");
        }
    }

    #[test]
    fn record_holds_on_to_no_certificate() {
        let (names, certificate) = (Names::of(RequestId::of(7)), Arc::new(Certificate(Some("carol"))));
        names.set_certificate(certificate.clone());
        names.tell_user();
        let told = names.for_record();
        drop(names);
        assert_eq!((told.map(|told| told.user()), Arc::strong_count(&certificate)), (Some("carol".into()), 1));
    }

    #[test]
    fn names_are_for_the_record_once_one_was_told() {
        let names = Names::of(RequestId::of(7));
        assert!(names.told.id().is_none() && names.for_record().is_none());
        assert_eq!(Some(names.tell_id()), names.told.id());
        assert!(names.for_record().is_some() && names.for_record().is_none());
    }
}
