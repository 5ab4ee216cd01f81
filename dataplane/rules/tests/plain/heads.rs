//! What edits make of a head: each is made in its turn, and later ones see what earlier ones have made.

use crate::{
    conditions::{self, cookies, header},
    words::{Edit, Request, Response, Value, What},
};

type Pairs = Vec<(String, String)>;

/// The fields of a request without its cookies, and its cookies.
pub fn of_request(edits: &[&Edit], request: &Request) -> (Pairs, Pairs) {
    let mut fields = request.fields.clone();
    let header = |name: &str| header(name, request).into_iter().next();
    for edit in edits {
        let given = edit.value.as_ref().map(|value| text(value, request, &header));
        if !edit.of_cookie {
            change(&mut fields, edit, given, is_named);
            continue;
        }
        // All cookies come together in one line.
        let mut all = cookies(&fields);
        change(&mut all, edit, given, |one, other| one == other);
        fields.retain(|field| !is_named("Cookie", &field.0));
        let all: Vec<String> = all.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        fields.extend((!all.is_empty()).then(|| ("Cookie".to_owned(), all.join("; "))));
    }
    let cookies = cookies(&fields);
    fields.retain(|field| !is_named("Cookie", &field.0));
    (fields, cookies)
}

/// The fields of a response without `Set-Cookie`, and the values of that field.
pub fn of_response(edits: &[&Edit], request: &Request, response: &Response) -> (Pairs, Vec<String>) {
    let mut fields = response.fields.clone();
    let header = |name: &str| conditions::fields(name, &response.fields).into_iter().next();
    for edit in edits {
        let given = edit.value.as_ref().map(|value| text(value, request, &header));
        if !edit.of_cookie {
            change(&mut fields, edit, given, is_named);
            continue;
        }
        let set = |value: &str| format!("{}={value}", edit.name);
        let is_of_cookie = |field: &(String, String)| {
            let pair = field.1.split(';').next().unwrap_or_default().split_once('=');
            let pair = pair.map(|(name, value)| (name.trim(), value.trim()));
            let value = pair.filter(|pair| pair.0 == edit.name).map(|pair| pair.1);
            is_named("Set-Cookie", &field.0)
                && match (edit.what, &given) {
                    (What::Add, _) => false,
                    (What::Remove, Some(given)) => value == Some(given),
                    (What::Remove, None) | (What::Replace, _) => value.is_some(),
                }
        };
        fields.retain(|field| !is_of_cookie(field));
        if edit.what != What::Remove {
            fields.push(("Set-Cookie".to_owned(), set(given.as_ref().expect("a value"))));
        }
    }
    let (set, fields): (Pairs, Pairs) = fields.into_iter().partition(|field| is_named("Set-Cookie", &field.0));
    (fields, set.into_iter().map(|field| field.1).collect())
}

fn change(all: &mut Pairs, edit: &Edit, given: Option<String>, is_same: impl Fn(&str, &str) -> bool) {
    let wanted = given.as_ref().filter(|_| edit.what == What::Remove);
    if edit.what != What::Add {
        all.retain(|(name, value)| !is_same(&edit.name, name) || wanted.is_some_and(|wanted| wanted != value));
    }
    if edit.what != What::Remove {
        all.push((edit.name.clone(), given.expect("a value")));
    }
}

/// Servers that read fields as CGI has them take `X_A` for `X-A`.
fn is_named(one: &str, other: &str) -> bool {
    one.replace('-', "_").eq_ignore_ascii_case(&other.replace('-', "_"))
}

/// What is not known is an empty text. A field is the first of its name, as it came.
fn text(value: &Value, request: &Request, header: &dyn Fn(&str) -> Option<String>) -> String {
    let of_tls = |fact: &str| if request.tls.is_some() { fact.to_owned() } else { String::new() };
    match value {
        Value::Text(text) => text.clone(),
        Value::ClientIp => request.client.to_canonical().to_string(),
        Value::SourceIp => request.source.to_canonical().to_string(),
        Value::VsIp => request.listener.ip().to_canonical().to_string(),
        Value::VsPort => request.listener.port().to_string(),
        Value::Header(name) => header(name).unwrap_or_default(),
        Value::TlsProtocol => of_tls(crate::compiled::TLS_VERSION),
        Value::TlsCipher => of_tls(crate::compiled::TLS_CIPHER),
        Value::TlsServerName => request.tls.clone().unwrap_or_default(),
    }
}

/// Another Location in place of the server's.
pub fn other_location(url: String) -> Edit {
    Edit { what: What::Replace, name: "Location".to_owned(), of_cookie: false, value: Some(Value::Text(url)) }
}
